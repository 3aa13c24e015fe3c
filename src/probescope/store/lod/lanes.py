"""Slices of a table as lanes, in a file: sorted by track, depth and time, and levels above them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.frozen import dataclass
from probescope.store.columns import quoted
from probescope.store.lod.families import OPEN_BEGIN, OPEN_END, Lanes
from probescope.store.lod.files import Writer
from probescope.store.lod.levels import EVER, build, declare, level_counts, offsets

if TYPE_CHECKING:
    import duckdb

    Array = np.ndarray[Any, Any]
    Step = Callable[[int, int, str], None]

BATCH = 1 << 20
"""Rows that are held at once."""
BASE = (("start0", "<i8"), ("end0", "<i8"), ("key0", "<u4"), ("kind0", "|u1"), ("id0", "<u4"))


@dataclass(frozen=True, slots=True)
class Range:
    """Tracks from ``low`` to ``high``, both included, from one time up to another."""

    low: int
    high: int
    since: int
    until: int


def write(
    db: duckdb.DuckDBPyConnection,
    source: str,
    lanes: Lanes,
    path: str,
    times: tuple[int, int],
    step: Step,
    lost: Mapping[int, Array] | None = None,
) -> None:
    """``source``: what stands behind FROM; ``times``: of the recording; ``lost``: by track, when events were lost."""
    names = _named(db, source, lanes)
    track, depth, counts = _counted(db, source, lanes)
    levels = level_counts(counts)
    with Writer(path) as out:
        for name, kind in (("track", "<i8"), ("depth", "|u1"), ("count", "<i8")):
            out.column(name, kind, len(counts))
        for name, kind in BASE:
            out.column(name, kind, int(counts.sum()))
        declare(out, levels)
        out.put("track", 0, track)
        out.put("depth", 0, depth)
        out.put("count", 0, counts)
        filled = _Filled(out, track, depth, counts, times, lost or {})
        total, done = int(counts.sum()), 0
        for one in ranges(track, counts, times):
            done += filled.add(_read(db, source, lanes, one))
            step(done, total, lanes.table)
        build(out, levels)
        out.finish({"names": names})


def _named(db: duckdb.DuckDBPyConnection, source: str, lanes: Lanes) -> list[str]:
    """Texts by their numbers, which a temporary table keeps for ``_read``."""
    if not lanes.name:
        return []
    db.execute(
        f"create or replace temp table lod_names as select (row_number() over ())::integer - 1 as i, name from"
        f" (select distinct {quoted(lanes.name)} as name from {source}) order by i"
    )
    return [str(n) if n is not None else "" for (n,) in db.execute("select name from lod_names order by i").fetchall()]


def _counted(db: duckdb.DuckDBPyConnection, source: str, lanes: Lanes) -> tuple[Array, Array, Array]:
    sql = (
        f"select ({lanes.track})::bigint as t, ({lanes.depth})::integer as d, count(*)::bigint as n from {source}"
        f" where {lanes.where} and ({lanes.track}) is not null group by 1, 2 order by 1, 2"
    )
    found = db.execute(sql).fetchnumpy()
    return tuple(np.ma.getdata(found[c]) for c in ("t", "d", "n"))  # type: ignore[return-value]


def ranges(track: Array, counts: Array, times: tuple[int, int]) -> Iterator[Range]:
    """Whole tracks where they are small; large ones in parts of time."""
    tracks, first = np.unique(track, return_index=True)
    rows = np.add.reduceat(counts, first) if len(first) else counts
    low, held = 0, 0
    for i, (number, n) in enumerate(zip(tracks.tolist(), rows.tolist(), strict=True)):
        if n > 2 * BATCH:
            if low < i:
                yield Range(int(tracks[low]), int(tracks[i - 1]), *EVER)
            parts = -(-n // BATCH)
            edges = [times[0] + (times[1] + 1 - times[0]) * i // parts for i in range(parts + 1)]
            edges[0], edges[-1] = EVER
            for since, until in itertools.pairwise(edges):
                yield Range(number, number, since, until)
            low, held = i + 1, 0
            continue
        held += n
        if held >= BATCH:
            yield Range(int(tracks[low]), number, *EVER)
            low, held = i + 1, 0
    if low < len(tracks):
        yield Range(int(tracks[low]), int(tracks[-1]), *EVER)


def _read(db: duckdb.DuckDBPyConnection, source: str, lanes: Lanes, one: Range) -> dict[str, Array]:
    begin, end = ("ts", "ts") if lanes.instant else ("ts", "end_ts")
    when = f"coalesce({begin}, {end})"
    key = "n.i" if lanes.name else f"({lanes.key})"
    join = f" join lod_names n on n.name is not distinct from s.{quoted(lanes.name)}" if lanes.name else ""
    time = (
        "" if one.since == EVER[0] and one.until == EVER[1] else f" and {when} >= {one.since} and {when} < {one.until}"
    )
    sql = (
        f"select ({lanes.track})::bigint as track, ({lanes.depth})::utinyint as depth,"
        f" coalesce({begin}, -1) as start, coalesce({end}, -1) as stop,"
        f" {key}::uinteger as key, ({lanes.kind})::utinyint as kind, ({lanes.id})::uinteger as id"
        f" from {source} s{join}"
        f" where {lanes.where} and ({lanes.track}) between {one.low} and {one.high}{time}"
        f" order by track, depth, {when}, {begin} nulls first"  # what ends then comes before what begins then
    )
    return {n: np.ma.getdata(c) for n, c in db.execute(sql).fetchnumpy().items()}


class _Filled:
    """Rows put where their lanes are."""

    def __init__(
        self,
        out: Writer,
        track: Array,
        depth: Array,
        counts: Array,
        times: tuple[int, int],
        lost: Mapping[int, Array],
    ) -> None:
        self._out, self._times, self._lost = out, times, lost
        self._lane = {pair: i for i, pair in enumerate(zip(track.tolist(), depth.tolist(), strict=True))}
        self._at = offsets(counts)
        self._until = np.full(len(counts), times[0], np.int64)

    def add(self, rows: dict[str, Array]) -> int:
        track, depth = rows["track"], rows["depth"]
        if not len(track):
            return 0
        edges = np.flatnonzero((track[1:] != track[:-1]) | (depth[1:] != depth[:-1])) + 1
        begins = np.concatenate(([0], edges))
        ends = np.concatenate((edges, [len(track)]))
        numbers = [self._lane[t, d] for t, d in zip(track[begins].tolist(), depth[begins].tolist(), strict=True)]
        lanes = np.array(numbers, np.int64)
        cuts = self._cuts(rows, begins, ends)
        columns = closed(rows, begins, self._until[lanes], self._times[1], cuts)
        self._until[lanes] = columns["end0"][ends - 1]
        places = self._at[lanes]
        self._at[lanes] += ends - begins
        # lanes that lie behind each other are written together
        apart = np.flatnonzero(places[1:] != places[:-1] + (ends - begins)[:-1]) + 1
        for a, b in zip([0, *apart.tolist()], [*apart.tolist(), len(lanes)], strict=True):
            for name, values in columns.items():
                self._out.put(name, int(places[a]), values[begins[a] : ends[b - 1]])
        return len(track)

    def _cuts(self, rows: dict[str, Array], begins: Array, ends: Array) -> tuple[Array, Array] | None:
        """The last loss before the end of a slice whose begin is not known, and the first one after the begin of one
        whose end is not."""
        if not self._lost:
            return None
        before, after = np.full(len(rows["start"]), -1, np.int64), np.full(len(rows["start"]), EVER[1], np.int64)
        for a, b in zip(begins.tolist(), ends.tolist(), strict=True):
            lost = self._lost.get(int(rows["track"][a]))
            if lost is not None:
                at = np.concatenate(([-1], lost, [EVER[1]]))
                before[a:b] = at[np.searchsorted(lost, rows["stop"][a:b])]
                after[a:b] = at[np.searchsorted(lost, rows["start"][a:b], "right") + 1]
        return np.where(rows["start"] < 0, before, -1), np.where(rows["stop"] < 0, after, EVER[1])


def closed(
    rows: dict[str, Array], begins: Array, until: Array, last: int, cuts: tuple[Array, Array] | None = None
) -> dict[str, Array]:
    """Slices with both their ends: one that is not known is that of the neighbour, or of the recording, or the loss
    in between, before which the one must have ended, and behind which the other is seen (``cuts``). None begins before
    the one before it has ended: what overlaps is cut."""
    start, end, kind = rows["start"].copy(), rows["stop"].copy(), rows["kind"].copy()
    first = np.zeros(len(start), bool)
    first[begins] = True
    lane_last = np.append(first[1:], True)
    kind[start < 0] |= OPEN_BEGIN
    kind[end < 0] |= OPEN_END
    following = np.append(np.where(start[1:] >= 0, start[1:], end[1:]), last)
    following[lane_last] = last
    if cuts is not None:
        following = np.minimum(following, cuts[1])
    end = np.where(end >= 0, end, np.maximum(following, start))
    start = np.where((rows["start"] >= 0) | first, start, -1)
    end = np.where(lane_last, end, np.minimum(end, np.maximum(following, start)))
    before = np.append(0, end[:-1])
    before[begins] = until
    if cuts is not None:
        before = np.maximum(before, cuts[0])
    start = np.where(start >= 0, np.maximum(start, np.minimum(before, end)), np.minimum(before, end))
    return {"start0": start, "end0": np.maximum(end, start), "key0": rows["key"], "kind0": kind, "id0": rows["id"]}
