"""Maps as tables, CSV, TSV, and entry by entry in formats of their own.

lines       @reads[7, cat]: 2              what text.py does
table       pid  comm  count               columns under their names
csv, tsv    map,pid,comm,count             for programs: one header, one row an entry, the map's name in front
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from probescope.model.format import Format
from probescope.model.mapformat import Bound, bind
from probescope.model.maprow import Cell, key_items, key_types, value_cells
from probescope.model.output import MapOut
from probescope.model.text import Ratio, convert
from probescope.model.types import Agg, Int, String, Type
from probescope.views.rows import cell_text, cells, rows, value_rows
from probescope.views.text import body_text, map_text

STYLES = ("lines", "table", "csv", "tsv")


class MapTexts:
    """``style``: of all maps; ``formats``: of some, by name without ``@``. Called with a map, gives its text."""

    def __init__(self, style: str = "lines", formats: Mapping[str, Format] | None = None) -> None:
        texts: dict[str, Callable[[MapOut], str]] = {
            "lines": map_text,
            "table": table_text,
            "csv": Separated(csv_row),
            "tsv": Separated(tsv_row),
        }
        self._text = texts[style]
        self._formats = dict(formats or {})
        self.plain = style not in ("csv", "tsv")

    def __call__(self, o: MapOut) -> str:
        f = o.format or self._formats.get(o.name)
        return self._text(o) if f is None else formatted(o, f)


# --- tables -----------------------------------------------------------------------------------------------------------


def table_text(o: MapOut) -> str:
    """The name, a line of headings, and an empty line at the end; numbers stand to the right."""
    heads = cells(o)
    lines = [[c.name for c in heads], *(_texts(heads, row) for row in rows(o))]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    out = ["  ".join(_padded(c, x, w) for c, x, w in zip(heads, line, widths, strict=True)) for line in lines]
    return "\n".join([f"@{o.name}", *(x.rstrip() for x in out)]) + "\n\n"


def _padded(c: Cell, text: str, width: int) -> str:
    return text.rjust(width) if isinstance(c.type, Int) else text.ljust(width)


# --- separated --------------------------------------------------------------------------------------------------------


class Separated:
    """Rows with a header before the first, and again where a map has other columns than the one before."""

    def __init__(self, row: Callable[[list[str]], str]) -> None:
        self._row = row
        self._header = ""

    def __call__(self, o: MapOut) -> str:
        heads = cells(o)
        header = self._row(["map", *(c.name for c in heads)])
        first = "" if header == self._header else header
        self._header = header
        return first + "".join(self._row([f"@{o.name}", *_texts(heads, row)]) for row in rows(o))


def _texts(heads: list[Cell], row: tuple[Any, ...]) -> list[str]:
    return [cell_text(c.type, v) for c, v in zip(heads, row, strict=True)]


def csv_row(row: list[str]) -> str:
    """RFC 4180, with plain newlines."""
    return ",".join(f'"{x.replace(chr(34), chr(34) * 2)}"' if set(x) & _QUOTED else x for x in row) + "\n"


_QUOTED = frozenset(',"\r\n')


def tsv_row(row: list[str]) -> str:
    r"""Tabs, newlines and backslashes in a cell become ``\t``, ``\n``, ``\\``."""
    return "\t".join(x.translate(_ESCAPED) for x in row) + "\n"


_ESCAPED = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})

# --- formats of single maps -------------------------------------------------------------------------------------------


def formatted(o: MapOut, f: Format) -> str:
    """``f`` suits the map: whoever took it has asked ``bind``."""
    bound = bind(f, o.key_type, o.value_type)
    types = key_types(o.key_type)
    return "".join(_lines(o, bound, types, key_items(o.key_type, k), v) for k, v in o.items)


def _lines(o: MapOut, b: Bound, types: tuple[Type, ...], key: tuple[Any, ...], v: Any) -> str:
    if b.spread:
        heads = (*types, *(c.type for c in value_cells(o.value_type)))
        return "".join(_line(b.format, heads, (*key, *row)) for row in value_rows(o.value_type, v, o.div))
    if not b.value:
        return _line(b.format, types, key)
    t = o.value_type
    whole: Any = Ratio(v[0], v[1] * (o.div or 1)) if isinstance(t, Agg) and t.kind == "avg" else None
    if whole is None and isinstance(t, Agg):
        simple = len(value_cells(t)) == 1
        whole = value_rows(t, v, o.div)[0][0] if simple else body_text(t, v, o.div).removesuffix("\n")
    elif whole is None:
        whole = v // o.div if o.div and isinstance(v, int) else v
    return _line(b.format, (*types, _TEXT if isinstance(t, Agg) else t), (*key, whole))


def _line(f: Format, types: tuple[Type, ...], values: tuple[Any, ...]) -> str:
    out, at = [], 0
    for part in f.parts:
        if isinstance(part, str):
            out.append(part)
        else:
            v = values[at]
            out.append(convert(part, types[at], "" if v is None else v))
            at += 1
    text = "".join(out)
    return text if text.endswith("\n") else text + "\n"


_TEXT = String(0)
