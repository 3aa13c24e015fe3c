"""Maps as rows: what fills the cells of ``model/maprow.py``, and cells as text."""

from __future__ import annotations

from typing import Any

from probescope.model.aggregate import divide, monoid
from probescope.model.maprow import Cell, Row, key_cells, key_items, value_cells
from probescope.model.output import Frame, MapOut, StackOut
from probescope.model.text import Ratio, value_text
from probescope.model.types import Agg, Record, Tuple, Type
from probescope.views.histogram import buckets


def cells(o: MapOut) -> list[Cell]:
    """Each name once: a key may have an item that is called as its value is."""
    out: list[Cell] = []
    for c in (*key_cells(o.key_type, o.labels), *value_cells(o.value_type)):
        taken = {x.name for x in out}
        name = c.name if c.name not in taken else next(n for i in range(2, 99) if (n := f"{c.name}_{i}") not in taken)
        out.append(Cell(name, c.type))
    return out


def rows(o: MapOut) -> list[Row]:
    return [(*key_items(o.key_type, k), *row) for k, v in o.items for row in value_rows(o.value_type, v, o.div)]


def value_rows(t: Type | Agg, v: Any, div: int = 0) -> list[Row]:
    """One row; of a histogram or a time series, one for each bucket. ``None``: an open end, no value."""
    d = div or 1
    match t:
        case Agg(kind="hist" | "lhist" | "llquantize"):
            return [(b.low, b.high, b.count // d) for b in buckets(t, v)]
        case Agg(kind="tseries"):
            from probescope.views.tseries import moment, points

            return [(moment(at), n) for at, n in points(t, v)]
        case Agg(kind="stats"):
            return [(v[1], Ratio(v[0], v[1]), v[0])]
        case Agg(kind="avg"):
            return [(Ratio(v[0], v[1] * d),)]
        case Agg():
            return [(divide(monoid(t).number(v), d),)]
        case Tuple() | Record():
            return [tuple(v)]
        case _:
            return [(v // d if d > 1 and isinstance(v, int) else v,)]


def cell_text(t: Type, v: Any) -> str:
    """On one line: a stack's frames have semicolons between, the outermost first."""
    if v is None:
        return ""
    return ";".join(frame_name(f) for f in reversed(v.frames)) if isinstance(v, StackOut) else value_text(t, v)


def frame_name(f: Frame) -> str:
    """The function; where none is known, the file, in brackets."""
    name = f.symbol or f"[{f.module.rpartition('/')[2] or 'unknown'}]"
    return name.replace(";", ":").replace("\n", " ")
