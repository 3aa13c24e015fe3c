"""``--follow``: one process and all that it forks, exactly, from the first instruction of each child.

The set of processes lies in a map of the kernel, and programs keep it: a child is put in while its parent is still
inside fork, before it can run; it is taken out when it is gone. All clauses but those that no process sets off look
there first.

    fork of a followed process     @__followed[child] = 1
    its last thread exits          @__followed[pid] = 2      what it still does on its way out counts
    nothing of it is left          delete(@__followed, pid)
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.errors import UsageError
from probescope.frozen import replace
from probescope.ir.expr import Binary, Const, Context, Expr, Logic, MapHas
from probescope.ir.program import Clause, Program
from probescope.model.site import IterAttach, PerfAttach, Site, UprobeAttach
from probescope.model.types import BOOL, U32
from probescope.plan.user import is_user_site

FOLLOWED = "__followed"
ALIVE = 1
MOST = 1 << 16  # processes at once

SCRIPT = """
rawtracepoint:sched_process_fork {
    $child = (struct task_struct *)arg1;
    if ($child->tgid != pid(init)) { @__followed[(uint32)$child->tgid] = (uint8)1; }
}
rawtracepoint:sched_process_exit {
    $task = (struct task_struct *)arg0;
    if (has_key(@__followed, pid(init)) && $task->signal->live.counter == 0) { @__followed[pid(init)] = (uint8)2; }
}
rawtracepoint:sched_process_free {
    $task = (struct task_struct *)arg0;
    if ($task->pid == $task->tgid) { delete(@__followed, (uint32)$task->tgid); }
}
"""
"""The programs that keep the set. sched_process_fork comes before the child is woken (kernel_clone of kernel/fork.c),
sched_process_exit when ``signal->live`` was counted down already (do_exit of kernel/exit.c), sched_process_free when
the number of the process may be given to another one."""


def following(program: Program, keepers: Program, pid: int) -> Program:
    """``program`` for one process and its descendants: ``pid``, or with 0 the child of ``-c``. ``keepers``: ``SCRIPT``
    as a program. Raises UsageError if the program has a map of that name itself."""
    if any(m.name == FOLLOWED for m in program.maps):
        raise UsageError(f"--follow keeps a map @{FOLLOWED}, and so does the program", hints=["call yours otherwise"])
    root = Const(U32, pid) if pid else Context(U32, "cpid")
    member = _member(root)
    fork, *others = (replace(c, own=True) for c in keepers.clauses)
    own = [replace(fork, predicate=member), *others]
    clauses = [c for clause in program.clauses for c in _parts(clause, member)]
    maps = tuple(replace(m, own=True, max_entries=MOST) for m in keepers.maps)
    numbered = tuple(replace(c, id=i) for i, c in enumerate((*clauses, *own)))
    return replace(program, clauses=numbered, maps=(*program.maps, *maps))


def _member(root: Expr) -> Expr:
    is_root = Binary(BOOL, "eq", Context(U32, "pid", "curr_ns"), root)
    return Logic(BOOL, "or", is_root, MapHas(BOOL, FOLLOWED, Context(U32, "pid")))


def _parts(clause: Clause, member: Expr) -> Iterator[Clause]:
    """A clause of which only some sites are set off by processes becomes two."""
    points = clause.points or (clause.span,) * len(clause.sites)
    pairs = list(zip(clause.sites, points, strict=True))
    free = [(s, p) for s, p in pairs if _by_nobody(s)]
    bound = [(_everywhere(s), p) for s, p in pairs if not _by_nobody(s)]
    predicate = member if clause.predicate is None else Logic(BOOL, "and", member, clause.predicate)
    for found, asked in ((free, clause.predicate), (bound, predicate)):
        if found:
            sites, places = tuple(s for s, _ in found), tuple(p for _, p in found)
            yield replace(clause, sites=sites, points=places, predicate=asked)


def _by_nobody(site: Site) -> bool:
    """Whether no process sets it off: time, probescope itself, an iterator."""
    return is_user_site(site) or isinstance(site.attach, IterAttach)


def _everywhere(site: Site) -> Site:
    """A site that the kernel would look after for one process only: children would be missed."""
    match site.attach:
        case UprobeAttach():
            return replace(site, attach=replace(site.attach, pid=-1))
        case PerfAttach():
            return replace(site, attach=replace(site.attach, pid=-1, every_cpu=True))
        case _:
            return site
