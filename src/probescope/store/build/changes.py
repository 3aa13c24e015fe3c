"""What happened to threads, where nothing but tracepoints tells of it: forks, execs and ends as the side-band has them.

Source: include/trace/events/sched.h and task.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.model.recording import Ended, MappedFile, Named, SideRecord, Started

if TYPE_CHECKING:
    import numpy as np

    from probescope.store.build.kinds import KindBatch

    Array = np.ndarray[Any, Any]

    Told = Iterator[tuple[int, SideRecord]]

CLONE_THREAD = 0x10000
"""include/uapi/linux/sched.h"""
LONGEST = 15
"""Bytes of a thread's name (TASK_COMM_LEN of include/linux/sched.h, less the NUL)."""


def _forked(k: KindBatch) -> Told:
    """Whether it is a thread or a process is not told."""
    if k.has("parent_pid", "child_pid"):
        for at, time, parent, child in _rows(k, k.number("parent_pid"), k.number("child_pid")):
            yield at, Started(time=time, tid=child, parent_tid=parent)


def _newtask(k: KindBatch) -> Told:
    if k.has("pid", "clone_flags"):
        for at, time, parent, child, flags in _rows(k, k.tid, k.number("pid"), k.number("clone_flags")):
            pid = -1 if flags & CLONE_THREAD else child
            yield at, Started(time=time, pid=pid, tid=child, parent_tid=parent)


def _executed(k: KindBatch) -> Told:
    """The thread is the first one of its process from here on, whoever it was."""
    if k.has("pid"):
        for (at, time, pid), path in zip(_rows(k, k.number("pid")), k.names("filename"), strict=True):
            yield at, Named(time=time, pid=pid, tid=pid, comm=path.rpartition("/")[2][:LONGEST], exec=True)
            yield at, MappedFile(time=time, pid=pid, tid=pid, path=path)


def _renamed(k: KindBatch) -> Told:
    if k.has("pid", "newcomm"):
        for (at, time, tid), name in zip(_rows(k, k.number("pid")), k.names("newcomm"), strict=True):
            yield at, Named(time=time, tid=tid, comm=name)


def _exited(k: KindBatch) -> Told:
    for at, time, tid in _rows(k, k.tid):
        yield at, Ended(time=time, tid=tid)


def _rows(k: KindBatch, *columns: Array) -> Iterator[tuple[int, ...]]:
    """Place, time, and some numbers of each event."""
    return zip(k.which.tolist(), k.time.tolist(), *(c.tolist() for c in columns), strict=True)


TELLING: dict[str, Callable[[KindBatch], Told]] = {
    "task:task_newtask": _newtask,
    "sched:sched_process_fork": _forked,
    "task:task_rename": _renamed,
    "sched:sched_process_exec": _executed,
    "sched:sched_process_exit": _exited,
}
