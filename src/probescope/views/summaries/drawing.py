"""Sparklines and histograms of block characters.

▁▂▃▄▅▆▇█        a character for each piece of time, as high as what happened in it

   1 us -    2 us       12 |██████▌                       |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from probescope.views.latency.text import span

HIGHS = " ▁▂▃▄▅▆▇█"
WIDES = " ▏▎▍▌▋▊▉█"
BAR = 40


def spark(values: Sequence[float]) -> str:
    """The highest value is a full block, zero a blank, and anything else at least the lowest block."""
    most = max(values, default=0)
    if most <= 0:
        return " " * len(values)
    return "".join(HIGHS[0 if v <= 0 else max(1, round(v * 8 / most))] for v in values)


def spread(buckets: Mapping[int, float], count: int) -> list[float]:
    """A value for each number below ``count``."""
    return [buckets.get(i, 0) for i in range(count)]


def bar(value: float, most: float, width: int = BAR) -> str:
    """In eighths of a character."""
    eighths = round(value * width * 8 / most) if most > 0 else 0
    full, rest = divmod(max(eighths, 1 if value > 0 else 0), 8)
    return ("█" * full + (WIDES[rest] if rest else "")).ljust(width)


def histogram(buckets: Mapping[int, int]) -> Iterator[str]:
    """``buckets``: bucket b holds times from 2**b to 2**(b+1) ns; -1 those of no length."""
    if not buckets:
        return
    most = max(buckets.values())
    for b in range(min(buckets), max(buckets) + 1):
        low, high = (1 << b if b >= 0 else 0), 1 << (b + 1)
        yield f"  {span(low):>9} - {span(high):>9} {buckets.get(b, 0):>10,} |{bar(buckets.get(b, 0), most)}|\n"
