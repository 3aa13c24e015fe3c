"""Literals, names, tuples, choices and blocks as values."""

from __future__ import annotations

from collections.abc import Callable

from probescope.diagnostics import Span, nearest
from probescope.ir import expr as ir
from probescope.ir.stmt import If, Stmt
from probescope.lang.bt import ast
from probescope.lang.bt.lower_convert import convert, truthy
from probescope.lang.bt.lower_map import read
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, const, constant, effect, text, truth
from probescope.lang.bt.types import promote, settle, show
from probescope.model.types import VOID, Agg, Record, Tuple, Type, Void

Side = tuple[tuple[Stmt, ...], V]
"""What one branch does, and its value."""


def integer(u: Unit, node: ast.Int) -> V:
    return const(node.value, span=node.span)


def boolean(u: Unit, node: ast.Bool) -> V:
    return truth(node.value)


def string(u: Unit, node: ast.Str) -> V:
    raw = node.data
    most = u.program.settings.max_strlen
    if len(raw) > most - 1 and not u.long_text:
        shown = node.value if len(node.value) < 40 else node.value[:37] + "..."
        return u.error(f"String is too long (over {most} bytes): {shown}", node.span, "config = { max_strlen = N }")
    return text(raw.split(b"\0", 1)[0] if b"\0" in raw and not u.long_text else raw, node.span)


def name(u: Unit, node: ast.Name) -> V:
    """A builtin, a constant, or a function called without parentheses."""
    from probescope.lang.bt.builtins import lower_name

    return lower_name(u, node)


def variable(u: Unit, node: ast.Var) -> V:
    var = u.scopes.find(node.name)
    if var is None:
        near = [f"did you mean '${n}'?" for n in nearest(node.name, u.scopes.names())[:1]]
        return u.error(f"Undefined or undeclared variable: ${node.name}", node.span, *near)
    if not var.assigned and not u.unevaluated:
        u.warn(f"Variable used before it was assigned: ${node.name}", node.span)
    return u.variable(var, node.span)


def map_value(u: Unit, node: ast.Map | ast.MapItem) -> V:
    return read(u, node)


# --- tuples and records -----------------------------------------------------------------------------------------------


def tuple_(u: Unit, node: ast.Tuple) -> V:
    items = [_item(u, i, "tuple") for i in node.items]
    if any(i is None for i in items):
        return NOTHING
    types = tuple(i[0] for i in items if i is not None)
    t = Tuple(types)
    return V(t, ir.Pack(settle(t), tuple(i[1] for i in items if i is not None), span=node.span))


def record(u: Unit, node: ast.Record) -> V:
    items = [_item(u, f.value, "record") for f in node.fields]
    if any(i is None for i in items):
        return NOTHING
    t = Record(tuple((f.name, i[0]) for f, i in zip(node.fields, items, strict=True) if i is not None))
    return V(t, ir.Pack(settle(t), tuple(i[1] for i in items if i is not None), span=node.span))


def _item(u: Unit, node: ast.Expr, what: str) -> tuple[Type, ir.Expr] | None:
    v = u.expr(node)
    if isinstance(v.type, Agg):
        u.error(f"Map type {show(v.type)} cannot exist inside a {what}.", node.span)
        return None
    e = u.read(v, node.span)
    return None if e is None or not v.known else (v.type, e)


# --- choices ----------------------------------------------------------------------------------------------------------


def ternary(u: Unit, node: ast.Ternary) -> V:
    """``a ? b : c``, ``a ?: c``."""
    if node.then is None:
        return _elvis(u, node)
    then = node.then
    return choose(u, u.expr(node.condition), node.condition, lambda: u.expr(then), lambda: u.expr(node.otherwise), node)


def _elvis(u: Unit, node: ast.Ternary) -> V:
    v = u.expr(node.condition)
    e = u.read(v, node.condition.span)
    if e is None or not v.known:
        return NOTHING
    if isinstance(e, ir.Const | ir.Local | ir.Context):
        again = V(v.type, e, literal=v.literal)
        return choose(u, again, node.condition, lambda: again, lambda: u.expr(node.otherwise), node)
    bind, local = u.temporary(e)
    again = V(v.type, local)
    out = choose(u, again, node.condition, lambda: again, lambda: u.expr(node.otherwise), node)
    return NOTHING if out.ir is None else V(out.type, ir.Block(out.ir.type, (bind,), out.ir, span=node.span))


def choose(
    u: Unit, cond: V, cond_node: ast.Expr, then: Callable[[], V], otherwise: Callable[[], V], node: ast.Expr
) -> V:
    """One of two values, which are lowered by the functions given; statements if neither has a value."""
    c = truthy(u, cond, cond_node.span)
    body_a, a = u.collect(then)
    body_b, b = u.collect(otherwise)
    if c is None or not a.known or not b.known:
        return NOTHING
    if isinstance(a.type, Void) and isinstance(b.type, Void):
        known = constant(V(c.type, c))
        if known is not None:
            return effect(*body_a, *a.body) if known else effect(*body_b, *b.body)
        return effect(If(c, (*body_a, *a.body), (*body_b, *b.body), span=node.span))
    common = None if isinstance(a.type, Void | Agg) or isinstance(b.type, Void | Agg) else promote(a.type, b.type)
    if common is None:
        types = f"have '{show(a.type)}' and '{show(b.type)}'"
        return u.error(f"Branches must return the same type or compatible types: {types}", node.span)
    return _selected(u, c, (body_a, a), (body_b, b), common, node.span)


def _selected(u: Unit, c: ir.Expr, a: Side, b: Side, common: Type, span: Span) -> V:
    plain = settle(common)
    sides = []
    for body, v in (a, b):
        e = u.read(v, span)
        done = None if e is None else convert(u, e, v.type, plain, span, v.literal)
        if done is None:
            return NOTHING
        sides.append(ir.Block(plain, body, done, span=span) if body else done)
    known = constant(V(c.type, c))
    if known is not None:
        return V(common, sides[0] if known else sides[1])
    return V(common, ir.Select(plain, c, sides[0], sides[1], span=span))


MOST_BRANCHES = 128
"""Each lies inside the one before once lowered, and passes over what is lowered are recursive."""


def if_(u: Unit, node: ast.If) -> V:
    """``if`` as a value, or as statements where it has none."""
    if len(node.branches) > MOST_BRANCHES:
        message = f"more than {MOST_BRANCHES} conditions in one chain of 'else if'"
        return u.error(message, node.branches[MOST_BRANCHES].condition.span, "split it, or look the value up in a map")
    return _branch(u, node, 0)


def _branch(u: Unit, node: ast.If, i: int) -> V:
    if i == len(node.branches):
        return u.expr(node.otherwise) if node.otherwise is not None else V(VOID)
    branch = node.branches[i]
    if isinstance(branch.condition, ast.Comptime):
        chosen = comptime_bool(u, branch.condition)
        if chosen is None:
            return NOTHING
        from probescope.lang.bt.lower_lock import locked

        with locked(u, branch.condition):
            return u.expr(branch.body) if chosen else _branch(u, node, i + 1)
    cond = u.expr(branch.condition)
    return choose(u, cond, branch.condition, lambda: u.expr(branch.body), lambda: _branch(u, node, i + 1), node)


def comptime_bool(u: Unit, node: ast.Comptime) -> bool | None:
    """Which way a condition known while compiling goes; ``None`` if it is not known."""
    v = u.expr(node.operand)
    n = constant(v)
    if n is not None:
        return bool(n)
    raw = v.ir.value if isinstance(v.ir, ir.Const) else None
    if isinstance(raw, bytes):
        return bool(raw)
    if v.known:
        u.error("Unable to resolve comptime expression", node.span)
    return None


def comptime(u: Unit, node: ast.Comptime) -> V:
    v = u.expr(node.operand)
    if v.known and not _is_constant(v.ir):
        return u.error("Unable to resolve comptime expression", node.span)
    return v


def _is_constant(e: ir.Expr | None) -> bool:
    return isinstance(e, ir.Const) or (isinstance(e, ir.Pack) and all(map(_is_constant, e.items)))


def block(u: Unit, node: ast.Block) -> V:
    """Statements and the value of a last expression, in a scope of their own."""
    from probescope.lang.bt.lower_stmt import statements

    u.scopes.push()

    def inside() -> V:
        statements(u, node.statements)
        return u.expr(node.value) if node.value is not None else V(VOID)

    body, v = u.collect(inside)
    u.scopes.pop()
    if not v.known or not body:
        return v
    if isinstance(v.type, Void):
        return effect(*body, *v.body)
    e = u.read(v, node.span)
    if e is None:
        return NOTHING
    return V(v.type, ir.Block(e.type, body, e, span=node.span), agg=v.agg)


def step(u: Unit, node: ast.Step) -> V:
    """``++`` and ``--`` on a variable or a map."""
    from probescope.lang.bt import lower_map
    from probescope.lang.bt.lower_var import step_variable

    match node.target:
        case ast.Var():
            return step_variable(u, node)
        case ast.Map() | ast.MapItem():
            return lower_map.step(u, node)
        case _:
            return u.error(f"The {node.op} operator must be applied to a map or variable", node.span)


def call(u: Unit, node: ast.Call) -> V:
    from probescope.lang.bt.functions import lower_call

    if node.function.startswith("__builtin_"):  # the names that the standard library of the language has for itself
        node = ast.Call(node.span, node.function.removeprefix("__builtin_"), node.args)
    return lower_call(u, node)


def misplaced(u: Unit, node: ast.Expr) -> V:
    return u.error("a type cannot be a value", node.span, "typeof() belongs into casts, declarations and sizeof()")
