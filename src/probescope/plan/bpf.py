"""The plan of the bpf collector: sites -> rungs -> units -> steps.

Sites of a clause that take the same mechanism and find what the clause uses at the same places share one program
(``Unit``). Which of them fired is told by the attach cookie, or by the system call's number, if the clause asks at
all.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from probescope.bpf.unit import SiteBy, Unit
from probescope.frozen import dataclass
from probescope.ir.needs import Needs, needs
from probescope.ir.program import Clause, Program
from probescope.model.plan import Choice, Plan, Rejected, Step
from probescope.model.site import Site, UprobeAttach
from probescope.plan.attach import attach_steps, load_step
from probescope.plan.ladder import Asked, Rung, rungs
from probescope.plan.order import in_order
from probescope.plan.refused import Refused, without
from probescope.plan.request import BpfPlan, PlanRequest
from probescope.plan.user import user_clauses, user_steps, why_not

_KERNEL_STACK_NOTE = "frames of the tracing code itself are left out of kernel stacks"


@dataclass(frozen=True, slots=True)
class _Placed:
    """A site with the rung that serves it and those that were passed over."""

    number: int
    site: Site
    rung: Rung
    rejected: tuple[Rejected, ...]


def plan_bpf(program: Program, request: PlanRequest) -> BpfPlan:
    """Raises ``ScriptError`` for sites that nothing here can serve, with the reasons, unless the program goes on
    without them (``missing_probes``) and others are left."""
    numbers = _site_numbers(program)
    in_user = user_clauses(program) if request.via == "auto" else frozenset[int]()
    choices: list[Choice] = []
    units: list[Unit] = []
    loads: list[Step] = []
    attaches: list[Step] = []
    user: list[Step] = []
    refused: list[Refused] = []
    serial = count()
    for clause in program.clauses:
        if clause.id in in_user:
            user += user_steps(clause, numbers)
            choices.append(_user_choice(clause, numbers[clause.id]))
            continue
        asked = Asked(needs(clause), len(clause.sites))
        for group in _groups(_place(clause, numbers[clause.id], asked, request, refused), asked.needs, request):
            unit = _unit(f"c{clause.id}_{next(serial)}", clause, group, asked.needs, request)
            units.append(unit)
            choices.append(_choice(clause, group))
            loads.append(load_step(unit, group[0].rung, group[0].site))
            attaches += attach_steps(unit, [(p.number, p.site) for p in group], group[0].rung, request)
    warnings = without(program, refused, alone=not choices)
    plan = Plan(
        "bpf",
        tuple(choices),
        (*loads, *in_order(attaches), *user),
        notes=_notes(program),
        sites=tuple(s.name for s in program.sites),
    )
    return BpfPlan(plan, tuple(units), warnings)


def _site_numbers(program: Program) -> dict[int, tuple[int, ...]]:
    out, at = {}, 0
    for c in program.clauses:
        out[c.id] = tuple(range(at, at + len(c.sites)))
        at += len(c.sites)
    return out


def _place(
    clause: Clause, numbers: tuple[int, ...], asked: Asked, request: PlanRequest, refused: list[Refused]
) -> list[_Placed]:
    """``refused`` takes what nothing can serve."""
    out = []
    for i, (number, site) in enumerate(zip(numbers, clause.sites, strict=True)):
        rejected: list[Rejected] = []
        for rung in () if site.reason else rungs(site, asked, request.offers):
            if not rung.reason:
                out.append(_Placed(number, site, rung, tuple(rejected)))
                break
            rejected.append(Rejected(rung.mechanism.name, rung.reason))
        else:
            refused.append(Refused(site, clause.points[i] if clause.points else clause.span, tuple(rejected)))
    return out


def _groups(placed: list[_Placed], asked: Needs, request: PlanRequest) -> Iterable[list[_Placed]]:
    """Placed sites by the program that can serve them together, in order of the first of each."""
    groups: dict[object, list[_Placed]] = {}
    for p in placed:
        groups.setdefault(_key(p, asked, request), []).append(p)
    return groups.values()


def _key(p: _Placed, asked: Needs, request: PlanRequest) -> object:
    r, name = p.rung, p.rung.mechanism.name
    alone = _asks_site(asked) and r.syscall < 0 and not _has_cookie(name, request)
    by_target = name in ("tp_btf", "fentry", "fexit", "iter") or r.syscall >= 0
    target = r.target if by_target or (name == "raw_tracepoint" and alone) else ""
    ret = getattr(p.site.attach, "ret", False)
    return (name, target, r.fields, r.args, r.ret, ret, p.number if alone else -1)


def _asks_site(asked: Needs) -> bool:
    return bool(asked.context & {"probe", "func"})


def _has_cookie(mechanism: str, request: PlanRequest) -> bool:
    if mechanism in ("kprobe_multi", "uprobe_multi"):
        return True
    if mechanism == "raw_tracepoint":
        return request.offers.state("attach:raw_tracepoint_cookie") == "yes"
    return mechanism in ("tracepoint", "kprobe", "uprobe", "perf_event") and request.cookies


def _unit(name: str, clause: Clause, group: list[_Placed], asked: Needs, request: PlanRequest) -> Unit:
    first = group[0]
    rung = first.rung
    syscalls = tuple(sorted((p.rung.syscall, p.number) for p in group)) if rung.syscall >= 0 and _is_raw(rung) else ()
    by: SiteBy = "constant"
    if syscalls:
        by = "syscall"
    elif len(group) > 1 and _asks_site(asked):
        by = "cookie"
    user_memory = isinstance(first.site.attach, UprobeAttach)
    return Unit(
        name=name,
        clause=clause.id,
        kind=rung.mechanism.kind,
        sites=tuple(p.number for p in group),
        fields=rung.fields,
        args=rung.args,
        ret=rung.ret,
        site_by=by,
        syscalls=syscalls,
        syscall_exit=rung.target == "sys_exit" and bool(syscalls),
        pid=0 if clause.own or user_memory or rung.mechanism.kind == "syscall" else request.pid,
        in_user=user_memory,
    )


def _is_raw(rung: Rung) -> bool:
    return rung.mechanism.kind in ("tp_btf", "raw_tracepoint")


def _choice(clause: Clause, group: list[_Placed]) -> Choice:
    m = group[0].rung.mechanism
    numbers = tuple(p.number for p in group)
    cost = m.cost_ns
    if any(isinstance(p.site.attach, UprobeAttach) and p.site.attach.slow for p in group):
        cost = 10_500
    return Choice(clause.id, numbers, "bpf", m.name, m.about, cost, group[0].rejected)


def _user_choice(clause: Clause, numbers: tuple[int, ...]) -> Choice:
    return Choice(clause.id, numbers, "user", "evaluate", "needs nothing from the kernel: probescope runs it itself")


def _notes(program: Program) -> tuple[str, ...]:
    chosen = dict.fromkeys(note for c in program.clauses for note in c.chosen)
    own = [s.name for c in program.clauses if c.own for s in c.sites]
    if own:
        chosen[f"probescope adds clauses of its own: {', '.join(own)}"] = None
    return (*chosen, *((_KERNEL_STACK_NOTE,) if any(needs(c).stacks & {"kstack"} for c in program.clauses) else ()))


def user_reasons(program: Program, plan: Plan) -> dict[int, str]:
    """For each begin, end, signal or interval clause that runs in the kernel: why user space cannot run it."""
    in_kernel = {c.clause for c in plan.choices if c.collector == "bpf"}
    return {c.id: why_not(c) for c in program.clauses if c.id in in_kernel}
