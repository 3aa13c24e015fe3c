"""Lines that begin with ``#``: which text counts, which macros exist, which headers are wanted.

The text comes back with all such lines, and all text that a condition leaves out, as blanks: lines and columns stay
what they were. Headers are read by the parser (``parser_program.py``); types of the kernel need none, they come from
BTF.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from probescope.diagnostics import NOWHERE, Diagnostic, Source, Span, nearest
from probescope.frozen import dataclass, field
from probescope.lang.bt.ast import Directive
from probescope.lang.bt.defines import Define, Defines
from probescope.lang.bt.parser_base import MAX_FINDINGS, Enough

_CONDITIONS = ("if", "ifdef", "ifndef", "elif", "else", "endif")
_KNOWN = (*_CONDITIONS, "include", "define", "undef", "error", "warning", "pragma", "line")

MAX_CONDITIONS = 64


@dataclass(slots=True)
class Preprocessed:
    """``text`` is what is left to parse; ``header`` the shebang line with its end; ``includes`` are those that
    count."""

    source: Source
    text: str
    defines: Defines
    header: str = ""
    directives: list[Directive] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)


@dataclass(slots=True)
class _Condition:
    active: bool
    taken: bool  # some branch was active
    outer: bool  # the text around it counts
    span: Span
    closed: bool = False  # `#else` was seen


@cache
def _lines() -> re.Pattern[str]:
    """Comments and strings, which hide what looks like a directive, and directives (with lines continued by a
    backslash)."""
    return re.compile(
        r"/\*(?:.*?\*/|.*)|//[^\n]*+"
        r'|"[^"\\]*+(?:\\[^\n][^"\\]*+)*"'
        r"|(?P<line>(?m:^)[ \t]*+\#(?P<rest>(?:[^\n\\/]|\\\n|\\|/(?![*/])|/\*(?:.*?\*/|.*))*)(?://[^\n]*+)?)",
        re.DOTALL,
    )


def preprocess(source: Source, defines: Defines | None = None) -> Preprocessed:
    """Reads the directives of ``source``; ``defines`` holds what is defined before its first line, and is added to."""
    out = Preprocessed(source, source.text, defines if defines is not None else Defines(source))
    text = source.text
    if "#" not in text:
        return out
    if text.startswith("#!"):
        end = text.find("\n") + 1 or len(text)
        out.header = text[:end]
        text = _blank(text[:end]) + text[end:]
    if re.search(r"(?m)^[ \t]*#", text):
        try:
            _Reader(out, text).run()
        except Enough:
            out.text = ""  # its findings say enough
    else:
        out.text = text
    return out


def predefined(source: Source, values: Mapping[str, str]) -> Defines:
    """The macros that exist before a script begins: ``{"BPFTRACE_HAVE_BTF": "1"}``."""
    return Defines(source, {n: Define(n, None, v, NOWHERE) for n, v in values.items()})


def _blank(text: str) -> str:
    return "".join(c if c == "\n" else " " for c in text)


class _Reader:
    def __init__(self, out: Preprocessed, text: str) -> None:
        self.out = out
        self.text = text
        self.conditions: list[_Condition] = []
        self.pieces: list[str] = []
        self.line = 1
        self.counted = 0  # offset up to which lines have been counted

    def run(self) -> None:
        done = 0
        for found in _lines().finditer(self.text):
            if found.group("line") is None:
                continue
            self._keep(self.text[done : found.start()])
            self._directive(found)
            self.pieces.append(_blank(found.group()))
            done = found.end()
        self._keep(self.text[done:])
        for condition in self.conditions:
            self._report("this condition is never closed by #endif", condition.span)
        self.out.text = "".join(self.pieces)

    @property
    def active(self) -> bool:
        return not self.conditions or self.conditions[-1].active

    def _keep(self, piece: str) -> None:
        self.pieces.append(piece if self.active else _blank(piece))

    def _directive(self, found: re.Match[str]) -> None:
        start = found.start("rest") - 1
        self.line += self.text.count("\n", self.counted, start)
        self.counted = start
        column = start - (self.text.rfind("\n", 0, start) + 1) + 1
        body = found.group("rest")
        first = body.split("\n", 1)[0]
        span = Span(self.line, column, self.line, column + 1 + len(first.rstrip()))
        body = re.sub(r"/\*.*?\*/", " ", body.replace("\\\n", " "), flags=re.DOTALL).strip()
        name = re.match(r"[A-Za-z_]*", body)
        assert name is not None
        self._obey(name.group(), body[name.end() :].strip(), span)

    def _obey(self, name: str, rest: str, span: Span) -> None:
        if name in _CONDITIONS:
            self._condition(name, rest, span)
        elif not self.active or name in ("pragma", "line", "warning", ""):
            return
        elif name == "define":
            self._define(rest, span)
        elif name == "undef":
            self.out.defines.by_name.pop(rest, None)
            self.out.directives.append(Directive(span, name, rest))
        elif name == "include":
            if not re.fullmatch(r'<[^<>\n]+>|"[^"\n]+"', rest):
                self._report("#include needs a name in <> or quotes", span)
            else:
                self.out.directives.append(Directive(span, name, rest))
        elif name == "error":
            self._report(f"#error {rest}", span)
        else:
            found = nearest(name, _KNOWN, most=1)
            self._report(f"unknown directive '#{name}'", span, *(f"did you mean '#{n}'?" for n in found))

    def _define(self, rest: str, span: Span) -> None:
        found = re.match(r"([A-Za-z_]\w*)(?:\(([^()]*)\))?", rest)
        if found is None:
            self._report("#define needs a name", span)
            return
        params = None
        if found.group(2) is not None:
            params = tuple(p.strip() for p in found.group(2).split(",") if p.strip())
            if not all(re.fullmatch(r"[A-Za-z_]\w*", p) for p in params):
                self._report(f"the parameters of macro {found.group(1)} are not plain names", span)
                return
        body = rest[found.end() :].strip()
        self.out.defines.by_name[found.group(1)] = Define(found.group(1), params, body, span)
        self.out.directives.append(Directive(span, "define", rest))

    def _condition(self, name: str, rest: str, span: Span) -> None:
        if name in ("if", "ifdef", "ifndef"):
            if len(self.conditions) >= MAX_CONDITIONS:
                self._report(f"more than {MAX_CONDITIONS} conditions inside each other", span)
                raise Enough
            outer = self.active
            holds = outer and self._holds(name, rest, span)
            self.conditions.append(_Condition(holds, holds, outer, span))
            return
        if not self.conditions:
            self._report(f"#{name} without #if", span)
            return
        top = self.conditions[-1]
        if name == "endif":
            self.conditions.pop()
            return
        if top.closed:
            self._report(f"#{name} after #else", span)
        top.closed = name == "else"
        top.active = top.outer and not top.taken and (name == "else" or self._holds("if", rest, span))
        top.taken = top.taken or top.active

    def _holds(self, name: str, rest: str, span: Span) -> bool:
        if name != "if":
            return (rest.split(" ", maxsplit=1)[0] in self.out.defines.by_name) == (name == "ifdef")
        from probescope.lang.bt.condition import holds

        try:
            return holds(rest, self.out.defines)
        except ValueError as e:
            self._report(f"this condition cannot be evaluated: {e}", span)
            return False

    def _report(self, message: str, span: Span, *hints: str) -> None:
        self.out.findings.append(Diagnostic("error", message, span, hints, self.out.source))
        if len(self.out.findings) >= MAX_FINDINGS:
            raise Enough
