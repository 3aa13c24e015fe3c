"""Time series as a column of points.

             0                                                  9
hh:mm:ss.ms  |___________________________________________________|
12:00:00.500 |                         *                         | 4
             v___________________________________________________v
             0                                                  9
"""

from __future__ import annotations

import time
from typing import Any

from probescope.model.aggregate import divide
from probescope.model.types import Agg

WIDTH = 53
_UNITS = ((10**9, "", 0), (10**6, ".ms", 3), (10**3, ".us", 6), (1, ".ns", 9))


def points(t: Agg, state: dict[int, Any], latest: int | None = None) -> list[tuple[int, int | None]]:
    """(start of the interval in ns since the epoch, its value or ``None``), from the first interval to the last, or to
    the one with the number ``latest``."""
    if not state:
        return []
    interval = t.args[0]
    first, last = min(state), max(state) if latest is None else latest
    return [(i * interval, None if i not in state else _number(state[i])) for i in range(first, last + 1)]


def moment(ns: int) -> str:
    """``2026-08-08 12:00:00.500000000``, local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ns // 10**9)) + f".{ns % 10**9:09d}"


def _number(state: Any) -> int:
    return divide(*state) if isinstance(state, tuple) else state or 0


def tseries_text(t: Agg, state: dict[int, Any], latest: int | None = None) -> str:
    rows = points(t, state, latest)
    if not rows:
        return "<no data>\n"
    unit, digits = next((u, d) for size, u, d in _UNITS if t.args[0] % size == 0)
    values = [v for _, v in rows if v is not None]
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1 if low or getattr(t.value, "signed", True) else 0, high + 1
    head = f"hh:mm:ss{unit}"
    pad = " " * (8 + (digits + 1 if digits else 0) + 1)
    scale = f"{pad}{low:<21}{high:>{WIDTH - 21}}\n"
    out = [scale, f"{head:<{len(pad)}}|{'_' * (WIDTH - 2)}|\n"]
    out += [f"{_clock(at, digits)} {_line(v, low, high)} {'-' if v is None else v}\n" for at, v in rows]
    return "".join([*out, f"{pad}v{'_' * (WIDTH - 2)}v\n", scale])


def _line(v: int | None, low: int, high: int) -> str:
    cells = [" "] * WIDTH
    cells[0] = cells[-1] = "|"
    if low < 0 < high:
        cells[WIDTH * -low // (high - low)] = "."
    if v is not None:
        cells[(WIDTH - 1) * (v - low) // (high - low)] = "*"
    return "".join(cells)


def _clock(ns: int, digits: int) -> str:
    text = time.strftime("%H:%M:%S", time.localtime(ns // 10**9))
    return f"{text}.{ns % 10**9:09d}"[: 9 + digits] if digits else text
