"""``import "path";``: other scripts, headers and directories of them, merged into the importing script.

Paths are relative to the directory of the script that names them. What is imported comes before what imports it, each
file once. The places of imported items are those of the ``import``: a diagnostic shows the text that the user wrote.
Files that everybody may write to are refused, since a script usually runs as root.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import ScriptError
from probescope.frozen import replace as replace_value
from probescope.lang.bt.ast import AttachPoint, CItem, Import, Item, Node, Program
from probescope.lang.bt.node import rebuild, relocate, replace

if TYPE_CHECKING:
    from probescope.lang.bt.parser import ParseOptions

MAX_FILES = 1_000
MAX_DEPTH = 32


def resolve(program: Program, source: Source, options: ParseOptions) -> Program:
    """The program with everything it imports in front of its own items; raises ``ScriptError``."""
    if not program.imports:
        return program
    importer = _Importer(source, options)
    directory = posixpath.dirname(source.name)
    items = importer.merge(program.items, directory, 0)
    if importer.findings:
        raise ScriptError(importer.findings)
    return replace(program, items=tuple(items))


class _Importer:
    def __init__(self, source: Source, options: ParseOptions) -> None:
        self.source = source
        self.options = replace_value(options, includes=())
        self.findings: list[Diagnostic] = []
        self.seen: set[str] = set()

    def merge(self, items: tuple[Item, ...], directory: str, level: int) -> list[Item]:
        first: list[Item] = []
        own: list[Item] = []
        for item in items:
            if isinstance(item, Import):
                first += self._import(item.path, directory, item.span, level)
            else:
                own.append(item)
        return first + own

    def _report(self, message: str, span: Span, *hints: str) -> None:
        self.findings.append(Diagnostic("error", message, span, hints, self.source))

    def _import(self, name: str, directory: str, span: Span, level: int) -> list[Item]:
        path = posixpath.normpath(posixpath.join(directory, name)) if name else ""
        if path in self.seen:
            return []
        self.seen.add(path)
        if level >= MAX_DEPTH or len(self.seen) > MAX_FILES:
            self._report(f"too many imports at '{name}'", span)
            return []
        files = self.options.files
        if files.is_open_to_all(posixpath.dirname(path) or "."):
            self._report(f"'{name}' is not imported: its directory has global write permissions", span, "chmod o-w it")
            return []
        entries = files.entries(path) if path else None
        if entries is not None:
            return self._directory(path, entries, span, level)
        return self._file(name, path, span, level)

    def _directory(self, path: str, entries: list[str], span: Span, level: int) -> list[Item]:
        if self.options.files.is_open_to_all(path):
            self._report(f"'{path}' is not imported: it has global write permissions", span, "chmod o-w it")
            return []
        out: list[Item] = []
        for entry in entries:
            full = f"{path}/{entry}"
            if (
                entry.endswith((".bt", ".h", ".bpf.c"))
                and self.options.files.entries(full) is None
                and full not in self.seen
            ):
                self.seen.add(full)
                out += self._file(entry, full, span, level)
        return out

    def _file(self, name: str, path: str, span: Span, level: int) -> list[Item]:
        text = self.options.files.read(path) if path else None
        if text is None:
            if name == "stdlib" or name.startswith("stdlib/"):
                return []  # the standard library is built in
            self._report(f"cannot read '{name}'", span, f"looked for {path or name}")
            return []
        if path.endswith(".bt"):
            return self._script(Source(path, text), span, level)
        if path.endswith(".h"):
            return self._header(path, span)
        hint = (
            "BPF C needs a compiler; write it as fn or macro" if path.endswith(".bpf.c") else "imports end in .bt or .h"
        )
        self._report(f"'{name}' cannot be imported", span, hint)
        return []

    def _script(self, source: Source, span: Span, level: int) -> list[Item]:
        from probescope.lang.bt.parser import parse

        try:
            program = parse(source, self.options)
        except ScriptError as e:
            self.findings += e.diagnostics
            return []
        for config in program.configs:
            finding = Diagnostic("error", "an imported script cannot have a config block", config.span, (), source)
            self.findings.append(finding)
        items = self.merge(program.items, posixpath.dirname(source.name), level + 1)
        return [_moved(item, span) for item in items]

    def _header(self, path: str, span: Span) -> list[Item]:
        from probescope.lang.bt.ast import Directive
        from probescope.lang.bt.headers import read_headers
        from probescope.lang.bt.preprocess import predefined

        defines = predefined(self.source, self.options.defines)
        wanted = [Directive(span, "include", f"<{posixpath.abspath(path)}>")]
        return list(read_headers(wanted, defines, self.options, self.findings, {}))


def _moved(item: Item, span: Span) -> Item:
    if isinstance(item, CItem):
        return replace(item, span=span)

    def with_spec(node: Node) -> Node:
        if isinstance(node, AttachPoint):
            return replace(node, spec=replace_value(node.spec, span=span))
        return rebuild(node, with_spec)

    moved: Item = relocate(with_spec(item), span)  # type: ignore[assignment]
    return moved
