"""Whose each of ftrace's records is: they have the number of their thread, and nothing else.

Names and processes are those of /proc at the start, and then what ``task:task_newtask`` and ``task:task_rename`` tell,
each at its place between the events. A thread that nobody told of is looked up when it is first seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.fields import Records
from probescope.frozen import replace
from probescope.kernel import procfs
from probescope.model.recording import Named, Ragged

if TYPE_CHECKING:
    from probescope.model.recording import EventBatch, EventType, SideRecord

CLONE_THREAD = 0x00010000
"""include/uapi/linux/sched.h."""
MOST_KNOWN = 1 << 20
"""Threads whose process is remembered: most of them have ended."""
_WORKER = re.compile(r"kworker/u?\d+:\d+H?")


class People:
    """``names``: whether names are wanted, not processes alone. ``followed``: threads of what is followed, and of what
    it forks; ``None``: nobody is. ``columns`` is given batches in order, each once."""

    def __init__(self, events: Sequence[EventType], *, names: bool, followed: set[int] | None = None) -> None:
        self._events = events
        self._names = names
        self.followed = followed
        number = {e.name: i for i, e in enumerate(events)}
        self._new, self._renamed = number.get("task:task_newtask", -1), number.get("task:task_rename", -1)
        self._leader: dict[int, int] = {0: 0}
        self._told: list[tuple[int, SideRecord]] = []

    def begin(self) -> None:
        """Takes in who is there already."""
        for pid in procfs.pids():
            for tid in procfs.threads(pid):
                self._meet(tid, pid)

    def _meet(self, tid: int, pid: int) -> None:
        self._leader[tid] = pid
        if self._names and (name := procfs.thread_comm(pid, tid)):
            self._told.append((0, Named(pid=pid, tid=tid, comm=own_name(name))))

    def columns(self, batch: EventBatch) -> EventBatch:
        """With processes, and names between the events."""
        if len(self._leader) > MOST_KNOWN:
            self._leader = {0: 0}  # those that are seen again are looked up
        told = [*self._told, *self._changes(batch)] if self._new >= 0 else []
        self._told = []
        tids, inverse = np.unique(batch.tid, return_inverse=True)
        for tid in tids.tolist():
            if tid not in self._leader:
                self._meet(tid, procfs.leader(tid))
        told = [*self._told, *told]
        self._told = []
        leaders = np.array([self._leader[t] for t in tids.tolist()], np.int32)
        between = sorted((*batch.between, *told), key=lambda one: one[0])
        return replace(batch, pid=leaders[inverse], between=tuple(between))

    def _changes(self, batch: EventBatch) -> Iterator[tuple[int, SideRecord]]:
        at = np.flatnonzero((batch.event == self._new) | (batch.event == self._renamed))
        for i in at.tolist():
            event = self._events[int(batch.event[i])]
            record = _one(batch, i)
            number = event.field("pid")  # task_rename of newer kernels has none: it is the current one's
            tid = int(record.field(number)[0]) if number is not None else int(batch.tid[i])
            new = int(batch.event[i]) == self._new
            name = event.field("comm" if new else "newcomm")
            if new:
                self._started(event, record, int(batch.tid[i]), tid)
            if name is not None:
                comm = record.strings(name)[0]
                yield i + 1, Named(int(batch.time[i]), int(batch.cpu[i]), self._leader.get(tid, tid), tid, comm)

    def _started(self, event: EventType, record: Records, parent: int, tid: int) -> None:
        flags = event.field("clone_flags")
        thread = flags is not None and int(record.field(flags)[0]) & CLONE_THREAD
        if thread and parent not in self._leader:
            self._meet(parent, procfs.leader(parent))
        self._leader[tid] = self._leader[parent] if thread else tid
        if self.followed is not None and parent in self.followed:
            self.followed.add(tid)

    def running(self) -> bool:
        """Whether a process of those that are followed has not ended."""
        return any(map(_runs, {self._leader.get(t, t) for t in self.followed or ()}))


def _one(batch: EventBatch, i: int) -> Records:
    assert batch.raw is not None
    return Records(Ragged(batch.raw.values, batch.raw.start[i : i + 1], batch.raw.size[i : i + 1]))


def _runs(pid: int) -> bool:
    return procfs.status(pid).get("State", "X")[:1] not in {"X", "Z"}


def own_name(shown: str) -> str:
    """/proc adds to the name of a kernel's worker what it is busy with (wq_worker_comm of kernel/workqueue.c)."""
    found = _WORKER.match(shown)
    return found[0] if found else shown
