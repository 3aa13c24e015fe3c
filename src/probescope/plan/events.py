"""The plan of collectors whose events come as a stream: a recording, or the rings of perf.

Sites of a clause are looked at one by one: what their events offer (offers.py) against what the clause needs. Clauses
that are fired by probescope itself need the same of nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.diagnostics import Diagnostic
from probescope.errors import ScriptError
from probescope.frozen import dataclass
from probescope.ir.needs import needs
from probescope.ir.program import Clause, Program
from probescope.model.plan import Choice, Plan, ReadRecording, RunOnEvents, Step, UserRun
from probescope.model.recording import EventType, Machine
from probescope.model.site import FentryAttach, IterAttach, RecordedAttach, Site
from probescope.plan.offers import ALWAYS, Offer, lacking
from probescope.plan.user import USER_CONTEXT, is_user_site, site_numbers, user_steps

if TYPE_CHECKING:
    from probescope.bpf.unit import Unit

Ways = Callable[[Program, Sequence[Clause]], dict[int, str]]
"""For each clause, why it has to run a row at a time; empty if it need not (evaluate/columns)."""


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """``kinds``: for each (clause, number of a site), indices of the kinds of events that fire it."""

    plan: Plan
    kinds: tuple[tuple[int, int, tuple[int, ...]], ...]
    warnings: tuple[Diagnostic, ...] = ()
    units: tuple[Unit, ...] = ()  # nothing of it runs in the kernel


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, as far as a plan depends on it. ``wall``: its times can be told as times of day."""

    path: str
    events: tuple[EventType, ...]
    machine: Machine
    processes: bool = True  # whether events tell their process, not their thread alone
    wall: bool = False


def plan_replay(program: Program, recorded: Recorded, ways: Ways, *, pid: int = 0) -> StreamPlan:
    """Raises ``ScriptError`` for what the recording cannot answer."""
    findings = [*_unanswered(program, recorded), *_no_pid(program, recorded, pid)]
    if findings:
        raise ScriptError(findings)

    def one(c: Clause, numbers: tuple[int, ...], row: str) -> Served:
        why = f"a row at a time: {row}" if row else "over columns of many events at once"
        choice = Choice(c.id, numbers, "replay", "evaluate", why)
        return Served((RunOnEvents(c.id, row, pid),), choice, tuple(_kinds(s) for s in c.sites))

    runs, choices, kinds = served(program, ways, one, "fired by probescope itself, by the time of the recording")
    wanted = dict.fromkeys(k for _, _, some in kinds for k in some)
    steps = (ReadRecording(recorded.path, tuple(recorded.events[k].name for k in wanted)), *runs)
    plan = Plan("replay", choices, steps, _notes(program, recorded), sites=names_of_sites(program))
    return StreamPlan(plan, kinds)


@dataclass(frozen=True, slots=True)
class Served:
    """How a clause is. ``kinds``: of each of its sites, those of the events that fire it; none of a clause that is told
    no events."""

    steps: tuple[Step, ...]
    choice: Choice
    kinds: tuple[tuple[int, ...], ...] = ()


def served(
    program: Program,
    ways: Ways,
    one: Callable[[Clause, tuple[int, ...], str], Served],
    own: str = "fired by probescope itself",
) -> tuple[tuple[Step, ...], tuple[Choice, ...], tuple[tuple[int, int, tuple[int, ...]], ...]]:
    """Steps, choices and kinds of all clauses. ``one``: serves a clause, by the numbers of its sites, and why it has to
    run a row at a time. ``own``: why those are that probescope fires itself."""
    numbers = site_numbers(program)
    rows = ways(program, [c for c in program.clauses if not runs_itself(c)])
    steps: list[Step] = []
    choices: list[Choice] = []
    kinds: list[tuple[int, int, tuple[int, ...]]] = []
    for c in program.clauses:
        if runs_itself(c):
            steps += user_steps(c, numbers)
            choices.append(Choice(c.id, numbers[c.id], "user", "evaluate", own))
            continue
        found = one(c, numbers[c.id], rows[c.id])
        steps += found.steps
        choices.append(found.choice)
        if found.kinds:
            kinds += [(c.id, n, some) for n, some in zip(numbers[c.id], found.kinds, strict=True)]
    return tuple(steps), tuple(choices), tuple(kinds)


def names_of_sites(program: Program) -> tuple[str, ...]:
    return tuple(s.name for s in program.sites)


def refusals(
    program: Program, why: Callable[[Clause, Site], str], what: str, hints: tuple[str, ...] = ()
) -> Iterator[Diagnostic]:
    """For each clause the first site that ``why`` has a reason for: it cannot be ``what``."""
    for clause in program.clauses:
        for i, site in enumerate(clause.sites):
            reason = why(clause, site)
            if reason:
                span = clause.points[i] if clause.points else clause.span
                yield Diagnostic("error", f"{site.name} cannot be {what}: {reason}", span, hints, program.source)
                break


def too_many(program: Program, most: int, whom: str, hint: str) -> Diagnostic | None:
    """More probes than a collector takes at once: each is an event."""
    count = sum(len(c.sites) for c in program.clauses if not runs_itself(c))
    if count <= most:
        return None
    message = f"{count} probes are too many for {whom}: {most} at most"
    return Diagnostic("error", message, program.clauses[0].span, (hint,), program.source)


def for_bpf_alone(site: Site) -> str:
    """Why a site is of no use without a BPF program; empty if that is not so."""
    match site.attach:
        case FentryAttach(func=func, ret=ret):
            return f"trampolines are for BPF programs: k{'ret' if ret else ''}probe:{func} is the same place"
        case IterAttach():
            return "a walk over kernel objects is a BPF program's"
        case _:
            return ""


def runs_itself(clause: Clause) -> bool:
    """Whether probescope sets a clause off: begin, end, intervals, signals."""
    return all(is_user_site(s) for s in clause.sites)


def _kinds(site: Site) -> tuple[int, ...]:
    assert isinstance(site.attach, RecordedAttach)
    return site.attach.kinds


# --- what a recording offers


def recorded_offer(event: EventType, recorded: Recorded) -> Offer:
    """``event``: one kind. What perf samples without their times, CPUs or threads do not tell is told as that."""
    has = event.sampled or frozenset({"time", "cpu", "tid"})  # ftrace's records have them always
    absent = "was not recorded with these events"
    context: dict[str, str] = {**ALWAYS}
    for name, part in (("nsecs", "time"), ("cpu", "cpu"), ("tid", "tid"), ("pid", "tid"), ("comm", "tid")):
        context[name] = "" if part in has else f"{name} {absent}"
    if not recorded.processes:
        context["pid"] = "pid: the recording tells threads alone; tid is what it has"
    context["cgroup"] = "" if "cgroup" in has else f"cgroup {absent} (perf record --all-cgroups does)"
    context["usermode"] = "" if "ip" in has else f"usermode {absent}"
    context["cpid"] = "cpid: a recording has no process of -c"
    return Offer(
        "replay",
        context,
        "" if has & {"callchain", "stack_user"} else "stacks were not recorded (perf record -g does)",
        frozenset({"", *_clock(recorded.machine)}),
        recorded.wall,
        acts=False,
        user_alone=event.name.startswith("syscalls:"),
    )


def _clock(machine: Machine) -> set[str]:
    """``nsecs`` is the time of the recording's own clock, whatever it is; asked for by its name it has to be that."""
    return {{"boottime": "boot"}.get(machine.clock, machine.clock)}


_OWN = Offer(
    "replay",
    {**dict.fromkeys(USER_CONTEXT, ""), "cpid": "cpid: a recording has no process of -c"},
    "probescope itself has none to show",
    acts=False,
)


def _unanswered(program: Program, recorded: Recorded) -> Iterator[Diagnostic]:
    def why(clause: Clause, site: Site) -> str:
        own = runs_itself(clause)
        offers = [_OWN] if own else [recorded_offer(recorded.events[k], recorded) for k in _kinds(site)]
        return "; ".join(dict.fromkeys(reason for o in offers for reason in lacking(program, clause, o)))

    return refusals(program, why, f"answered from {recorded.path}")


def _no_pid(program: Program, recorded: Recorded, pid: int) -> Iterator[Diagnostic]:
    if pid and not recorded.processes:
        message = f"{recorded.path} tells threads, not their processes: -p has nothing to go by"
        hint = f"a predicate can: /tid == {pid}/"
        yield Diagnostic("error", message, program.clauses[0].span, (hint,), program.source)


def _notes(program: Program, recorded: Recorded) -> tuple[str, ...]:
    out: list[str] = []
    clock = recorded.machine.clock
    if any("nsecs" in needs(c).context for c in program.clauses):
        out.append(f"nsecs is the time of the recording's clock{f' ({clock})' if clock else ''}")
    return tuple(out)


def interval_steps(plan: Plan) -> list[UserRun]:
    return [s for s in plan.steps if isinstance(s, UserRun) and s.when == "interval"]
