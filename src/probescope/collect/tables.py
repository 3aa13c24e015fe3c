"""A map's content as an output: finished, and in the order in which it is printed."""

from __future__ import annotations

from typing import Any

from probescope.collect.finish import Finisher
from probescope.ir.program import MapDecl
from probescope.model.aggregate import divide, monoid
from probescope.model.format import Format
from probescope.model.output import MapOut, StackOut
from probescope.model.types import Agg, Int, is_scalar


def map_out(
    decl: MapDecl,
    pairs: list[tuple[Any, Any]],
    finisher: Finisher,
    *,
    top: int = 0,
    div: int = 0,
    final: bool = False,
    form: Format | None = None,
) -> MapOut:
    """Sorted by value, the smallest first, and among equals by key; ``top`` keeps the greatest. Keys that became
    equal by their names (two ids of one stack) are put together."""
    rows = _sorted(decl, _together(decl, _finished(decl, pairs, finisher)))
    if top and decl.key is not None:
        rows = rows[-top:]
    return MapOut(decl.name, decl.key, decl.value, tuple(rows), top, div, final, form, decl.labels)


def _finished(decl: MapDecl, pairs: list[tuple[Any, Any]], finisher: Finisher) -> list[tuple[Any, Any]]:
    value = finisher.finish_value
    if decl.key is None:
        return [(None, value(decl.value, v)) for _, v in pairs]
    return [(finisher.finish(decl.key, k), value(decl.value, v)) for k, v in pairs]


def _together(decl: MapDecl, rows: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    if not isinstance(decl.value, Agg):
        return rows
    merge = monoid(decl.value).merge
    out: dict[Any, Any] = {}
    for k, v in rows:
        out[k] = merge(out[k], v) if k in out else v
    return list(out.items())


def _sorted(decl: MapDecl, rows: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    rows = sorted(rows, key=lambda r: sort_key(r[0]))
    weigh = _weight(decl)
    return rows if weigh is None else sorted(rows, key=lambda r: weigh(r[1]))


def sort_key(key: Any) -> Any:
    """Comparable for keys of one type: numbers by value, texts as texts, tuples item by item."""
    match key:
        case bool() | int():
            return (0, key, "")
        case bytes():
            return (1, 0, key.decode("latin-1"))
        case tuple():
            return tuple(sort_key(k) for k in key)
        case StackOut():
            return (1, 0, "\n".join(f.symbol or f"{f.address:x}" for f in key.frames))
        case _:
            return (1, 0, str(key))


def _weight(decl: MapDecl) -> Any:
    t = decl.value
    if isinstance(t, Agg):
        if t.kind in ("avg", "stats"):
            return lambda s: divide(s[0], s[1])
        return monoid(t).number
    if is_scalar(t) and isinstance(t, Int):
        return int
    return None
