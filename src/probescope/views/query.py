"""What queries find, as text: a table for people, CSV, JSON, JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

from probescope.model.visible import visible, visible_json

FORMATS = ("table", "csv", "json", "jsonl", "parquet")
WIDEST = 60
"""Characters of a cell of a table; what is longer is cut, with a mark."""
LOOKED_AT = 1000
"""Rows that the widths of columns are taken from."""
NULL = "NULL"

Row = tuple[Any, ...]
Show = Callable[[str], str]


def write(
    kind: str, out: TextIO, names: Sequence[str], types: Sequence[str], rows: Iterable[Row], *, wide: bool = False
) -> int:
    """The number of rows. ``wide``: cells of tables are not cut."""
    writers: dict[str, Callable[[], int]] = {
        "table": lambda: _table(out, names, types, iter(rows), WIDEST if not wide else 1 << 30),
        "csv": lambda: _csv(out, names, rows),
        "json": lambda: _json(out, names, rows),
        "jsonl": lambda: _jsonl(out, names, rows),
    }
    return writers[kind]()


def _table(out: TextIO, names: Sequence[str], types: Sequence[str], rows: Iterator[Row], widest: int) -> int:
    head = [_cell(n, widest) for n in names]
    first = [[_cell(_shown(v), widest) for v in row] for _, row in zip(range(LOOKED_AT), rows, strict=False)]
    widths = [max([len(h), *(len(r[i]) for r in first)]) for i, h in enumerate(head)]
    right = [_is_number(t) for t in types]

    def line(cells: Sequence[str]) -> str:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
        return "  ".join(padded).rstrip() + "\n"

    out.write(line(head))
    out.write(line(["-" * w for w in widths]))
    out.writelines(line(cells) for cells in first)
    count = len(first)
    for row in rows:
        out.write(line([_cell(_shown(v), widest) for v in row]))
        count += 1
    return count


def _is_number(kind: str) -> bool:
    return kind.upper().rstrip("0123456789(),. ") in {"BIGINT", "INTEGER", "DOUBLE", "FLOAT", "DECIMAL", "NUMBER"} or (
        kind.upper().endswith(("INT", "INTEGER"))
    )


def _cell(text: str, widest: int) -> str:
    shown = visible(text)
    if not shown.isprintable():
        shown = shown.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return shown if len(shown) <= widest else shown[: widest - 3] + "..."


def _shown(value: Any) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_shown(v) for v in value) + "]"
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value)


def _float(value: float) -> str:
    """Six digits behind the point at most: what is in milliseconds is exact to the nanosecond."""
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e15):
        return repr(value)
    text = f"{value:.6f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def _csv(out: TextIO, names: Sequence[str], rows: Iterable[Row]) -> int:
    """RFC 4180, lines ended by CR LF. NULL is an empty cell."""
    import csv

    writer = csv.writer(out)
    writer.writerow([_cell(n, 1 << 30) for n in names])
    count = 0
    for row in rows:
        writer.writerow(["" if v is None else _cell(_shown(v), 1 << 30) for v in row])
        count += 1
    return count


def _json(out: TextIO, names: Sequence[str], rows: Iterable[Row]) -> int:
    """An array of objects, one a line."""
    count = 0
    out.write("[")
    for row in rows:
        out.write((",\n " if count else "\n ") + _object(names, row))
        count += 1
    out.write("\n]\n" if count else "]\n")
    return count


def _jsonl(out: TextIO, names: Sequence[str], rows: Iterable[Row]) -> int:
    count = 0
    for row in rows:
        out.write(_object(names, row) + "\n")
        count += 1
    return count


def _object(names: Sequence[str], row: Row) -> str:
    text = json.dumps({n: _plain(v) for n, v in zip(names, row, strict=True)}, ensure_ascii=False, allow_nan=False)
    return visible_json(text)


def _plain(value: Any) -> Any:
    """As JSON has it: what it has not is text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)
