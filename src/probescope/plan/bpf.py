"""The plan of the bpf collector: sites -> rungs -> units -> steps.

Sites of a clause that take the same mechanism and find what the clause uses at the same places share one program
(``Unit``). Which of them fired is told by the attach cookie, or by the system call's number, if the clause asks at
all.
"""

from __future__ import annotations

from itertools import count

from probescope.bpf.unit import SiteBy, Unit
from probescope.frozen import replace
from probescope.ir.needs import needs
from probescope.ir.program import Clause, Program
from probescope.model.plan import Choice, Plan, Step
from probescope.model.site import UprobeAttach
from probescope.plan.attach import attach_steps, load_step
from probescope.plan.ladder import Rung
from probescope.plan.order import in_order
from probescope.plan.placing import Group, asks_site, place, shift
from probescope.plan.refused import without
from probescope.plan.request import BpfPlan, PlanRequest
from probescope.plan.titles import Titles
from probescope.plan.user import site_numbers, user_clauses, user_steps

_KERNEL_STACK_NOTE = "frames of the tracing code itself are left out of kernel stacks"


def plan_bpf(program: Program, request: PlanRequest) -> BpfPlan:
    """Raises ``ScriptError`` for sites that nothing here can serve, with the reasons, unless the program goes on
    without them (``missing_probes``) and others are left."""
    numbers = site_numbers(program)
    in_user = user_clauses(program) if request.via == "auto" else frozenset[int]()
    choices: list[Choice] = []
    units: list[Unit] = []
    loads: list[Step] = []
    attaches: list[Step] = []
    user: list[Step] = []
    in_kernel = [c for c in program.clauses if c.id not in in_user]
    grouped, refused = place(in_kernel, numbers, request)
    names = _Names()
    for clause in program.clauses:
        if clause.id in in_user:
            user += user_steps(clause, numbers)
            choices.append(_user_choice(clause, numbers[clause.id]))
            continue
        for group in grouped[clause.id]:
            choices.append(_choice(group))
            if group.joined:
                continue
            unit = _unit(group, names, request)
            units.append(unit)
            loads.append(load_step(unit, group.rung, group.first.site))
            attaches += attach_steps(unit, [(p.number, p.site) for p in group.placed], group.rung, request)
    warnings = without(program, refused, alone=not choices)
    plan = Plan(
        "bpf",
        tuple(choices),
        (*loads, *in_order(attaches), *user),
        notes=_notes(program),
        sites=tuple(s.name for s in program.sites),
    )
    return BpfPlan(plan, tuple(units), warnings)


class _Names:
    """Of programs: ours, which are short and unlike any other, and the kernel's."""

    def __init__(self) -> None:
        self._serial = count()
        self._titles = Titles()

    def of(self, group: Group) -> tuple[str, str]:
        return f"c{group.clause.id}_{next(self._serial)}", self._titles.of([p.site.name for p in group.placed])


def _unit(group: Group, names: _Names, request: PlanRequest) -> Unit:
    name, title = names.of(group)
    made = _bare_unit(name, title, group, request)
    if group.exit is None:
        return made
    exit_ = replace(
        _bare_unit(names.of(group.exit)[0], "", group.exit, request), site_shift=shift(group, group.exit) or 0
    )
    return replace(made, exit=exit_)


def _bare_unit(name: str, title: str, group: Group, request: PlanRequest) -> Unit:
    clause, rung = group.clause, group.rung
    in_raw = rung.syscall >= 0 and _is_raw(rung)
    syscalls = tuple(sorted((p.rung.syscall, p.number) for p in group.placed)) if in_raw else ()
    by: SiteBy = "constant"
    if syscalls:
        by = "syscall"
    elif len(group.placed) > 1 and asks_site(group.needs):
        by = "cookie"
    user_memory = isinstance(group.first.site.attach, UprobeAttach)
    return Unit(
        name=name,
        clause=clause.id,
        kind=rung.mechanism.kind,
        sites=tuple(p.number for p in group.placed),
        fields=rung.fields,
        args=rung.args,
        ret=rung.ret,
        site_by=by,
        syscalls=syscalls,
        syscall_exit=rung.target == "sys_exit" and bool(syscalls),
        pid=0 if clause.own or user_memory or rung.mechanism.kind == "syscall" else request.pid,
        in_user=user_memory,
        title=title,
    )


def _is_raw(rung: Rung) -> bool:
    return rung.mechanism.kind in ("tp_btf", "raw_tracepoint")


def _choice(group: Group) -> Choice:
    m = group.rung.mechanism
    numbers = tuple(p.number for p in group.placed)
    cost = m.cost_ns
    if any(isinstance(p.site.attach, UprobeAttach) and p.site.attach.slow for p in group.placed):
        cost = 10_500
    clause, rejected = group.clause.id, group.first.rejected
    return Choice(clause, numbers, "bpf", m.name, m.about, cost, rejected, group.joined)


def _user_choice(clause: Clause, numbers: tuple[int, ...]) -> Choice:
    return Choice(clause.id, numbers, "user", "evaluate", "needs nothing from the kernel: probescope runs it itself")


def _notes(program: Program) -> tuple[str, ...]:
    chosen = dict.fromkeys(note for c in program.clauses for note in c.chosen)
    own = [s.name for c in program.clauses if c.own for s in c.sites]
    if own:
        chosen[f"probescope adds clauses of its own: {', '.join(own)}"] = None
    return (*chosen, *((_KERNEL_STACK_NOTE,) if any(needs(c).stacks & {"kstack"} for c in program.clauses) else ()))
