"""Text to tree: the whole parser, and its front door.

    parse(source, options)       a script with everything it includes -> Parsed
    parse_expression(source)     one expression

What is wrong with the text comes back as one ``ScriptError`` with all findings, each with its place; nothing else is
raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import ScriptError
from probescope.frozen import dataclass, field
from probescope.lang.bt.ast import CItem, Directive, Expr, Item, Program
from probescope.lang.bt.files import Files, NoFiles
from probescope.lang.bt.lexer import Lexer
from probescope.lang.bt.parser_base import Enough, Unparsable
from probescope.lang.bt.parser_program import ProgramParser

MAX_TEXT = 4 << 20
"""Greatest length of a script in characters."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """``params``: the values of ``$1``...; ``pid``: one process was named; ``defines``: macros that exist from the
    start; ``include_dirs``: where headers are looked for (``-I``), ``system_dirs``: where those of the C library are;
    ``includes``: headers read before the script (``--include``)."""

    params: Sequence[str] = ()
    pid: bool = False
    defines: Mapping[str, str] = field(default_factory=lambda: {"BPFTRACE_HAVE_BTF": "1"})
    files: Files = field(default_factory=NoFiles)
    include_dirs: Sequence[str] = ()
    system_dirs: Sequence[str] = ()
    includes: Sequence[str] = ()


class ScriptParser(ProgramParser):
    """All layers together; that of C declarations is loaded when a script has any."""

    def __init__(self, lexer: Lexer, params: Sequence[str] = (), *, pid: bool = False) -> None:
        super().__init__(lexer, params, pid=pid)
        self.enumerators: dict[str, int] = {}
        self.anonymous = 0

    def lone_expression(self) -> Expr:
        """The expression that the whole text is."""
        self.seek(0)
        expr = self.expression()
        if self.kind != "end":
            self.fail("the end of the expression")
        return expr

    def _c_item(self) -> Item:
        from probescope.lang.bt.parser_c import CParser

        first = self.token
        inner = CParser(self.lexer)
        inner.findings, inner.enumerators, inner.anonymous = self.findings, self.enumerators, self.anonymous
        inner.seek(self.index)
        try:
            declarations = tuple(inner.c_declarations())
            inner.end_of_definition()
        finally:
            self.anonymous = inner.anonymous
            self.seek(inner.index)
        return CItem(inner.since(first), declarations, self.lexer.text[first.start : inner.last.stop])


def parse(source: Source, options: ParseOptions | None = None) -> Program:
    """The tree of a script; raises ``ScriptError`` with everything that is wrong with it."""
    options = options or ParseOptions()
    try:
        return _parse(_cleaned(source), options)
    except RecursionError:  # the caller's stack was nearly full; the guards of the parser assume that it is not
        finding = Diagnostic("error", "the program nests too deep", Span(1, 1, 1, 1), (), source)
        raise ScriptError([finding]) from None


def parse_expression(source: Source) -> Expr:
    """One expression; raises ``ScriptError``."""
    parser = ScriptParser(Lexer(_cleaned(source)))
    try:
        expr = parser.lone_expression()
    except Unparsable as e:
        raise ScriptError([*parser.findings, e.finding]) from None
    except Enough:
        raise ScriptError(parser.findings) from None
    if parser.findings:
        raise ScriptError(parser.findings)
    return expr


def _cleaned(source: Source) -> Source:
    """Without surrogates that stand for no byte, which could not be written out again; not beyond ``MAX_TEXT``."""
    if len(source.text) > MAX_TEXT:
        finding = Diagnostic("error", f"the script is longer than {MAX_TEXT} characters", Span(1, 1, 1, 1), (), None)
        raise ScriptError([finding])
    if source.text.isascii():
        return source
    try:
        source.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return Source(source.name, source.text.encode("utf-8", "replace").decode())
    return source


def _parse(source: Source, options: ParseOptions) -> Program:
    findings: list[Diagnostic] = []
    if "#" not in source.text and not options.includes:
        parser = ScriptParser(Lexer(source), options.params, pid=options.pid)
        items = parser.items()
        _raise_if_wrong(parser.findings)
        return Program(Span(1, 1, *_end(source.text)), tuple(items))

    from probescope.lang.bt.headers import read_headers
    from probescope.lang.bt.preprocess import predefined, preprocess

    made = preprocess(source, predefined(source, options.defines))
    enumerators: dict[str, int] = {}
    headers = read_headers(made.directives, made.defines, options, findings, enumerators)
    lexer = Lexer(source, made.text, made.defines.by_name, made.defines.expand)
    parser = ScriptParser(lexer, options.params, pid=options.pid)
    parser.enumerators.update(enumerators)
    items = parser.items()
    _check_directives(made.directives, items, source, findings)
    _raise_if_wrong([*findings, *made.findings, *made.defines.findings, *parser.findings])
    return Program(Span(1, 1, *_end(source.text)), _in_order(made.directives, headers, items), made.header)


def _raise_if_wrong(findings: list[Diagnostic]) -> None:
    if findings:
        raise ScriptError(sorted(findings, key=lambda f: (f.span.line, f.span.column)))


def _check_directives(
    directives: list[Directive], items: list[Item], source: Source, findings: list[Diagnostic]
) -> None:
    """A ``#define`` or ``#include`` behind the first item that is no C definition comes too late to count."""
    first = next((i for i in items if not isinstance(i, CItem)), None)
    if first is None:
        return
    for directive in directives:
        if directive.span.line > first.span.line:
            message = "syntax error, C definitions must come before everything else"
            findings.append(Diagnostic("error", message, directive.span, (), source))


def _in_order(directives: list[Directive], headers: list[CItem], items: list[Item]) -> tuple[Item, ...]:
    both: list[Item] = [*directives, *items]
    if directives:
        both.sort(key=lambda i: (i.span.line, i.span.column))
    return (*headers, *both)


def _end(text: str) -> tuple[int, int]:
    line = text.count("\n") + 1
    return line, len(text) - (text.rfind("\n") + 1) + 1
