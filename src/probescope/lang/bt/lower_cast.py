"""Casts as written: ``(type)value``.

integer -> integer, pointer, bool, enum      widths change, the source's sign extends
integer <-> array of integers                the bytes as they lie in memory; ``int8[]`` takes its size from the value
string -> a longer string, int8[n]           pointer, string -> bool           integer -> username_t
"""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.lower_convert import as_string
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, constant, number, truth, value
from probescope.lang.bt.types import UNKNOWN, is_flex, is_int, same, settle, show, tag_of, tagged
from probescope.lang.bt.types_names import UNSIZED, resolve_type
from probescope.model.types import (
    BOOL,
    I8,
    U64,
    Agg,
    Array,
    Bool,
    Enum,
    Int,
    Opaque,
    Pointer,
    Space,
    String,
    Struct,
    Type,
    Void,
)


def lower_cast(u: Unit, node: ast.Cast) -> V:
    t = resolve_type(u, node.type)
    v = u.expr(node.operand)
    if t is UNKNOWN or not v.known:
        return NOTHING
    return explicit(u, v, t, node)


def explicit(u: Unit, v: V, t: Type, node: ast.Cast) -> V:
    """``v`` cast to ``t``."""
    if isinstance(v.type, Struct):
        return u.error(f'Cannot cast from C type "{show(v.type)}"', node.span)
    if isinstance(v.type, Agg | Void):
        return _refuse(u, v, t, node.span)
    if isinstance(v.type, Array) and v.address is None and isinstance(t, Array) and not t.count:
        t = Array(t.element, v.type.count)
    if same(t, v.type) and not v.agg:
        if (not v.literal or isinstance(t, String)) and not isinstance(
            t, Pointer
        ):  # such casts make scripts work without kernel types too
            u.warn(f"Unnecessary cast: expression is already of type {show(v.type)}", node.span)
        e = u.read(v, node.span)
        return NOTHING if e is None else V(t if is_flex(v.type) else v.type, e)  # its sign is fixed now
    match t:
        case Int() | Enum():
            return _to_integer(u, v, t, node)
        case Pointer():
            return _to_pointer(u, v, t, node)
        case Bool():
            return _to_bool(u, v, node)
        case Array():
            return _to_array(u, v, t, node)
        case String():
            return _to_string(u, v, t, node)
        case Opaque(kind=kind) if is_int(v.type) and kind in ("username", "ksym", "usym"):
            e = u.read(v, node.span)
            return NOTHING if e is None else value(ir.Cast(t, e, span=node.span))
        case _:
            return _refuse(u, v, t, node.span)


def _refuse(u: Unit, v: V, t: Type, span: Span) -> V:
    return u.error(f'Cannot cast from "{show(v.type)}" to "{show(t)}"', span)


def _to_integer(u: Unit, v: V, t: Int | Enum, node: ast.Cast) -> V:
    e = u.read(v, node.span)
    if e is None:
        return NOTHING
    if isinstance(v.type, Array):
        if u.program.types.size(v.type) != t.size:
            return _refuse(u, v, t, node.span)
        return value(ir.Cast(settle(t), e, span=node.span))
    if isinstance(e.type, Opaque) and e.type.kind in ("ksym", "usym", "username"):
        return value(ir.Cast(settle(t), e, span=node.span))
    if not isinstance(v.type, Int | Enum | Bool | Pointer):
        return _refuse(u, v, t, node.span)
    n = constant(v)
    if isinstance(t, Enum) and n is not None and v.literal:
        known = dict(u.program.types.enum_values(t.name))
        if n not in known.values():
            return u.error(f"Enum: {t.name} doesn't contain a variant value of {n}", node.span)
    tag = v.type.space if isinstance(v.type, Pointer) and v.type.space in ("kernel", "user") else tag_of(v.type)
    wide_enough = isinstance(t, Int) and t.size == 8
    return V(tagged(t, tag) if tag and wide_enough else t, cast(e, settle(t)))


def _to_pointer(u: Unit, v: V, t: Pointer, node: ast.Cast) -> V:
    space = _space(u, v)
    target = Pointer(t.target, space if t.space == "none" else t.space, t.size)
    if isinstance(v.type, String) and v.address is not None:  # a char array in memory is its own address
        return V(target, cast(v.address, target))
    e = u.read(v, node.span)
    if e is None:
        return NOTHING
    if isinstance(e.type, String):  # it is put where it has an address
        bind, local = u.temporary(e, "text")
        u.emit(bind)
        assert isinstance(local, ir.Local)
        target = Pointer(t.target, "kernel", t.size)
        at = ir.Address(Pointer(Array(I8, e.type.size), "kernel"), local.name, span=node.span)
        return V(target, cast(at, settle(target)))
    if not isinstance(v.type, Int | Enum | Bool | Pointer):
        return _refuse(u, v, t, node.span)
    return V(target, cast(e, target))


def _space(u: Unit, v: V) -> Space:
    if isinstance(v.type, Pointer):
        return v.type.space if v.type.space != "none" else u.space
    if v.address is not None and not is_int(v.type):
        return v.space
    tag = tag_of(v.type)
    return tag if tag in ("kernel", "user", "context") else u.space


def _to_bool(u: Unit, v: V, node: ast.Cast) -> V:
    e = u.read(v, node.span)
    if e is None:
        return NOTHING
    n = constant(v)
    if n is not None:
        return truth(bool(n))
    if isinstance(e.type, String):
        if isinstance(e, ir.Const):
            return truth(bool(e.value))
        return value(ir.Unary(BOOL, "not", ir.Unary(BOOL, "not", e), span=node.span))
    if not isinstance(v.type, Int | Enum | Bool | Pointer):
        return _refuse(u, v, BOOL, node.span)
    return value(cast(e, BOOL))


def _to_string(u: Unit, v: V, t: String, node: ast.Cast) -> V:
    e = as_string(u, v, node.span) if isinstance(v.type, String | Opaque) else None
    if e is None or not isinstance(e.type, String):
        return _refuse(u, v, t, node.span)
    if t is UNSIZED:
        return value(e)
    if t.size < e.type.size:
        return _refuse(u, v, t, node.span)
    if isinstance(e, ir.Const):
        return value(ir.Const(t, e.value, span=node.span))
    return value(ir.Cast(t, e, span=node.span))


# --- arrays -----------------------------------------------------------------------------------------------------------


def _to_array(u: Unit, v: V, t: Array, node: ast.Cast) -> V:
    each = u.program.types.size(t.element)
    if not each or not isinstance(t.element, Int | Enum | Bool):
        return _refuse(u, v, t, node.span)
    if isinstance(v.type, String):
        return _string_to_array(u, v, t, each, node)
    if not isinstance(v.type, Int | Enum | Bool):
        return _refuse(u, v, t, node.span)
    have = 1 if isinstance(v.type, Bool) else v.type.size
    if not t.count:
        if have % each:
            message = "Cannot determine array size: the element size is incompatible with the cast integer size"
            return u.error(message, node.span)
        t = Array(t.element, have // each)
    total = each * t.count
    if total != have and not (have < total <= 8):
        return _refuse(u, v, t, node.span)
    e = u.read(v, node.span)
    return NOTHING if e is None else V(t, _int_to_array(e, settle(t), total, each, node.span))


def _int_to_array(e: ir.Expr, t: Type, total: int, each: int, span: Span) -> ir.Expr:
    assert isinstance(t, Array)
    if total in (1, 2, 4, 8):
        signed = isinstance(e.type, Int | Enum) and e.type.signed
        return ir.Cast(t, cast(e, Int(total, signed)), span=span)
    word, unit = cast(e, U64), Int(each, False)
    items = []
    for i in range(t.count):
        bits = ir.Binary(U64, "shr", word, number(8 * each * i), span=span) if i else word
        items.append(cast(cast(bits, unit), t.element))
    return ir.Pack(t, tuple(items), span=span)


def _string_to_array(u: Unit, v: V, t: Array, each: int, node: ast.Cast) -> V:
    assert isinstance(v.type, String)
    have = v.type.size - (v.address is not None)
    if not t.count:
        t = Array(t.element, have // each)
    if t.count * each != have:
        return _refuse(u, v, t, node.span)
    if v.address is not None:
        return V(settle(t), ir.Load(settle(t), v.space, v.address, span=node.span))
    e = u.read(v, node.span)
    if e is None:
        return NOTHING
    if isinstance(e, ir.Const) and isinstance(e.value, bytes) and each == 1:
        raw = e.value.ljust(t.count, b"\0")
        items = tuple(ir.Const(settle(t.element), b - 256 if t.element == I8 and b > 127 else b) for b in raw)
        return V(settle(t), ir.Pack(settle(t), items, span=node.span))
    return V(settle(t), ir.Call(settle(t), "array_of", (e,), span=node.span))
