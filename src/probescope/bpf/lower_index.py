"""Elements: of arrays by number, bytes of texts and buffers. Out of range gives zero and counts an error."""

from __future__ import annotations

from collections.abc import Callable

from probescope.bpf.kinds import SHORT, reg_bytes, reg_signed
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import zeros
from probescope.bpf.lower_memory import remote, remote_root
from probescope.bpf.lower_read import number_at
from probescope.bpf.lower_scalar import number
from probescope.bpf.lower_text import length_at
from probescope.ir import expr as x
from probescope.model.types import Array, Buffer, String


def index(l: Lower, e: x.Index) -> Reg:
    """A number."""
    if isinstance(e.x.type, String | Buffer):
        return _byte(l, e)
    assert isinstance(e.x.type, Array)
    count, size, known = e.x.type.count, l.size(e.x.type.element), number(e.index)
    if known is not None and not 0 <= known < count:
        l.place(e.x)  # for its effects
        return _nothing(l)
    if remote_root(e.x):
        far = remote(l, e.x)
        assert far is not None
        return _remote(l, e, far[0] == "user", far[1], count, size)
    place = l.place(e.x)
    if known is not None:
        return l.get(place.at(known * size), e.type)
    if place.where == "ctx":
        return _remote(l, e, False, l.address(place), count, size)
    return _checked(l, l.scalar(e.index), count, lambda i: l.get(_element(l, place, i, size), e.type))


def _nothing(l: Lower) -> Reg:
    l.count("bounds")
    return l.b.const(0)


def _checked(l: Lower, i: Reg, limit: int, get: Callable[[Reg], Reg]) -> Reg:
    """``get(i)``, if the index is less than ``limit``: a negative one is a great number here."""
    b = l.b
    out = b.reg()
    bad, good, done = b.block(cold=True), b.block(), b.block()
    b.branch_imm("ge", i, limit, bad, good)
    with l.arm(bad):
        b.assign(out, _nothing(l))
    b.jump(done)
    with l.arm(good):
        b.assign(out, get(i))
    b.place(done)
    return out


def _remote(l: Lower, e: x.Index, user: bool, start: Reg, count: int, size: int) -> Reg:
    def read(i: Reg) -> Reg:
        address = l.b.alu("add", start, l.b.alu_imm("mul", i, size))
        return number_at(l, "user" if user else "kernel", address, reg_bytes(e.type), reg_signed(e.type))

    return _checked(l, l.scalar(e.index), count, read)


def _element(l: Lower, p: Place, i: Reg, size: int) -> Place:
    return Place(l.b.alu("add", p.base, l.b.alu_imm("mul", i, size)), p.off, p.where)


def _byte(l: Lower, e: x.Index) -> Reg:
    """A byte of a text or buffer; past its end, but within its size, there are zeros."""
    t = e.x.type
    limit = l.size(t)
    place = l.place(e.x)
    if isinstance(t, Buffer):
        have: Reg | None = l.b.load(place.base, place.off, 4)
        start, room = place.at(4), t.size
    else:
        have = length_at(l, place, limit) if limit > SHORT else None
        start, room = place, limit

    def read(i: Reg) -> Reg:
        return _byte_at(l, e, start, i, have, room)

    return _checked(l, l.scalar(e.index), limit, read)


def _byte_at(l: Lower, e: x.Index, start: Place, i: Reg, have: Reg | None, room: int) -> Reg:
    b = l.b
    out = b.reg()
    b.assign_imm(out, 0)
    inside, there, done = b.block(), b.block(), b.block()
    if have is None:
        b.jump(inside)
    else:
        b.branch("lt", i, have, inside, done)
    b.place(inside)
    b.branch_imm("lt", i, room, there, done)
    b.place(there)
    b.load(b.alu("add", start.base, i), start.off, 1, signed=reg_signed(e.type), into=out)
    b.place(done)
    return out


def index_place(l: Lower, e: x.Index) -> Place | None:
    """An element that is not a number."""
    if remote_root(e.x):
        return None
    assert isinstance(e.x.type, Array)
    count, size, known = e.x.type.count, l.size(e.type), number(e.index)
    if known is not None:
        whole = l.place(e.x)
        if 0 <= known < count:
            return whole.at(known * size)
        l.count("bounds")
        return zeros(l, size)
    place = l.place(e.x)
    if place.where == "ctx":
        l.refuse("elements of an array in the context can only be reached by a constant index")
    return _element_place(l, e, place, count, size)


def _element_place(l: Lower, e: x.Index, place: Place, count: int, size: int) -> Place:
    b = l.b
    address, i = b.reg(), l.scalar(e.index)
    bad, good, done = b.block(cold=True), b.block(), b.block()
    b.branch_imm("ge", i, count, bad, good)
    with l.arm(bad):
        l.count("bounds")
        b.assign(address, l.address(zeros(l, size)))
    b.jump(done)
    b.place(good)
    b.assign(address, b.alu("add", l.address(place), b.alu_imm("mul", i, size)))
    b.place(done)
    return Place(address, 0, place.where)
