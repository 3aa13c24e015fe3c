"""One event on one place. What older kernels do not know is left out, once and for all places; what this machine cannot
sample has a stand-in where perf has one, with a line that says so."""

from __future__ import annotations

import errno
from collections.abc import Callable

from probescope.errors import KernelError, PermissionDenied, Unsupported
from probescope.frozen import dataclass, replace
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.perf_event import PerfEvent, perf_event_open
from probescope.kernel.uapi import perf as u

DATA, SIDE, SNAPSHOT = "data", "side", "snapshot"
_CYCLES = 0
_OF_SAMPLES = "irq_vectors:irq_work_exit"
_ABSENT = (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENXIO)


@dataclass(frozen=True, slots=True)
class RingEvent:
    """An event to be opened. ``leader``: index of its group's first event, -1 if it stands alone. ``filter``: of a
    tracepoint. ``cpus``: the only ones that its PMU counts on, empty for all. ``ring``: ``data``; ``side`` for
    side-band, in small rings of its own, so that no flood of samples makes a mapping be lost; ``snapshot`` for rings
    that overwrite what is old. ``cgroup``: descriptor of its folder, -1 for none."""

    name: str
    attr: PerfAttr
    leader: int = -1
    filter: str = ""
    cpus: tuple[int, ...] = ()
    ring: str = DATA
    cgroup: int = -1


@dataclass(frozen=True, slots=True)
class _Younger:
    """Something that a kernel may be too old for, and what the event is without it."""

    asked: Callable[[PerfAttr], bool]
    without: Callable[[PerfAttr], PerfAttr]


def _flag(bit: int) -> _Younger:
    return _Younger(lambda a: bool(a.flags & bit), lambda a: replace(a, flags=a.flags & ~bit))


#: The youngest first.
_YOUNGER = (
    # 6.0, "perf/core: Add a new read format to get a number of lost samples"
    _Younger(
        lambda a: bool(a.read_format & u.PERF_FORMAT_LOST),
        lambda a: replace(a, read_format=a.read_format & ~u.PERF_FORMAT_LOST),
    ),
    # 5.12, "perf/core: Add PERF_SAMPLE_WEIGHT_STRUCT"
    _Younger(
        lambda a: bool(a.sample_type & u.PERF_SAMPLE_WEIGHT_STRUCT),
        lambda a: replace(a, sample_type=a.sample_type & ~u.PERF_SAMPLE_WEIGHT_STRUCT | u.PERF_SAMPLE_WEIGHT),
    ),
    _flag(u.FLAG_BPF_EVENT),  # 5.1, "perf, bpf: Introduce PERF_RECORD_BPF_EVENT"
    _flag(u.FLAGS_GUEST),  # no matter of age: a PMU that cannot tell guests from their host (msr, uncore)
    _flag(u.FLAG_KSYMBOL),  # 5.1, "perf, bpf: Introduce PERF_RECORD_KSYMBOL"
)


class Opener:
    """Opens events; remembers in ``events`` what they have become, and in ``notes`` what a person is to know of it."""

    def __init__(self, events: list[RingEvent]) -> None:
        self.events = events
        self.notes: list[str] = []
        self._settled: set[int] = set()

    def open(self, i: int, pid: int, cpu: int, leader: PerfEvent | None) -> PerfEvent:
        """Raises KernelError."""
        if i in self._settled:
            return self._try(i, pid, cpu, leader)
        while True:
            try:
                event = self._try(i, pid, cpu, leader)
            except KernelError as e:
                if not self._stand_in(i, e):
                    raise _explained(self.events[i], e) from None
            else:
                self._settled.add(i)
                return event

    def _try(self, i: int, pid: int, cpu: int, leader: PerfEvent | None) -> PerfEvent:
        event = self.events[i]
        flags, who = (u.PERF_FLAG_PID_CGROUP, event.cgroup) if event.cgroup >= 0 else (0, pid)
        what = f"perf:{event.name}:cpu{cpu}"
        return perf_event_open(event.attr, pid=who, cpu=cpu, group=leader, flags=flags, what=what)

    def _stand_in(self, i: int, error: KernelError) -> bool:
        """Whether there is something else to be tried."""
        event = self.events[i]
        attr = event.attr
        if error.errno in (errno.EINVAL, errno.E2BIG):
            for feature in _YOUNGER:
                if feature.asked(attr):
                    self.events[i] = replace(event, attr=feature.without(attr))
                    return True
        precise = attr.flags & u.FLAGS_PRECISE
        if precise and error.errno in (*_ABSENT, errno.EINVAL):
            self.events[i] = replace(event, attr=replace(attr, flags=attr.flags - u.FLAG_PRECISE_IP_LOW))
            return True
        if error.errno in _ABSENT and attr.type == u.PERF_TYPE_HARDWARE and attr.config == _CYCLES:
            self._clock(i)
            return True
        if isinstance(error, PermissionDenied) and not attr.flags & u.FLAG_EXCLUDE_KERNEL:
            return self._user_only(i)
        return False

    def _clock(self, i: int) -> None:
        event = self.events[i]
        attr = replace(event.attr, type=u.PERF_TYPE_SOFTWARE, config=u.PERF_COUNT_SW_CPU_CLOCK)
        name = event.name.replace("cpu-cycles", "cpu-clock").replace("cycles", "cpu-clock")
        self.events[i] = replace(event, name=name, attr=attr)
        gone, instead = (event.name, name) if name != event.name else ("cycles", f"cpu-clock, as {name},")
        self.notes.append(f"this machine has no {gone}: {instead} instead")

    def _user_only(self, i: int) -> bool:
        """Not for tracepoints: they are of the kernel, and the error says what to do."""
        event = self.events[i]
        if event.attr.type == u.PERF_TYPE_TRACEPOINT:
            return False
        name = event.name if event.ring == SIDE else f"{event.name}{'' if ':' in event.name else ':'}u"
        attr = replace(event.attr, flags=event.attr.flags | u.FLAG_EXCLUDE_KERNEL | u.FLAG_EXCLUDE_HV)
        self.events[i] = replace(event, name=name, attr=attr)
        if event.ring != SIDE:
            self.notes.append(f"{event.name}: without privileges only user space is sampled ({name})")
        return True


def _explained(event: RingEvent, error: KernelError) -> KernelError:
    """With the event's name, and what of it this machine has not."""
    error.where = event.name
    if error.errno == errno.EPERM and event.attr.type == u.PERF_TYPE_TRACEPOINT and event.name.endswith(_OF_SAMPLES):
        hints = ["the kernel lets nobody sample this event, since each sample would cause the next; stat counts it"]
        return Unsupported(error.call, error.errno, where=event.name, hints=hints)
    if error.errno in (errno.EOPNOTSUPP, errno.ENOENT) and event.attr.sample_type & u.PERF_SAMPLE_BRANCH_STACK:
        hints = ["taken branches (-b, -j, --call-graph lbr) are kept by hardware: this machine, or event, has none"]
        return Unsupported(
            error.call, error.errno, where=event.name, hints=[*hints, "--call-graph fp or dwarf: stacks"]
        )
    return error
