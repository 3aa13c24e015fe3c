"""Which bucket of a histogram a value falls into: model/aggregate.py's functions, by instructions."""

from __future__ import annotations

from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower
from probescope.bpf.lower_copy import constant
from probescope.bpf.words import buckets
from probescope.model.aggregate import log2_bucket
from probescope.model.types import Agg

_HASH = 0xE832EB7369878D4F
"""Times 2**n - 1, the top 7 bits of the product are another number for each n of 0 to 64 (found by trying)."""

_MASK = (1 << 64) - 1


def bucket(l: Lower, agg: Agg, value: Reg) -> Reg:
    """The number of the bucket."""
    match agg.kind:
        case "hist":
            return _log2(l, value, agg.args[0] if agg.args else 0, agg.value.signed)
        case "lhist":
            return _linear(l, agg, value)
        case _:
            return _loglinear(l, agg, value)


def _table(bits: int) -> bytes:
    """By the hash of the value with all bits below its leading one set: the bucket (``bits`` 0), or how far the
    value is shifted right to leave ``bits`` + 1 of it."""
    out = bytearray(128)
    for n in range(65):
        filled = (1 << n) - 1
        place = (filled * _HASH & _MASK) >> 57
        out[place] = log2_bucket(filled, 0) if bits == 0 else max(0, n - 1 - bits)
    return bytes(out)


def _log2(l: Lower, value: Reg, bits: int, signed: bool) -> Reg:
    b = l.b
    out = b.reg()
    done = b.block()
    if signed:
        negative, rest = b.block(cold=True), b.block()
        b.branch_imm("slt", value, 0, negative, rest)
        b.place(negative)
        b.assign_imm(out, 0)
        b.jump(done)
        b.place(rest)
    if bits == 0:
        b.assign(out, _looked_up(l, value, 0))
    else:
        _split(l, value, bits, out)
    b.place(done)
    return out


def _looked_up(l: Lower, value: Reg, bits: int) -> Reg:
    """No branches: they would depend on the data, and each doubles the verifier's work."""
    b = l.b
    filled = value
    for shift in (1, 2, 4, 8, 16, 32):
        filled = b.alu("or", filled, b.alu_imm("shr", filled, shift))
    place = b.alu_imm("shr", b.alu_imm("mul", filled, _HASH), 57)
    table = constant(l, _table(bits))
    return b.load(b.alu("add", table.base, place), 0, 1)


def _split(l: Lower, value: Reg, bits: int, out: Reg) -> None:
    """Each power of two in ``2**bits`` parts."""
    b = l.b
    small, large, done = b.block(), b.block(), b.block()
    b.branch_imm("lt", value, 1 << bits, small, large)
    b.place(small)
    b.alu_imm("add", value, 1, into=out)
    b.jump(done)
    b.place(large)
    shift = _looked_up(l, value, bits)
    part = b.alu_imm("and", b.alu("shr", value, shift), (1 << bits) - 1)
    start = b.alu_imm("shl", b.alu_imm("add", shift, 1), bits)
    b.alu_imm("add", b.alu("add", start, part), 1, into=out)
    b.place(done)


def _linear(l: Lower, agg: Agg, value: Reg) -> Reg:
    low, high, step = agg.args
    b = l.b
    out = b.reg()
    b.assign_imm(out, 0)
    inside, above, done, checked = b.block(), b.block(), b.block(), b.block()
    if agg.value.signed or low > 0:
        b.branch_imm("slt" if agg.value.signed else "lt", value, low, done, checked)
        b.place(checked)
    b.branch_imm("sge" if agg.value.signed else "ge", value, high, above, inside)
    b.place(above)
    b.assign_imm(out, buckets(agg) - 1)
    b.jump(done)
    b.place(inside)
    b.alu_imm("add", divide(l, b.alu_imm("sub", value, low), step, high - low), 1, into=out)
    b.place(done)
    return out


def divide(l: Lower, value: Reg, by: int, limit: int) -> Reg:
    """``value // by`` for values below ``limit``. A division takes the processor 10 to 40 cycles; where the product
    fits 64 bits, ``value * m >> n`` is the same: with m = ceil(2**n / by), if (m * by - 2**n) * limit <= 2**n."""
    if by & (by - 1) == 0:
        return l.b.alu_imm("shr", value, by.bit_length() - 1)
    for n in range(by.bit_length(), 64):
        m = -(-(1 << n) // by)
        if m * limit >= 1 << 64:
            break
        if (m * by - (1 << n)) * limit <= 1 << n:
            return l.b.alu_imm("shr", l.b.alu_imm("mul", value, m), n)
    return l.b.alu_imm("div", value, by)


def _loglinear(l: Lower, agg: Agg, value: Reg) -> Reg:
    """Magnitude by magnitude, from below."""
    factor, low, high, steps = agg.args
    b = l.b
    out = b.reg()
    b.assign_imm(out, 0)
    done = b.block()
    less = "slt" if agg.value.signed else "lt"
    on = b.block()
    b.branch_imm(less, value, factor**low, done, on)  # type: ignore[arg-type]
    b.place(on)
    for m in range(low, high + 1):
        end = factor ** (m + 1)
        here, on = b.block(), b.block()
        if end >= 1 << (63 if agg.value.signed else 64):
            b.jump(here)
        else:
            b.branch_imm(less, value, end, here, on)  # type: ignore[arg-type]
        b.place(here)
        step = divide(l, value, max(1, end // steps), end)
        b.alu_imm("add", step, 1 + (m - low) * steps, into=out)
        b.jump(done)
        b.place(on)
    b.assign_imm(out, 1 + (high - low + 1) * steps)
    b.place(done)
    return out
