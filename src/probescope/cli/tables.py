"""Plain tables and paragraphs for the terminal, in colour where it is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

LEAST_LAST = 24
"""Characters that the last column keeps however narrow the terminal: below that, lines are simply long."""

_CODES = {"yes": "32", "no": "31", "unknown": "33", "head": "1", "used": "1;32"}


class Style:
    """``paint(text, kind)`` with kinds yes, no, unknown, head, used. Colour only on a terminal, and not with
    NO_COLOR."""

    def __init__(self, *, color: bool) -> None:
        self.color = color

    def paint(self, text: str, kind: str) -> str:
        code = _CODES.get(kind) if self.color else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text


def style() -> Style:
    """For standard output."""
    return Style(color=sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def width() -> int:
    """Columns of the terminal on standard output; 0 where it is none: then nothing is wrapped."""
    if not sys.stdout.isatty():
        return 0
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 0


def columns(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[int] = (),
    wide: int = 0,
    look: Style | None = None,
) -> str:
    """Lines with a newline each. Columns are as wide as their widest cell, those in ``right`` flush right; the last one
    is free, and wrapped under itself where the line would be longer than ``wide``. Cells that are yes, no or unknown
    are painted."""
    paint = (look or Style(color=False)).paint
    table = [list(map(str, r)) for r in rows]
    widths = [max(len(r[i]) for r in (list(head), *table)) for i in range(len(head) - 1)]
    indent = sum(widths) + 2 * len(widths)
    out: list[str] = []
    for n, r in enumerate((list(head), *table)):
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths, strict=False))]
        painted = [paint(c, "head" if not n else c.strip()) for c in cells]
        first, *more = wrapped(r[-1], wide - indent if wide else 0)
        out.append("  ".join([*painted, paint(first, "head") if not n else first]).rstrip())
        out += [" " * indent + line for line in more]
    return "".join(line.rstrip() + "\n" for line in out)


def wrapped(text: str, wide: int) -> list[str]:
    """Lines of at most ``wide`` characters, cut at blanks; one line if that is too narrow to be of use."""
    if wide < LEAST_LAST or len(text) <= wide:
        return [text]
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > wide:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def labelled(pairs: Iterable[tuple[str, str]], *, wide: int = 0, indent: int = 13) -> Iterator[str]:
    """``label        text``, lines with a newline each, for pairs that have a text."""
    for label, text in pairs:
        for i, line in enumerate(wrapped(text, wide - indent if wide else 0) if text else ()):
            yield f"{label if not i else '':<{indent}}{line}".rstrip() + "\n"
