"""How the state of an aggregation lies in a map value: 64-bit words, all zero before the first observation.

    count                  n
    sum                    total              and, where the map has no key:  1 once it was updated
    min, max               coded value, 1     (see ``code``)
    avg, stats             total, n
    stddev                 total low, high, n, squares low, high
    hist, lhist,
    llquantize             one counter a bucket, numbered as in model/aggregate.py
    tseries                for each of the newest intervals, in slot (number % count):  number + 1, then the inner state

A per-CPU map holds one such row of words for each possible CPU. ``merged`` puts the rows together by the aggregation's
own ``merge``; totals that are plain sums are added word by word first, which is the same and fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probescope.frozen import dataclass
from probescope.model.aggregate import (
    State,
    linear_buckets,
    log2_buckets,
    loglinear_bucket,
    monoid,
)
from probescope.model.types import Agg, AggKind, Int, wrap

MASK = (1 << 64) - 1
TOP = 1 << 63

_INNER: tuple[AggKind, ...] = ("sum", "min", "max", "avg", "count", "last")  # by the code in Agg.args[2]
_INNER_WORDS = (1, 1, 1, 2, 1, 2)
_LAST = 5


@dataclass(frozen=True, slots=True)
class Layout:
    """``words`` of one row. ``flag``: the index of the word that tells an updated row from a fresh one, -1 if the
    state itself tells. ``adds``: rows of several CPUs may be added word by word."""

    words: int
    flag: int
    adds: bool
    read: Callable[[Sequence[int]], State]
    write: Callable[[State], Sequence[int]]


def layout(agg: Agg, *, keyed: bool) -> Layout:
    """The layout of an aggregation in a map with or without keys."""
    match agg.kind:
        case "count":
            return Layout(1, -1, True, lambda w: w[0], lambda s: (s,))
        case "sum":
            wide = Int(8, agg.value.signed)
            return Layout(
                1 if keyed else 2,
                -1 if keyed else 1,
                True,
                lambda w: wrap(w[0], wide),
                lambda s: (s,) if keyed else (s, 1),
            )
        case "min" | "max":
            return Layout(2, 1, False, _read_extreme(agg), _write_extreme(agg))
        case "avg" | "stats":
            wide = Int(8, agg.value.signed)
            return Layout(2, 1, True, lambda w: (wrap(w[0], wide), w[1]), tuple)
        case "last":  # the value, and when it was observed: other CPUs have a last one, too
            wide = Int(8, agg.value.signed)
            return Layout(2, 1, False, lambda w: wrap(w[0], wide), lambda s: (s & MASK, 0))
        case "stddev":
            return Layout(5, 2, False, _read_deviation, _write_deviation)
        case "tseries":
            return _tseries(agg)
        case _:
            n = buckets(agg)
            return Layout(n, -1, True, lambda w: {i: c for i, c in enumerate(w) if c}, lambda s: _spread(s, n))


def buckets(agg: Agg) -> int:
    """How many counters a histogram has."""
    match agg.kind:
        case "hist":
            return log2_buckets(agg.args[0] if agg.args else 0)
        case "lhist":
            return linear_buckets(*agg.args)
        case _:  # the steps need not divide a magnitude evenly: its last value may lie past its last step
            factor, low, high, _ = agg.args
            tops = [factor ** (m + 1) - 1 for m in range(low, high + 1)]
            return 1 + max(loglinear_bucket(v, *agg.args) for v in (*tops, factor ** (high + 1)))


def merged(agg: Agg, shape: Layout, rows: Sequence[Sequence[int]]) -> State:
    """The state of all CPUs together."""
    if shape.adds:
        return shape.read(rows[0] if len(rows) == 1 else [sum(w) & MASK for w in zip(*rows, strict=True)])
    if agg.kind == "tseries" and agg.args[2] == _LAST:
        return shape.read(_latest(agg, rows))
    m = monoid(agg)
    out = m.identity()
    for row in rows:
        out = m.merge(out, shape.read(row))
    return out


def updated(shape: Layout, rows: Sequence[Sequence[int]]) -> bool:
    """Whether any CPU has observed anything."""
    if shape.flag >= 0:
        return any(row[shape.flag] for row in rows)
    return any(any(row) for row in rows)


# --- extremes ---------------------------------------------------------------------------------------------------------


def code(agg: Agg, value: int) -> int:
    """A value as min and max keep it: so that the one that wins is the greater unsigned number, and 0 loses to all."""
    word = (value & MASK) ^ (TOP if agg.value.signed else 0)
    return word if agg.kind == "max" else word ^ MASK


def uncode(agg: Agg, word: int) -> int:
    word = word if agg.kind == "max" else word ^ MASK
    return wrap(word ^ (TOP if agg.value.signed else 0), Int(8, agg.value.signed))


def _read_extreme(agg: Agg) -> Callable[[Sequence[int]], State]:
    return lambda w: uncode(agg, w[0]) if w[1] else None


def _write_extreme(agg: Agg) -> Callable[[State], Sequence[int]]:
    return lambda s: (0, 0) if s is None else (code(agg, s), 1)


# --- the others -------------------------------------------------------------------------------------------------------


def _read_deviation(w: Sequence[int]) -> State:
    total = w[0] | w[1] << 64
    return (total - (1 << 128) if w[1] >> 63 else total, w[2], w[3] | w[4] << 64)


def _write_deviation(s: State) -> Sequence[int]:
    total, count, squares = s
    return (total & MASK, (total >> 64) & MASK, count, squares & MASK, squares >> 64)


def _spread(state: dict[int, int], n: int) -> list[int]:
    out = [0] * n
    for bucket, count in state.items():
        out[bucket] = count
    return out


def inner(agg: Agg) -> Agg:
    """The aggregation inside each interval of a tseries."""
    return Agg(_INNER[agg.args[2]], agg.value)


def slot_words(agg: Agg) -> int:
    """Words of one interval of a tseries."""
    return 1 + _INNER_WORDS[agg.args[2]]


def _tseries(agg: Agg) -> Layout:
    size, count, within = slot_words(agg), agg.args[1], inner(agg)
    shape = layout(within, keyed=True)

    def read(w: Sequence[int]) -> State:
        starts = range(0, size * count, size)
        return {w[i] - 1: shape.read([*w[i + 1 : i + size], 1]) for i in starts if w[i]}

    def write(s: State) -> Sequence[int]:
        out = [0] * (size * count)
        for number, state in s.items():
            at = number % count * size
            out[at] = number + 1
            out[at + 1 : at + size] = shape.write(state)[: size - 1]
        return out

    return Layout(size * count, -1, False, read, write)


def _latest(agg: Agg, rows: Sequence[Sequence[int]]) -> Sequence[int]:
    """One row out of those of all CPUs: in each slot the newest interval, and there what was observed last."""
    size = slot_words(agg)
    out: list[int] = []
    for at in range(0, size * agg.args[1], size):
        _, _, best = max((row[at], row[at + 2], i) for i, row in enumerate(rows))  # interval, time, CPU
        out += rows[best][at : at + size]
    return out
