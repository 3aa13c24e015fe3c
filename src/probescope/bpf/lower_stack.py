"""Call stacks: kept by the kernel in a table, by number.

The table is asked to compare whole stacks (no BPF_F_FAST_STACK_CMP) and to keep what it has (no BPF_F_REUSE_STACKID):
equal stacks have equal numbers, and a number never changes its meaning. A stack whose place is taken by another one is
lost and counted.
"""

from __future__ import annotations

from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower
from probescope.bpf.lower_context import tgid
from probescope.ir import expr as x
from probescope.model.types import Opaque

USER_STACK = 1 << 8
_EEXIST, _ENOMEM = 17, 12


def stack(l: Lower, e: x.Stack) -> Reg:
    t = e.type
    assert isinstance(t, Opaque)
    if l.unit.kind == "syscall":
        l.refuse("there is no call stack outside of a probe")
    b = l.b
    user = t.kind == "ustack"
    table = l.pieces.stacks(user, t.depth)
    number = b.reg()
    got = b.call("get_stackid", l.fn.ctx, b.map(table), b.const(USER_STACK if user else 0))
    b.assign(number, got)
    l.unless("slt", got, 0, lambda: _none(l, got, number))
    number = b.zext(number, 32)
    return b.alu("or", number, b.alu_imm("shl", tgid(l), 32)) if user else number


def _none(l: Lower, got: Reg, number: Reg) -> None:
    """Kernel threads have no user stack: that is not a loss."""
    for error in (_EEXIST, _ENOMEM):
        l.unless("eq", got, -error, lambda: l.count("stack"))
    l.b.assign_imm(number, -1)
