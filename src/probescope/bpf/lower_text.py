"""Texts: comparing them, measuring them.

A text ends at its first NUL or at its size; what follows the NUL does not count (and in long ones is worthless), so all
of this goes byte by byte, or against known bytes, up to that NUL.
"""

from __future__ import annotations

from probescope.bpf.kinds import SHORT, text_size
from probescope.bpf.lir import Block, Cond, Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import branch_same_const
from probescope.bpf.lower_read import read_some
from probescope.bpf.lower_walk import walk
from probescope.ir import expr as x
from probescope.model.types import String

_AFTER: dict[str, Cond] = {"lt": "lt", "le": "lt", "gt": "gt", "ge": "gt"}


def const_text(e: x.Expr) -> bytes | None:
    """The text of a constant, up to its NUL."""
    if isinstance(e, x.Cast) and isinstance(e.type, String) and isinstance(e.x.type, String):
        inner = const_text(e.x)
        return None if inner is None else inner[: e.type.size]
    if isinstance(e, x.Const) and isinstance(e.value, bytes):
        return e.value.split(b"\0", 1)[0][: text_size(e.type)]
    return None


def operand(l: Lower, e: x.Expr, most: int | None = None) -> tuple[Place, int]:
    """Where a text lies, and the size it ends at. ``most``: only its first bytes count; memory elsewhere is read no
    further."""
    size = text_size(e.type)
    if isinstance(e, x.Cast) and isinstance(e.x.type, String):
        place, inner = operand(l, e.x, size if most is None else min(most, size))
        return place, min(inner, size)
    if most is not None and most < size and isinstance(e, x.ReadStr | x.Load):
        return read_some(l, e, most), most
    return l.place(e), size


def branch_text(l: Lower, op: str, a: x.Expr, b: x.Expr, yes: Block, no: Block, *, most: int = 1 << 30) -> None:
    """Compares two texts, only their first ``most`` bytes. Ends the block."""
    left, right = const_text(a), const_text(b)
    if op in {"eq", "ne"} and (left is not None or right is not None):
        same, differ = (yes, no) if op == "eq" else (no, yes)
        if right is not None:
            _against(l, a, right[:most], most, same, differ)
        else:
            assert left is not None
            _against(l, b, left[:most], most, same, differ)
        return
    _two(l, op, a, b, most, yes, no)


def _against(l: Lower, e: x.Expr, known: bytes, most: int, same: Block, differ: Block) -> None:
    place, size = operand(l, e, min(most, len(known) + 1))
    size = min(size, most)
    if len(known) > size:
        l.b.jump(differ)
    else:
        branch_same_const(l, place, known + b"\0" * (len(known) < size), same, differ)


def _two(l: Lower, op: str, a: x.Expr, b_: x.Expr, most: int, yes: Block, no: Block) -> None:
    b = l.b
    pa, na = operand(l, a, most)
    pb, nb = operand(l, b_, most)
    na, nb = min(na, most), min(nb, most)
    same, differ = (no, yes) if op in {"ne", "lt", "gt"} else (yes, no)
    ca, cb = b.reg(), b.reg()
    end, apart = b.block(), b.block()

    def one(i: Reg) -> None:
        on, more = b.block(), b.block()
        b.load(b.alu("add", pa.base, i), pa.off, 1, into=ca)
        b.load(b.alu("add", pb.base, i), pb.off, 1, into=cb)
        b.branch("ne", ca, cb, apart, on)
        b.place(on)
        b.branch_imm("eq", ca, 0, same, more)
        b.place(more)

    walk(l, min(na, nb), 2, end, one)
    b.place(end)
    _ends(l, pa, na, pb, nb, ca, cb, same, apart)
    b.place(apart)
    if op in {"eq", "ne"}:
        b.jump(differ)
    else:
        b.branch(_AFTER[op], ca, cb, yes, no)


def _ends(l: Lower, pa: Place, na: int, pb: Place, nb: int, ca: Reg, cb: Reg, same: Block, apart: Block) -> None:
    """All bytes of the shorter room are equal, and no NUL among them: the longer one must end here."""
    b = l.b
    if na == nb:
        b.jump(same)
        return
    n = min(na, nb)
    if na > nb:
        b.load(pa.base, pa.off + n, 1, into=ca)
        b.assign_imm(cb, 0)
    else:
        b.load(pb.base, pb.off + n, 1, into=cb)
        b.assign_imm(ca, 0)
    b.branch("eq", ca, cb, same, apart)


def branch_bytes(l: Lower, pa: Place, pb: Place, length: Reg, most: int, same: Block, differ: Block) -> None:
    """Whether ``length`` bytes, ``most`` at most, are equal. Ends the block."""
    b = l.b

    def one(i: Reg) -> None:
        on, more = b.block(), b.block()
        # by difference: compared with i itself the length would be known in each turn, and all that follows walked
        # once for each
        b.branch_imm("sge", b.alu("sub", i, length), 0, same, on)
        b.place(on)
        ca = b.load(b.alu("add", pa.base, i), pa.off, 1)
        cb = b.load(b.alu("add", pb.base, i), pb.off, 1)
        b.branch("ne", ca, cb, differ, more)
        b.place(more)

    walk(l, most, 2, same, one)


def length(l: Lower, e: x.Expr) -> Reg:
    """Bytes before the NUL."""
    known = const_text(e)
    if known is not None:
        return l.b.const(len(known))
    return length_at(l, *operand(l, e))


def length_at(l: Lower, place: Place, size: int) -> Reg:
    """Bytes before the NUL of a text that lies somewhere."""
    if size > SHORT:
        return _length_by_helper(l, place, size)
    b = l.b
    i = b.reg()
    b.assign_imm(i, 0)
    head, on, done = b.block(), b.block(), b.block()
    b.place(head)
    b.branch_imm("eq", b.load(b.alu("add", place.base, i), place.off, 1), 0, done, on)
    b.place(on)
    b.alu_imm("add", i, 1, into=i)
    b.branch_imm("lt", i, size, head, done)
    b.place(done)
    return i


def _length_by_helper(l: Lower, place: Place, size: int) -> Reg:
    """Copying a text tells how long it is, faster than looking at its bytes from here."""
    copy = l.temp(size, slack=1)
    got = l.b.call("probe_read_kernel_str", l.address(copy), l.b.const(size + 1), l.address(place))
    return l.b.alu_imm("sub", got, 1)
