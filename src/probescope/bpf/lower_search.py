"""Looking for one text in another."""

from __future__ import annotations

from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_loop import unknown_zero
from probescope.bpf.lower_text import const_text, operand
from probescope.ir import expr as x

WALKED = 8192
"""Pairs of bytes up to which the verifier can walk through all comparisons of two unknown texts."""


def position(l: Lower, e: x.Call) -> Reg:
    """Where the second text begins in the first, -1 if nowhere."""
    b = l.b
    out, done = b.reg(), b.block()
    found, missing = b.block(), b.block()
    at = _search(l, e, found, missing)
    b.place(found)
    b.assign(out, at)
    b.jump(done)
    b.place(missing)
    b.assign_imm(out, -1)
    b.place(done)
    return out


def branch_found(l: Lower, e: x.Call, yes: Block, no: Block) -> None:
    _search(l, e, yes, no)


def _search(l: Lower, e: x.Call, found: Block, missing: Block) -> Reg:
    """Ends the block; gives the register that holds the position where it goes to ``found``."""
    i = l.b.reg()
    known = const_text(e.args[1])
    place, size = operand(l, e.args[0])
    if known is None:
        _unknown(l, e, place, size, i, found, missing)
    else:
        _known(l, place, size, known, i, found, missing)
    return i


def _known(l: Lower, place: Place, size: int, text: bytes, i: Reg, found: Block, missing: Block) -> None:
    """At each position: the text must not have ended, and the known bytes must follow. The verifier walks all
    positions."""
    b = l.b
    b.assign_imm(i, 0)
    if not text or len(text) > size:
        b.jump(missing if text else found)
        return
    head, on = b.block(), b.block()
    again = b.block()
    b.place(head)
    start = b.alu("add", place.base, i)
    first = b.load(start, place.off, 1)
    b.branch_imm("eq", first, 0, missing, on)
    b.place(on)
    for k, byte in enumerate(text):
        on = b.block()
        value = first if k == 0 else b.load(start, place.off + k, 1)
        b.branch_imm("ne", value, byte, again, on)
        b.place(on)
    b.jump(found)
    b.place(again)
    b.alu_imm("add", i, 1, into=i)
    b.branch_imm("le", i, size - len(text), head, missing)


def _unknown(l: Lower, e: x.Call, place: Place, size: int, i: Reg, found: Block, missing: Block) -> None:
    """Byte by byte, starting over one further after each mismatch."""
    b = l.b
    other, most = operand(l, e.args[1])
    goto = l.features.has("isa:may_goto")
    if size * most > WALKED and not goto:
        l.refuse(
            f"looking for an unknown text of up to {most} bytes in {size} needs may_goto (Linux 6.9)",
            "lower max_strlen, or look for a constant text",
        )
    j = b.reg()
    zero = unknown_zero(l) if goto else b.const(0)
    b.assign(i, zero)
    b.assign(j, zero)
    head, within, more, compare, next_, again = (b.block() for _ in range(6))
    ended = b.block()
    b.place(head)
    if goto:
        on = b.block()
        b.may_goto(missing, on)
        b.place(on)
    b.branch_imm("ge", j, most, found, within)  # all of it was there
    b.place(within)
    want = b.load(b.alu("add", other.base, j), other.off, 1)
    b.branch_imm("eq", want, 0, found, more)
    b.place(more)
    at = b.alu("add", i, j)
    b.branch_imm("lt", at, size, compare, missing)
    b.place(compare)
    have = b.load(b.alu("add", place.base, at), place.off, 1)
    b.branch("eq", have, want, next_, ended)
    b.place(next_)
    b.alu_imm("add", j, 1, into=j)
    b.jump(head)
    b.place(ended)
    b.branch_imm("eq", have, 0, missing, again)
    b.place(again)
    b.assign(j, zero)
    b.alu_imm("add", i, 1, into=i)
    b.jump(head)
