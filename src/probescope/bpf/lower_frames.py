"""How deep a call stack is: walked by the kernel into memory that is thrown away, or by unwind tables, as the stack
itself would be."""

from __future__ import annotations

from probescope.bpf import lower_unwind
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower
from probescope.bpf.lower_context import tgid
from probescope.bpf.lower_stack import USER_STACK
from probescope.ir import expr as x
from probescope.model.types import Opaque

_FRAME = 8  # bytes


def stack_len(l: Lower, e: x.Call) -> Reg:
    """Frames of the stack that the argument names; 0 where nothing was interrupted, or where there is none."""
    t = e.args[0].type
    assert isinstance(t, Opaque)
    b = l.b
    if l.unit.kind == "syscall":
        return b.const(0)
    if t.kind == "ustack" and lower_unwind.possible(l):
        return _unwound(l, t)
    return _by_kernel(l, t)


def _unwound(l: Lower, t: Opaque) -> Reg:
    b = l.b
    frames = b.reg()
    got, count = lower_unwind.frames(l, t.depth, tgid(l))
    b.assign(frames, count)
    without, done = b.block(cold=True), b.block()
    b.branch_imm("sge", got, lower_unwind.LOST, done, without)
    with l.arm(without):
        b.assign(frames, _by_kernel(l, t))
        late, there = b.block(cold=True), b.block(cold=True)
        b.branch_imm("ne", frames, 0, there, done)
        b.place(there)
        b.branch_imm("eq", got, lower_unwind.UNKNOWN_PROCESS, late, done)
        b.place(late)
        lower_unwind.want(l, tgid(l))
    b.jump(done)
    b.place(done)
    return frames


def _by_kernel(l: Lower, t: Opaque) -> Reg:
    b = l.b
    frames = b.reg()
    with l.scope():
        room = l.temp(_FRAME * t.depth)
        flags = USER_STACK if t.kind == "ustack" else 0
        got = b.call("get_stack", l.fn.ctx, l.address(room), b.const(_FRAME * t.depth), b.const(flags))
        b.assign(frames, got)
    l.unless("slt", got, 0, lambda: b.assign_imm(frames, 0))
    return b.alu_imm("shr", frames, 3)
