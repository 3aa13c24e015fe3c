"""Pointers whose type the verifier knows: some helpers take nothing else.

They begin as arguments of BTF-typed programs and stay typed through constant offsets and loads of pointer members.
"""

from __future__ import annotations

from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower
from probescope.bpf.lower_scalar import number
from probescope.bpf.lower_site import TYPED
from probescope.ir import expr as x
from probescope.model import site as m
from probescope.model.types import Pointer, Struct


def typed(l: Lower, e: x.Expr) -> Reg | None:
    """The pointer itself, if the verifier will know it."""
    if l.unit.kind not in TYPED:
        return None
    match e:
        case x.Cast() if isinstance(e.type, Pointer) and isinstance(e.x.type, Pointer):
            return typed(l, e.x)
        case x.Binary(op="add") if number(e.b) is not None:
            base = typed(l, e.a)
            return None if base is None else l.b.alu_imm("add", base, number(e.b) or 0)
        case x.Load() if isinstance(e.type, Pointer) and isinstance(e.type.target, Struct):
            base = typed(l, e.address)
            return None if base is None else l.b.load(base, 0, 8)
        case x.Field() | x.Arg() if isinstance(e.type, Pointer) and isinstance(e.type.target, Struct):
            slot = _slot(l, e)
            return None if slot is None else l.b.load(l.fn.ctx, 8 * slot, 8)
        case _:
            return None


def _slot(l: Lower, e: x.Field | x.Arg) -> int | None:
    fields = l.unit.fields if isinstance(e, x.Field) else l.unit.args
    if fields is None:
        return e.index if isinstance(e, x.Arg) else None
    found = next(
        (f for i, f in enumerate(fields) if (e.index == i if isinstance(e, x.Arg) else f.name == e.name)), None
    )
    return found.where.index if found is not None and isinstance(found.where, m.CtxArg) else None
