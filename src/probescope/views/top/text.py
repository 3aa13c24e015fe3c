"""A snapshot as text: a line of what is sampled, and a table."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.views.top.profile import Snapshot, View


def about(name: str, frequency: str, cpus: int, snapshot: Snapshot, zoom: str = "") -> str:
    """What is sampled, how much there is and what was lost."""
    lost = f"lost: {snapshot.lost:,}" if snapshot.lost else "lost: 0"
    out = f"{snapshot.samples:,} samples of {name}, {frequency}, {cpus} CPUs, {lost}"
    return f"{out}; {zoom}" if zoom else out


def table(snapshot: Snapshot, view: View, *, counts: bool = False) -> Iterator[str]:
    first = ["Children", "Self"] if view.children else ["Overhead"]
    heads = [*first, *(["Samples"] if counts else []), *(k.head.strip() for k in view.keys)]
    numbers = len(first) + counts
    cells = []
    for row in snapshot.rows:
        shares = [row.share, row.own] if view.children else [row.share]
        cells.append([*(f"{s:.2f}%" for s in shares), *([str(row.samples)] if counts else []), *row.key])
    widths = [max([8 if i < numbers else 0, len(h), *(len(c[i]) for c in cells)]) for i, h in enumerate(heads)]
    for i, line in enumerate([heads, *cells]):
        placed = [
            f"{c:>{w}}" if k < numbers else f"{c:<{w}}" for k, (c, w) in enumerate(zip(line, widths, strict=True))
        ]
        yield ("  " + "  ".join(placed)).rstrip() + "\n"
        if i:
            yield from (f"{g}\n" for g in snapshot.rows[i - 1].graph)
