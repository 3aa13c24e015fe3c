"""Steps that load a unit's program and attach it at its sites."""

from __future__ import annotations

from typing import cast

from probescope.bpf.unit import Unit
from probescope.model.plan import (
    AttachIter,
    AttachKprobe,
    AttachKprobeMulti,
    AttachPerf,
    AttachRaw,
    AttachTracepoint,
    AttachTracing,
    AttachUprobe,
    AttachUprobeMulti,
    Load,
    RunOnce,
    Step,
)
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
    UserAttach,
)
from probescope.plan.ladder import Rung
from probescope.plan.request import PlanRequest

PERF_TYPE_SOFTWARE = 1
PERF_COUNT_SW_CPU_CLOCK = 0

Numbered = list[tuple[int, Site]]


def load_step(unit: Unit, rung: Rung, site: Site) -> Load:
    """How the unit's program is loaded; BTF ids known from the site are passed on, others are looked up by name."""
    m = rung.mechanism
    attach = site.attach
    target, btf_id, module, of_program = "", 0, "", 0
    match m.name, attach:
        case "tp_btf", RawTracepointAttach():
            target, btf_id, module = f"btf_trace_{attach.event}", attach.btf_id, attach.module
        case "tp_btf", _:
            target = f"btf_trace_{rung.target}"
        case (("fentry" | "fexit"), FentryAttach()):
            target, btf_id, module, of_program = attach.func, attach.btf_id, attach.module, attach.program
        case "iter", IterAttach():
            target = f"bpf_iter_{attach.target}"
        case _:
            pass
    return Load(unit.name, m.prog_type, m.attach_type, target, btf_id, module, unit.sleepable, of_program)


def attach_steps(unit: Unit, sites: Numbered, rung: Rung, request: PlanRequest) -> list[Step]:
    """The attachments of one unit, in order of its sites."""
    name = unit.name
    cookies = unit.site_by == "cookie"
    numbers = tuple(n for n, _ in sites)
    match rung.mechanism.name:
        case "tp_btf" | "fentry" | "fexit":
            return [AttachTracing(name, rung.mechanism.attach_type, rung.target, sites=numbers)]
        case "raw_tracepoint" if unit.syscalls:
            return [AttachRaw(name, rung.target, sites=numbers)]
        case "raw_tracepoint":
            return [AttachRaw(name, _raw_event(s), n if cookies else None, (n,)) for n, s in sites]
        case "kprobe_session":
            return _kprobe_multi(
                name, sites, cookies or (unit.exit is not None and unit.exit.site_by == "cookie"), True
            )
        case "kprobe_multi":
            return _kprobe_multi(name, sites, cookies)
        case "uprobe_multi":
            return _uprobe_multi(name, sites, cookies)
        case "perf_event":
            return [_perf(name, n, s, request) for n, s in sites]
        case _:
            return [_one(name, n, n if cookies else 0, s) for n, s in sites]


def _raw_event(site: Site) -> str:
    match site.attach:
        case RawTracepointAttach(event=event) | TracepointAttach(event=event):
            return event
        case other:
            raise AssertionError(f"{type(other).__name__} is not a raw tracepoint")


def _kprobe_multi(name: str, sites: Numbered, cookies: bool, session: bool = False) -> list[Step]:
    by_ret: dict[bool, list[tuple[int, str]]] = {}
    for n, s in sites:
        attach = cast("KprobeAttach", s.attach)
        by_ret.setdefault(attach.ret, []).append((n, attach.symbol))
    out: list[Step] = []
    for ret, group in by_ret.items():
        numbers = tuple(n for n, _ in group)
        symbols = tuple(f for _, f in group)
        out.append(AttachKprobeMulti(name, symbols, numbers if cookies else (), ret, numbers, session))
    return out


def _uprobe_multi(name: str, sites: Numbered, cookies: bool) -> list[Step]:
    groups: dict[tuple[str, bool, int], list[tuple[int, UprobeAttach]]] = {}
    for n, s in sites:
        a = cast("UprobeAttach", s.attach)
        groups.setdefault((a.path, a.ret, a.pid), []).append((n, a))
    out: list[Step] = []
    for (path, ret, pid), group in groups.items():
        refs = tuple(a.ref_ctr for _, a in group)
        numbers = tuple(n for n, _ in group)
        out.append(
            AttachUprobeMulti(
                name,
                path,
                tuple(a.offset for _, a in group),
                refs if any(refs) else (),
                numbers if cookies else (),
                ret,
                pid,
                numbers,
            )
        )
    return out


def _perf(name: str, number: int, site: Site, request: PlanRequest) -> AttachPerf:
    match site.attach:
        case IntervalAttach(period_ns=period):
            cpus = request.cpus[:1]
            clock = PERF_COUNT_SW_CPU_CLOCK
            about, sites = site.name, (number,)
            return AttachPerf(name, PERF_TYPE_SOFTWARE, clock, period, 0, cpus, about=about, sites=sites)
        case PerfAttach() as a:
            pid = a.pid if a.pid > 0 else request.pid or -1
            # a breakpoint or counter on one process follows it from CPU to CPU; -1 says so
            cpus = (-1,) if pid > 0 else request.cpus if a.every_cpu else request.cpus[:1]
            point = (a.bp_addr, a.bp_len, a.bp_type)
            return AttachPerf(
                name, a.type, a.config, a.period, a.frequency, cpus, pid, *point, about=site.name, sites=(number,)
            )
        case other:
            raise AssertionError(f"{type(other).__name__} is not a perf event")


def _one(name: str, number: int, cookie: int, site: Site) -> Step:
    sites = (number,)
    match site.attach:
        case TracepointAttach() as a:
            return AttachTracepoint(name, f"{a.category}:{a.event}", a.id, cookie, sites)
        case KprobeAttach() as a:
            return AttachKprobe(name, a.name, a.offset, a.address, a.ret, cookie, sites)
        case UprobeAttach() as a:
            return AttachUprobe(name, a.path, a.offset, a.ref_ctr, a.ret, a.pid, cookie, sites)
        case IterAttach() as a:
            return AttachIter(name, a.target, a.pin, sites)
        case UserAttach(kind=kind) as a:
            return RunOnce(name, kind, a.name)
        case other:
            raise AssertionError(f"no step for {type(other).__name__}")
