"""The plan of the perf collector: each site is a perf event whose samples probescope reads, with what of the predicate
the kernel can filter; clauses run on them in user space."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.diagnostics import Diagnostic
from probescope.errors import ScriptError
from probescope.frozen import replace
from probescope.ir.needs import Needs, needs
from probescope.ir.program import Clause, Program
from probescope.model.plan import Choice, Plan, RunOnEvents, SampleEvent
from probescope.model.site import (
    Constant,
    FentryAttach,
    IterAttach,
    KprobeAttach,
    PerfAttach,
    RawTracepointAttach,
    Reg,
    Site,
    TracepointAttach,
    UprobeAttach,
)
from probescope.plan.events import (
    Served,
    StreamPlan,
    Ways,
    for_bpf_alone,
    names_of_sites,
    refusals,
    runs_itself,
    served,
    too_many,
)
from probescope.plan.filters import filtered, reason
from probescope.plan.ladder import site_features
from probescope.plan.mechanism import missing
from probescope.plan.offers import ALWAYS, Offer, lacking
from probescope.plan.request import PlanRequest
from probescope.plan.user import USER_CONTEXT

PERF_TYPE_TRACEPOINT = 2
COST_NS = 680
"""Of a sample that is read, on the traced side (costs.py, "perf record")."""
MOST_EVENTS = 512
IN_REGISTERS = 6
"""Arguments of functions, on x86-64; AArch64 has two more."""

_CONTEXT = dict.fromkeys(("pid", "tid", "cpu", "comm", "nsecs", "cgroup", "usermode", "cpid"), "")
_OFFER = Offer("perf", {**ALWAYS, **_CONTEXT}, clocks=frozenset({"", "boot"}))
_PROBES = replace(_OFFER, arguments=True)
_OWN = Offer("perf", {**ALWAYS, **dict.fromkeys(USER_CONTEXT, "")}, "probescope itself has none to show")


def plan_perf(program: Program, request: PlanRequest, ways: Ways) -> StreamPlan:
    """Raises ``ScriptError`` for what perf events cannot answer, or this kernel cannot sample."""
    findings = list(_unanswered(program, request))
    if findings:
        raise ScriptError(findings)
    events: list[SampleEvent] = []

    def one(c: Clause, numbers: tuple[int, ...], row: str) -> Served:
        sites = zip(numbers, c.sites, strict=True)
        kinds = tuple((_number(events, _sampled(c, site, number, request)),) for number, site in sites)
        choice = Choice(c.id, numbers, "perf", "perf sample", reason(c, row), COST_NS)
        return Served((RunOnEvents(c.id, row, request.pid),), choice, kinds)

    runs, choices, kinds = served(program, ways, one)
    return StreamPlan(Plan("perf", choices, (*events, *runs), sites=names_of_sites(program)), kinds)


def _number(events: list[SampleEvent], wanted: SampleEvent) -> int:
    """The place of an event that is to be sampled; one that is there already serves another clause as well."""
    for i, e in enumerate(events):
        if replace(e, parts=wanted.parts, sites=()) == replace(wanted, sites=()):
            events[i] = replace(e, parts=_order({*e.parts, *wanted.parts}), sites=(*e.sites, *wanted.sites))
            return i
    events.append(wanted)
    return len(events) - 1


# --- events


_TASK = {"pid", "tid", "comm"}
"""A thread that exits has no numbers in its samples any more, but in the record."""
_PARTS = ("identifier", "ip", "tid", "time", "cpu", "callchain", "raw", "regs_intr", "cgroup")


def _order(parts: set[str]) -> tuple[str, ...]:
    return tuple(p for p in _PARTS if p in parts)


def _sampled(clause: Clause, site: Site, number: int, request: PlanRequest) -> SampleEvent:
    n = needs(clause)
    parts = {"identifier", "tid", "time", "cpu"}
    if n.stacks:
        parts.add("callchain")
    if "cgroup" in n.context:
        parts.add("cgroup")
    if n.args or n.ret or n.regs:
        parts.add("regs_intr")
    text = filtered(clause.predicate, site).text
    common = {"pid": request.pid, "sites": (number,)}
    match site.attach:
        case TracepointAttach() as a:
            if n.fields or n.context & _TASK:
                parts.add("raw")
            about = f"tracepoint {a.category}:{a.event}"
            return SampleEvent(about, PERF_TYPE_TRACEPOINT, a.id, parts=_order(parts), filter=text, **common)  # type: ignore[arg-type]
        case PerfAttach() as a:
            return SampleEvent(
                site.name,
                a.type,
                a.config,
                a.period,
                a.frequency,
                _order(parts),
                bp_addr=a.bp_addr,
                bp_len=a.bp_len,
                bp_type=a.bp_type,
                **common,  # type: ignore[arg-type]
            )
        case KprobeAttach() as a:
            at = {"symbol": a.name, "offset": a.offset, "address": a.address, "ret": a.ret}
            return SampleEvent(site.name, -1, parts=_order(parts), pmu="kprobe", **at, **common)  # type: ignore[arg-type]
        case UprobeAttach() as a:
            at = {"path": a.path, "offset": a.offset, "ref_ctr": a.ref_ctr, "ret": a.ret}
            return SampleEvent(site.name, -1, parts=_order(parts), pmu="uprobe", **at, **common)  # type: ignore[arg-type]
        case other:
            raise AssertionError(f"{type(other).__name__} is no perf event")


# --- what it cannot


def _unanswered(program: Program, request: PlanRequest) -> Iterator[Diagnostic]:
    found = too_many(
        program, MOST_EVENTS, "--via perf, where each is an event of its own", "--via bpf has less to open"
    )
    if found:
        yield found
        return

    def why(clause: Clause, site: Site) -> str:
        return site.reason or _barred(site, request) or "; ".join(_missing(program, clause, site))

    yield from refusals(program, why, "traced via perf", ("without --via perf the bpf collector may have it",))


def _missing(program: Program, clause: Clause, site: Site) -> tuple[str, ...]:
    if runs_itself(clause):
        return lacking(program, clause, _OWN)
    if isinstance(site.attach, KprobeAttach | UprobeAttach | PerfAttach):
        return (*lacking(program, clause, _PROBES), *in_memory(site, needs(clause), "samples"))
    syscall = isinstance(site.attach, TracepointAttach) and site.attach.category == "syscalls"
    return lacking(program, clause, replace(_OFFER, user_alone=syscall))


def in_memory(site: Site, n: Needs, those: str) -> Iterator[str]:
    """Arguments that no register holds. ``those``: what holds registers alone."""
    for i in sorted(n.args):
        where = site.args[i].where if site.args is not None and i < len(site.args) else None
        if not isinstance(where, Reg | Constant) if site.args is not None else i >= IN_REGISTERS:
            yield f"arg{i} is passed in memory, which {those} do not hold"


def _barred(site: Site, request: PlanRequest) -> str:
    """Sites that are no perf event, or that this kernel cannot sample."""
    match site.attach:
        case RawTracepointAttach(event=event):
            return f"perf knows tracepoints by their category: tracepoint:CATEGORY:{event} is the same place"
        case FentryAttach() | IterAttach():
            return for_bpf_alone(site)
        case KprobeAttach():
            return missing(("attach:kprobe",), request.offers)
        case UprobeAttach():
            return missing(("attach:uprobe", *site_features(site)), request.offers)
        case _:
            return missing(site_features(site), request.offers)
