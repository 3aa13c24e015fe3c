"""The rules that every program obeys, as code. Run at the end of lowering, and before every consumer in tests.

A broken rule is a bug of ours, never of the user: ``check`` raises ``InternalError`` with the rule, the node and its
place.
"""

from __future__ import annotations

from probescope.errors import InternalError
from probescope.ir import rules_expr, rules_state
from probescope.ir.program import Clause, Program
from probescope.ir.rules_scope import Broken, Scope, is_condition
from probescope.ir.walk import clause_nodes

_RULES = {**rules_expr.RULES, **rules_state.RULES}


def check(program: Program) -> Program:
    """The program itself, if it is valid."""
    for problem in problems(program):
        raise InternalError(f"the lowered program is not valid: {problem}")
    return program


def problems(program: Program) -> Broken:
    """Every broken rule, in words with the place."""
    names = [m.name for m in program.maps]
    if len(set(names)) != len(names):
        yield "two maps have one name"
    if [c.id for c in program.clauses] != list(range(len(program.clauses))):
        yield "clause ids are not 0, 1, 2..."
    for action in program.actions:
        if action.map and action.map not in names:
            yield f"an action names the map @{action.map}, which is not declared"
        if action.format is not None and len(action.format.conversions) != len(action.types):
            yield f"{action.kind}: {len(action.format.conversions)} conversions, {len(action.types)} values"
    for clause in program.clauses:
        for p in _clause(program, clause):
            yield f"clause {clause.id}: {p}"


def _clause(program: Program, clause: Clause) -> Broken:
    if not clause.sites:
        yield "it has no sites"
    if clause.predicate is not None and not is_condition(clause.predicate.type):
        yield f"the predicate is {clause.predicate.type}, not a condition"
    scope = Scope(program, clause)
    for node in clause_nodes(clause):
        rule = _RULES.get(type(node))
        if rule is None:
            yield f"{type(node).__name__} is not a node of the ir"
            continue
        for p in rule(scope, node):
            yield f"{type(node).__name__} at {node.span.line}:{node.span.column}: {p}"
