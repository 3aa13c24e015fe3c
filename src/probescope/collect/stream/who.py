"""Who each event is of: pid, tid and name, as a program in the kernel would have seen them.

Recordings tell a little less. A thread that has exited has no numbers any more (-1), while it still switches away: the
record itself has its tid. And the idle threads have one name in side-band, ``swapper``, where the kernel's own is
``swapper/CPU``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.recorded.tasks import Tasks
from probescope.evaluate.columns.values import Coded
from probescope.model.recording import Ended, Named, SideRecord

if TYPE_CHECKING:
    from probescope.evaluate.columns.values import Column
    from probescope.model.recording import EventBatch, EventType, RawField

LONGEST = 15
"""Bytes of a thread's name (TASK_COMM_LEN of include/linux/sched.h, less the NUL)."""


class Names(Tasks):
    """Names last beyond the end of their threads."""

    def knows(self, tid: int) -> bool:
        return tid in self._name

    def apply(self, record: SideRecord) -> None:
        if not isinstance(record, Ended):
            super().apply(record)


class Who:
    """Goes along with batches, each once and in order. ``names``: those of threads that are known from the start.
    ``events``: of the recording, if it has no side-band: names that it does not know otherwise are those that
    switches and wake-ups mention."""

    def __init__(
        self, names: Mapping[int, str] | None = None, events: Sequence[EventType] = (), *, big: bool = False
    ) -> None:
        self.tasks = Names()
        self._big = big
        self._telling = {i: pairs for i, e in enumerate(events) if (pairs := _pairs(e))}
        self._leader: dict[int, int] = {}
        self._texts: list[bytes] = []
        for tid, name in (names or {}).items():
            if tid:
                self.tasks.apply(Named(tid=tid, comm=name))

    def told(self, batch: EventBatch) -> Told:
        pid, tid = self._numbers(batch)
        if tid is not batch.tid:
            from probescope.frozen import replace

            batch = replace(batch, pid=pid, tid=tid)
        if self._telling:
            self._learn(batch)
        names, spaces = self.tasks.columns(batch)
        return Told(batch, spaces, self._comm(batch, names))

    def _numbers(self, batch: EventBatch) -> tuple[Column, Column]:
        pid, tid = batch.pid, batch.tid
        if not len(tid) or int(tid.min()) >= 0 or batch.raw is None:
            return pid, tid
        from probescope.formats.tracing.fields import Records

        at = np.flatnonzero((tid < 0) & (batch.raw.size >= 8))
        some = Records(type(batch.raw)(batch.raw.values, batch.raw.start[at], batch.raw.size[at]), self._big)
        tid = tid.copy()
        tid[at] = some.number(4, 4).astype(np.uint32).view(np.int32)  # common_pid
        if int(pid.min()) < 0 and int(pid.max()) >= 0:
            self._leader.update(zip(batch.tid.tolist(), pid.tolist(), strict=True))
            pid = pid.copy()
            pid[at] = [self._leader.get(t, t) for t in tid[at].tolist()]
        return pid, tid

    def _learn(self, batch: EventBatch) -> None:
        from probescope.formats.tracing.fields import Records

        unknown = {t for t in np.unique(batch.tid).tolist() if t > 0 and not self.tasks.knows(t)}
        for kind, pairs in self._telling.items() if unknown and batch.raw is not None else ():
            which = np.flatnonzero(batch.event == kind)
            if len(which) and batch.raw is not None:
                raw = batch.raw
                records = Records(type(raw)(raw.values, raw.start[which], raw.size[which]), self._big)
                for number, text in pairs:
                    tids = records.field(number).astype(np.int64)
                    for tid in unknown.intersection(tids.tolist()):
                        one = records.subset(np.flatnonzero(tids == tid)[:1])
                        self.tasks.apply(Named(tid=tid, comm=one.strings(text)[0]))

    def _comm(self, batch: EventBatch, names: Column) -> Coded:
        tasks = self.tasks.names
        for name in tasks[len(self._texts) :]:
            self._texts.append(name.encode("utf-8", "surrogateescape")[:LONGEST])
        idle = np.flatnonzero(batch.tid == 0)
        if not len(idle):
            return Coded(names, self._texts)
        cpus, inverse = np.unique(batch.cpu[idle], return_inverse=True)
        codes = names.copy()
        codes[idle] = len(self._texts) + inverse
        return Coded(codes, [*self._texts, *(b"swapper/%d" % c for c in cpus.tolist())])


Pairs = tuple[tuple["RawField", "RawField"], ...]


_WOKEN = (("pid", "comm"),)
_TELLING: Mapping[str, tuple[tuple[str, str], ...]] = {
    "sched:sched_switch": (("prev_pid", "prev_comm"), ("next_pid", "next_comm")),
    "sched:sched_wakeup": _WOKEN,
    "sched:sched_wakeup_new": _WOKEN,
    "sched:sched_waking": _WOKEN,
}


def _pairs(event: EventType) -> Pairs:
    """Fields that tell the number of a thread and its name."""
    found = ((event.field(number), event.field(text)) for number, text in _TELLING.get(event.name, ()))
    return tuple((a, b) for a, b in found if a is not None and b is not None)


class Told:
    """A batch, with what ``Who`` knows of its events."""

    def __init__(self, batch: EventBatch, spaces: Column, comm: Coded) -> None:
        self.batch, self.spaces, self.comm = batch, spaces, comm
