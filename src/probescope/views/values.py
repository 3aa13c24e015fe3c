"""Maps as Python values and as numpy columns, for callers of the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probescope.model.abi import item_types
from probescope.model.aggregate import divide, monoid
from probescope.model.output import MapOut
from probescope.model.types import Agg, Record, Tuple, Type, item_names
from probescope.views.histogram import buckets

if TYPE_CHECKING:
    import numpy as np

Row = tuple[Any, ...]

_HISTOGRAMS = ("hist", "lhist", "llquantize")
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # stand for the open ends of histograms in columns


def plain_map(out: MapOut) -> Any:
    """A dict, or the one value of a map without keys, ``None`` if it is not set."""
    if out.key_type is None:
        return plain_value(out.value_type, out.items[0][1]) if out.items else None
    return {k: plain_value(out.value_type, v) for k, v in out.items}


def plain_value(t: Type | Agg, v: Any) -> Any:
    """An aggregation's state as a number, dict of stats, or dict of buckets; other values as they are."""
    if not isinstance(t, Agg):
        return v
    if t.kind in _HISTOGRAMS:
        return {(b.low, b.high): b.count for b in buckets(t, v)}
    if t.kind == "stats":
        return {"count": v[1], "average": divide(*v), "total": v[0]}
    return v if t.kind == "tseries" else monoid(t).number(v)


def columns_of(out: MapOut) -> dict[str, np.ndarray[Any, Any]]:
    """The columns of ``LiveSession.columns``."""
    names, rows_of = _value_rows(out.value_type)
    rows = [(*_key_items(out.key_type, k), *row) for k, v in out.items for row in rows_of(v)]
    return {name: _column([r[i] for r in rows]) for i, name in enumerate((*item_names(out.key_type), *names))}


def _key_items(t: Type | None, key: Any) -> Row:
    if t is None:
        return ()
    return tuple(key) if isinstance(t, Tuple | Record) and len(item_types(t)) == len(key) else (key,)


def _value_rows(t: Type | Agg) -> tuple[tuple[str, ...], Callable[[Any], Sequence[Row]]]:
    """Names of the columns that a value becomes, and the rows: one, or one for each bucket of a histogram."""
    if isinstance(t, Agg) and t.kind in _HISTOGRAMS:

        def rows(v: Any) -> list[Row]:
            return [
                (_LEAST if b.low is None else b.low, _MOST if b.high is None else b.high, b.count)
                for b in buckets(t, v)
            ]

        return ("low", "high", "count"), rows
    if isinstance(t, Agg) and t.kind == "stats":
        return ("count", "average", "total"), lambda v: [(v[1], divide(*v), v[0])]
    return ("value",), lambda v: [(plain_value(t, v),)]


def _column(values: list[Any]) -> np.ndarray[Any, Any]:
    """Numbers as integers of 64 bits, texts as texts, truths as bool, all else as objects."""
    import numpy as np

    kinds = set(map(type, values))
    if kinds <= {int}:
        return np.array(values, np.uint64 if max(values, default=0) > _MOST else np.int64)
    if kinds in ({bool}, {str}):
        return np.array(values)
    boxed = np.empty(len(values), object)
    for i, v in enumerate(values):
        boxed[i] = v
    return boxed
