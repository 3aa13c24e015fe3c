"""Plain tables for the terminal: columns as wide as their widest cell, the last one free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lines with a newline each; trailing blanks are cut."""
    table = [list(head), *(list(map(str, r)) for r in rows)]
    widths = [max(len(r[i]) for r in table) for i in range(len(head) - 1)]
    out = []
    for r in table:
        cells = [c.ljust(w) for c, w in zip(r, widths, strict=False)]
        out.append("  ".join([*cells, r[-1]]).rstrip() + "\n")
    return "".join(out)
