"""Histograms as rows of label, count and bar.

    [512, 1K)              5 |@@@@@                                               |

Only the buckets from the first to the last that is not empty are shown.
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.frozen import dataclass
from probescope.model.aggregate import linear_buckets, linear_range, log2_range
from probescope.model.types import Agg

WIDTH = 52
_SUFFIXES = ("", "K", "M", "G", "T", "P", "E")


@dataclass(frozen=True, slots=True)
class Bucket:
    """``[low, high)``; ``None`` for an end that is open."""

    low: int | None
    high: int | None
    count: int


def buckets(agg: Agg, state: dict[int, int]) -> list[Bucket]:
    """The buckets to show, in order, empty ones between included."""
    held = {b: n for b, n in state.items() if n}
    if not held:
        return []
    bounds = _BOUNDS[agg.kind](agg)
    return [Bucket(*bounds(b), held.get(b, 0)) for b in range(min(held), max(held) + 1)]


Bounds = Callable[[int], tuple[int | None, int | None]]


def _log2(agg: Agg) -> Bounds:
    bits = agg.args[0] if agg.args else 0

    def bounds(b: int) -> tuple[int | None, int | None]:
        low, high = log2_range(b, bits)
        return (None, 0) if b == 0 else (low, high)

    return bounds


def _linear(agg: Agg) -> Bounds:
    low, high, step = agg.args
    last = linear_buckets(low, high, step) - 1

    def bounds(b: int) -> tuple[int | None, int | None]:
        if b == 0:
            return None, low
        return (high, None) if b == last else linear_range(b, low, high, step)

    return bounds


def _loglinear(agg: Agg) -> Bounds:
    factor, low, high, steps = agg.args
    last = 1 + (high - low + 1) * steps

    def bounds(b: int) -> tuple[int | None, int | None]:
        if b == 0:
            return None, factor**low
        if b == last:
            return factor ** (high + 1), None
        magnitude, part = divmod(b - 1, steps)
        width = max(1, factor ** (low + magnitude + 1) // steps)
        return part * width, (part + 1) * width

    return bounds


_BOUNDS: dict[str, Callable[[Agg], Bounds]] = {"hist": _log2, "lhist": _linear, "llquantize": _loglinear}


def short(n: int) -> str:
    """A power of 1024 that divides ``n`` becomes its suffix: 2048 is ``2K``."""
    at = 0
    while n and n % 1024 == 0 and at + 1 < len(_SUFFIXES):
        n //= 1024
        at += 1
    return f"{n}{_SUFFIXES[at]}"


def label(b: Bucket, number: Callable[[int], str]) -> str:
    if b.low is None:
        return f"(..., {number(b.high or 0)})"
    if b.high is None:
        return f"[{number(b.low)}, ...)"
    if b.high == b.low + 1:
        return f"[{number(b.low)}]"
    return f"[{number(b.low)}, {number(b.high)})"


def histogram_text(agg: Agg, state: dict[int, int], div: int = 0) -> str:
    """Rows, each with a newline at its end; empty for an empty histogram. Counts are divided by ``div``."""
    shown = buckets(agg, state)
    number = short if agg.kind == "hist" else str
    counts = [b.count // div if div else b.count for b in shown]
    most = max(counts, default=0)
    rows = []
    for b, count in zip(shown, counts, strict=True):
        bar = "@" * (count * WIDTH // most if most else 0)
        rows.append(f"{label(b, number):<16}{count:>8} |{bar:<{WIDTH}}|\n")
    return "".join(rows)
