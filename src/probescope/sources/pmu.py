"""Counted events of perf: ``software:NAME[:COUNT]`` and ``hardware:NAME[:COUNT]``; fires at every COUNT-th occurrence.

Numbers are ``enum perf_hw_id`` and ``enum perf_sw_ids`` of include/uapi/linux/perf_event.h. The counts that apply when
none is written are those that users of bpftrace know.
"""

from __future__ import annotations

from probescope.diagnostics import nearest
from probescope.errors import ProbeError
from probescope.frozen import dataclass
from probescope.model.probe import ProbeSpec
from probescope.model.site import PerfAttach, Site
from probescope.sources.context import ResolveContext
from probescope.sources.globs import select

SOURCES = ("software", "hardware")


@dataclass(frozen=True, slots=True)
class PerfEvent:
    name: str
    config: int
    period: int
    alias: str = ""


PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE = 0, 1

EVENTS: dict[str, tuple[int, tuple[PerfEvent, ...]]] = {
    "software": (
        PERF_TYPE_SOFTWARE,
        (
            PerfEvent("alignment-faults", 7, 1),
            PerfEvent("bpf-output", 10, 1),
            PerfEvent("context-switches", 3, 1000, "cs"),
            PerfEvent("cpu-clock", 0, 1_000_000, "cpu"),
            PerfEvent("cpu-migrations", 4, 1),
            PerfEvent("dummy", 9, 1),
            PerfEvent("emulation-faults", 8, 1),
            PerfEvent("major-faults", 6, 1),
            PerfEvent("minor-faults", 5, 100),
            PerfEvent("page-faults", 2, 100, "faults"),
            PerfEvent("task-clock", 1, 1),
        ),
    ),
    "hardware": (
        PERF_TYPE_HARDWARE,
        (
            PerfEvent("backend-stalls", 8, 1_000_000),
            PerfEvent("branch-instructions", 4, 100_000, "branches"),
            PerfEvent("branch-misses", 5, 100_000),
            PerfEvent("bus-cycles", 6, 100_000),
            PerfEvent("cache-misses", 3, 1_000_000),
            PerfEvent("cache-references", 2, 1_000_000),
            PerfEvent("cpu-cycles", 0, 1_000_000, "cycles"),
            PerfEvent("frontend-stalls", 7, 1_000_000),
            PerfEvent("instructions", 1, 1_000_000),
            PerfEvent("ref-cycles", 9, 1_000_000),
        ),
    ),
}


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    names = [n for e in EVENTS[source][1] for n in (e.name, e.alias) if n]
    return select(pattern, [f"{n}:" for n in names]) or [f"{n}:" for n in select(pattern, names)]


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    return [s.name for s in resolve(spec, ctx)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    kind, events = EVENTS[spec.source]
    wanted = spec.name or spec.target
    event = next((e for e in events if wanted and wanted in (e.name, e.alias)), None)
    if event is None:
        names = [n for e in events for n in (e.name, e.alias) if n]
        hints = [f"did you mean {spec.source}:{n}:?" for n in nearest(wanted, names)]
        raise ProbeError(f"'{wanted}' is not a {spec.source} event", hints=hints or ["events: " + ", ".join(names)])
    if spec.value < 0 or spec.value >> 63:
        raise ProbeError(f"the count of {spec.source}:{wanted} must be from 1 to 2^63 - 1")
    name = f"{spec.source}:{wanted}:{spec.value}" if spec.value else f"{spec.source}:{wanted}:"
    return [
        Site(name, spec.source, PerfAttach(kind, event.config, spec.value or event.period, pid=ctx.pid), pid=ctx.pid)
    ]


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    return []
