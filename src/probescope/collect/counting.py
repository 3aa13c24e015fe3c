"""Counters in the kernel: opened for CPUs, threads or a command, read as often as wanted, closed together.

whole machine    pid -1, one event a CPU
threads          cpu -1, one event a thread; what they start is counted too (inherit)
a command        cpu -1, its process before it runs; counting starts with its exec
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import suppress

from probescope.collect.kernel_filter import take_filter
from probescope.errors import KernelError, PermissionDenied, ProbescopeError
from probescope.frozen import dataclass, replace
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.perf_event import PerfEvent, perf_event_open
from probescope.kernel.uapi import perf as u
from probescope.model.counting import Reading
from probescope.sources.perf_events import Counter

_ABSENT = (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENXIO, errno.ENOSYS, errno.EINVAL)
"""What the kernel says of an event that this machine cannot count. EINVAL: a cache event that the CPU lacks."""
READ_FORMAT = u.PERF_FORMAT_TOTAL_TIME_ENABLED | u.PERF_FORMAT_TOTAL_TIME_RUNNING


@dataclass(frozen=True, slots=True)
class Target:
    """``cpus``: these, for all processes; else ``tids``. ``on_exec``: counting starts when the (only) thread execs.
    ``inherit``: children and new threads are counted too."""

    cpus: tuple[int, ...] = ()
    tids: tuple[int, ...] = ()
    cgroup: int = -1
    on_exec: bool = False
    inherit: bool = True


class Counting:
    """Open counters, disabled until ``enable``. Raises PermissionDenied, or KernelError for what is no matter of this
    machine's abilities; ``refused`` has the errors of counters that it cannot count."""

    def __init__(self, counters: Sequence[Counter], target: Target) -> None:
        self.counters = counters
        self.target = target
        self.refused: dict[int, KernelError] = {}
        self._open: list[tuple[int, int, int, PerfEvent | None]] = []
        try:
            for cpu, tid in self._places():
                self._open_all(cpu, tid)
        except BaseException:
            self.close()
            raise

    def _places(self) -> Iterator[tuple[int, int]]:
        if self.target.tids:
            yield from ((-1, t) for t in self.target.tids)
        else:
            yield from ((c, -1) for c in self.target.cpus)

    def _open_all(self, cpu: int, tid: int) -> None:
        leaders: dict[int, PerfEvent | None] = {}
        for i, counter in enumerate(self.counters):
            if counter.cpus and cpu >= 0 and cpu not in counter.cpus:
                continue
            follows = counter.leader >= 0 and counter.leader != i
            leader = leaders.get(counter.leader) if follows else None
            event = None if follows and leader is None else self._open_one(i, cpu, tid, leader)
            leaders[i] = event
            self._open.append((i, cpu, tid, event))

    def _open_one(self, i: int, cpu: int, tid: int, leader: PerfEvent | None) -> PerfEvent | None:
        """``None`` where this machine cannot count it; a thread that is gone counts nothing."""
        t = self.target
        flags = u.FLAG_INHERIT if t.inherit and t.tids else 0
        if leader is None:
            flags |= u.FLAG_DISABLED | (u.FLAG_ENABLE_ON_EXEC if t.on_exec else 0)
        attr = self.counters[i].attr
        attr = replace(attr, flags=attr.flags | flags, read_format=READ_FORMAT, period=0)
        who, how = (t.cgroup, u.PERF_FLAG_PID_CGROUP) if t.cgroup >= 0 else (tid, 0)
        try:
            event = self._try(attr, who, cpu, leader, how)
        except PermissionDenied:
            raise
        except KernelError as e:
            if e.errno in _ABSENT:
                self.refused[i] = e
            elif e.errno != errno.ESRCH:
                raise
            return None
        return self._filtered(event, self.counters[i])

    @staticmethod
    def _filtered(event: PerfEvent, counter: Counter) -> PerfEvent:
        try:
            if counter.filter:
                take_filter(event, counter.name, counter.filter)
        except ProbescopeError:
            event.close()
            raise
        return event

    @staticmethod
    def _try(attr: PerfAttr, pid: int, cpu: int, leader: PerfEvent | None, flags: int) -> PerfEvent:
        try:
            return perf_event_open(attr, pid=pid, cpu=cpu, group=leader, flags=flags)
        except KernelError as e:
            if e.errno == errno.EINVAL and attr.flags & u.FLAGS_GUEST:  # a PMU that cannot tell guests (msr)
                attr = replace(attr, flags=attr.flags & ~u.FLAGS_GUEST)
                return Counting._try(attr, pid, cpu, leader, flags)
            if e.errno == errno.EINVAL and leader is not None:  # no room in the group, or another PMU: alone then
                return perf_event_open(replace(attr, flags=attr.flags | u.FLAG_DISABLED), pid=pid, cpu=cpu, flags=flags)
            raise

    def enable(self) -> None:
        for _, _, _, event in self._open:
            if event is not None:
                event.enable()

    def disable(self) -> None:
        for _, _, _, event in self._open:
            if event is not None:
                with suppress(KernelError):
                    event.disable()

    def read(self) -> list[Reading]:
        return [self._read(*o) for o in self._open]

    @staticmethod
    def _read(i: int, cpu: int, tid: int, event: PerfEvent | None) -> Reading:
        if event is None:
            return Reading(i, cpu, tid, 0, 0, 0, supported=False)
        values = event.read_values(64)
        value, enabled, running = (*values, 0, 0, 0)[:3]  # a group that lost its PMU reads as nothing
        return Reading(i, cpu, tid, value, enabled, running)

    def close(self) -> None:
        for _, _, _, event in self._open:
            if event is not None:
                event.close()
        self._open.clear()
