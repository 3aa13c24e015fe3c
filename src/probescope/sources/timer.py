"""Timers: ``profile`` fires on every CPU, ``interval`` on one.

    profile:hz:99        99 times a second on each CPU (a frequency: the kernel steers the period)
    profile:ms:10        every 10 ms of CPU clock
    interval:s:1         once a second
    interval:1s          durations, and bare numbers, are nanoseconds

Both are perf events of type software, config PERF_COUNT_SW_CPU_CLOCK (include/uapi/linux/perf_event.h). The kernel
takes no hrtimer period below 10 us (``perf_swevent_start_hrtimer``) and no frequency above
``kernel.perf_event_max_sample_rate``.
"""

from __future__ import annotations

from probescope.diagnostics import nearest
from probescope.errors import ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.site import IntervalAttach, PerfAttach, Site
from probescope.sources.context import ResolveContext
from probescope.sources.globs import select

SOURCES = ("profile", "interval")
UNITS = {"hz": 0, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds in a unit; 0 marks the frequency."""

PERF_TYPE_SOFTWARE = 1
PERF_COUNT_SW_CPU_CLOCK = 0
MIN_PERIOD_NS = 1_000
MAX_PERIOD_NS = (1 << 63) - 1
MAX_HZ = 1_000_000


def list_names(source: str, pattern: str, ctx: ResolveContext) -> list[str]:
    return select(pattern, [f"{u}:" for u in UNITS if u != "ns"])


def match(spec: ProbeSpec, ctx: ResolveContext) -> list[str]:
    return [s.name for s in resolve(spec, ctx)]


def resolve(spec: ProbeSpec, ctx: ResolveContext) -> list[Site]:
    unit, value = _unit(spec), spec.value
    if value <= 0:
        what = "frequency" if unit == "hz" else "period"
        raise ProbeError(f"{spec.source} needs a {what} above 0", hints=[f"for example {spec.source}:hz:99"])
    name = f"{spec.source}:{unit}:{value}" if spec.unit else _bare_name(spec.source, value)
    if unit == "hz":
        return [_frequency(spec.source, value, name, ctx)]
    period = value * UNITS[unit]
    if not MIN_PERIOD_NS <= period <= MAX_PERIOD_NS:
        hint = "the shortest period is 1us; a bare number counts nanoseconds"
        raise ProbeError(f"{spec.source} cannot have a period of {period} ns", hints=[hint])
    if spec.source == "interval":
        return [Site(name, "interval", IntervalAttach(period))]
    return [Site(name, "profile", _clock(ctx, period=period), pid=ctx.pid)]


def _unit(spec: ProbeSpec) -> str:
    unit = spec.unit or "ns"
    if unit not in UNITS:
        near = nearest(unit, UNITS)
        hint = f"did you mean '{near[0]}'?" if near else "units are " + ", ".join(UNITS)
        raise ProbeError(f"{unit} is not a unit of time", hints=[hint])
    return unit


def _bare_name(source: str, ns: int) -> str:
    return f"{source}:us:{ns // 1000}" if ns % 1000 == 0 else f"{source}:ns:{ns}"


def _frequency(source: str, hz: int, name: str, ctx: ResolveContext) -> Site:
    if hz > MAX_HZ:
        hint = "sysctl kernel.perf_event_max_sample_rate is the kernel's own limit"
        raise ProbeError(f"{source} cannot fire {hz} times a second: at most {MAX_HZ}", hints=[hint])
    if source == "interval":
        return Site(name, "interval", IntervalAttach(1_000_000_000 // hz))
    return Site(name, "profile", _clock(ctx, frequency=hz), pid=ctx.pid)


def _clock(ctx: ResolveContext, *, period: int = 0, frequency: int = 0) -> PerfAttach:
    return PerfAttach(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, period, frequency, pid=ctx.pid)


def describe(site: Site, ctx: ResolveContext) -> list[str]:
    return []
