"""Looking for one text in another."""

from __future__ import annotations

from probescope.bpf.builder import Size
from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import chunks
from probescope.bpf.lower_text import const_text, operand
from probescope.bpf.lower_walk import by_goto, start, walk
from probescope.ir import expr as x


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
    """At each position: the text must not have ended, and the known bytes must follow."""
    b = l.b
    if not text or len(text) > size:
        b.assign_imm(i, 0)
        b.jump(missing if text else found)
        return

    def one(at: Reg) -> None:
        on, again = b.block(), b.block()
        here = Place(b.alu("add", place.base, at), place.off, place.where)
        b.branch_imm("eq", b.load(here.base, here.off, 1), 0, missing, on)
        b.place(on)
        b.assign(i, at)
        _follows(l, here, text, found, again)
        b.place(again)

    walk(l, size - len(text) + 1, 3, missing, one)


def _follows(l: Lower, here: Place, text: bytes, found: Block, again: Block) -> None:
    """The first bytes decide most of the time; the others are looked at together."""
    b = l.b
    wide = here.where == "value"
    parts: list[tuple[int, Size]] = list(chunks(len(text), here)) if wide else [(k, 1) for k in range(len(text))]
    difference = None
    for n, (at, size) in enumerate(parts):
        value = b.load(here.base, here.off + at, size)
        differs = b.alu("xor", value, b.const(int.from_bytes(text[at : at + size], "little")))
        if n == 0:
            on = b.block()
            b.branch_imm("ne", differs, 0, again, on)
            b.place(on)
        else:
            difference = differs if difference is None else b.alu("or", difference, differs)
    if difference is None:
        b.jump(found)
    else:
        b.branch_imm("eq", difference, 0, found, again)


def _unknown(l: Lower, e: x.Call, place: Place, size: int, i: Reg, found: Block, missing: Block) -> None:
    """Byte by byte, starting over one further after each mismatch."""
    b = l.b
    other, most = operand(l, e.args[1])
    goto = by_goto(l, size * most)
    j = b.reg()
    start(l, i, goto)
    start(l, j, goto)
    head, within, more, compare, next_, again = (b.block() for _ in range(6))
    ended = b.block()
    b.place(head)
    if goto:
        on = b.block()
        b.may_goto(missing, on, size * (most + 1))
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
    start(l, j, goto)
    b.alu_imm("add", i, 1, into=i)
    b.jump(head)
