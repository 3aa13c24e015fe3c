"""Which clauses probescope runs itself, in user space, on evaluate/.

A clause may if it is fired by probescope or by time, and asks nothing that only the kernel knows. It must not read,
change and write back what the kernel side writes at the same moment: at begin nothing is attached yet, at end nothing
is any more, but an interval races with the probes. ``debugf`` is printed by the kernel, into its own trace.
"""

from __future__ import annotations

from probescope.ir.needs import Needs, needs
from probescope.ir.program import Clause, Program
from probescope.model.plan import Step, UserRun
from probescope.model.site import IntervalAttach, Site, UserAttach

USER_CONTEXT = frozenset(
    {
        "pid",
        "tid",
        "uid",
        "gid",
        "comm",
        "cpu",
        "nsecs",
        "elapsed",
        "rand",
        "probe",
        "func",
        "cpid",
        "cgroup",
    }
)


def is_user_site(site: Site) -> bool:
    return isinstance(site.attach, UserAttach | IntervalAttach)


def user_clauses(program: Program) -> frozenset[int]:
    """Ids of the clauses that user space can run with the same result."""
    asked = {c.id: needs(c) for c in program.clauses}
    traced = traced_actions(program)
    kernel = {c.id for c in program.clauses if not _may(c, asked[c.id]) or asked[c.id].actions & traced}
    while True:
        written = frozenset[str]().union(*(asked[i].maps_written | asked[i].maps_updated for i in kernel))
        racing = {c.id for c in program.clauses if c.id not in kernel and _races(c, asked[c.id], written)}
        if not racing:
            return frozenset(c.id for c in program.clauses if c.id not in kernel)
        kernel |= racing


def traced_actions(program: Program) -> frozenset[int]:
    """Numbers of those that the kernel prints into its own trace."""
    return frozenset(i for i, a in enumerate(program.actions) if a.kind == "debugf")


def why_not(clause: Clause, traced: frozenset[int] = frozenset()) -> str:
    """The reason why user space cannot run a clause, for ``explain``."""
    n = needs(clause)
    if n.site or n.reads or n.stacks or n.effects or n.calls or not n.context <= USER_CONTEXT:
        asked = [x for x in n.names if x.partition(":")[2] not in USER_CONTEXT]
        return f"asks the kernel for {', '.join(asked)}"
    if n.actions & traced:
        return "debugf() prints into the kernel's own trace"
    return "changes a map that probes change at the same time"


def _may(clause: Clause, n: Needs) -> bool:
    if not all(is_user_site(s) for s in clause.sites):
        return False
    return not (n.site or n.reads or n.stacks or n.effects or n.calls) and n.context <= USER_CONTEXT


def _races(clause: Clause, n: Needs, written: frozenset[str]) -> bool:
    during = any(not (isinstance(s.attach, UserAttach) and s.attach.kind in ("begin", "end")) for s in clause.sites)
    return during and bool(n.maps_updated & written)


def user_steps(clause: Clause, numbers: dict[int, tuple[int, ...]]) -> list[Step]:
    """One step for each site of a clause that user space runs; ``numbers``: of its sites, by clause id."""
    out: list[Step] = []
    for site, number in zip(clause.sites, numbers[clause.id], strict=True):
        match site.attach:
            case IntervalAttach(period_ns=period):
                out.append(UserRun(clause.id, number, "interval", period))
            case UserAttach(kind=kind, name=name):
                out.append(UserRun(clause.id, number, kind, name=name))
            case _:
                raise AssertionError(f"{site.name} is not run by user space")
    return out


def site_numbers(program: Program) -> dict[int, tuple[int, ...]]:
    """Places of each clause's sites among all, by the clause's id."""
    out, at = {}, 0
    for c in program.clauses:
        out[c.id] = tuple(range(at, at + len(c.sites)))
        at += len(c.sites)
    return out
