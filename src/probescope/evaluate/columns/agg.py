"""Aggregations of groups: for each key the state of ``model.aggregate`` that its rows make, to be merged into a map.

Sums are exact: the halves of 64-bit numbers are added up as floats, of which each sum stays below 2**53, and put
together modulo 2**64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probescope.evaluate.columns import number
from probescope.evaluate.columns.expr import NotColumns
from probescope.evaluate.columns.values import NARROW, Column, Groups, Values, groups, listed, take
from probescope.model.aggregate import linear_buckets, log2_buckets
from probescope.model.types import Agg, Int, wrap

State = Any
States = list[tuple[Any, State]]
"""By key; a key may be there more than once."""
Make = Callable[[Groups, Column, Column, int], list[State]]
"""Groups, rows of one of each, values (of the aggregation's type), weight of each row: states in order of the groups
that have any rows."""

_HALF = np.uint64(0xFFFFFFFF)
MOST_ROWS = 1 << 20
"""Of one call: the sum of so many halves is exact."""
MOST_BUCKETS = 1 << 14


def maker(agg: Agg) -> Make:
    """Raises ``NotColumns`` for aggregations that are kept a value at a time."""
    if agg.kind in ("sum", "avg", "stats"):
        return _sums(agg)
    if agg.kind in ("hist", "lhist"):
        return _histogram(agg)
    found = _MAKERS.get(agg.kind)
    if found is None:
        raise NotColumns(f"{agg.kind}() takes one value after the other")
    return found


def grouped(key: Values | None, values: Column, weight: int, make: Make) -> States:
    """The states by key; ``values``: a column of as many rows."""
    count = len(values)
    if not count:
        return []
    if count > MOST_ROWS:
        raise ValueError("too many rows at once")
    by_key = groups(key, count)
    rows = by_key.firsts()
    keys = [None] * len(rows) if key is None else listed(take(key, rows))
    return list(zip(keys, make(by_key, rows, values, weight), strict=True))


def _present(g: Groups, rows: Column, totals: Column) -> Column:
    """Of one number for each group, those of groups that have rows."""
    return totals[g.code[rows]]


def counts(g: Groups, rows: Column) -> Column:
    return _present(g, rows, np.bincount(g.code, minlength=g.size))


def totals(g: Groups, rows: Column, values: Column) -> Column:
    """Sums modulo 2**64, as u8."""
    wide = values.astype(np.uint64) if values.dtype.kind in "ub" else values.astype(np.int64).view(np.uint64)
    low = np.bincount(g.code, (wide & _HALF).astype(np.float64), g.size).astype(np.uint64)
    high = np.bincount(g.code, (wide >> np.uint64(32)).astype(np.float64), g.size).astype(np.uint64)
    return _present(g, rows, low + (high << np.uint64(32)))


def _count(g: Groups, rows: Column, values: Column, weight: int) -> list[State]:
    return [n * weight for n in counts(g, rows).tolist()]


def _sums(agg: Agg) -> Make:
    wide = Int(8, agg.value.signed)

    def make(g: Groups, rows: Column, values: Column, weight: int) -> list[State]:
        sums = [wrap(n * weight, wide) for n in totals(g, rows, values).tolist()]
        if agg.kind == "sum":
            return sums
        return list(zip(sums, (n * weight for n in counts(g, rows).tolist()), strict=True))

    return make


def _extreme(pick: np.ufunc, worst: Callable[[np.iinfo[Any]], int]) -> Make:
    def make(g: Groups, rows: Column, values: Column, weight: int) -> list[State]:
        out = np.full(g.size, worst(np.iinfo(values.dtype)), values.dtype)
        pick.at(out, g.code, values)
        return _present(g, rows, out).tolist()  # type: ignore[no-any-return]

    return make


# --- histograms


def _histogram(agg: Agg) -> Make:
    bucket, many = _log2(agg) if agg.kind == "hist" else _linear(agg)
    if many > MOST_BUCKETS:
        raise NotColumns(f"a histogram of {many:,} buckets is filled a value at a time")

    def make(g: Groups, rows: Column, values: Column, weight: int) -> list[State]:
        place = np.full(g.size, -1, np.int64)
        place[g.code[rows]] = np.arange(len(rows))
        both = place[g.code] * many + bucket(values)
        found, times = _tallied(both, len(rows) * many)
        out: list[dict[int, int]] = [{} for _ in range(len(rows))]
        for one, n in zip(found.tolist(), times.tolist(), strict=True):
            out[one // many][one % many] = n * weight
        return out

    return make


def _tallied(numbers: Column, size: int) -> tuple[Column, Column]:
    """Those that occur, and how often."""
    if size > max(NARROW, 4 * len(numbers)):
        return np.unique(numbers, return_counts=True)
    times = np.bincount(numbers, minlength=size)
    found = np.flatnonzero(times)
    return found, times[found]


def _log2(agg: Agg) -> tuple[Callable[[Column], Column], int]:
    bits = agg.args[0] if agg.args else 0
    mask = np.uint64((1 << bits) - 1)

    def bucket(v: Column) -> Column:
        u = v.astype(np.int64).view(np.uint64) if v.dtype.kind == "i" else v.astype(np.uint64)
        small = u < np.uint64(1 << bits)
        shift = np.where(small, np.uint64(0), number.bit_length(u) - np.uint64(1 + bits))
        out = ((shift + np.uint64(1)) << np.uint64(bits)) + ((u >> shift) & mask) + np.uint64(1)
        out = np.where(small, u + np.uint64(1), out).astype(np.int64)
        if v.dtype.kind == "i":
            out[v < 0] = 0
        return out

    return bucket, log2_buckets(bits)


def _linear(agg: Agg) -> tuple[Callable[[Column], Column], int]:
    low, high, step = agg.args
    many = linear_buckets(low, high, step)
    if not (-(1 << 62) < low <= high < 1 << 62):
        raise NotColumns("the range of the histogram is filled a value at a time")

    def bucket(v: Column) -> Column:
        kept = v if v.dtype.kind == "i" else np.minimum(v, np.uint64(1 << 62))
        kept = np.clip(kept.astype(np.int64), low - 1, high)
        inner = 1 + (kept - low) // step
        return np.where(kept < low, 0, np.where(kept >= high, many - 1, inner))

    return bucket, many


_MAKERS: dict[str, Make] = {
    "count": _count,
    "min": _extreme(np.minimum, lambda i: int(i.max)),
    "max": _extreme(np.maximum, lambda i: int(i.min)),
}
