"""Spans, diagnostics and their rendering: the line, a caret under the place, hints.

A ``Span`` is a half-open range of a source text in 1-based lines and columns, as editors count them:

    probe:1:5-9          columns 5 to 8 of line 1

Rendering follows the shape that users of bpftrace know:

    stdin:1:20-25: ERROR: Unknown function: 'fooo'
    BEGIN { $x = 1; fooo(1); }
                    ~~~~~
    HINT: did you mean 'foo'?
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from probescope.frozen import dataclass, field

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Source:
    """One program text and the name that diagnostics give it (a path, or ``stdin``)."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """The 1-based line without its end, or an empty text where there is none."""
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open: ``[start, end)``; line and column are 1-based. ``line`` 0 means nowhere."""

    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def to(self, other: Span) -> Span:
        """The range from here to the end of ``other``."""
        return Span(self.line, self.column, other.end_line, other.end_column)


NOWHERE = Span()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    severity: Severity
    message: str
    span: Span = NOWHERE
    hints: tuple[str, ...] = ()
    source: Source | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, object]:
        s = self.span
        return {
            "severity": self.severity,
            "message": self.message,
            "file": self.source.name if self.source else "",
            "line": s.line,
            "column": s.column,
            "end_line": s.end_line,
            "end_column": s.end_column,
            "hints": list(self.hints),
        }


def place(d: Diagnostic) -> str:
    """``stdin:1:20-25``, or ``stdin:1-3`` over several lines, or an empty text for nowhere."""
    s, name = d.span, d.source.name if d.source else "stdin"
    if not s.line:
        return ""
    if s.end_line > s.line:
        return f"{name}:{s.line}-{s.end_line}"
    return f"{name}:{s.line}:{s.column}-{max(s.end_column, s.column + 1)}"


_COLORS = {"error": "\x1b[31m", "warning": "\x1b[33m", "info": "\x1b[36m"}
_MAX_LINE = 200
_MAX_MESSAGE = 2000
_LONGEST_NAME = 500


def render(d: Diagnostic, *, color: bool = False) -> str:
    """The diagnostic as text, several lines, with no newline at its end."""
    head = place(d)
    label = d.severity.upper()
    if color:
        label = f"{_COLORS[d.severity]}{label}\x1b[0m"
    message = d.message if len(d.message) <= _MAX_MESSAGE else d.message[: _MAX_MESSAGE - 3] + "..."
    out = [f"{head}: {label}: {message}" if head else f"{label}: {message}"]
    out += _caret(d)
    out += [f"HINT: {h}" for h in d.hints]
    return "\n".join(out)


def context(d: Diagnostic) -> str:
    """The line of the source with the place marked below it; empty without a place."""
    return "\n".join(_caret(d))


def render_all(ds: Iterable[Diagnostic], *, color: bool = False) -> str:
    return "\n".join(render(d, color=color) for d in ds)


def _caret(d: Diagnostic) -> list[str]:
    s = d.span
    if not s.line or d.source is None:
        return []
    text = d.source.line(s.line)
    start = s.column - 1
    width = (s.end_column - s.column) if s.end_line == s.line else len(text) - start
    if len(text) > _MAX_LINE:  # a minified script must not flood the terminal: show a window around the place
        cut = max(0, start - _MAX_LINE // 2)
        text, start = text[cut : cut + _MAX_LINE], start - cut
    text = "".join(c if c == "\t" or c.isprintable() else "?" for c in text)
    pad = "".join("\t" if c == "\t" else " " for c in text[:start])
    return [text, pad + "~" * max(1, min(width, max(1, len(text) - start)))]


def nearest(name: str, candidates: Iterable[str], *, most: int = 3) -> Sequence[str]:
    """The candidates that a misspelt ``name`` may have meant, best first, each once."""
    if len(name) > _LONGEST_NAME:  # the time grows with its square, and nobody misspells such a name
        return []
    import difflib

    return difflib.get_close_matches(name, list(dict.fromkeys(candidates)), n=most, cutoff=0.6)
