"""Aggregations are monoids: identity, update, merge, each defined once.

Per-CPU copies, batches of events, recorded files and other hosts are all put together by the same ``merge``.
``update(identity(), v)`` merged in any order and grouping equals updating one state with all values; a property test
holds this.

States are plain values: an ``int`` (count, sum), ``None`` or an ``int`` (min, max), a tuple of ints (avg, stats,
stddev), or a dict from bucket number to count (hist, lhist, llquantize), or from interval number to inner state
(tseries).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probescope.frozen import dataclass
from probescope.model.types import Agg, Int, wrap

State = Any

_INNER = ("sum", "min", "max", "avg", "count", "last")
"""Inner aggregations of tseries, by the code in ``Agg.args[2]``. ``last`` keeps the value observed last: of two
states, the second one's."""


@dataclass(frozen=True, slots=True)
class Monoid:
    """``update(state, value, weight)`` observes one value; ``number(state)`` is what an integer expression reads of
    it."""

    identity: Callable[[], State]
    update: Callable[[State, int, int], State]
    merge: Callable[[State, State], State]
    number: Callable[[State], int]


def monoid(agg: Agg) -> Monoid:
    """The monoid of an aggregation type."""
    return _MAKERS[agg.kind](agg)


def _count(_: Agg) -> Monoid:
    return Monoid(lambda: 0, lambda s, _v, w: s + w, lambda a, b: a + b, lambda s: s)


def _sum(agg: Agg) -> Monoid:
    wide = Int(8, agg.value.signed)
    return Monoid(
        lambda: 0,
        lambda s, v, w: wrap(s + v * w, wide),
        lambda a, b: wrap(a + b, wide),
        lambda s: s,
    )


def _extreme(pick: Callable[[int, int], int]) -> Callable[[Agg], Monoid]:
    def merge(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else pick(a, b)

    def make(_: Agg) -> Monoid:
        return Monoid(lambda: None, lambda s, v, _w: merge(s, v), merge, lambda s: 0 if s is None else s)

    return make


def _last(_: Agg) -> Monoid:
    return Monoid(
        lambda: None, lambda _s, v, _w: v, lambda a, b: a if b is None else b, lambda s: 0 if s is None else s
    )


def divide(total: int, count: int) -> int:
    """An average as the kernel side would give it: truncated toward zero, 0 of nothing."""
    if count == 0:
        return 0
    q = abs(total) // count
    return -q if total < 0 else q


def _avg(agg: Agg) -> Monoid:
    wide = Int(8, agg.value.signed)
    return Monoid(
        lambda: (0, 0),
        lambda s, v, w: (wrap(s[0] + v * w, wide), s[1] + w),
        lambda a, b: (wrap(a[0] + b[0], wide), a[1] + b[1]),
        lambda s: divide(s[0], s[1]),
    )


def _stddev(_: Agg) -> Monoid:
    return Monoid(
        lambda: (0, 0, 0),
        lambda s, v, w: (s[0] + v * w, s[1] + w, s[2] + v * v * w),
        lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]),
        deviation,
    )


def deviation(state: tuple[int, int, int]) -> int:
    """Integer standard deviation of (sum, count, sum of squares)."""
    from math import isqrt

    total, count, squares = state
    return isqrt(max(0, squares * count - total * total) // (count * count)) if count else 0


def _histogram(bucket: Callable[[Agg, int], int]) -> Callable[[Agg], Monoid]:
    def make(agg: Agg) -> Monoid:
        def update(s: dict[int, int], v: int, w: int) -> dict[int, int]:
            b = bucket(agg, v)
            return {**s, b: s.get(b, 0) + w}

        return Monoid(dict, update, merge_counts, lambda s: sum(s.values()))

    return make


def merge_counts(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    out = dict(a)
    for k, v in b.items():
        out[k] = out.get(k, 0) + v
    return out


# --- buckets ----------------------------------------------------------------------------------------------------------


def log2_bucket(value: int, bits: int) -> int:
    """The bucket of a logarithmic histogram that splits each power of two into ``2**bits`` parts.

    0 holds the negative values, ``v + 1`` the small ones (``v < 2**bits``), and beyond:

        value  1 x..x rest      l = place of the leading one, less bits; x = the next `bits` bits
        bucket ((l + 1) << bits) + x + 1
    """
    if value < 0:
        return 0
    if value < 1 << bits:
        return value + 1
    shift = value.bit_length() - 1 - bits
    return ((shift + 1) << bits) + ((value >> shift) & ((1 << bits) - 1)) + 1


def log2_range(bucket: int, bits: int) -> tuple[int, int]:
    """``[low, high)`` of a bucket; of bucket 0: ``(-inf, 0)`` given as ``(-1 << 63, 0)``."""
    if bucket == 0:
        return -(1 << 63), 0
    n = bucket - 1
    if n < 1 << bits:
        return n, n + 1
    shift = (n >> bits) - 1
    low = ((1 << bits) | (n & ((1 << bits) - 1))) << shift
    return low, low + (1 << shift)


def log2_buckets(bits: int) -> int:
    """How many buckets there are for 64-bit values."""
    return log2_bucket((1 << 64) - 1, bits) + 1


def linear_bucket(value: int, low: int, high: int, step: int) -> int:
    """0 below ``low``, the last one from ``high`` on, ``1 + (value - low) // step`` between."""
    if value < low:
        return 0
    if value >= high:
        return linear_buckets(low, high, step) - 1
    return 1 + (value - low) // step


def linear_buckets(low: int, high: int, step: int) -> int:
    return 2 + (high - low + step - 1) // step


def linear_range(bucket: int, low: int, high: int, step: int) -> tuple[int, int]:
    """``[low, high)`` of an inner bucket."""
    start = low + (bucket - 1) * step
    return start, start + step


def loglinear_bucket(value: int, factor: int, low: int, high: int, steps: int) -> int:
    """DTrace's llquantize: magnitudes ``factor**low`` to ``factor**(high + 1)``, each in ``steps`` linear parts.

    0 is below the first magnitude; the last bucket is from the end on.
    """
    if value < factor**low:
        return 0
    if value >= factor ** (high + 1):
        return 1 + (high - low + 1) * steps
    magnitude = low
    while value >= factor ** (magnitude + 1):
        magnitude += 1
    width = max(1, int(factor ** (magnitude + 1)) // steps)
    return int(1 + (magnitude - low) * steps + value // width)


def _tseries(agg: Agg) -> Monoid:
    if len(agg.args) != 3:
        raise ValueError("tseries needs (interval_ns, count, inner aggregation)")
    _, most, code = agg.args
    inner = monoid(Agg(_INNER[code], agg.value))  # type: ignore[arg-type]

    def keep(s: dict[int, State]) -> dict[int, State]:
        if not s:
            return s
        newest = max(s)
        return {k: v for k, v in s.items() if k > newest - most}

    def merge(a: dict[int, State], b: dict[int, State]) -> dict[int, State]:
        out = dict(a)
        for k, v in b.items():
            out[k] = inner.merge(out[k], v) if k in out else v
        return keep(out)

    def update(s: dict[int, State], v: int, w: int) -> dict[int, State]:
        """``w`` carries the interval's number, ``v`` the value."""
        return keep({**s, w: inner.update(s.get(w, inner.identity()), v, 1)})

    return Monoid(dict, update, merge, len)


_MAKERS: dict[str, Callable[[Agg], Monoid]] = {
    "count": _count,
    "sum": _sum,
    "min": _extreme(min),
    "max": _extreme(max),
    "avg": _avg,
    "stats": _avg,
    "stddev": _stddev,
    "hist": _histogram(lambda a, v: log2_bucket(v, a.args[0] if a.args else 0)),
    "lhist": _histogram(lambda a, v: linear_bucket(v, a.args[0], a.args[1], a.args[2])),
    "llquantize": _histogram(lambda a, v: loglinear_bucket(v, *a.args)),
    "tseries": _tseries,
    "last": _last,
}
