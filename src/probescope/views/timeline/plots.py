"""Tracks of one's own: what a query finds, as a curve or as slices.

A query that gives ``ts`` and ``value`` is a counter; one that gives ``ts``, ``dur`` and ``name`` is slices, which are
laid above each other where they overlap. Times are those of the recordings, as in every table. They are written as
levels of detail, as all tracks are, into a folder that goes with the server.
"""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import LimitError, UsageError
from probescope.frozen import dataclass
from probescope.store.lod import counters, lanes
from probescope.store.lod.counters import CounterFile
from probescope.store.lod.cutting import LaneFile
from probescope.store.lod.families import Lanes
from probescope.views.timeline.answers.asking import timed

if TYPE_CHECKING:
    from probescope.views.timeline.opened import Opened, Ticket

    Array = np.ndarray[Any, Any]

MOST_ROWS = 2_000_000
MOST_PLOTS = 50
MOST_DEPTH = 50
MOST_TITLE = 200
HINTS = [
    'select ts, next_prio as value from "sched:sched_switch" is a curve',
    "select ts, dur, name from syscall where dur > 1000000 is slices",
]
_SHOWN = Lanes("plot", "0", name="name", depth="depth", id="0")


@dataclass(frozen=True, slots=True)
class Plot:
    """``of``: what stands behind ``plot:0:``. ``file``: its levels. ``lanes``: how many slices lie above each other."""

    of: str
    title: str
    file: CounterFile | LaneFile
    rows: int
    lanes: int = 1


def plot(opened: Opened, title: str, sql: str, ticket: Ticket) -> Plot:
    """Raises ScriptError, UsageError, LimitError."""
    title = " ".join(title.split())[:MOST_TITLE] or "plot"
    of = hashlib.sha256(title.encode("utf-8", "replace")).hexdigest()[:12]
    if of not in opened.plots and len(opened.plots) >= MOST_PLOTS:
        raise LimitError(f"there are {MOST_PLOTS} plots already")
    columns = _columns(opened, sql, ticket)
    path = os.path.join(opened.own_folder(), f"plot-{of}-{len(opened.caches)}-{os.urandom(4).hex()}")
    times = (opened.origin, opened.origin + opened.length)
    made = _curve(columns, path, times) if "value" in columns else _slices(columns, path, times)
    found = Plot(of, title, made[0], len(columns["ts"]), made[1])
    opened.plots[of] = found
    return found


def _columns(opened: Opened, sql: str, ticket: Ticket) -> dict[str, Array]:
    """Rows with a time, in order of time."""
    plain = sql.strip().rstrip(";")
    with timed(ticket):
        names = set(opened.asked.query(plain, (), ticket.cursor(), reading=True).columns)
        if "ts" not in names or not ("value" in names or {"dur", "name"} <= names):
            raise UsageError("a plot is of ts and value, or of ts, dur and name", hints=HINTS)
        wanted = "value::double as value" if "value" in names else "dur::bigint as dur, name::varchar as name"
        bounded = f"select ts::bigint as ts, {wanted} from ({plain}\n) where ts is not null limit {MOST_ROWS + 1}"
        rows = opened.asked.query(f"select * from ({bounded}) order by ts", (), ticket.cursor()).numpy()
    if len(rows["ts"]) > MOST_ROWS:
        raise LimitError(f"a plot has {MOST_ROWS:,} rows at most", hints=["where ts between ... or a coarser group by"])
    if not len(rows["ts"]):
        raise UsageError("the query finds nothing to be plotted")
    return rows


def _curve(columns: Mapping[str, Array], path: str, times: tuple[int, int]) -> tuple[CounterFile, int]:
    known = ~np.ma.getmaskarray(columns["value"])
    given = {"ts": np.ma.getdata(columns["ts"])[known], "value": np.ma.getdata(columns["value"])[known]}
    given["track"] = np.zeros(len(given["ts"]), np.int32)
    _written(given, lambda db: counters.write(db, "given", path, times, lambda *_: None))
    return CounterFile(path), 1


def _slices(columns: Mapping[str, Array], path: str, times: tuple[int, int]) -> tuple[LaneFile, int]:
    ts = np.ma.getdata(columns["ts"])
    dur = np.ma.filled(columns["dur"], 0)
    end = ts + np.maximum(dur, 0)
    depth = above_each_other(ts, end)
    names = [str(n) if n is not None else "" for n in np.ma.getdata(columns["name"]).tolist()]
    texts, number = np.unique(np.array(names, object), return_inverse=True)
    given = {"ts": ts, "end_ts": end, "depth": depth, "number": number.astype(np.int64)}

    def write(db: Any) -> None:
        db.execute("create table texts (number bigint, name varchar)")
        db.executemany("insert into texts values (?, ?)", list(enumerate(texts.tolist())))
        lanes.write(db, "(given join texts using (number))", _SHOWN, path, times, lambda *_: None)

    _written(given, write)
    return LaneFile(path), int(depth.max()) + 1


def _written(given: dict[str, Array], write: Any) -> None:
    from probescope.store.duck import connect, told

    with told():
        db = connect(memory="300MB")
        try:
            db.register("rows_of_plot", given)
            db.execute("create table given as select * from rows_of_plot")
            write(db)
        finally:
            db.close()


def above_each_other(start: Array, end: Array) -> Array:
    """The lane of each slice, the lowest that is free; slices are in order of their begins."""
    out = np.zeros(len(start), np.int64)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    count = 0
    for i, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= a:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, count = min(count, MOST_DEPTH), count + 1
        out[i] = lane
        heapq.heappush(busy, (b, lane))
    return out
