"""How deep a call stack is: walked by the kernel into memory that is thrown away."""

from __future__ import annotations

from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower
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
    frames = b.reg()
    with l.scope():
        room = l.temp(_FRAME * t.depth)
        flags = USER_STACK if t.kind == "ustack" else 0
        got = b.call("get_stack", l.fn.ctx, l.address(room), b.const(_FRAME * t.depth), b.const(flags))
        b.assign(frames, got)
    l.unless("slt", got, 0, lambda: b.assign_imm(frames, 0))
    return b.alu_imm("shr", frames, 3)
