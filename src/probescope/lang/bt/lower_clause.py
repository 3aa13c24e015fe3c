"""One run of lowering a clause: its predicate and its body."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.ir.stmt import Stmt
from probescope.lang.bt import ast
from probescope.lang.bt.lower_convert import truthy
from probescope.lang.bt.lower_stmt import block
from probescope.lang.bt.lower_unit import Unit


def lower_clause(u: Unit) -> None:
    """Lowers anew; the result is in ``u.predicate`` and ``u.body``."""
    u.restart()
    if u.alone is not None:
        from probescope.lang.bt.lower_subprog import alone

        alone(u, u.alone)
        warn_of_unset(u)
        return
    u.predicate = _predicate(u, u.probe.predicate) if u.probe.predicate is not None else None
    u.body = _body(u, u.probe.body)
    warn_of_unset(u)


def _predicate(u: Unit, node: ast.Expr) -> ir.Expr | None:
    u.scopes.push()
    v = u.expr(node)
    u.scopes.pop()
    return truthy(u, v, node.span)


def warn_of_unset(u: Unit) -> None:
    """Variables that are declared, and never get a value."""
    for var in u.scopes.all:
        if var.declared and not var.assigned:
            u.warn(f"Variable ${var.written} was never assigned to.", var.span)


def _body(u: Unit, node: ast.Block) -> tuple[Stmt, ...]:
    return u.block(lambda: block(u, node))
