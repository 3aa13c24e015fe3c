"""What is known of sources and of the ways to collect from them, as data: how stable, with which privileges, who else.

``interface`` says how likely a probe is to be there, and to mean the same, tomorrow:

    stable     kept so by the kernel's maintainers, by an ABI, or by the program's authors
    internal   the kernel's own affair: may change with every version
    build      holds for this very build of the program
    run        holds for this run of the program
"""

from __future__ import annotations

from typing import Literal

from probescope.frozen import dataclass

Interface = Literal["stable", "internal", "build", "run"]
Through = Literal["bpf", "perf", "ftrace", "ptrace", "probescope"]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """``kernel``: what it must be built with. ``others``: names in ``OTHERS`` of ways that are not on the ladder."""

    interface: Interface
    stability: str
    kernel: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Other:
    """A way to collect that probescope's own programs do not take: with the tool that does."""

    mechanism: str
    through: Through
    about: str
    features: tuple[str, ...] = ()
    cost: str = ""  # the name in plan/costs.py, where it differs


@dataclass(frozen=True, slots=True)
class Privilege:
    """``text`` for a reader; ``capabilities``: all of them must be held, as kernel/privileges.py names them."""

    text: str
    capabilities: tuple[str, ...] = ()
    root: bool = False


PRIVILEGES: dict[Through, Privilege] = {
    "bpf": Privilege("CAP_BPF and CAP_PERFMON", ("bpf", "perfmon")),
    "perf": Privilege("CAP_PERFMON", ("perfmon",)),
    "ftrace": Privilege("root (tracefs)", root=True),
    "ptrace": Privilege("none for one's own processes"),
    "probescope": Privilege("none"),
}

OTHERS: dict[str, Other] = {
    o.mechanism: o
    for o in (
        Other("perf stat", "perf", "counts hits, nothing else", ("perf:software",)),
        Other(
            "perf record", "perf", "a record of each hit, filtered in the kernel, evaluated later", ("perf:software",)
        ),
        Other(
            "perf record -g",
            "perf",
            "a record with its call chain, evaluated later",
            ("perf:cpu_clock",),
            "perf record/stack",
        ),
        Other(
            "perf probe",
            "perf",
            "an event made for it, then a record of each hit",
            ("ftrace:kprobe_events",),
            "perf record",
        ),
        Other(
            "perf probe -x",
            "perf",
            "an event made for it, then a record of each hit",
            ("ftrace:uprobe_events",),
            "perf record",
        ),
        Other("ftrace event", "ftrace", "a line of text for each hit; filters and triggers", ("ftrace:tracefs",)),
        Other(
            "ftrace hist",
            "ftrace",
            "counts by fields of the record, in the kernel, without BPF",
            ("ftrace:hist",),
            "ftrace event",
        ),
        Other("ftrace function", "ftrace", "that it was called and by whom; no arguments", ("ftrace:function",)),
        Other("ftrace graph", "ftrace", "how long it took and what it called", ("ftrace:function_graph",)),
        Other("ftrace uprobe", "ftrace", "a line of text for each hit", ("ftrace:uprobe_events",)),
        Other("strace", "ptrace", "stops the process twice at every system call: not for production"),
    )
}

_EVENT = ("perf stat", "perf record", "ftrace event", "ftrace hist")
_FUNCTION = ("perf probe", "ftrace function", "ftrace graph")
_USER = ("perf probe -x", "ftrace uprobe")
_COUNTER = ("perf stat", "perf record")

_KPROBE = Knowledge(
    "internal",
    "a function of this very kernel: it may be renamed, inlined or gone in the next",
    "CONFIG_KPROBES, CONFIG_KPROBE_EVENTS; not on functions that are inlined or marked notrace",
    _FUNCTION,
)
_FENTRY = Knowledge(
    "internal",
    "a function that the kernel's BTF describes: it may be renamed, inlined or gone in the next",
    "5.5, CONFIG_DEBUG_INFO_BTF, CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
    _FUNCTION,
)
_UPROBE = Knowledge(
    "build",
    "a function of this build of the program; exported functions of libraries last longer",
    "CONFIG_UPROBES, CONFIG_UPROBE_EVENTS",
    _USER,
)
_WATCH = Knowledge(
    "run",
    "an address of this run; four at a time on x86-64",
    "CONFIG_HAVE_HW_BREAKPOINT",
    _COUNTER,
)
_OWN = Knowledge("stable", "probescope's own")

SOURCES: dict[str, Knowledge] = {
    "tracepoint": Knowledge(
        "stable",
        "the kernel's maintainers keep it; fields seldom change",
        "CONFIG_TRACEPOINTS; for system calls CONFIG_FTRACE_SYSCALLS",
        _EVENT,
    ),
    "rawtracepoint": Knowledge(
        "internal",
        "the place is as stable as the tracepoint; its arguments are the kernel's own structures",
        "4.17; named arguments need BTF (5.5, CONFIG_DEBUG_INFO_BTF)",
        _EVENT,
    ),
    "kprobe": _KPROBE,
    "kretprobe": _KPROBE,
    "fentry": _FENTRY,
    "fexit": _FENTRY,
    "uprobe": _UPROBE,
    "uretprobe": _UPROBE,
    "usdt": Knowledge(
        "stable",
        "the program's authors placed it and keep it; it costs nothing while nobody looks",
        "CONFIG_UPROBES; semaphores need 4.20",
        _USER,
    ),
    "profile": Knowledge("stable", "a clock", "CONFIG_PERF_EVENTS", ("perf record -g",)),
    "interval": _OWN,
    "software": Knowledge("stable", "counters of the kernel, part of its ABI", "CONFIG_PERF_EVENTS", _COUNTER),
    "hardware": Knowledge(
        "stable", "counters of the processor, as far as it and the hypervisor have them", "a PMU", _COUNTER
    ),
    "watchpoint": _WATCH,
    "asyncwatchpoint": _WATCH,
    "iter": Knowledge("internal", "walks over the kernel's own structures", "5.8, CONFIG_DEBUG_INFO_BTF"),
    "begin": _OWN,
    "end": _OWN,
    "self": _OWN,
    "test": _OWN,
    "bench": _OWN,
}

SETUP_MS: dict[str, tuple[float, float]] = {
    # kind of step: milliseconds to attach one, and to let it go
    "AttachTracepoint": (0.1, 40.0),  # closing waits for RCU; threads share some of it
    "AttachUprobe": (0.3, 60.0),
    "AttachKprobe": (10.0, 60.0),
    "AttachTracing": (3.0, 10.0),
    "AttachRaw": (0.2, 0.2),
    "AttachKprobeMulti": (60.0, 75.0),
    "AttachUprobeMulti": (8.0, 24.0),
    "AttachPerf": (0.1, 10.0),
}
"""Measured on the machine of plan/costs.py."""
