"""Scratch variables: declaring, assigning, stepping."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.ir.stmt import Assign
from probescope.lang.bt import ast
from probescope.lang.bt.check_maps import locked_mismatch
from probescope.lang.bt.lower_convert import coerce, convert, zero
from probescope.lang.bt.lower_ops import apply
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, const, number, scaled
from probescope.lang.bt.scope import Var
from probescope.lang.bt.types import UNKNOWN, is_int, settle, show
from probescope.lang.bt.types_names import UNSIZED, resolve_type
from probescope.model.types import I64, U64, Agg, Int, Pointer, Struct, Type, Void


def let(u: Unit, node: ast.Let) -> None:
    """``let $x``, ``let $x: type = value``."""
    v = u.expr(node.value) if node.value is not None else None
    known = u.scopes.find(node.var.name)
    if known is not None:
        message = f"Variable ${node.var.name} was already declared. Variable shadowing is not allowed."
        u.error(message, node.span, f"it was first used in line {known.span.line}")
        return
    var = u.scopes.define(node.var.name, node.span)
    var.declared = True
    if node.type is not None:
        _declare(u, var, node)
    if v is not None and node.value is not None:
        assign_value(u, var, v, node, node.value)
    else:
        e = zero(var.type) if var.type is not UNKNOWN else None
        if e is not None and u.loops:  # each turn begins with a new variable
            u.emit(Assign(var.name, e, span=node.span))


def _declare(u: Unit, var: Var, node: ast.Let) -> None:
    assert node.type is not None
    t = resolve_type(u, node.type)
    if isinstance(t, Agg | Void):
        u.error(f"Invalid variable declaration type: {show(t)}", node.type.span)
    elif isinstance(t, Struct) and u.program.types.layout(t.name) is None:
        message = f'Cannot resolve unknown type "{t.name}"'
        u.error(message, node.type.span, *u.program.types.near(t.name))
    elif t is not UNKNOWN and t is not UNSIZED:
        u.scopes.fix(var, t)


def assign(u: Unit, node: ast.Assign) -> None:
    """``$x = value``, ``$x op= value``."""
    assert isinstance(node.target, ast.Var)
    if node.op:
        old = u.expr(node.target)
        new = u.expr(node.value)
        if not old.known or not new.known:
            return
        v = apply(u, node.op, old, new, node.span, node.target.span, node.value.span)
    else:
        v = u.expr(node.value)
    var = u.scopes.find(node.target.name) or u.scopes.define(node.target.name, node.target.span)
    assign_value(u, var, v, node, node.value)


def assign_value(u: Unit, var: Var, v: V, node: ast.Assign | ast.Let, value_node: ast.Expr) -> None:
    """Gives a variable a value, and its type room for it."""
    var.assigned = True
    if not v.known:
        return
    if isinstance(v.type, Void | Agg):
        u.error(f"Value '{show(v.type)}' cannot be assigned to a scratch variable.", node.span)
        return
    if not u.scopes.widen(var, v.type):
        _mismatch(u, var, v, node)
        return
    t = u.scopes.type_of(var)
    if isinstance(node, ast.Assign) and node.op and var.fixed:
        e = _at_width(u, v, t, node)
    else:
        e = coerce(u, v, t, value_node.span)
    if e is None:
        _mismatch(u, var, v, node)
    else:
        u.emit(Assign(var.name, e, span=node.span))


def _at_width(u: Unit, v: V, t: Type, node: ast.Assign) -> ir.Expr | None:
    """A result of 64 bits in a variable of declared width: it wraps there."""
    e = u.read(v, node.span)
    if e is None or not is_int(t) or not is_int(v.type):
        return None if e is None else convert(u, e, v.type, settle(t), node.span)
    return cast(e, settle(t))


def _mismatch(u: Unit, var: Var, v: V, node: ast.Node) -> None:
    if u.failed and not v.known:
        return
    if var.locked:
        u.error(locked_mismatch(f"${var.written}", v.type, var.type), node.span)
        return
    t = show(var.type)
    u.error(
        f"Type mismatch for ${var.written}: trying to assign value of type '{show(v.type)}' "
        f"when variable already has a type '{t}'",
        node.span,
    )


def step_variable(u: Unit, node: ast.Step) -> V:
    """``$x++``: numbers become 64 bits wide unless declared otherwise; pointers go on by their target's size."""
    assert isinstance(node.target, ast.Var)
    v = u.expr(node.target)
    var = u.scopes.find(node.target.name)
    if not v.known or var is None or v.ir is None:
        return NOTHING
    if not is_int(v.type) and not isinstance(v.type, Pointer):
        message = f"The {node.op} operator can not be used on expressions of type '{show(v.type)}'"
        return u.error(message, node.span)
    new = _next(u, v, var, node)
    if new is None:
        return NOTHING
    t = settle(u.scopes.type_of(var))
    local = ir.Local(t, var.name, span=node.span)
    store = Assign(var.name, new, span=node.span)
    if u.discarding is node:
        u.emit(store)
        return V(t, local)
    if node.prefix:
        return V(var.type, ir.Block(t, (store,), local, span=node.span))
    bind, old = u.temporary(local, "old")
    return V(var.type, ir.Block(t, (bind, store), old, span=node.span))


def _next(u: Unit, v: V, var: Var, node: ast.Step) -> ir.Expr | None:
    assert v.ir is not None
    if isinstance(v.type, Pointer):
        size = u.program.types.size(v.type.target) or 1
        return scaled(v.ir, number(1 if node.op == "++" else -1, I64), size)
    result = apply(u, node.op[0], v, const(1), node.span, node.span, node.span)
    if not u.scopes.widen(var, result.type):
        return None
    t = settle(u.scopes.type_of(var))
    plain = t if isinstance(t, Int) and t.size == 8 else (I64 if getattr(t, "signed", True) else U64)
    old = ir.Local(settle(v.type), var.name, span=node.span)
    moved = ir.Binary(plain, "add" if node.op == "++" else "sub", cast(old, plain), number(1, plain), span=node.span)
    return cast(moved, t)
