"""Processes as perf tells of them: forks, execs, mappings and exits of the whole machine, read from small rings, one
a CPU.

    MMAP2 (10)   u32 pid, tid   u64 addr, len, pgoff   u32 maj, min   u64 ino, generation   u32 prot, flags   name, NUL
    COMM   (3)   u32 pid, tid   comm, NUL              misc bit 13: because of an exec
    FORK   (7)   u32 pid, ppid, tid, ptid   u64 time   EXIT (4): the same
    LOST   (2)   u64 id, lost

Each record ends in a u64, its time (sample_id_all): a process that moves from CPU to CPU writes into several rings, and
its exec must not be taken for later than what it mapped after it.

Source: include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from probescope.kernel.fds import Fd
from probescope.kernel.machine import online_cpus
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.perf_event import perf_event_open
from probescope.kernel.perfring import PerfRing, walk
from probescope.kernel.uapi import perf as u

PAGES = 32
_SOFTWARE = 1
_LOST, _COMM, _EXIT, _FORK, _MMAP2 = 2, 3, 4, 7, 10
_EXEC_BIT = 1 << 13
_PROT_EXEC = 4

_PAIR = struct.Struct("=II").unpack_from
_FOUR = struct.Struct("=IIII").unpack_from
_MAP = struct.Struct("=IIQQQIIQQII")
_LAST = struct.Struct("=Q").unpack_from
_U64 = struct.Struct("=QQ").unpack_from


class Mapped(NamedTuple):
    """A mapping of executable memory, as debuginfo/symbolize.py wants it. ``file``: where to read it, if not at
    ``path``."""

    start: int
    end: int
    offset: int
    path: str
    inode: int
    file: str = ""


class Forked(NamedTuple):
    pid: int
    parent: int


class Executed(NamedTuple):
    pid: int


class Exited(NamedTuple):
    pid: int


class MapEvent(NamedTuple):
    pid: int
    mapped: Mapped


class Missed(NamedTuple):
    lost: int


Change = Forked | Executed | Exited | MapEvent | Missed


class SideBand:
    """Opens the rings; ``changes`` gives what happened since the last call, in the order of time. Raises KernelError
    where perf does not let us see other processes."""

    def __init__(self, cpus: list[int] | None = None) -> None:
        flags = u.FLAG_MMAP | u.FLAG_MMAP2 | u.FLAG_COMM | u.FLAG_COMM_EXEC | u.FLAG_TASK | u.FLAG_SAMPLE_ID_ALL
        self._events: list[Fd] = []
        self._rings: list[PerfRing] = []
        try:
            for cpu in online_cpus() if cpus is None else cpus:
                attr = PerfAttr(_SOFTWARE, u.PERF_COUNT_SW_DUMMY, 1, u.PERF_SAMPLE_TIME, flags=flags)
                event = perf_event_open(attr, pid=-1, cpu=cpu)
                self._events.append(event)
                self._rings.append(PerfRing(event, PAGES))
        except BaseException:
            self.close()
            raise

    def changes(self) -> Iterator[Change]:
        found: list[tuple[int, Change]] = []
        for ring in self._rings:
            data = ring.consume()
            if data:
                found += timed(data)
        found.sort(key=_time)
        return (change for _, change in found)

    def close(self) -> None:
        for ring in self._rings:
            ring.close()
        for event in self._events:
            event.close()
        self._rings, self._events = [], []


def _time(found: tuple[int, Change]) -> int:
    return found[0]


def timed(data: bytes) -> Iterator[tuple[int, Change]]:
    """Records of a ring that end in their time, with it."""
    for kind, misc, start, whole in walk(data):
        if whole >= 16:
            (time,) = _LAST(data, start + whole - 8)
            for change in _change(data, kind, misc, start + 8, whole - 16):
                yield time, change


def decode(data: bytes) -> Iterator[Change]:
    """Records without a time. Those of other types, and those too short for their type, are passed over."""
    for kind, misc, start, whole in walk(data):
        yield from _change(data, kind, misc, start + 8, whole - 8)


def _change(data: bytes, kind: int, misc: int, at: int, size: int) -> Iterator[Change]:
    """What a record with its body at ``at`` tells."""
    if kind == _MMAP2 and size >= _MAP.size:
        yield from _mapping(data, at, size)
    elif kind == _FORK and size >= 16:
        pid, parent, tid, _ = _FOUR(data, at)
        if pid == tid:  # else a thread was made: the same address space
            yield Forked(pid, parent)
    elif kind == _COMM and misc & _EXEC_BIT and size >= 8:
        yield Executed(_PAIR(data, at)[0])
    elif kind == _EXIT and size >= 16:
        pid, _, tid, _ = _FOUR(data, at)
        if pid == tid:
            yield Exited(pid)
    elif kind == _LOST and size >= 16:
        yield Missed(_U64(data, at)[1])


def _mapping(data: bytes, at: int, size: int) -> Iterator[MapEvent]:
    pid, _, addr, length, pgoff, _, _, inode, _, prot, _ = _MAP.unpack_from(data, at)
    if prot & _PROT_EXEC:
        name = data[at + _MAP.size : at + size].split(b"\0", 1)[0]
        yield MapEvent(pid, Mapped(addr, addr + length, pgoff, name.decode("utf-8", "surrogateescape"), inode))
