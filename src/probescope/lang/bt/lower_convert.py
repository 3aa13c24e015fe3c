"""Conversions that the language makes by itself: to the type of a variable or map, and to a truth value."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, constant, number, truth, value
from probescope.lang.bt.types import fits, holds, is_flex, is_int, same, settle, show
from probescope.model.types import (
    BOOL,
    U64,
    Agg,
    Bool,
    Buffer,
    Enum,
    Int,
    Opaque,
    Pointer,
    Record,
    Space,
    String,
    Tuple,
    Type,
)

CAST_WARNING = "This may cause unexpected results. Use an explicit cast to suppress this warning."


def coerce(u: Unit, v: V, to: Type, span: Span) -> ir.Expr | None:
    """``v`` as a value of type ``to``; ``None`` if that cannot be, which the caller reports. Warns where a sign may
    be lost."""
    if isinstance(v.type, Opaque) and isinstance(to, String):
        v = named(u, v)
    e = u.read(v, span)
    if e is None:
        return None
    return convert(u, e, v.type, settle(to), span, v.literal)


def convert(u: Unit, e: ir.Expr, of: Type, to: Type, span: Span, literal: bool = False) -> ir.Expr | None:
    if same(of, to):
        return e if e.type == to else cast(e, to)
    match of, to:
        case (Int() | Enum(), Int() | Enum()):
            return _integer(u, e, of, to, span, literal)
        case (String(size=a), String(size=b)) if a <= b:
            return _retyped(e, to)
        case (Buffer(size=a), Buffer(size=b)) if a <= b:
            return _retyped(e, to)
        case Tuple(items=a), Tuple(items=b) if len(a) == len(b):
            return _by_items(u, e, a, to, b, tuple(range(len(a))), span)
        case Record(fields=a), Record(fields=b) if {n for n, _ in a} == {n for n, _ in b}:
            names = [n for n, _ in a]
            order = tuple(names.index(n) for n, _ in b)
            return _by_items(u, e, tuple(t for _, t in a), to, tuple(t for _, t in b), order, span)
        case Opaque(kind="func"), Opaque(kind="ksym" | "usym") if isinstance(e, ir.Context):
            address = ir.Context(U64, "func_ip", span=e.span)
            return ir.Cast(to, address) if to.kind == "ksym" else ir.Call(to, "usym", (address,))
        case Pointer(), Pointer() if same(of.target, to.target) or (is_int(of.target) and is_int(to.target)):
            return cast(e, to)
        case _:
            return None


def _retyped(e: ir.Expr, to: Type) -> ir.Expr:
    """A string or buffer with more room: a constant or a read gets it at once."""
    if isinstance(e, ir.Const):
        return ir.Const(to, e.value, span=e.span)
    if isinstance(e, ir.ReadStr) and e.limit is not None:
        return ir.ReadStr(to, e.space, e.address, e.limit, span=e.span)
    return ir.Cast(to, e, span=e.span)


def _integer(u: Unit, e: ir.Expr, of: Type, to: Type, span: Span, literal: bool) -> ir.Expr | None:
    if literal and isinstance(e, ir.Const) and isinstance(e.value, int):
        return cast(e, to) if holds(e.value, to) else None
    if not fits(of, to):
        u.warn(f"Expression of type: {show(of)} being cast to type: {show(to)}. {CAST_WARNING}", span)
    return cast(e, to)


def _by_items(
    u: Unit, e: ir.Expr, of: tuple[Type, ...], to: Type, wanted: tuple[Type, ...], order: tuple[int, ...], span: Span
) -> ir.Expr | None:
    """A tuple or record item by item. ``order``: which item of ``e`` each wanted one is."""
    in_order = order == tuple(range(len(order)))
    if isinstance(e, ir.Pack) and in_order:
        items = [convert(u, x, t, w, span, is_flex(t)) for x, t, w in zip(e.items, of, wanted, strict=True)]
        return None if None in items else ir.Pack(to, tuple(i for i in items if i is not None), span=span)
    bind, local = u.temporary(e)
    parts = [ir.Item(settle(of[i]), local, i, span=span) for i in order]
    done = [convert(u, p, of[i], w, span) for p, i, w in zip(parts, order, wanted, strict=True)]
    if None in done:
        return None
    return ir.Block(to, (bind,), ir.Pack(to, tuple(d for d in done if d is not None), span=span), span=span)


def truthy(u: Unit, v: V, span: Span, what: str = "condition") -> ir.Expr | None:
    """``v`` as a truth value: integers, pointers, and what counts as one of them."""
    if not v.known:
        return None
    if isinstance(v.type, Agg) or not isinstance(v.type, Int | Enum | Bool | Pointer):
        if isinstance(v.ir, ir.Const) and isinstance(v.ir.value, bytes):
            return truth(bool(v.ir.value)).ir
        u.error(f"Invalid {what}: {show(v.type)}", span)
        return None
    e = u.read(v, span)
    return None if e is None else to_bool(e)


def to_bool(e: ir.Expr) -> ir.Expr:
    return e if isinstance(e.type, Bool) else cast(e, BOOL)


def named(u: Unit, v: V) -> V:
    """``probe`` and ``func`` where a string is wanted: their text, which makes a clause of its own out of each site."""
    assert isinstance(v.type, Opaque)
    if v.type.kind not in ("probe", "func") or not isinstance(v.ir, ir.Context):
        return v
    from probescope.lang.bt.lower_value import text

    site = u.ask("name")
    return text((site.name if v.type.kind == "probe" else site.func).encode("utf-8", "surrogateescape"), v.ir.span)


def as_string(u: Unit, v: V, span: Span) -> ir.Expr | None:
    """A string value, or ``None`` if ``v`` is none."""
    if isinstance(v.type, Opaque):
        v = named(u, v)
    e = u.read(v, span)
    return e if e is not None and isinstance(e.type, String) else None


def as_u64(e: ir.Expr) -> ir.Expr:
    """A scalar as an unsigned number of 64 bits: for addresses and lengths."""
    return cast(e, U64)


def address_of(u: Unit, v: V, span: Span) -> tuple[ir.Expr, Space] | None:
    """The address that a pointer or number is, and the space it points to."""
    from probescope.lang.bt.types import tag_of

    e = u.read(v, span)
    if e is None or not isinstance(e.type, Int | Enum | Pointer):
        return None
    space: Space = "none"
    if isinstance(e.type, Pointer):
        space = e.type.space
    else:
        tag = tag_of(v.type)
        space = tag if tag in ("kernel", "user", "context") else "none"
    if space == "none":
        space = u.space
    return (e if isinstance(e.type, Pointer) else as_u64(e)), space


def as_condition(u: Unit, v: V, span: Span) -> V:
    e = truthy(u, v, span)
    if e is None:
        return NOTHING
    n = constant(V(e.type, e))
    return truth(bool(n)) if n is not None else value(e)


def zero(t: Type) -> ir.Expr | None:
    """The zero of a scalar or string, for ``let $x``; ``None`` where variables are zero by themselves."""
    if isinstance(t, Int | Enum | Bool | Pointer):
        return number(0, settle(t))
    return ir.Const(t, b"") if isinstance(t, String) else None
