"""Folded stacks: ``owner;outer;inner WEIGHT`` a line, as flamegraph.pl and most viewers read them."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.formats.stacktable import CodeFrame, Counts, StackTable

_PART = str.maketrans({";": ":", "\n": " ", "\r": " ", "\0": " "})


def folded(table: StackTable, counts: Counts) -> Iterator[str]:
    """Lines without their end, in order of their text. Weights of all measures are summed; stacks without weight are
    left out."""
    sums: dict[str, float] = {}
    names = [frame_name(f) for f in table.frames]
    titles = [o.title().translate(_PART) for o in table.owners]
    for (owner, node), row in counts.sums.items():
        parts = [titles[owner], *(names[f] for f in table.path(node))]
        line = ";".join(p for p in parts if p) or "[unknown]"
        sums[line] = sums.get(line, 0) + sum(row[1:])
    return (f"{line} {plain(weight)}" for line, weight in sorted(sums.items()) if weight)


def frame_name(frame: CodeFrame) -> str:
    """``_[k]`` marks the kernel's, ``_[i]`` what was inlined. A semicolon would part frames, an end of line stacks."""
    return frame.name.translate(_PART) + ("_[k]" if frame.kernel else "_[i]" if frame.inlined else "")


def plain(n: float) -> str:
    """Without a fraction where there is none."""
    return str(int(n)) if n == int(n) else f"{n:.6f}".rstrip("0")
