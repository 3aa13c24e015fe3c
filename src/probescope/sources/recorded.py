"""Probes of a recording: what was recorded, as sites. Nothing of this machine is asked.

tracepoint:sched:sched_switch    the event of that name, with its fields as the recording describes them
rawtracepoint:sched_switch       the same place, without arguments
software:NAME, hardware:NAME     samples of that counter; each is one firing, whatever the period was
profile:hz:99                    samples of a clock: of the first of cpu-clock, cycles and task-clock that was recorded
kprobe:vfs_read                  the event that `perf probe` makes of it, probe:vfs_read; uprobe: probe_BINARY:NAME
usdt:BINARY:NS:NAME              sdt_NS:NAME
begin, end, interval, self       as ever
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from probescope.diagnostics import nearest
from probescope.errors import NoSuchProbe, ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.recording import EventType
from probescope.model.site import DataLoc, Field, RecordedAttach, Site
from probescope.model.types import Pointer
from probescope.sources import registry
from probescope.sources.context import ResolveContext
from probescope.sources.globs import matches
from probescope.sources.pmu import EVENTS
from probescope.sources.tracepoint_format import FormatParser

OURS = ("begin", "end", "interval", "self")
CLOCKS = ("cpu-clock", "cycles", "task-clock")
_ALIASES = {
    "cpu-cycles": "cycles",
    "branch-instructions": "branches",
    "faults": "page-faults",
    "cs": "context-switches",
    "migrations": "cpu-migrations",
    "cpu": "cpu-clock",
    "idle-cycles-frontend": "frontend-stalls",
    "stalled-cycles-frontend": "frontend-stalls",
    "idle-cycles-backend": "backend-stalls",
    "stalled-cycles-backend": "backend-stalls",
}
_PMU = re.compile(r"cpu(?:_\w+)?/([\w-]+)[,/]")
MOST_NAMED = 8

Find = Callable[["RecordedSites", ProbeSpec], list[Site]]


class RecordedSites:
    """``Resolve`` of the languages, over ``events`` of a recording. ``name``: what messages call it."""

    def __init__(self, events: Sequence[EventType], name: str = "the recording") -> None:
        self._events = events
        self._name = name
        self._parser = FormatParser(None, ResolveContext().max_strlen)
        self._kinds: dict[str, list[int]] = {}
        for i, event in enumerate(events):
            self._kinds.setdefault(plain(event), []).append(i)

    @property
    def names(self) -> list[str]:
        """Of all kinds of events, as probes."""
        return [as_probe(name, bool(self._events[kinds[0]].id)) for name, kinds in self._kinds.items()]

    @property
    def listed(self) -> list[str]:
        """The same, and what else can be written of them."""
        return sorted([*self.names, *(["profile:hz:"] if any(n in self._kinds for n in CLOCKS) else [])])

    def __call__(self, spec: ProbeSpec, need_fields: bool) -> Sequence[Site]:
        """At least one site. Raises ``ProbeError``, with what there is."""
        if spec.source in OURS:
            return registry.resolve(spec, ResolveContext())
        find = _FIND.get(spec.source)
        if find is None:
            raise self._none(spec, f"{self._name} has no {spec.source} probes")
        return find(self, spec) or self._fail(spec)

    # --- one way a source

    def _tracepoints(self, spec: ProbeSpec) -> list[Site]:
        wanted = f"{spec.target}:{spec.name}"
        return [self._site(f"tracepoint:{n}", "tracepoint", n) for n in self._recorded() if matches(wanted, n)]

    def _raw(self, spec: ProbeSpec) -> list[Site]:
        found = [n for n in self._recorded() if matches(spec.name, n.partition(":")[2])]
        return [
            self._site(f"rawtracepoint:{n.partition(':')[2]}", "rawtracepoint", n, fields=False)
            for n in found
            if n.partition(":")[0] != "ftrace"
        ]

    def _counters(self, spec: ProbeSpec) -> list[Site]:
        wanted = spec.name or spec.target
        registry.resolve(spec, ResolveContext())  # says what is wrong with the probe itself
        own = next((e.name for e in EVENTS[spec.source][1] if wanted in (e.name, e.alias)), wanted)
        names = {wanted, own, _ALIASES.get(wanted, wanted), _ALIASES.get(own, own)}
        name = f"{spec.source}:{wanted}:{spec.value or ''}"
        return [self._site(name, spec.source, n, fields=False) for n in self._kinds if n in names]

    def _clock(self, spec: ProbeSpec) -> list[Site]:
        (site,) = registry.resolve(spec, ResolveContext())
        found = next((n for n in CLOCKS if n in self._kinds), None)
        return [self._site(site.name, "profile", found, fields=False)] if found else []

    def _watchpoint(self, spec: ProbeSpec) -> list[Site]:
        registry.resolve(spec, ResolveContext())
        begin = f"mem:{spec.address or 0:#x}"
        name = f"{spec.source}:{spec.address or 0:#x}:{spec.length}:{spec.mode}"
        found = [n for n in self._kinds if n == begin or n.startswith((begin + ":", begin + "/"))]
        return [self._site(name, spec.source, n, fields=False) for n in found]

    def _dynamic(self, spec: ProbeSpec) -> list[Site]:
        """What `perf probe` calls its events."""
        group = "probe" if spec.source in ("kprobe", "kretprobe") else f"probe_{_base(spec.target)}"
        if spec.source == "usdt":
            group = f"sdt_{spec.namespace or '*'}"
        wanted = f"{group}:{spec.name}{'__return' if spec.source.endswith('retprobe') else ''}"
        name = ":".join(p for p in (spec.source, spec.target, spec.namespace) if p)
        return [self._site(f"{name}:{_own_name(n)}", spec.source, n) for n in self._recorded() if matches(wanted, n)]

    # --- inside

    def _recorded(self) -> list[str]:
        return [n for n, kinds in self._kinds.items() if self._events[kinds[0]].id]

    def _site(self, name: str, source: str, event: str, *, fields: bool = True) -> Site:
        kinds = tuple(self._kinds[event])
        offered = self._fields(self._events[kinds[0]], event) if fields else ()
        args = () if source == "rawtracepoint" else None
        return Site(name, source, RecordedAttach(kinds), offered, args, func=event.rpartition(":")[2])

    def _fields(self, event: EventType, name: str) -> tuple[Field, ...]:
        syscall = name.startswith("syscalls:")
        found = (self._parser.recorded(f, syscall=syscall) for f in event.fields)
        # of arrays elsewhere in the record a program gets the address, and there is no memory to look into
        return tuple(
            f for f in found if f is not None and not (isinstance(f.where, DataLoc) and isinstance(f.type, Pointer))
        )

    def _fail(self, spec: ProbeSpec) -> list[Site]:
        raise self._none(spec, f"{self._name} has no {spec}")

    def _none(self, spec: ProbeSpec, what: str) -> ProbeError:
        names = self.names
        near = nearest(f"{spec.source}:{spec.target}:{spec.name}".replace("::", ":"), names)
        shown = names[:MOST_NAMED]
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        hints = [f"did you mean {n}?" for n in near]
        return NoSuchProbe(what, hints=[*hints, f"recorded: {', '.join(shown) or 'nothing'}{more}"])


_FIND: dict[str, Find] = {
    "tracepoint": RecordedSites._tracepoints,
    "rawtracepoint": RecordedSites._raw,
    **dict.fromkeys(("software", "hardware"), RecordedSites._counters),
    "profile": RecordedSites._clock,
    **dict.fromkeys(("watchpoint", "asyncwatchpoint"), RecordedSites._watchpoint),
    **dict.fromkeys(("kprobe", "kretprobe", "uprobe", "uretprobe", "usdt"), RecordedSites._dynamic),
}


def plain(event: EventType) -> str:
    """The name without modifiers and terms: ``cycles`` of ``cycles:ppp`` and of ``cpu/cycles,period=1/``."""
    name = event.name
    if event.id:
        return ":".join(name.split("/")[0].split(":")[:2])
    pmu = _PMU.match(name)
    if pmu:
        return pmu[1]
    return name if name.startswith("mem:") else name.partition(":")[0].partition("/")[0]


def as_probe(name: str, tracepoint: bool) -> str:
    """An event as a probe of it is written."""
    if tracepoint:
        return f"tracepoint:{name}"
    for source, (_, events) in EVENTS.items():
        if any(name in (e.name, e.alias, _ALIASES.get(e.name)) for e in events):
            return f"{source}:{name}"
    return name


def _base(path: str) -> str:
    """As `perf probe` makes a group of a binary's name: up to the first character that is no part of a C name."""
    return re.sub(r"\W.*", "", path.rpartition("/")[2])


def _own_name(event: str) -> str:
    return event.partition(":")[2].removesuffix("__return")
