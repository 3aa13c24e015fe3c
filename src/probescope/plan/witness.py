"""What is gone by the time that it is printed has to be written down while it is there: the names of control groups.

A program that prints ``container`` gets a clause of probescope's own at the making of each group. Its record comes out
of the ring before any event from inside of that group.
"""

from __future__ import annotations

from probescope.frozen import replace
from probescope.ir.program import Action, Program
from probescope.ir.stmt import Emit
from probescope.ir.walk import clause_nodes
from probescope.model.types import Opaque

SCRIPT = """
rawtracepoint:cgroup_mkdir /((struct cgroup *)arg0)->root->hierarchy_id == 0/ {
    printf("%llu %s", ((struct cgroup *)arg0)->kn->id, str(arg1));
}
"""
"""TP_PROTO(struct cgroup *cgrp, const char *path) of include/trace/events/cgroup.h; hierarchy 0 is version 2."""


def prints_containers(program: Program) -> bool:
    types = (getattr(n, "type", None) for c in program.clauses for n in clause_nodes(c))
    return any(isinstance(t, Opaque) and t.kind == "container" for t in types)


def with_witness(program: Program, keepers: Program) -> Program:
    """``keepers``: ``SCRIPT`` as a program."""
    (clause,), (printed,) = keepers.clauses, keepers.actions
    action = Action("cgroup_made", printed.types)
    body = tuple(replace(s, action=len(program.actions)) if isinstance(s, Emit) else s for s in clause.body)
    own = replace(clause, id=len(program.clauses), body=body, own=True)
    return replace(program, clauses=(*program.clauses, own), actions=(*program.actions, action))
