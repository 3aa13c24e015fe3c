"""Instants of which the density is drawn: of each track its times, sorted. How many lie between two times is the
difference of two places, whatever the scale.

With running totals of the times, two such files tell how much of the CPUs a process had: the time that it had until t
is, of the slices that began by then, the sum of t - start, less, of those that had ended, the sum of t - end. The
totals may run over 64 bits: what they are used for is a small difference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.store.lod.families import Points
from probescope.store.lod.files import Reader, Writer
from probescope.store.lod.levels import EVER, offsets

if TYPE_CHECKING:
    import duckdb

    Array = np.ndarray[Any, Any]
    Step = Callable[[int, int, str], None]

BATCH = 1 << 20


def write(
    db: duckdb.DuckDBPyConnection, source: str, points: Points, path: str, times: tuple[int, int], step: Step
) -> None:
    asked = f"select ({points.track})::bigint as t, {points.ts} as ts from {source} where {points.where}"
    asked = asked.replace("$first", str(times[0])).replace("$last", str(times[1]))
    asked = f"from ({asked}) where t is not null and ts is not null"
    found = db.execute(f"select t, count(*)::bigint as n {asked} group by 1 order by 1").fetchnumpy()
    track, counts = np.ma.getdata(found["t"]), np.ma.getdata(found["n"])
    total, done = int(counts.sum()), 0
    at = offsets(counts)
    sums = np.zeros(len(counts), np.int64) if points.sums else None
    with Writer(path) as out:
        out.column("track", "<i8", len(track))
        out.column("count", "<i8", len(track))
        out.column("ts", "<i8", total)
        if points.sums:
            out.column("sum", "<i8", total)
        out.put("track", 0, track)
        out.put("count", 0, counts)
        parts = max(1, -(-total // BATCH))
        edges = [times[0] + (times[1] + 1 - times[0]) * i // parts for i in range(parts + 1)]
        edges[0], edges[-1] = EVER  # clocks may be wrong: nothing is left out
        for since, until in itertools.pairwise(edges):
            rows = db.execute(f"select t, ts {asked} and ts >= {since} and ts < {until}").fetchnumpy()
            done += _put(out, track, at, sums, np.ma.getdata(rows["t"]), np.ma.getdata(rows["ts"]))
            step(done, total, points.table)
        out.finish({})


def _put(out: Writer, track: Array, at: Array, sums: Array | None, which: Array, ts: Array) -> int:
    place = np.searchsorted(track, which).astype(np.uint16 if len(track) < 1 << 16 else np.uint32)
    if len(ts) and (ts[1:] < ts[:-1]).any():
        order = ts.argsort(kind="stable")
        place, ts = place[order], ts[order]
    order = place.argsort(kind="stable")
    place, ts = place[order], ts[order]
    edges = [0, *(np.flatnonzero(place[1:] != place[:-1]) + 1).tolist(), len(place)]
    for a, b in itertools.pairwise(edges):
        if b > a:
            number = int(place[a])
            out.put("ts", int(at[number]), ts[a:b])
            if sums is not None:
                running = np.cumsum(ts[a:b]) + sums[number]
                sums[number] = running[-1]
                out.put("sum", int(at[number]), running)
            at[number] += b - a
    return len(ts)


class PointFile:
    """Times by track, mapped."""

    def __init__(self, path: str) -> None:
        columns = Reader(path).columns
        self._track, self._count, self._ts = columns["track"], columns["count"], columns["ts"]
        self._sum = columns.get("sum", self._ts[:0])
        self._offset = offsets(self._count)

    @property
    def tracks(self) -> Array:
        return self._track

    def _rows(self, track: int) -> slice:
        place = int(np.searchsorted(self._track, track))
        if place == len(self._track) or int(self._track[place]) != track:
            return slice(0, 0)
        begin = int(self._offset[place])
        return slice(begin, begin + int(self._count[place]))

    def times(self, track: int) -> Array:
        return self._ts[self._rows(track)]

    def density(self, track: int, edges: Array) -> Array:
        """How many there are between each edge and the next."""
        places = np.searchsorted(self.times(track), edges, "left")
        return np.diff(places)

    def elapsed(self, track: int, edges: Array) -> Array:
        """Of all times up to each edge, the sum of how long ago they are; it may have run over 64 bits."""
        rows = self._rows(track)
        places = np.searchsorted(self._ts[rows], edges, "right")
        before = np.where(places > 0, self._sum[rows][np.maximum(places, 1) - 1], 0) if rows.stop > rows.start else 0
        found: Array = places * edges - before
        return found
