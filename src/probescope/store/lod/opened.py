"""The levels of one recording: files that are made when they are asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.store.lod import counters, lanes, points
from probescope.store.lod.counters import CounterFile
from probescope.store.lod.cutting import LaneFile
from probescope.store.lod.families import LANES, POINTS
from probescope.store.lod.keeping import kept, place
from probescope.store.lod.points import PointFile
from probescope.store.schema import LOST

if TYPE_CHECKING:
    import duckdb

    from probescope.store.parts import Part

    Step = Callable[[int, int, str], None]


class Levels:
    """``home``, ``key``: where files are, and what they are called by. ``part``: the recording as number ``number`` of
    what the connections of ``cursor`` have attached. ``times``: its own, without what is added to them."""

    def __init__(
        self,
        home: str,
        key: str,
        part: Part,
        number: int,
        times: tuple[int, int],
        cursor: Callable[[], duckdb.DuckDBPyConnection],
    ) -> None:
        self._home, self._key, self._part, self._number = home, key, part, number
        self._times, self._cursor = times, cursor
        self._open: dict[str, Any] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def lanes(self, family: str, step: Step = lambda *_: None) -> LaneFile:
        found: LaneFile = self._opened(family, LaneFile, step)
        return found

    def points(self, family: str, step: Step = lambda *_: None) -> PointFile:
        found: PointFile = self._opened(family, PointFile, step)
        return found

    def counters(self, step: Step = lambda *_: None) -> CounterFile:
        found: CounterFile = self._opened("counter", CounterFile, step)
        return found

    def there(self, family: str) -> bool:
        """Whether it need not be made any more."""
        return family in self._open or os.path.exists(place(self._home, self._key, family))

    def make(self, family: str, step: Step = lambda *_: None) -> None:
        if family in LANES:
            self.lanes(family, step)
        elif family in POINTS:
            self.points(family, step)
        else:
            self.counters(step)

    def _opened(self, family: str, reader: Callable[[str], Any], step: Step) -> Any:
        found = self._open.get(family)
        if found is not None:
            return found
        with self._guard:
            lock = self._locks.setdefault(family, threading.Lock())
        with lock:
            if family not in self._open:
                path = place(self._home, self._key, family)
                lock_file = os.path.join(self._home, self._key + ".lock")
                self._open[family] = reader(kept(path, lock_file, lambda part: self._write(family, part, step)))
        return self._open[family]

    def _lost(self, db: duckdb.DuckDBPyConnection) -> dict[int, Any]:
        """By CPU, when events were lost, in order."""
        if LOST.since > self._part.version:
            return {}
        source = self._part.source(self._number, LOST.name)
        rows = db.execute(f"select cpu, list(ts order by ts) from {source} where cpu >= 0 and ts >= 0 group by cpu")
        return {int(cpu): np.array(ts, np.int64) for cpu, ts in rows.fetchall()}

    def _write(self, family: str, path: str, step: Step) -> None:
        db = self._cursor()
        try:
            if family in LANES:
                source = self._part.source(self._number, LANES[family].table)
                lost = self._lost(db) if family == "cpu" else {}
                lanes.write(db, source, LANES[family], path, self._times, step, lost)
            elif family in POINTS:
                one = POINTS[family]
                source = self._part.source(self._number, one.table) + " s"
                if one.with_threads:
                    source += f" join {self._part.source(self._number, 'thread')} t using (utid)"
                points.write(db, source, one, path, self._times, step)
            else:
                counters.write(db, self._part.source(self._number, "counter"), path, self._times, step)
        finally:
            db.close()
