"""A map's entries as rows of cells: the items of the key, then what the value has.

    @[pid, comm] = count()     pid  comm  count
    @[comm] = stats(v)         comm  count  average  total
    @ = hist(v)                low  high  count            a row for each bucket

Tables, CSV and the formats of single maps (model/mapformat.py) all speak of the same cells; views/rows.py fills them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from probescope.model.abi import item_types
from probescope.model.types import I64, U64, Agg, Record, String, Tuple, Type, item_names

Row = tuple[Any, ...]


class Cell(NamedTuple):
    """A column: its name and the type of what stands in it."""

    name: str
    type: Type


def key_cells(t: Type | None, labels: Sequence[str] = ()) -> list[Cell]:
    """``labels`` that are not empty, each once, name the items; else they are called as ``item_names`` says."""
    names = list(item_names(t))
    if len(labels) == len(names) and not isinstance(t, Record):
        for i, label in enumerate(labels):
            names[i] = label if label and label not in names else names[i]
    return [Cell(n, i) for n, i in zip(names, key_types(t), strict=True)]


def key_types(t: Type | None) -> tuple[Type, ...]:
    if t is None:
        return ()
    return item_types(t) if isinstance(t, Tuple | Record) else (t,)


def key_items(t: Type | None, key: Any) -> Row:
    if t is None:
        return ()
    return tuple(key) if isinstance(t, Tuple | Record) else (key,)


def value_cells(t: Type | Agg) -> list[Cell]:
    """Of a histogram ``low``, ``high`` and ``count``, of stats ``count``, ``average`` and ``total``."""
    match t:
        case Agg(kind="hist" | "lhist" | "llquantize"):
            return [Cell("low", I64), Cell("high", I64), Cell("count", U64)]
        case Agg(kind="stats"):
            return [Cell("count", U64), Cell("average", t.value), Cell("total", t.value)]
        case Agg(kind="tseries"):
            return [Cell("time", String(32)), Cell("value", I64)]
        case Agg():
            return [Cell(t.kind, t.value)]
        case Tuple(items=items):
            return [Cell(f"value{i}", x) for i, x in enumerate(items)]
        case Record(fields=fields):
            return [Cell(n, x) for n, x in fields]
        case _:
            return [Cell("value", t)]
