"""Counters: values that hold until the next one, and levels above them: least, greatest, and mean by time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.store.lod.files import Reader, Writer
from probescope.store.lod.levels import FAN, level_counts, offsets

if TYPE_CHECKING:
    import duckdb

    Array = np.ndarray[Any, Any]
    Step = Callable[[int, int, str], None]

MOST = 1 << 22
"""Values of one counter that are held at once."""


def write(db: duckdb.DuckDBPyConnection, source: str, path: str, times: tuple[int, int], step: Step) -> None:
    found = db.execute(
        f"select track::bigint as t, count(*)::bigint as n from {source} where ts is not null group by 1 order by 1"
    ).fetchnumpy()
    track, counts = np.ma.getdata(found["t"]), np.ma.getdata(found["n"])
    levels = level_counts(counts)
    starts = [offsets(c) for c in levels]
    with Writer(path) as out:
        out.column("track", "<i8", len(track))
        out.column("count", "<i8", len(track))
        out.put("track", 0, track)
        out.put("count", 0, counts)
        for k, level in enumerate(levels):
            for name, kind in (("ts", "<i8"), ("low", "<f8"), ("high", "<f8"), ("mean", "<f8")):
                out.column(f"{name}{k}", kind, int(level.sum()))
        for i, number in enumerate(track.tolist()):
            rows = db.execute(f"select ts, value from {source} where track = {number} and ts is not null order by ts")
            columns = rows.fetchnumpy()
            ts, value = np.ma.getdata(columns["ts"]), np.ma.filled(columns["value"], np.nan)
            _levels(out, i, [int(s[i]) for s in starts], [int(c[i]) for c in levels], ts, value, times[1])
            step(i, len(track), "counters")
        out.finish({})


def _levels(out: Writer, i: int, at: list[int], counts: list[int], ts: Array, value: Array, last: int) -> None:
    held = np.diff(np.append(ts, max(last, int(ts[-1])))).astype(np.float64)
    low = high = mean = value
    for k, count in enumerate(counts):
        if not count:
            return
        if k:
            first = np.arange(0, len(ts), FAN)
            weight = np.maximum(np.add.reduceat(held, first), 1e-9)
            plain = np.add.reduceat(mean, first) / np.diff(np.append(first, len(ts)))
            mean = np.where(weight > 1e-6, np.add.reduceat(mean * held, first) / weight, plain)
            low, high = np.fmin.reduceat(low, first), np.fmax.reduceat(high, first)
            ts, held = ts[first], weight
        for name, values in (("ts", ts), ("low", low), ("high", high), ("mean", mean)):
            out.put(f"{name}{k}", at[k], values)


class CounterFile:
    """Values by track, mapped."""

    def __init__(self, path: str) -> None:
        self._columns = Reader(path).columns
        self._track = self._columns["track"]
        self._levels = level_counts(self._columns["count"])
        self._offsets = [offsets(c) for c in self._levels]

    def cut(self, track: int, start: int, end: int, width: int) -> tuple[Array, Array, Array, Array]:
        """Times, and from each on the least, the greatest and the mean value."""
        i = int(np.searchsorted(self._track, track))
        if i == len(self._track) or int(self._track[i]) != track:
            return tuple(np.empty(0, "<i8") for _ in range(4))  # type: ignore[return-value]
        at, k = self._level(i, start, end, width)
        columns = [self._columns[f"{n}{k}"][at] for n in ("ts", "low", "high", "mean")]
        pixel = max((end - start) / max(width, 1), 1e-9)
        pixels = np.maximum((columns[0] - start) / pixel, -1).astype(np.int64)
        first = np.flatnonzero(np.append(True, pixels[1:] != pixels[:-1])) if len(pixels) else pixels
        if len(first) == len(pixels):
            return columns[0], columns[1], columns[2], columns[3]
        size = np.diff(np.append(first, len(pixels)))
        low, high = np.fmin.reduceat(columns[1], first), np.fmax.reduceat(columns[2], first)
        return columns[0][first], low, high, np.add.reduceat(columns[3], first) / size

    def _level(self, i: int, start: int, end: int, width: int) -> tuple[slice, int]:
        """The rows of the finest level that has not too many in view."""
        at, k = slice(0, 0), 0
        for k, (counts, starts) in enumerate(zip(self._levels, self._offsets, strict=True)):
            base, count = int(starts[i]), int(counts[i])
            ts = self._columns[f"ts{k}"][base : base + count]
            low = max(int(np.searchsorted(ts, start, "right")) - 1, 0)
            high = int(np.searchsorted(ts, end, "left"))
            at = slice(base + low, base + max(low, high))
            last = k + 1 == len(self._levels) or not self._levels[k + 1][i]
            if high - low <= 8 * width or last:
                break
        return at, k
