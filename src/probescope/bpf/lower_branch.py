"""Conditions: code that goes one way or the other, without ever making a 0 or 1 of it."""

from __future__ import annotations

from probescope.bpf.kinds import in_register, reg_signed
from probescope.bpf.lir import Block, Cond
from probescope.bpf.lower import Held, Lower
from probescope.bpf.lower_copy import branch_same
from probescope.bpf.lower_scalar import number, pair
from probescope.bpf.lower_text import branch_bytes, branch_text
from probescope.ir import expr as x
from probescope.model.abi import item_types, offsets
from probescope.model.types import Array, Bool, Buffer, Record, String, Tuple, Type

_UNSIGNED: dict[str, Cond] = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_SIGNED: dict[str, Cond] = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}


def any_value(l: Lower, e: x.Expr, yes: Block, no: Block) -> None:
    """A number that is not 0, a text that is not empty."""
    if in_register(e.type):
        known = number(e)
        if known is not None:
            l.b.jump(yes if known else no)
        else:
            l.b.branch_imm("ne", l.scalar(e), 0, yes, no)
        return
    p = l.place(e)
    if isinstance(e.type, Buffer):
        l.b.branch_imm("ne", l.b.load(p.base, p.off, 4), 0, yes, no)
    else:
        l.b.branch_imm("ne", l.b.load(p.base, p.off, 1), 0, yes, no)


def negation(l: Lower, e: x.Unary, yes: Block, no: Block) -> None:
    if e.op == "not":
        l.condition(e.x, no, yes)
    else:
        any_value(l, e, yes, no)


def logic(l: Lower, e: x.Logic, yes: Block, no: Block) -> None:
    rest = l.b.block()
    if e.op == "and":
        l.condition(e.a, rest, no)
    else:
        l.condition(e.a, yes, rest)
    with l.arm(rest):
        l.condition(e.b, yes, no)


def cast(l: Lower, e: x.Cast, yes: Block, no: Block) -> None:
    if isinstance(e.type, Bool):
        l.condition(e.x, yes, no)
    else:
        any_value(l, e, yes, no)


def comparison(l: Lower, e: x.Binary, yes: Block, no: Block) -> None:
    if e.op not in x.COMPARISON:
        any_value(l, e, yes, no)
        return
    t = e.a.type
    if in_register(t):
        _numbers(l, e, yes, no)
    elif isinstance(t, String):
        branch_text(l, e.op, e.a, e.b, yes, no)
    elif e.op in {"eq", "ne"}:
        _same(l, t, e.a, e.b, yes if e.op == "eq" else no, no if e.op == "eq" else yes)
    else:
        l.refuse(f"{t} has no order")


def _numbers(l: Lower, e: x.Binary, yes: Block, no: Block) -> None:
    cond = (_SIGNED if reg_signed(e.a.type) else _UNSIGNED)[e.op]
    known = number(e.b)
    if known is not None:
        l.b.branch_imm(cond, l.scalar(e.a), known, yes, no)
    else:
        a, b = pair(l, e.a, e.b)
        l.b.branch(cond, a, b, yes, no)


def _same(l: Lower, t: Type, a: x.Expr, b: x.Expr, same: Block, differ: Block) -> None:
    """Whether two values in memory are equal, item by item. Ends the block."""
    pa, pb = l.place(a), l.place(b)
    if isinstance(t, Tuple | Record) or (isinstance(t, Array) and not in_register(t.element)):
        items = item_types(t) if isinstance(t, Tuple | Record) else (t.element,) * t.count
        at, _ = offsets(items, l.types)
        for item, off in zip(items, at, strict=True):
            on = l.b.block()
            one = x.Binary(Bool(), "eq", Held(item, place=pa.at(off)), Held(item, place=pb.at(off)))
            l.condition(one, on, differ)
            l.b.place(on)
        l.b.jump(same)
    elif isinstance(t, Buffer):
        length = l.b.load(pa.base, pa.off, 4)
        on = l.b.block()
        l.b.branch("eq", length, l.b.load(pb.base, pb.off, 4), on, differ)
        l.b.place(on)
        branch_bytes(l, pa.at(4), pb.at(4), length, _most(a.type, b.type), same, differ)
    else:
        branch_same(l, pa, pb, l.size(t), same, differ)


def _most(*buffers: Type) -> int:
    return min(t.size for t in buffers if isinstance(t, Buffer))
