"""Loops: ``while``, ``for`` over a map or a range, ``unroll``."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir.stmt import ForMap, ForRange, Stmt, While
from probescope.lang.bt import ast
from probescope.lang.bt.check_maps import MapInfo
from probescope.lang.bt.lower_convert import convert, truthy
from probescope.lang.bt.lower_stmt import block, within_limits
from probescope.lang.bt.lower_unit import MAX_STATEMENTS, Unit
from probescope.lang.bt.lower_value import constant
from probescope.lang.bt.scope import Var
from probescope.lang.bt.types import UNKNOWN, number_of, promote, settle, show
from probescope.model.types import Agg, Int, Tuple, Type

MAX_UNROLL = 100


def _body(u: Unit, node: ast.Block) -> tuple[Stmt, ...]:
    u.loops += 1
    body = u.block(lambda: block(u, node))
    u.loops -= 1
    return body


def while_(u: Unit, node: ast.While) -> None:
    cond = truthy(u, u.expr(node.condition), node.condition.span)
    body = _body(u, node.body)
    if cond is not None:
        u.emit(While(cond, body, span=node.span))


def for_range(u: Unit, node: ast.ForRange) -> None:
    """``for ($i : start..stop)``."""
    start, stop = u.expr(node.start), u.expr(node.stop)
    t: Type = UNKNOWN
    if start.known and stop.known:
        span = node.start.span.to(node.stop.span)
        for v, which in ((start, "start"), (stop, "end")):
            if not isinstance(v.type, Int):
                u.error(f"Loop range requires an integer for the {which} value", span)
                return
        t = promote(start.type, stop.type) or UNKNOWN
    var = _loop_variable(u, node.var)
    if var is None:
        return
    if t is not UNKNOWN:
        u.scopes.widen(var, t)
        t = u.scopes.type_of(var)
    body = _body(u, node.body)
    u.scopes.pop()
    first, last = u.read(start, node.start.span), u.read(stop, node.stop.span)
    if t is UNKNOWN or first is None or last is None:
        return
    plain = settle(t)
    a = convert(u, first, start.type, plain, node.start.span, start.literal)
    b = convert(u, last, stop.type, plain, node.stop.span, stop.literal)
    if a is not None and b is not None:
        u.emit(ForRange(var.name, plain, a, b, body, span=node.span))


def for_map(u: Unit, node: ast.ForMap) -> None:
    """``for ($kv : @m)``."""
    m = u.map(node.map.name)
    if m.keyed is False:
        message = f"@{m.name} has no explicit keys (scalar map), and cannot be used for iteration"
        u.error(message, node.map.span)
        return
    t = _pair(u, m, node.map.span)
    var = _loop_variable(u, node.var)
    if var is None:
        return
    if t is not None:
        u.scopes.fix(var, t)
    body = _body(u, node.body)
    u.scopes.pop()
    if t is not None:
        u.emit(ForMap(var.name, m.name, body, span=node.span))


def _pair(u: Unit, m: MapInfo, span: Span) -> Tuple | None:
    value = u.map_value(m, span)
    if value is UNKNOWN or m.key is UNKNOWN:
        u.undefined(m, span)
        return None
    if isinstance(value, Agg):
        n = number_of(value)
        if n is None:
            u.error(f"Loop expression does not support type: {show(value)}", span)
            return None
        value = n
    return Tuple((m.key, value))


def _loop_variable(u: Unit, node: ast.Var) -> Var | None:
    """The loop's own variable in a new scope, which the caller closes."""
    known = u.scopes.find(node.name)
    if known is not None:
        message = f"Loop declaration shadows existing variable: ${node.name}"
        u.error(message, node.span, f"it was first used in line {known.span.line}")
        return None
    u.scopes.push()
    var = u.scopes.define(node.name, node.span)
    var.assigned = True
    return var


def unroll(u: Unit, node: ast.Unroll) -> None:
    """The body as often as told; the number has to be known while compiling."""
    v = u.expr(node.count)
    n = constant(v)
    if n is None:
        if v.known:
            u.error("invalid unroll value", node.count.span, "it has to be known while compiling")
        return
    if not 1 <= n <= MAX_UNROLL:
        limit = f"minimum value is 1, not {n}" if n < 1 else f"maximum value is {MAX_UNROLL}, not {n}"
        u.error(f"unroll {limit}", node.count.span)
        return
    body = u.block(lambda: block(u, node.body))
    if len(body) * n > MAX_STATEMENTS:
        n = MAX_STATEMENTS // max(len(body), 1) + 1
    u.out.extend(body * n)
    within_limits(u, node)
