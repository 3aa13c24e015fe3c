"""What is known of each source, as data: how stable its probes are, what they need, and who else could collect from it.

Costs are nanoseconds added to one hit on a 2-core x86-64 machine with Linux 6.18.
"""

from __future__ import annotations

from probescope.frozen import dataclass

_BPF = "CAP_BPF and CAP_PERFMON, or root"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """``others``: (mechanism, nanoseconds, what it is like) of collectors that could serve the source instead."""

    stability: str = ""
    privileges: str = ""
    kernel: str = ""
    others: tuple[tuple[str, int, str], ...] = ()


_FTRACE = ("ftrace event", 300, "a record in the trace buffer: no program, filters and triggers only")
_PERF = ("perf sample", 680, "a perf record for each hit: whole fields, filtered in the kernel, evaluated afterwards")
_FUNCTION = ("ftrace function", 150, "the function tracer: names and call graphs, no arguments before 6.15")

SOURCES: dict[str, Knowledge] = {
    "tracepoint": Knowledge(
        "kept stable by the kernel's maintainers; fields seldom change",
        _BPF,
        "CONFIG_TRACEPOINTS; syscalls need CONFIG_FTRACE_SYSCALLS",
        (_PERF, _FTRACE),
    ),
    "rawtracepoint": Knowledge(
        "the place is stable, its arguments are the kernel's own and change with it",
        _BPF,
        "4.17; typed arguments need BTF (5.5, CONFIG_DEBUG_INFO_BTF)",
        (("tracepoint", 140, "the same place with a stable record"),),
    ),
    "kprobe": Knowledge(
        "any function of this very kernel: it may be renamed, inlined or gone in the next",
        _BPF,
        "CONFIG_KPROBES, CONFIG_KPROBE_EVENTS; not where functions are marked notrace or inlined",
        (_FUNCTION, ("fentry", 60, "cheaper, with named arguments, where BTF knows the function")),
    ),
    "fentry": Knowledge(
        "any function that BTF describes: it may be renamed, inlined or gone in the next kernel",
        _BPF,
        "5.5, CONFIG_DEBUG_INFO_BTF, CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS",
        (("kprobe", 130, "works without BTF, arguments by number"), _FUNCTION),
    ),
    "uprobe": Knowledge(
        "a function of this very build of the program",
        _BPF,
        "CONFIG_UPROBES, CONFIG_UPROBE_EVENTS",
        (("perf sample", 1300, "one record for each hit"), ("ftrace uprobe event", 10_380, "single-stepped")),
    ),
    "usdt": Knowledge(
        "placed and kept by the program's authors; free while nobody looks",
        _BPF,
        "CONFIG_UPROBES; semaphores of running processes need 4.20",
        (("perf sample", 1300, "perf probe sdt_NAMESPACE:NAME"),),
    ),
    "profile": Knowledge(
        "always there",
        "CAP_PERFMON, or kernel.perf_event_paranoid <= 0",
        "CONFIG_PERF_EVENTS",
        (("perf record", 1350, "one sample with its call chain in a ring, aggregated afterwards"),),
    ),
    "interval": Knowledge("always there"),
    "software": Knowledge("always there", "CAP_PERFMON", "CONFIG_PERF_EVENTS", (_PERF,)),
    "hardware": Knowledge("depends on the processor and the hypervisor", "CAP_PERFMON", "a PMU", (_PERF,)),
    "watchpoint": Knowledge(
        "an address of this run; four at a time on x86-64",
        "CAP_PERFMON",
        "CONFIG_HAVE_HW_BREAKPOINT",
        (_PERF,),
    ),
    "iter": Knowledge("the kernel's own structures", _BPF, "5.8, CONFIG_DEBUG_INFO_BTF"),
}
for _alias, _of in {
    "kretprobe": "kprobe",
    "fexit": "fentry",
    "uretprobe": "uprobe",
    "asyncwatchpoint": "watchpoint",
}.items():
    SOURCES[_alias] = SOURCES[_of]
