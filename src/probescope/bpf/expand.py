"""Sequences for what the instruction set, this kernel's version of it, or the verifier does not take as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from probescope.bpf.lir import Alu, Cond, Op, Reg, fits32

if TYPE_CHECKING:
    from probescope.bpf.builder import Bits, Builder, Size

BITS: Final[Mapping[int, Literal[8, 16, 32]]] = {1: 8, 2: 16, 4: 32}
HALF: Final[Mapping[int, Size]] = {8: 4, 4: 2, 2: 1, 1: 1}

_SIGNED = frozenset({"slt", "sle", "sgt", "sge"})


def widen(b: Builder, cond: Cond, a: Reg) -> Reg:
    """A 32-bit operand such that a 64-bit comparison gives the same answer."""
    return b.sext(a, 32) if cond in _SIGNED else b.zext(a, 32)


def divisor_ok(b: Builder, name: Alu, imm: int) -> bool:
    """Whether the instruction takes this constant divisor as it is: zero never; -1 not with a sign, see
    ``signed_division``."""
    return imm != 0 and (name in {"div", "mod"} or (imm != -1 and b.v4)) and fits32(imm)


def division_imm(b: Builder, name: Alu, a: Reg, imm: int, bits: Bits, into: Reg | None) -> Reg:
    """Division by a constant that the instruction does not take."""
    if imm == 0:  # x / 0 is 0, x % 0 is x
        return _put(b, b.const(0) if name in {"div", "sdiv"} else _low(b, a, bits), into)
    if imm == -1 and name == "sdiv":
        return b.neg(a, bits, into)
    if imm == -1 and name == "smod":
        return _put(b, b.const(0), into)
    return b.alu(name, a, b.const(imm), bits, into)


def _low(b: Builder, a: Reg, bits: Bits) -> Reg:
    return a if bits == 64 else b.zext(a, 32)


def _put(b: Builder, value: Reg, into: Reg | None) -> Reg:
    if into is None:
        return value
    b.assign(into, value)
    return into


def signed_division(b: Builder, name: Alu, x: Reg, y: Reg, bits: Bits, into: Reg | None) -> Reg:
    """Truncating signed division or remainder of registers.

    The instruction of ISA v4 is used for divisors other than -1 only: before "bpf: Fix a sdiv overflow issue" (6.12)
    the least number divided by -1 raised a divide error inside the kernel."""
    result = b.reg() if into is None else into
    if b.v4:
        _native(b, name, x, y, bits, result)
    else:
        _by_magnitude(b, name, x, y, bits, result)
    return result


def _native(b: Builder, name: Alu, x: Reg, y: Reg, bits: Bits, result: Reg) -> None:
    minus_one, other, done = b.block(cold=True), b.block(), b.block()
    b.branch_imm("eq", y, -1, minus_one, other, bits)
    b.place(minus_one)
    if name == "sdiv":
        b.neg(x, bits, result)
    else:
        b.assign_imm(result, 0)
    b.jump(done)
    b.place(other)
    b.result(Op("alu", args=(x, y), name=name, size=bits), result)
    b.place(done)


def _by_magnitude(b: Builder, name: Alu, x: Reg, y: Reg, bits: Bits, result: Reg) -> None:
    """Unsigned division of the absolute values; a quotient is negative if the signs differ, a remainder has the
    dividend's. x/0 and x%0 come out as the ISA wants, and so does the least number by -1: its magnitude wraps to
    itself."""
    if bits == 32:
        x, y = b.sext(x, 32), b.sext(y, 32)
    top = b.alu_imm("sar", x, 63)  # 0 or -1: (v ^ s) - s negates v if s is -1
    low = b.alu_imm("sar", y, 63)
    quotient = b.alu("div" if name == "sdiv" else "mod", _negate_if(b, x, top), _negate_if(b, y, low))
    sign = b.alu("xor", top, low) if name == "sdiv" else top
    value = _negate_if(b, quotient, sign)
    b.assign(result, value if bits == 64 else b.zext(value, 32))


def _negate_if(b: Builder, value: Reg, sign: Reg) -> Reg:
    return b.alu("sub", b.alu("xor", value, sign), sign)
