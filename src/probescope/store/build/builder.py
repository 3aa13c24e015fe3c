"""One walk through a recording, and everything that becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.model.recording import LostEvents, SideRecord
from probescope.store.build import graph, marks, sched
from probescope.store.build.calls import Calls
from probescope.store.build.changes import TELLING
from probescope.store.build.ending import write_ending
from probescope.store.build.flags import Flags
from probescope.store.build.interning import CleanTexts, Pool, clean
from probescope.store.build.interrupts import Interrupts
from probescope.store.build.kinds import KindBatch, Shape, table_names
from probescope.store.build.losses import Losses
from probescope.store.build.people import People
from probescope.store.build.reading import PerfSource, Piece, Share, Source
from probescope.store.build.sink import Sink, none
from probescope.store.build.stacks import Sites
from probescope.store.schema import EVENT_TABLE, LOST, SAMPLE

if TYPE_CHECKING:
    import duckdb

    from probescope.model.recording import EventBatch

    Array = np.ndarray[Any, Any]

MODES = (None, "kernel", "user", "hypervisor", "guest kernel", "guest user", None, None)
"""include/uapi/linux/perf_event.h, PERF_RECORD_MISC_CPUMODE_MASK."""
MOST_TIME = (1 << 63) - 1


class Builder:
    """``events``: how many there are so far; ``first``, ``last``: their times."""

    def __init__(self, source: Source, db: duckdb.DuckDBPyConnection, step: Callable[[int, int, str], None]) -> None:
        self.source = source
        self.kinds = source.recording.events
        self.sink = Sink(db)
        self.pool = Pool()
        self.people = People(self.pool)
        self.sites = Sites(source.frames, source.frame)
        self.losses = Losses()
        self.events, self.first, self.last = 0, -1, -1
        self.counts = np.zeros(len(self.kinds), np.int64)
        names = table_names(clean(e.name) for e in self.kinds)
        self.shapes = {i: Shape(e, names[i]) for i, e in enumerate(self.kinds) if e.fields}
        sampled = isinstance(source, PerfSource)
        self._plain = np.array([sampled and not e.fields for e in self.kinds] or [True])
        self.forks = source.sideband
        self._texts = CleanTexts()
        self._share = Share(source, step)
        self._flags = Flags(self.kinds, source.flagged)
        self._machine = source.recording.machine
        self._sched = sched.Sched(self.sink, self.people)
        self._calls = Calls(self.sink, self._machine.arch or "x86_64")
        self._interrupts = Interrupts(self.sink)
        self._graph = graph.Calls(self.sink, source.function)
        self.marks = marks.Marks(self.sink)
        self.woken = self.switched = False
        self._takers = {i: t for i, e in enumerate(self.kinds) if (t := self._taker(e.name)) is not None}
        for table in (EVENT_TABLE, SAMPLE, LOST):
            self.sink.make(table)

    def build(self) -> None:
        """Raises FormatError where nothing can be made of the file."""
        for piece in self.source.pieces():
            self._add(piece)
            self._share.done(piece.batch)
        for one in (self._sched, self._calls, self._interrupts, self._graph, self.marks):
            one.finish()
        write_ending(self)
        self.sink.close()

    @property
    def missing_switches(self) -> int:
        return self._sched.missing

    def _taker(self, name: str) -> Callable[[KindBatch, Array, Array], None] | None:
        if name == sched.SWITCH:
            return self._switches
        if name in sched.WAKES:
            return self._wakes
        if name == marks.PRINT:
            return self.marks.add
        for one in (self._calls, self._interrupts, self._graph):
            if one.concerns(name):
                return lambda k, utid, _, one=one: one.add(k, utid)  # type: ignore[misc]
        return None

    # --- a batch

    def _add(self, piece: Piece) -> None:
        batch = self._numbered(piece.batch)
        ranges = dict(self._by_kind(batch))
        self.people.begin(batch, batch.tid, self._changes(batch, ranges))
        self._lost(batch)
        if not batch.count:
            self.people.names.batch_done()
            return
        utid = self.people.of(batch.tid)
        self.people.place(utid, batch.pid)
        ids = self._ids(batch, piece.kept)
        callsite = self._callsites(piece, batch)
        self._events(batch, piece.kept, utid, ids, callsite)
        for kind, which in ranges.items():
            self._kind(kind, which, batch, utid, ids)
            if self._plain[kind]:
                self._samples(piece, batch, which, utid, ids, callsite)
        for one in (self._sched, self._calls, self._interrupts, self._graph):
            one.batch_done()
        self.people.names.batch_done()

    def _numbered(self, batch: EventBatch) -> EventBatch:
        """With the threads that have ended: their numbers are in the records alone."""
        from probescope.frozen import replace

        tid, time = batch.tid, np.minimum(batch.time, np.uint64(MOST_TIME))
        raw = batch.raw
        if raw is not None and len(tid) and int(tid.min()) < 0:
            some = np.flatnonzero((tid < 0) & (raw.size >= 8))
            k = KindBatch(self.kinds[0], batch, some, self._machine, self.pool, self._texts)
            tid = tid.copy()
            tid[some] = k.records.number(4, 4).astype(np.uint32).view(np.int32)  # common_pid
        return replace(batch, tid=tid, time=time)

    def _by_kind(self, batch: EventBatch) -> Iterator[tuple[int, Array]]:
        kinds = batch.event.astype(np.uint16) if len(self.kinds) < 1 << 16 else batch.event
        order = kinds.argsort(kind="stable")
        ordered = kinds[order]
        edges = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        for start, end in zip([0, *edges.tolist()], [*edges.tolist(), batch.count], strict=True):
            if end > start and 0 <= int(ordered[start]) < len(self.kinds):
                yield int(ordered[start]), order[start:end]

    def _changes(self, batch: EventBatch, ranges: dict[int, Array]) -> list[tuple[int, SideRecord]]:
        found = list(batch.between)
        if self.source.sideband:
            return found
        for kind, which in ranges.items():
            telling = TELLING.get(self.kinds[kind].name)
            if telling is not None:
                self.forks = True
                found += telling(self._batch_of(kind, which, batch))
        found.sort(key=lambda change: change[0])
        return found

    def _batch_of(self, kind: int, which: Array, batch: EventBatch) -> KindBatch:
        return KindBatch(self.kinds[kind], batch, which, self._machine, self.pool, self._texts)

    def _lost(self, batch: EventBatch) -> None:
        for at, record in batch.between:
            if isinstance(record, LostEvents):
                time = record.time or (int(batch.time[min(at, batch.count - 1)]) if batch.count else self.last)
                self.losses.lost(record, min(time, MOST_TIME))
                self._sched.lost(at, record.cpu)
        self.losses.batch_done(self.sink)

    def _ids(self, batch: EventBatch, kept: Array | None) -> Array:
        """Of each event; -1 of those that are parts of others."""
        ids = np.arange(self.events, self.events + batch.count)
        if kept is not None:
            ids = np.where(kept, np.cumsum(kept) - 1 + self.events, -1)
        self.events += batch.count if kept is None else int(kept.sum())
        return ids

    def _callsites(self, piece: Piece, batch: EventBatch) -> Array:
        out = none(batch.count) if piece.stacks is None else self.sites.of_stacks(piece.stacks)
        if piece.spaces is not None and "ip" in batch.numbers:
            lone = np.flatnonzero((out < 0) & self._plain[np.clip(batch.event, 0, len(self._plain) - 1)])
            modes = _modes(batch, lone)
            out[lone] = self.sites.of_places(piece.spaces[lone], batch.numbers["ip"][lone], modes)
        return out

    def _events(self, batch: EventBatch, kept: Array | None, utid: Array, ids: Array, callsite: Array) -> None:
        time = batch.time.view(np.int64)
        columns = {
            "id": ids,
            "ts": time,
            "cpu": batch.cpu,
            "utid": utid,
            "kind": batch.event,
            "period": batch.period.view(np.int64),
            "callsite": callsite,
            **self._flags.of(batch),
        }
        if kept is not None:
            columns = {n: c[kept] for n, c in columns.items()}
        self.sink.add(EVENT_TABLE, columns)
        self.counts += np.bincount(np.clip(columns["kind"], 0, None), minlength=len(self.kinds))[: len(self.kinds)]
        self.first = int(time[0]) if self.first < 0 else self.first
        self.last = max(self.last, int(time[-1]))

    def _kind(self, kind: int, which: Array, batch: EventBatch, utid: Array, ids: Array) -> None:
        taker, shape = self._takers.get(kind), self.shapes.get(kind)
        if shape is None or ids[which[0]] < 0:  # no fields, or a part of another event
            return
        k = self._batch_of(kind, which, batch)
        utids, numbers = utid[which], ids[which]
        if taker is not None:
            taker(k, utids, numbers)
        self.sink.add(shape.table, {"event": numbers, "ts": k.time, "cpu": k.cpu, "utid": utids, **shape.columns(k)})

    def _switches(self, k: KindBatch, utid: Array, ids: Array) -> None:
        self.switched = True
        self._sched.switches(k)

    def _wakes(self, k: KindBatch, utid: Array, ids: Array) -> None:
        self.woken = True
        self._sched.wakes(k, utid)

    def _samples(self, piece: Piece, batch: EventBatch, which: Array, utid: Array, ids: Array, callsite: Array) -> None:
        count = len(which)
        modes: Array = np.empty(len(MODES), object)
        modes[:] = MODES
        numbers = batch.numbers
        self.sink.add(
            SAMPLE,
            {
                "event": ids[which],
                "ts": batch.time[which].view(np.int64),
                "cpu": batch.cpu[which],
                "utid": utid[which],
                "kind": batch.event[which],
                "period": batch.period[which].view(np.int64),
                "callsite": callsite[which],
                "mode": modes[_modes(batch, which)],
                "addr": numbers["addr"][which] if "addr" in numbers else np.zeros(count, np.uint64),
                "weight": numbers["weight"][which].view(np.int64) if "weight" in numbers else none(count),
            },
        )


def _modes(batch: EventBatch, which: Array) -> Array:
    if "misc" not in batch.numbers:
        return np.zeros(len(which), np.int64)
    found: Array = (batch.numbers["misc"][which] & 7).astype(np.int64)
    return found
