"""The commands with which the peers would look at the same probe: perf, trace-cmd, bpftrace, strace.

Facts of their command lines, to be pasted into a shell; nothing of them is run here. ``features`` are what the command
needs of the kernel, so that ``explain`` can say where it would fail too.
"""

from __future__ import annotations

import shlex

from probescope.frozen import dataclass
from probescope.model.site import (
    FentryAttach,
    IntervalAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    Site,
    TracepointAttach,
    UprobeAttach,
)

SECONDS = 5
TRACE_CMD = ("ftrace:tracefs", "ftrace:switch")

# (type, config) of perf_event_attr: the name that perf's command line has for it, where it differs from ours
_PERF_NAMES = {(0, 7): "stalled-cycles-frontend", (0, 8): "stalled-cycles-backend"}
_PERF_EVENTS = {
    0: ("cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles"),
    1: (
        "cpu-clock",
        "task-clock",
        "page-faults",
        "context-switches",
        "cpu-migrations",
        "minor-faults",
        "major-faults",
        "alignment-faults",
        "emulation-faults",
        "dummy",
        "bpf-output",
    ),
}


@dataclass(frozen=True, slots=True)
class Equivalent:
    """``about``: what it gives. ``features``: what it needs, as kernel/features names it."""

    tool: str
    command: str
    about: str
    features: tuple[str, ...] = ()


def equivalents(
    site: Site, *, pattern: str = "", twin: str = "", pid: int = 0, arch: str = "x86_64"
) -> tuple[Equivalent, ...]:
    """``pattern``: the probe as written, where it stands for several. ``twin``: CATEGORY:EVENT of a raw tracepoint,
    if it is known. ``pid``: only this process. ``arch``: whose system call numbers hold. Empty where the peers have
    nothing of the kind."""
    on = f"-p {pid}" if pid > 0 else "-a"
    probe = pattern or site.name
    match site.attach:
        case TracepointAttach() as a:
            event = pattern.partition(":")[2] if pattern else f"{a.category}:{a.event}"
            found = (*_event(event, on), *_strace(a, on, pattern, arch))
        case RawTracepointAttach():
            found = _event(twin, on) if twin else ()
        case FentryAttach(program=program) if program:
            found = ()
        case KprobeAttach() | FentryAttach() as a:
            found = _function(a, probe.rpartition(":")[2] if pattern else "", on)
        case UprobeAttach() as a:
            one = _usdt(site, a, on) if site.source == "usdt" else _uprobe(site, a, on)
            found = () if pattern else one  # the others would have to be told each place
        case PerfAttach() as a:
            found = _counter(site, a, on)
        case IntervalAttach(period_ns=ns):
            # its shortest interval is a millisecond
            found = (Equivalent("perf", f"perf stat -I {max(ns // 1_000_000, 1)} {on}", "counters in every interval"),)
        case IterAttach():
            found = ()
        case _:
            return ()
    return (*found, _bpftrace(probe, pid))


def _bpftrace(probe: str, pid: int) -> Equivalent:
    program = shlex.quote(f"{probe} {{ @[comm] = count(); }}")
    where = f" -p {pid}" if pid > 0 else ""
    return Equivalent("bpftrace", f"bpftrace{where} -e {program}", "counts by command; needs LLVM")


def _event(event: str, on: str) -> tuple[Equivalent, ...]:
    name = shlex.quote(event)
    return (
        Equivalent("perf", f"perf stat -e {name} {on} -- sleep {SECONDS}", "how many"),
        Equivalent("perf", f"perf record -e {name} {on} -- sleep {SECONDS}; perf script", "each hit, with its fields"),
        Equivalent(
            "trace-cmd",
            f"trace-cmd record -e {name} {_only(on)}sleep {SECONDS}; trace-cmd report",
            "each hit, with its fields",
            TRACE_CMD,
        ),
    )


def _strace(a: TracepointAttach, on: str, pattern: str, arch: str) -> tuple[Equivalent, ...]:
    if pattern or not a.event.startswith(("sys_enter_", "sys_exit_")):
        return ()
    from probescope.model.syscalls import names

    call = names(arch).get(a.syscall) or a.event.removeprefix("sys_enter_").removeprefix("sys_exit_")
    who = on if on.startswith("-p") else "-p PID"
    return (
        Equivalent("perf", f"perf trace -e {call} {on} -- sleep {SECONDS}", "calls with their results, as text"),
        Equivalent("strace", f"strace -f -e trace={call} {who}", "calls of one process; slows it down a lot"),
    )


def _probed(target: str, place: str, on: str, feature: str, *, ret: bool) -> Equivalent:
    """``perf probe`` makes the event ``mine:hit``; for returns it appends to the name."""
    event = "mine:hit__return" if ret else "mine:hit"
    add = f"perf probe {target}-a {shlex.quote(f'mine:hit={place}')}"
    record = f"perf record -e {event} {on} -- sleep {SECONDS}; perf script"
    return Equivalent("perf", f"{add} && {record}; perf probe -d {event}", "each hit", (feature,))


def _function(a: KprobeAttach | FentryAttach, pattern: str, on: str) -> tuple[Equivalent, ...]:
    symbol = a.symbol if isinstance(a, KprobeAttach) else a.func
    offset = a.offset if isinstance(a, KprobeAttach) else 0
    out: list[Equivalent] = []
    if symbol and not pattern:
        place = f"{symbol}%return" if a.ret else f"{symbol}+{offset}" if offset else symbol
        out.append(_probed("", place, on, "ftrace:kprobe_events", ret=a.ret))
    if (pattern or symbol) and not offset:
        tracer, feature = ("function_graph", "ftrace:function_graph") if a.ret else ("function", "ftrace:function")
        functions = shlex.quote(pattern or symbol)
        command = f"trace-cmd record -p {tracer} -l {functions} {_only(on)}sleep {SECONDS}; trace-cmd report"
        out.append(
            Equivalent("trace-cmd", command, "durations" if a.ret else "calls and callers", (*TRACE_CMD, feature))
        )
    return tuple(out)


def _only(on: str) -> str:
    """trace-cmd's own way to say which process."""
    return f"-P {on[3:]} " if on.startswith("-p") else ""


def _uprobe(site: Site, a: UprobeAttach, on: str) -> tuple[Equivalent, ...]:
    out: list[Equivalent] = []
    if site.func and "+" not in site.name:
        place = f"{site.func}{'%return' if a.ret else ''}"
        out.append(_probed(f"-x {shlex.quote(a.path)} ", place, on, "ftrace:uprobe_events", ret=a.ret))
    return (*out, _uprobe_event(a, on))


def _uprobe_event(a: UprobeAttach, on: str) -> Equivalent:
    """trace-cmd records uprobe events and cannot make them: the file of tracefs can. Source:
    Documentation/trace/uprobetracer.rst."""
    ref = f"({a.ref_ctr:#x})" if a.ref_ctr else ""
    event = shlex.quote(f"{'r' if a.ret else 'p'}:mine {a.path}:{a.offset:#x}{ref}")
    file = "/sys/kernel/tracing/uprobe_events"
    command = (
        f"echo {event} >> {file} && trace-cmd record -e uprobes:mine {_only(on)}sleep {SECONDS}; "
        f"trace-cmd report; echo '-:mine' >> {file}"
    )
    return Equivalent("trace-cmd", command, "each hit", (*TRACE_CMD, "ftrace:uprobe_events"))


def _usdt(site: Site, a: UprobeAttach, on: str) -> tuple[Equivalent, ...]:
    event = "sdt_" + ":".join(site.name.split(":")[-2:])
    path = shlex.quote(a.path)
    record = f"perf record -e {event} {on} -- sleep {SECONDS}"
    command = f"perf buildid-cache --add {path} && perf probe {event} && {record}; perf probe -d {event}"
    perf = Equivalent("perf", command, "each hit, with its arguments", ("ftrace:uprobe_events",))
    return (perf, _uprobe_event(a, on))


def _counter(site: Site, a: PerfAttach, on: str) -> tuple[Equivalent, ...]:
    if site.source == "profile":
        rate = f"-F {a.frequency}" if a.frequency else f"-e cpu-clock -c {a.period}"
        command = f"perf record {rate} {on} -g -- sleep {SECONDS}; perf report"
        return (Equivalent("perf", command, "call chains, where the time goes"),)
    event = _perf_name(a)
    count = Equivalent("perf", f"perf stat -e {event} {on} -- sleep {SECONDS}", "how many", _needs(a))
    record = f"perf record -e {event} -c {a.period} {on} -- sleep {SECONDS}; perf script"
    return (count, Equivalent("perf", record, f"a sample at every {a.period:,}" if a.period > 1 else "each", _needs(a)))


def _perf_name(a: PerfAttach) -> str:
    if a.type == 5:  # PERF_TYPE_BREAKPOINT
        mode = "".join(c for bit, c in ((1, "r"), (2, "w"), (4, "x")) if a.bp_type & bit)
        return f"mem:{a.bp_addr:#x}:x" if mode == "x" else f"mem:{a.bp_addr:#x}/{a.bp_len}:{mode}"
    special = _PERF_NAMES.get((a.type, a.config))
    names = _PERF_EVENTS.get(a.type, ())
    return special or (names[a.config] if a.config < len(names) else "ref-cycles")


def _needs(a: PerfAttach) -> tuple[str, ...]:
    return {0: ("perf:hardware",), 5: ("perf:breakpoint",)}.get(a.type, ())
