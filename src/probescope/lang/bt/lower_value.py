"""What lowering an expression gives: a value, a place in memory that was not read yet, or statements without a value.

A place stays a place as long as possible: ``$p.a.b[2].c`` is one read at one address, not four copies.
"""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.ir.stmt import Stmt
from probescope.lang.bt.types import UNKNOWN, is_int, literal, settle
from probescope.model.types import (
    BOOL,
    I8,
    I64,
    U64,
    VOID,
    Agg,
    Array,
    Bool,
    Int,
    Member,
    Pointer,
    Space,
    String,
    Type,
    width,
    wrap,
)


class V:
    """``type`` is the language's type. Exactly one of the others says where the value is: ``ir``; ``address`` and
    ``space`` (``field`` is the member read there, when it is a bit field); ``body``, for what has no value. ``agg``:
    the value was read from a map of such an aggregation."""

    __slots__ = ("address", "agg", "body", "field", "ir", "literal", "space", "type")

    def __init__(
        self,
        type: Type,  # noqa: A002 - the name that ir gives it
        value: ir.Expr | None = None,
        *,
        address: ir.Expr | None = None,
        space: Space = "none",
        field: Member | None = None,
        body: tuple[Stmt, ...] = (),
        literal: bool = False,
        agg: Agg | None = None,
    ) -> None:
        self.type = type
        self.ir = value
        self.address = address
        self.space: Space = space
        self.field = field
        self.body = body
        self.literal = literal
        self.agg = agg

    @property
    def known(self) -> bool:
        return self.type is not UNKNOWN


NOTHING = V(UNKNOWN)
"""The value of what is wrong, or not inferred yet."""


def value(e: ir.Expr) -> V:
    return V(e.type, e)


def effect(*body: Stmt) -> V:
    """Statements without a value."""
    return V(VOID, body=body)


def const(number: int, t: Type | None = None, span: Span | None = None) -> V:
    """An integer literal, of the smallest type that holds it unless ``t`` says otherwise."""
    t = t or literal(number)
    e = ir.Const(settle(t), number) if span is None else ir.Const(settle(t), number, span=span)
    return V(t, e, literal=True)


def text(raw: bytes, span: Span | None = None) -> V:
    """A string literal; its type has room for a NUL, as the language counts it."""
    t = String(len(raw) + 1)
    return V(t, ir.Const(t, raw) if span is None else ir.Const(t, raw, span=span), literal=True)


def truth(flag: bool) -> V:
    return V(BOOL, ir.Const(BOOL, int(flag)), literal=True)


def constant(v: V) -> int | None:
    """The number that a constant is, whether literal or folded."""
    e = v.ir
    return e.value if isinstance(e, ir.Const) and isinstance(e.value, int) and not isinstance(e.type, String) else None


def constant_text(v: V) -> str | None:
    e = v.ir
    return (
        e.value.decode("utf-8", "surrogateescape") if isinstance(e, ir.Const) and isinstance(e.value, bytes) else None
    )


# --- building ---------------------------------------------------------------------------------------------------------


def cast(e: ir.Expr, t: Type) -> ir.Expr:
    """``e`` as ``t``; a constant scalar is converted here and now."""
    if e.type is t or e.type == t:
        return e
    if isinstance(e, ir.Const) and isinstance(e.value, int) and isinstance(t, Int | Bool | Pointer):
        return ir.Const(t, wrap(e.value, t), span=e.span)
    return ir.Cast(t, e, span=e.span)


def number(value: int, t: Type = U64) -> ir.Const:
    return ir.Const(t, value)


def add(address: ir.Expr, offset: int) -> ir.Expr:
    """An address some bytes on."""
    if not offset:
        return address
    if isinstance(address, ir.Const) and isinstance(address.value, int):
        return ir.Const(address.type, wrap(address.value + offset, address.type), span=address.span)
    if isinstance(address, ir.Binary) and address.op == "add" and isinstance(address.b, ir.Const):
        base = address.b.value
        assert isinstance(base, int)
        return ir.Binary(address.type, "add", address.a, number(base + offset, address.b.type), span=address.span)
    return ir.Binary(address.type, "add", address, number(offset), span=address.span)


def scaled(address: ir.Expr, index: ir.Expr, size: int) -> ir.Expr:
    """An address ``index`` elements of ``size`` bytes on; ``index`` is an I64 or U64."""
    if isinstance(index, ir.Const) and isinstance(index.value, int):
        offset = wrap(index.value * size, I64)
        if offset >= 0:
            return add(address, offset)
        return ir.Binary(address.type, "add", address, number(offset, I64), span=address.span)
    by = index if size == 1 else ir.Binary(index.type, "mul", index, number(size, index.type), span=index.span)
    return ir.Binary(address.type, "add", address, by, span=index.span)


def wide(e: ir.Expr) -> ir.Expr:
    """A scalar at 64 bits, with its own sign."""
    signed = isinstance(e.type, Int) and e.type.signed
    return cast(e, I64 if signed else U64)


# --- reading ----------------------------------------------------------------------------------------------------------


def load(v: V, span: Span) -> ir.Expr:
    """The value in a place. A char array is a String there, one byte longer than the array, so that a full one is not
    taken for a cut one."""
    assert v.address is not None
    t = settle(v.type)
    if v.field is not None and v.field.bit_size:
        return _bits(ir.Load(_unit(t), v.space, v.address, span=span), t, v.field)
    if isinstance(t, String):
        return ir.ReadStr(t, v.space, v.address, number(t.size - 1), span=span)
    return ir.Load(t, v.space, v.address, span=span)


def part(whole: ir.Expr, m: Member, t: Type, span: Span) -> ir.Expr:
    """A member of a struct value, whose type is ``t``."""
    offset = m.offset
    if isinstance(whole, ir.Part):
        offset += whole.offset
        whole = whole.x
    t = settle(t)
    if m.bit_size:
        return _bits(ir.Part(_unit(t), whole, offset, span=span), t, m)
    if isinstance(t, Array) and t.element == I8:
        return ir.Cast(String(t.count + 1), ir.Part(String(t.count), whole, offset, span=span), span=span)
    return ir.Part(t, whole, offset, span=span)


def _unit(t: Type) -> Int:
    return Int(width(t), False)


def _bits(unit: ir.Expr, t: Type, m: Member) -> ir.Expr:
    """``bit_size`` bits from ``bit_offset`` on, counted from the least significant one."""
    assert isinstance(unit.type, Int)
    bits = unit.type.size * 8
    if is_int(t) and getattr(t, "signed", False):
        signed = Int(unit.type.size, True)
        up = ir.Binary(signed, "shl", cast(unit, signed), number(bits - m.bit_offset - m.bit_size, signed))
        return cast(ir.Binary(signed, "shr", up, number(bits - m.bit_size, signed)), t)
    down = unit if not m.bit_offset else ir.Binary(unit.type, "shr", unit, number(m.bit_offset, unit.type))
    if m.bit_offset + m.bit_size < bits:
        down = ir.Binary(unit.type, "and", down, number((1 << m.bit_size) - 1, unit.type))
    return cast(down, t)
