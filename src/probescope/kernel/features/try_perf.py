"""``perf:``: events that open, and fields of perf_event_attr that the kernel takes. Events of this process, closed at
once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probescope.kernel.features.answer import No
from probescope.kernel.host import host
from probescope.kernel.perf_attr import PerfAttr, breakpoint_attr, pmu_type
from probescope.kernel.perf_event import perf_event_open
from probescope.kernel.uapi import perf as u


def attempt(name: str) -> None:
    what = name.partition(":")[2]
    if what not in _ATTEMPTS:
        raise No("no such perf feature")
    _ATTEMPTS[what]()


def _opens(attr: PerfAttr) -> Callable[[], None]:
    return lambda: perf_event_open(attr, pid=0).close()


def _clock(sample_type: int = 0, flags: int = 0, **fields: Any) -> Callable[[], None]:
    """cpu-clock, sampling once a second, with a field of interest."""
    return _opens(PerfAttr(u.PERF_TYPE_SOFTWARE, 0, 1, sample_type, flags=flags | u.FLAG_FREQ, **fields))


def _side_band(flags: int) -> Callable[[], None]:
    return _opens(PerfAttr(u.PERF_TYPE_SOFTWARE, u.PERF_COUNT_SW_DUMMY, flags=flags | u.FLAG_DISABLED))


def _breakpoint(kind: int) -> Callable[[], None]:
    def go() -> None:
        watched = bytearray(16)
        where = (host().address(watched) + 7) & ~7
        perf_event_open(breakpoint_attr(where, 8, kind, flags=u.FLAG_EXCLUDE_KERNEL), pid=0).close()

    return go


def _sigtrap() -> None:
    watched = bytearray(16)
    where = (host().address(watched) + 7) & ~7
    flags = u.FLAG_SIGTRAP | u.FLAG_REMOVE_ON_EXEC | u.FLAG_DISABLED | u.FLAG_EXCLUDE_KERNEL
    perf_event_open(breakpoint_attr(where, 8, u.HW_BREAKPOINT_W, flags=flags), pid=0).close()


def _pmu(name: str) -> Callable[[], None]:
    def go() -> None:
        pmu_type(name)

    return go


_ATTEMPTS: dict[str, Callable[[], None]] = {
    "software": _side_band(0),
    "cpu_clock": _clock(u.PERF_SAMPLE_IP),
    "hardware": _opens(PerfAttr(u.PERF_TYPE_HARDWARE, u.HARDWARE_EVENTS["cpu-cycles"])),
    "cache": _opens(PerfAttr(u.PERF_TYPE_HW_CACHE, u.CACHE_IDS["ll"] | u.CACHE_RESULTS["miss"] << 16)),
    "breakpoint": _breakpoint(u.HW_BREAKPOINT_W),
    "callchain": _clock(u.PERF_SAMPLE_CALLCHAIN),
    "branch_stack": _clock(u.PERF_SAMPLE_BRANCH_STACK, branch_sample_type=1 << 3),
    "regs_user": _clock(u.PERF_SAMPLE_REGS_USER, sample_regs_user=1),
    "stack_user": _clock(u.PERF_SAMPLE_STACK_USER, sample_stack_user=1024),
    "cgroup_sample": _clock(u.PERF_SAMPLE_CGROUP),
    "clockid": _clock(u.PERF_SAMPLE_TIME, u.FLAG_USE_CLOCKID, clockid=1),
    "write_backward": _clock(u.PERF_SAMPLE_IP, u.FLAG_WRITE_BACKWARD),
    "build_id": _side_band(u.FLAG_MMAP | u.FLAG_MMAP2 | u.FLAG_BUILD_ID),
    "context_switch": _side_band(u.FLAG_CONTEXT_SWITCH),
    "ksymbol": _side_band(u.FLAG_KSYMBOL),
    "bpf_event": _side_band(u.FLAG_BPF_EVENT),
    "format_lost": _opens(PerfAttr(u.PERF_TYPE_SOFTWARE, 0, read_format=u.PERF_FORMAT_LOST)),
    "sigtrap": _sigtrap,
    "intel_pt": _pmu("intel_pt"),
    "msr": _pmu("msr"),
}
