"""Statements of a block, in order."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.ir import expr as ir
from probescope.ir.stmt import Break, Continue, Discard, Return
from probescope.lang.bt import ast
from probescope.lang.bt.lower_convert import coerce
from probescope.lang.bt.lower_unit import MAX_STATEMENTS, Unit
from probescope.lang.bt.lower_value import V
from probescope.lang.bt.types import is_int, show
from probescope.model.types import I64, Void

_JUMPS = (ast.Return, ast.Break, ast.Continue)


def statements(u: Unit, body: Sequence[ast.Node]) -> None:
    for i, node in enumerate(body):
        if u.function is not None:
            if u.function.statement(u, node, body[i + 1 :]):
                return
        else:
            u.stmt(node)
        if i + 1 < len(body) and _leaves(node):
            u.warn("Unreachable statement.", body[i + 1].span)
            return


def _leaves(node: ast.Node) -> bool:
    """Whether what follows is never done."""
    is_exit = isinstance(node, ast.ExprStatement) and isinstance(node.expr, ast.Call) and node.expr.function == "exit"
    return is_exit or isinstance(node, _JUMPS)


def expression(u: Unit, node: ast.ExprStatement) -> None:
    """An expression for its effect."""
    e = node.expr
    outer, u.discarding = u.discarding, e
    v = u.expr(e)
    u.discarding = outer
    if not v.known:
        return
    if isinstance(v.type, Void):
        u.out.extend(v.body)
    else:
        discard(u, v, node)
        if not isinstance(e, ast.Step) and not _is_quiet(e):
            u.warn("Return value discarded.", node.span)


def _is_quiet(e: ast.Expr) -> bool:
    """Calls whose value is an extra."""
    return isinstance(e, ast.Call) and e.function in ("delete", "skboutput")


def discard(u: Unit, v: V, node: ast.Node) -> None:
    e = u.read(v, node.span)
    if e is None or isinstance(e, ir.Const | ir.Local | ir.Context):
        return
    u.emit(Discard(e, span=node.span))


def discarded(u: Unit, node: ast.Discard) -> None:
    """``_ = value``."""
    v = u.expr(node.value)
    if isinstance(v.type, Void):
        u.error("this has no value", node.value.span)
    elif v.known:
        discard(u, v, node)


def assign(u: Unit, node: ast.Assign) -> None:
    from probescope.lang.bt import lower_map, lower_var

    match node.target:
        case ast.Var():
            lower_var.assign(u, node)
        case ast.Map() | ast.MapItem():
            if u.unevaluated:
                u.error("Map assignments not allowed inside of typeof, typeinfo, sizeof or offsetof", node.span)
            elif not _observe(u, node, node.value):
                lower_map.assign(u, node)
        case _:
            u.error("only variables and maps can be assigned to", node.target.span)


def _observe(u: Unit, node: ast.Assign, value: ast.Expr) -> bool:
    """``@m = count()``, also at the end of a block: whether the value was an aggregation, and is taken care of."""
    from probescope.lang.bt.functions import assign_call

    if node.op:
        return False
    if isinstance(value, ast.Call):
        return assign_call(u, node, value)
    if not isinstance(value, ast.Block) or not _ends_in_aggregation(value):
        return False
    u.scopes.push()
    statements(u, value.statements)
    assert value.value is not None
    found = _observe(u, node, value.value)
    u.scopes.pop()
    return found


def _ends_in_aggregation(value: ast.Expr | None) -> bool:
    from probescope.lang.bt.functions import FUNCTIONS

    while isinstance(value, ast.Block):
        value = value.value
    fn = FUNCTIONS.get(value.function) if isinstance(value, ast.Call) else None
    return fn is not None and fn.group == "agg"


def return_(u: Unit, node: ast.Return) -> None:
    if u.function is not None:
        u.function.leave(u, node)
        return
    value = None
    if node.value is not None:
        v = u.expr(node.value)
        if v.known and not is_int(v.type):
            u.error(f"Probe return values can only be integers. Found {show(v.type)}", node.span)
        elif v.known:
            value = coerce(u, v, I64, node.value.span)
    u.emit(Return(value, span=node.span))


def jump(u: Unit, node: ast.Break | ast.Continue) -> None:
    """``break`` and ``continue``."""
    word = "break" if isinstance(node, ast.Break) else "continue"
    if not u.loops:
        u.error(f"'{word}' outside of a loop", node.span)
    else:
        u.emit(Break(span=node.span) if word == "break" else Continue(span=node.span))


def import_(u: Unit, node: ast.Import) -> None:
    """What a block imports was put in by the parser, or belongs to the standard library, which is built in."""


def block(u: Unit, node: ast.Block) -> None:
    """A block as a statement, which ends with a value only by mistake."""
    statements(u, node.statements)
    if node.value is not None:
        expression(u, ast.ExprStatement(node.value.span, node.value))


def within_limits(u: Unit, node: ast.Node) -> bool:
    if len(u.out) <= MAX_STATEMENTS:
        return True
    u.error(f"this clause grows to more than {MAX_STATEMENTS} statements", node.span, "unroll less")
    return False
