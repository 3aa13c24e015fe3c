"""Whose ftrace's records are: names and processes at the moment of each event."""

import struct

import numpy as np
import pytest

from probescope.collect.stream import people as room
from probescope.collect.stream.people import CLONE_THREAD, People, own_name
from probescope.model.recording import EventBatch, EventType, Named, Ragged, RawField

COMMON = (RawField("common_type", "unsigned short", 0, 2, False), RawField("common_pid", "int", 4, 4, True))
NEW = EventType(
    "task:task_newtask",
    1,
    (
        *COMMON,
        RawField("pid", "pid_t", 8, 4, True),
        RawField("comm", "char", 12, 16, False, 16),
        RawField("clone_flags", "unsigned long", 32, 8, False),
    ),
)
RENAMED = EventType(
    "task:task_rename",
    2,
    (*COMMON, RawField("pid", "pid_t", 8, 4, True), RawField("newcomm", "char", 12, 16, False, 16)),
)
NAMELESS = EventType("task:task_rename", 2, (*COMMON, RawField("newcomm", "char", 8, 16, False, 16)))
OTHER = EventType("a:b", 3, COMMON)


def newtask(parent, tid, comm, flags=0):
    return 0, parent, struct.pack("<HBBii16sxxxxQ", 1, 0, 0, parent, tid, comm, flags)


def renamed(by, tid, comm):
    return 1, by, struct.pack("<HBBii16s", 2, 0, 0, by, tid, comm)


def other(tid):
    return 2, tid, struct.pack("<HBBi", 3, 0, 0, tid)


def batch(*records):
    data = b"".join(r for _, _, r in records)
    size = np.array([len(r) for _, _, r in records], np.int64)
    n = len(records)
    return EventBatch(
        n,
        np.array([k for k, _, _ in records], np.int32),
        np.arange(n, dtype=np.uint64),
        np.zeros(n, np.int32),
        np.full(n, -1, np.int32),
        np.array([t for _, t, _ in records], np.int32),
        np.ones(n, np.uint64),
        raw=Ragged(np.frombuffer(data, np.uint8), np.cumsum(size) - size, size),
    )


class Proc:
    """Threads by their processes, with names."""

    def __init__(self, **threads):
        self.known = {int(t.removeprefix("t")): p for t, p in threads.items()}

    def pids(self):
        return sorted(set(self.known.values()))

    def threads(self, pid):
        return [t for t, p in self.known.items() if p == pid]

    def thread_comm(self, pid, tid):
        return f"old{tid}" if tid in self.known else ""

    def leader(self, tid):
        return self.known.get(tid, tid)

    def status(self, pid):
        return {"State": "S (sleeping)"} if pid in self.known.values() else {}


@pytest.fixture
def proc(monkeypatch):
    made = Proc(t10=10, t11=10, t20=20)
    monkeypatch.setattr(room, "procfs", made)
    return made


def named(found):
    return [(at, r.tid, r.comm) for at, r in found.between if isinstance(r, Named)]


def test_who_is_there_at_the_start(proc):
    people = People((NEW, RENAMED, OTHER), names=True)
    people.begin()
    found = people.columns(batch(other(11), other(20), other(0)))
    assert found.pid.tolist() == [10, 20, 0]
    assert named(found) == [(0, 10, "old10"), (0, 11, "old11"), (0, 20, "old20")]
    assert not named(people.columns(batch(other(11))))


def test_processes_and_threads_that_are_made(proc):
    """A process is its own; a thread is of its maker's process, also when it makes threads itself."""
    people = People((NEW, RENAMED, OTHER), names=False)
    people.begin()
    found = people.columns(
        batch(
            newtask(11, 30, b"a"), newtask(11, 31, b"b", CLONE_THREAD), newtask(31, 32, b"c", CLONE_THREAD), other(32)
        )
    )
    assert people.columns(batch(other(30), other(31), other(32))).pid.tolist() == [30, 10, 10]
    assert found.pid.tolist() == [10, 10, 10, 10]


def test_names_change_after_the_event_that_says_so(proc):
    """task_rename happens before the name is new, and so sees the old one."""
    people = People((NEW, RENAMED, OTHER), names=True)
    found = people.columns(batch(other(20), renamed(20, 20, b"new"), other(20)))
    assert named(found) == [(0, 20, "old20"), (2, 20, "new")]


def test_a_rename_that_does_not_say_whose_is_of_the_current_thread(proc):
    people = People((NEW, NAMELESS, OTHER), names=True)
    record = (1, 20, struct.pack("<HBBi16s", 2, 0, 0, 20, b"new"))
    assert named(people.columns(batch(record)))[-1] == (1, 20, "new")


def test_threads_that_nobody_told_of_are_looked_up(proc):
    """They may be gone by then: then they are their own process."""
    people = People((OTHER,), names=True)
    assert people.columns(batch((0, 11, other(11)[2]), (0, 99, other(99)[2]))).pid.tolist() == [10, 99]


def test_what_is_followed_grows(proc):
    people = People((NEW, RENAMED, OTHER), names=False, followed={20})
    people.columns(batch(newtask(20, 40, b"a"), newtask(40, 41, b"b"), newtask(10, 42, b"c")))
    assert people.followed == {20, 40, 41}
    assert people.running()
    proc.known = {10: 10}
    assert not people.running()


@pytest.mark.parametrize(
    ("shown", "own"),
    [
        ("kworker/0:1H-events", "kworker/0:1H"),
        ("kworker/u8:2+flush-254", "kworker/u8:2"),
        ("kworker/R-mm_percpu_wq", "kworker/R-mm_percpu_wq"),  # the whole name, cut where names of threads are
        ("a-b+c", "a-b+c"),
    ],
)
def test_names_of_the_kernels_workers(shown, own):
    """As task->comm has them."""
    assert own_name(shown) == own
