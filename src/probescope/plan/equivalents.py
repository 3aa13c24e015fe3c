"""The commands with which the peers would look at the same probe. Facts of their command lines; nothing of them is
run."""

from __future__ import annotations

from probescope.model.site import (
    FentryAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    Site,
    TracepointAttach,
    UprobeAttach,
)

Commands = tuple[tuple[str, str], ...]


def equivalents(site: Site) -> Commands:
    """(tool, command) pairs; empty where the peers have nothing of the kind."""
    match site.attach:
        case TracepointAttach() as a:
            return _tracepoint(site, a)
        case RawTracepointAttach():
            return (_bpftrace(site),)
        case KprobeAttach() as a:
            return _kprobe(site, a)
        case FentryAttach(func=f):
            return (_bpftrace(site), ("trace-cmd", f"trace-cmd record -p function -l {f}"))
        case UprobeAttach() as a:
            return _usdt(site, a) if site.source == "usdt" else _uprobe(site, a)
        case PerfAttach() as a:
            return _perf_event(site, a)
        case IterAttach():
            return (_bpftrace(site),)
        case _:
            return ()


def _bpftrace(site: Site) -> tuple[str, str]:
    return "bpftrace", f"bpftrace -e '{site.name} {{ @[comm] = count(); }}'"


def _tracepoint(site: Site, a: TracepointAttach) -> Commands:
    event = f"{a.category}:{a.event}"
    return (
        ("perf", f"perf record -e {event} -a -- sleep 5; perf script"),
        ("trace-cmd", f"trace-cmd record -e {event} sleep 5; trace-cmd report"),
        _bpftrace(site),
    )


def _kprobe(site: Site, a: KprobeAttach) -> Commands:
    place = f"{a.symbol}{f'+{a.offset}' if a.offset else ''}{'%return' if a.ret else ''}"
    name = f"{a.symbol}{'__return' if a.ret else ''}"
    perf = f"perf probe {place}; perf record -e probe:{name} -a -- sleep 5; perf probe -d {name}"
    graph = (
        f"trace-cmd record -p function -l {a.symbol}"
        if not a.ret
        else f"trace-cmd record -p function_graph -g {a.symbol}"
    )
    return (("perf", perf), ("trace-cmd", graph), _bpftrace(site))


def _uprobe(site: Site, a: UprobeAttach) -> Commands:
    ret = "%return" if a.ret else ""
    perf = f"perf probe -x {a.path} '{site.func}{ret}'; perf record -e 'probe_*:{site.func}*' -a -- sleep 5"
    event = f"{'r' if a.ret else 'p'}:mine {a.path}:{a.offset:#x}"
    trace_cmd = f"echo '{event}' >> /sys/kernel/tracing/uprobe_events; trace-cmd record -e uprobes:mine sleep 5"
    return (("perf", perf), ("trace-cmd", trace_cmd), _bpftrace(site))


def _usdt(site: Site, a: UprobeAttach) -> Commands:
    event = "sdt_" + ":".join(site.name.split(":")[-2:])
    perf = f"perf buildid-cache --add {a.path}; perf probe {event}; perf record -e {event} -a -- sleep 5"
    return (("perf", perf), _bpftrace(site))


def _perf_event(site: Site, a: PerfAttach) -> Commands:
    if site.source == "profile":
        rate = f"-F {a.frequency}" if a.frequency else f"-c {a.period}"
        return (("perf", f"perf record {rate} -a -g -- sleep 5"), _bpftrace(site))
    if site.source in ("watchpoint", "asyncwatchpoint"):
        mode = "".join(c for bit, c in ((1, "r"), (2, "w"), (4, "x")) if a.bp_type & bit)
        return (("perf", f"perf record -e mem:{a.bp_addr:#x}/{a.bp_len}:{mode} -a -- sleep 5"), _bpftrace(site))
    event = site.name.split(":")[1]
    return (("perf", f"perf record -e {event} -c {a.period or a.frequency} -a -- sleep 5"), _bpftrace(site))
