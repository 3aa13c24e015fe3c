"""Headers that a script includes: found through the include directories, read for their types and macros.

Headers of the kernel and of the C library need not exist: their types come from BTF, and a script that asks for
``<linux/fs.h>`` runs where no headers are installed. Any other header that cannot be found is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from probescope.diagnostics import NOWHERE, Diagnostic, Source, Span
from probescope.lang.bt.ast import CItem, Directive
from probescope.lang.bt.lexer import Lexer
from probescope.lang.bt.parser_base import Enough, Unparsable
from probescope.lang.bt.parser_c import CParser
from probescope.lang.bt.preprocess import preprocess

if TYPE_CHECKING:
    from probescope.lang.bt.defines import Defines
    from probescope.lang.bt.parser import ParseOptions

MAX_HEADERS = 2_000
MAX_DEPTH = 40

KERNEL = frozenset(
    (
        "acpi asm asm-generic block crypto drm dt-bindings generated keys kvm linux media memory misc mtd net "
        "pcmcia ras rdma rv scsi soc sound target trace uapi ufs vdso video xen"
    ).split()
)
"""Directories of kernel headers: they need not be there, and are only read where ``-I`` names them."""

LIBRARY = frozenset(
    (
        "assert.h ctype.h elf.h errno.h fcntl.h float.h inttypes.h limits.h math.h poll.h pthread.h sched.h "
        "signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h syscall.h time.h unistd.h "
        "vmlinux.h"
    ).split()
)
LIBRARY_DIRS = frozenset("arpa bits gnu netinet sys".split())
"""Headers of the C library, which need not be there either."""


def read_headers(
    directives: Sequence[Directive],
    defines: Defines,
    options: ParseOptions,
    findings: list[Diagnostic],
    enumerators: dict[str, int],
) -> list[CItem]:
    """The types of all headers that ``directives`` and ``options.includes`` ask for; their macros go to ``defines``."""
    reader = _Reader(defines, options, findings, enumerators)
    for name in options.includes:
        reader.include(name, "", NOWHERE, defines.source, 0)
    own = defines.source.name.rpartition("/")[0]
    for directive in directives:
        if directive.name == "include":
            directory = own if directive.rest.startswith('"') else ""
            reader.include(directive.rest[1:-1], directory, directive.span, defines.source, 0)
    return reader.out


class _Reader:
    def __init__(
        self, defines: Defines, options: ParseOptions, findings: list[Diagnostic], enumerators: dict[str, int]
    ) -> None:
        self.defines = defines
        self.options = options
        self.findings = findings
        self.enumerators = enumerators
        self.seen: set[str] = set()
        self.out: list[CItem] = []

    def include(self, name: str, directory: str, span: Span, source: Source, depth: int) -> None:
        found = self._find(name, directory)
        if found is None:
            if not depth and not _may_be_missing(name):
                dirs = ", ".join(self.options.include_dirs) or "none; name them with -I"
                hint = f"directories for headers: {dirs}"
                self.findings.append(Diagnostic("error", f"'{name}' file not found", span, (hint,), source))
            return
        path, text = found
        if path in self.seen:
            return
        self.seen.add(path)
        if depth >= MAX_DEPTH or len(self.seen) > MAX_HEADERS:
            self.findings.append(
                Diagnostic("error", f"too many headers inside each other at '{name}'", span, (), source)
            )
            return
        self._read(Source(path, text), span, depth)

    def _find(self, name: str, directory: str) -> tuple[str, str] | None:
        places = [name] if name.startswith("/") else []
        if directory or not name.startswith("/"):
            own = [directory] if directory else []
            system = () if name.partition("/")[0] in KERNEL else self.options.system_dirs
            places += [f"{d}/{name}" for d in (*own, *self.options.include_dirs, *system)]
        for path in places:
            text = self.options.files.read(path)
            if text is not None:
                return path, text
        return None

    def _read(self, source: Source, span: Span, depth: int) -> None:
        made = preprocess(source, self.defines)
        for directive in made.directives:
            if directive.name == "include":
                self.include(directive.rest[1:-1], source.name.rpartition("/")[0], span, self.defines.source, depth + 1)
        parser = CParser(Lexer(source, made.text, self.defines.by_name, self.defines.expand))
        parser.strict = False
        parser.enumerators = self.enumerators
        parser.seek(0)
        try:
            declarations = parser.c_header()
        except Unparsable as e:
            self.findings.append(e.finding)
            return
        except Enough:
            return
        self.out.append(CItem(span, tuple(declarations)))


def _may_be_missing(name: str) -> bool:
    top = name.partition("/")[0]
    return top in KERNEL or top in LIBRARY_DIRS or name in LIBRARY
