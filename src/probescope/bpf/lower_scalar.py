"""Values in registers: numbers, variables, arithmetic, conversions, choices."""

from __future__ import annotations

from probescope.bpf.kinds import in_register, is_stack, reg_bytes, reg_signed
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Held, Lower
from probescope.ir import expr as x
from probescope.ir.walk import walk
from probescope.model.types import (
    Bool,
    Buffer,
    Opaque,
    Type,
    is_scalar,
    signed,
    width,
    wrap,
)

_BITWISE = frozenset({"and", "or", "xor"})


def const(l: Lower, e: x.Const) -> Reg:
    assert isinstance(e.value, int)
    return l.b.const(wrap(e.value, e.type) if is_scalar(e.type) else e.value)


def number(e: x.Expr) -> int | None:
    """The value of a constant, as its register would hold it."""
    if isinstance(e, x.Const) and isinstance(e.value, int):
        return wrap(e.value, e.type) if is_scalar(e.type) else e.value
    return None


def held(l: Lower, e: Held) -> Reg:
    if e.reg is not None:
        return e.reg
    assert e.place is not None
    return l.get(e.place, e.type)


def pair(l: Lower, a: x.Expr, b: x.Expr) -> tuple[Reg, Reg]:
    """Both operands, left first. A variable's register is copied if the right side may change it."""
    first = l.scalar(a)
    if isinstance(a, x.Local) and _has_block(b):
        first = l.b.copy(first)
    return first, l.scalar(b)


def _has_block(e: x.Expr) -> bool:
    return not isinstance(e, x.Const | x.Local | x.Context) and any(isinstance(n, x.Block) for n in walk([e]))


def narrow(l: Lower, value: Reg, t: Type) -> Reg:
    """The low bytes of a register, as a value of type ``t``."""
    bits = reg_bytes(t) * 8
    if bits == 64:
        return value
    return l.b.sext(value, bits) if reg_signed(t) else l.b.zext(value, bits)  # type: ignore[arg-type]


# --- arithmetic -------------------------------------------------------------------------------------------------------


def unary(l: Lower, e: x.Unary) -> Reg:
    if e.op == "not":
        return truth(l, e)
    value = l.scalar(e.x)
    bits = 64 if width(e.type) == 8 else 32
    if e.op == "neg":
        return narrow(l, l.b.neg(value, bits), e.type)  # type: ignore[arg-type]
    inverted = l.b.alu_imm("xor", value, -1)
    return inverted if signed(e.type) else narrow(l, inverted, e.type)


def truth(l: Lower, e: x.Expr) -> Reg:
    """A condition as 0 or 1."""
    b = l.b
    out = b.reg()
    yes, no, done = b.block(), b.block(), b.block()
    l.condition(e, yes, no)
    b.place(yes)
    b.assign_imm(out, 1)
    b.jump(done)
    b.place(no)
    b.assign_imm(out, 0)
    b.place(done)
    return out


def nonzero(l: Lower, value: Reg) -> Reg:
    """1 if a number is not 0: of it and its negative one has the top bit set."""
    return l.b.alu_imm("shr", l.b.alu("or", value, l.b.neg(value)), 63)


def binary(l: Lower, e: x.Binary) -> Reg:
    if e.op in x.COMPARISON:
        return truth(l, e)
    if e.op in {"div", "mod"}:
        return _division(l, e)
    if e.op in {"shl", "shr"}:
        return _shift(l, e)
    bits = 64 if width(e.type) == 8 or e.op in _BITWISE else 32
    known = number(e.b)
    if known is not None:
        value = l.b.alu_imm(e.op, l.scalar(e.a), known, bits)  # type: ignore[arg-type]
    else:
        a, b = pair(l, e.a, e.b)
        value = l.b.alu(e.op, a, b, bits)  # type: ignore[arg-type]
    if e.op in _BITWISE or bits == 64:
        return value  # of equal types both sides are widened alike, and so is what comes out
    return value if width(e.type) == 4 and not signed(e.type) else narrow(l, value, e.type)


def _division(l: Lower, e: x.Binary) -> Reg:
    name = ("s" if signed(e.type) else "") + e.op
    known = number(e.b)
    if known:
        return narrow(l, l.b.alu_imm(name, l.scalar(e.a), known), e.type)  # type: ignore[arg-type]
    a, b = pair(l, e.a, e.b)
    result = l.b.copy(b)
    rare, usual, on = l.b.block(cold=True), l.b.block(), l.b.block()
    l.b.branch_imm("eq", b, 0, rare, usual)
    with l.arm(rare):
        l.count("div0")
        l.b.assign_imm(result, 1)
        l.b.jump(on)
    l.b.place(usual)
    l.b.assign(result, l.b.alu(name, a, b))  # type: ignore[arg-type]
    l.b.jump(on)
    l.b.place(on)
    return narrow(l, result, e.type)


def _shift(l: Lower, e: x.Binary) -> Reg:
    bits = width(e.type) * 8
    known = number(e.b)
    if e.op == "shr":
        name = "sar" if signed(e.type) else "shr"
        if known is not None:
            return l.b.alu_imm(name, l.scalar(e.a), known % bits)  # type: ignore[arg-type]
        a, b = pair(l, e.a, e.b)
        return l.b.alu(name, a, _modulo(l, b, bits))  # type: ignore[arg-type]
    if known is not None:
        return narrow(l, l.b.alu_imm("shl", l.scalar(e.a), known % bits), e.type)
    a, b = pair(l, e.a, e.b)
    return narrow(l, l.b.alu("shl", a, _modulo(l, b, bits)), e.type)


def _modulo(l: Lower, count: Reg, bits: int) -> Reg:
    """Shifts are done on 64 bits, and take their count modulo that."""
    return count if bits == 64 else l.b.alu_imm("and", count, bits - 1)


# --- conversions ------------------------------------------------------------------------------------------------------


def cast(l: Lower, e: x.Cast) -> Reg:
    of, to = e.x.type, e.type
    if isinstance(to, Bool) and not isinstance(of, Bool):
        return truth(l, e)
    if not in_register(of):
        return _from_bytes(l, e)
    value = l.scalar(e.x)
    if is_stack(of):
        value = l.b.sext(value, 32)
    if isinstance(to, Opaque) and is_scalar(of):
        return value if reg_bytes(to) >= 8 else narrow(l, value, to)
    if is_stack(to) and is_stack(of):
        return value
    narrower = reg_bytes(to) < reg_bytes(of) or (reg_bytes(to) == reg_bytes(of) and reg_signed(to) != reg_signed(of))
    widened = reg_bytes(to) > reg_bytes(of) and reg_signed(of) and not reg_signed(to)
    return narrow(l, value, to) if narrower or widened else value


def _from_bytes(l: Lower, e: x.Cast) -> Reg:
    """The first bytes of an array, a buffer or an opaque value as a number."""
    of = e.x.type
    p = l.place(e.x)
    if isinstance(of, Buffer):
        p = p.at(4)
    size, want = l.size(of), reg_bytes(e.type)
    if size >= want and (p.where == "value" or p.off % want == 0):
        return l.get(p, e.type)
    value = l.b.const(0)
    for i in range(min(size, want)):
        byte = l.b.load(p.base, p.off + i, 1)
        value = l.b.alu("or", value, l.b.alu_imm("shl", byte, 8 * i))
    return narrow(l, value, e.type)


# --- choices and parts ------------------------------------------------------------------------------------------------


def select(l: Lower, e: x.Select) -> Reg:
    b = l.b
    out = b.reg()
    yes, no, done = b.block(), b.block(), b.block()
    l.condition(e.cond, yes, no)
    for block, value in ((yes, e.a), (no, e.b)):
        with l.arm(block):
            b.assign(out, l.scalar(value))
        b.jump(done)
    b.place(done)
    return out


def block(l: Lower, e: x.Block) -> Reg:
    l.statements(e.body)
    l.end_block()
    return l.scalar(e.result)
