"""The options of ``record`` -> attributes of events, as perf record sets them.

What every event has: IDENTIFIER (so that a file may hold any mixture of events), IP, TID and TIME; PERIOD with a
frequency and with tracepoints; CPU where whole CPUs are recorded and with tracepoints. Side-band comes through one
dummy event, the last one, in rings of its own. A single event of tasks does without both: it costs the task least if it
brings the side-band itself, and has no number to carry.
Source: include/uapi/linux/perf_event.h; perf-record(1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probescope.collect.recorder import off_cpu
from probescope.collect.recorder.opening import DATA, SIDE, SNAPSHOT, RingEvent
from probescope.errors import UsageError
from probescope.frozen import dataclass, replace
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.uapi import perf as u
from probescope.model.recording import OFF_CPU
from probescope.sources.perf_events import Counter

REGISTERS = u.REGISTERS
_UNSAVED = {"ds", "es", "fs", "gs"}
"""Registers that x86-64 has a bit for and no value."""
DEFAULT_FREQUENCY = 4000
DEFAULT_STACK = 8192
MOST_STACK = 65528


@dataclass(frozen=True, slots=True)
class Sampling:
    """``frequency`` in Hz or ``period`` in events, both 0: as the event wants it. ``call_graph``: empty, ``fp``,
    ``dwarf`` or ``lbr``; ``max_stack`` 0: as the kernel is set; ``stack_size`` in bytes. ``user_registers`` and the
    like: masks. ``clockid`` -1: perf's own clock. ``levels``: ``all-user`` or ``all-kernel``; ``chains``: the only
    side that is walked, ``user`` or ``kernel``. ``at_once``: each event wakes us, not half a ring."""

    frequency: int = 0
    period: int = 0
    call_graph: str = ""
    max_stack: int = 0
    stack_size: int = DEFAULT_STACK
    addresses: bool = False
    physical: bool = False
    data_page_size: bool = False
    code_page_size: bool = False
    weight: bool = False
    transactions: bool = False
    running_times: bool = False
    periods: bool = False
    cpus: bool = False
    raw: bool = False
    times: bool = True
    no_samples: bool = False
    per_thread_counts: bool = False
    user_registers: int = 0
    machine_registers: int = 0
    branches: int = 0
    clockid: int = -1
    switches: bool = False
    namespaces: bool = False
    cgroups: bool = False
    levels: str = ""
    chains: str = ""
    overwrite: bool = False
    build_ids: bool = False
    group: bool = False
    at_once: bool = False
    bpf: bool = True


def register_mask(names: Sequence[str], machine: str) -> int:
    """Of ``ax,ip``; all for no names. Raises UsageError."""
    known = REGISTERS.get(machine, ())
    if not names:
        return sum(1 << bit for bit, name in enumerate(known) if name not in _UNSAVED)
    mask = 0
    for name in names:
        if name.lower() not in known:
            raise UsageError(f"there is no register '{name}'", hints=[f"registers here: {' '.join(known)}"])
        mask |= 1 << known.index(name.lower())
    return mask


def ring_events(
    counters: Sequence[Counter],
    sampling: Sampling,
    filters: Mapping[int, str],
    *,
    inherit: bool,
    machine: str,
    alone: bool = False,
) -> list[RingEvent]:
    """``counters`` and the dummy. ``filters``: by index of the counter. ``inherit``: of tasks, by what they start.
    ``alone``: without a dummy, if there is only one counter."""
    common = _common(sampling)
    if alone and len(counters) == 1 and not sampling.overwrite:
        common &= ~u.PERF_SAMPLE_IDENTIFIER
        one = _event(0, counters, sampling, filters.get(0, ""), common, inherit, machine)
        attr = replace(one.attr, flags=one.attr.flags | _side_flags(sampling))
        return [replace(one, attr=attr)]
    out = [
        _event(i, counters, sampling, filters.get(i, ""), common, inherit and not _reads_groups(counters), machine)
        for i in range(len(counters))
    ]
    return [*out, _side(sampling, common, inherit)]


def _common(s: Sampling) -> int:
    """The parts that every event of a file has: what ends the records of the side-band is of the same form."""
    bits = u.PERF_SAMPLE_IDENTIFIER | u.PERF_SAMPLE_IP | u.PERF_SAMPLE_TID
    bits |= u.PERF_SAMPLE_TIME if s.times else 0
    bits |= u.PERF_SAMPLE_CPU if s.cpus else 0
    return bits


def _event(
    i: int, counters: Sequence[Counter], s: Sampling, filter_: str, common: int, inherit: bool, machine: str
) -> RingEvent:
    c = counters[i]
    if c.name == OFF_CPU:
        return _off_cpu(c, s, common)
    s, inherit = _of_its_own(c, s, inherit)
    leader = 0 if s.group else c.leader
    attr = replace(c.attr, sample_type=common, read_format=u.PERF_FORMAT_ID | u.PERF_FORMAT_LOST, flags=c.attr.flags)
    attr = _paced(attr, s)
    attr = _parts(attr, s)
    attr = _stacks(attr, s, machine)
    flags = attr.flags | u.FLAG_SAMPLE_ID_ALL | (u.FLAG_INHERIT if inherit else 0)
    if leader < 0 or leader == i:
        flags |= u.FLAG_DISABLED
    if s.per_thread_counts or s.running_times:
        flags |= u.FLAG_INHERIT_STAT if inherit and s.per_thread_counts else 0
        times = u.PERF_FORMAT_TOTAL_TIME_ENABLED | u.PERF_FORMAT_TOTAL_TIME_RUNNING
        attr = replace(attr, read_format=attr.read_format | times)
    if s.clockid >= 0:
        flags |= u.FLAG_USE_CLOCKID
        attr = replace(attr, clockid=s.clockid)
    if s.overwrite:
        flags |= u.FLAG_WRITE_BACKWARD
    if s.levels:
        flags |= u.FLAG_EXCLUDE_KERNEL if s.levels == "all-user" else u.FLAG_EXCLUDE_USER
    attr = replace(attr, flags=flags, wakeup=1 if s.at_once else 0)
    if _reads_groups(counters) and "S" in c.modifiers:
        attr = _read_by_leader(attr, alone=leader < 0 or leader == i)
    return RingEvent(c.name, attr, leader, filter_, c.cpus, SNAPSHOT if s.overwrite else DATA)


def _off_cpu(c: Counter, s: Sampling, common: int) -> RingEvent:
    """It never fires: its samples are written at the end."""
    flags = c.attr.flags | u.FLAG_SAMPLE_ID_ALL | u.FLAG_DISABLED | (u.FLAG_USE_CLOCKID if s.clockid >= 0 else 0)
    sample_type = off_cpu.sampled(common, cgroups=s.cgroups)
    attr = replace(c.attr, sample_type=sample_type, read_format=u.PERF_FORMAT_ID | u.PERF_FORMAT_LOST, flags=flags)
    return RingEvent(c.name, replace(attr, clockid=max(s.clockid, 0)))


def _of_its_own(c: Counter, s: Sampling, inherit: bool) -> tuple[Sampling, bool]:
    """What terms of the event say otherwise: ``cpu/cycles,call-graph=dwarf,stack-size=4096,no-inherit/``."""
    for term in c.terms:
        value = term.value or ""
        if term.name == "call-graph":
            if value not in {"fp", "dwarf", "lbr", "no"}:
                raise UsageError(f"there are no call graphs by '{value}'", hints=["call-graph=fp, dwarf, lbr or no"])
            s = replace(s, call_graph="" if value == "no" else value)
        elif term.name in {"stack-size", "max-stack"}:
            if not value.isdecimal() or int(value) > MOST_STACK:
                raise UsageError(f"{term.name} wants a number, not '{value}'")
            size = int(value)
            s = replace(s, stack_size=(size + 7) & ~7) if term.name == "stack-size" else replace(s, max_stack=size)
        elif term.name in {"inherit", "no-inherit"}:
            inherit = inherit and term.name == "inherit"
    return s, inherit


def _reads_groups(counters: Sequence[Counter]) -> bool:
    """``{a,b}:S``: samples of the leader read all of the group. The kernel cannot do so for inherited events before
    6.12 ("perf: Support PERF_SAMPLE_READ with inherit"), so none is."""
    return any("S" in c.modifiers for c in counters)


def _read_by_leader(attr: PerfAttr, *, alone: bool) -> PerfAttr:
    attr = replace(
        attr,
        sample_type=attr.sample_type | u.PERF_SAMPLE_READ,
        read_format=attr.read_format | u.PERF_FORMAT_GROUP,
    )
    return attr if alone else replace(attr, period=0, flags=attr.flags & ~u.FLAG_FREQ)


def _paced(attr: PerfAttr, s: Sampling) -> PerfAttr:
    """A period or frequency of its own (``cpu/cycles,period=1000/``) stays; a tracepoint is sampled each time, unless
    it was asked otherwise."""
    bits, flags, period = attr.sample_type, attr.flags, attr.period
    if attr.type == u.PERF_TYPE_TRACEPOINT:
        bits |= u.PERF_SAMPLE_CPU | u.PERF_SAMPLE_PERIOD | u.PERF_SAMPLE_RAW
        period = period or 1
    if attr.type == u.PERF_TYPE_BREAKPOINT:
        period = period or 1
    if s.no_samples:
        return replace(attr, sample_type=bits, flags=flags & ~u.FLAG_FREQ, period=0)
    own = bool(attr.period)
    if not own and (s.frequency or s.period or not period):
        period = s.period or s.frequency or DEFAULT_FREQUENCY
        flags = flags & ~u.FLAG_FREQ if s.period else flags | u.FLAG_FREQ
    bits |= u.PERF_SAMPLE_PERIOD if flags & u.FLAG_FREQ or s.periods else 0
    return replace(attr, sample_type=bits, flags=flags, period=period)


#: option: the part of a sample that it asks for
_ASKED = (
    ("addresses", u.PERF_SAMPLE_ADDR | u.PERF_SAMPLE_DATA_SRC),
    ("physical", u.PERF_SAMPLE_PHYS_ADDR | u.PERF_SAMPLE_ADDR),
    ("data_page_size", u.PERF_SAMPLE_DATA_PAGE_SIZE | u.PERF_SAMPLE_ADDR),
    ("code_page_size", u.PERF_SAMPLE_CODE_PAGE_SIZE),
    ("weight", u.PERF_SAMPLE_WEIGHT_STRUCT),
    ("transactions", u.PERF_SAMPLE_TRANSACTION),
    ("raw", u.PERF_SAMPLE_RAW),
    ("cgroups", u.PERF_SAMPLE_CGROUP),
    ("user_registers", u.PERF_SAMPLE_REGS_USER),
    ("machine_registers", u.PERF_SAMPLE_REGS_INTR),
    ("branches", u.PERF_SAMPLE_BRANCH_STACK),
)


def _parts(attr: PerfAttr, s: Sampling) -> PerfAttr:
    bits = attr.sample_type
    for option, part in _ASKED:
        bits |= part if getattr(s, option) else 0
    return replace(
        attr,
        sample_type=bits,
        sample_regs_user=s.user_registers,
        sample_regs_intr=s.machine_registers,
        branch_sample_type=s.branches,
    )


def _stacks(attr: PerfAttr, s: Sampling, machine: str) -> PerfAttr:
    if not s.call_graph or s.no_samples:
        return attr
    bits, flags = attr.sample_type | u.PERF_SAMPLE_CALLCHAIN, attr.flags
    if s.chains:
        flags |= u.FLAG_EXCLUDE_CALLCHAIN_USER if s.chains == "kernel" else u.FLAG_EXCLUDE_CALLCHAIN_KERNEL
    attr = replace(attr, sample_type=bits, flags=flags, sample_max_stack=s.max_stack)
    if s.call_graph == "dwarf" and s.chains != "kernel":
        return replace(
            attr,
            sample_type=bits | u.PERF_SAMPLE_REGS_USER | u.PERF_SAMPLE_STACK_USER,
            flags=flags | u.FLAG_EXCLUDE_CALLCHAIN_USER,
            sample_regs_user=attr.sample_regs_user | register_mask((), machine),
            sample_stack_user=s.stack_size,
        )
    if s.call_graph == "lbr":
        branch = u.PERF_SAMPLE_BRANCH
        return replace(
            attr,
            sample_type=bits | u.PERF_SAMPLE_BRANCH_STACK,
            flags=flags | u.FLAG_EXCLUDE_CALLCHAIN_USER,
            branch_sample_type=branch["u"] | branch["stack"] | branch["no_cycles"] | branch["no_flags"],
        )
    return attr


def _side(s: Sampling, common: int, inherit: bool) -> RingEvent:
    """No sample comes of it: it is there for the records that tell of tasks and their maps."""
    flags = _side_flags(s) | u.FLAG_SAMPLE_ID_ALL | u.FLAG_EXCLUDE_KERNEL | u.FLAG_EXCLUDE_HV
    flags |= u.FLAG_INHERIT if inherit else 0
    flags |= u.FLAG_USE_CLOCKID if s.clockid >= 0 else 0
    read_format = u.PERF_FORMAT_ID | u.PERF_FORMAT_LOST
    attr = PerfAttr(u.PERF_TYPE_SOFTWARE, u.PERF_COUNT_SW_DUMMY, 1, common, read_format, flags)
    return RingEvent("dummy:u", replace(attr, clockid=max(s.clockid, 0)), ring=SIDE)


def _side_flags(s: Sampling) -> int:
    flags = u.FLAG_MMAP | u.FLAG_MMAP2 | u.FLAG_COMM | u.FLAG_COMM_EXEC | u.FLAG_TASK
    flags |= u.FLAG_KSYMBOL | u.FLAG_BPF_EVENT if s.bpf else 0
    flags |= u.FLAG_MMAP_DATA if s.addresses or s.call_graph == "dwarf" else 0
    flags |= u.FLAG_CONTEXT_SWITCH if s.switches else 0
    flags |= u.FLAG_NAMESPACES if s.namespaces else 0
    flags |= u.FLAG_CGROUP if s.cgroups else 0
    flags |= u.FLAG_BUILD_ID if s.build_ids else 0
    return flags
