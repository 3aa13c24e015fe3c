"""Call stacks: kept by the kernel in a table, by number.

The table is asked to compare whole stacks (no BPF_F_FAST_STACK_CMP) and to keep what it has (no BPF_F_REUSE_STACKID):
equal stacks have equal numbers, and a number never changes its meaning. A stack whose place is taken by another one is
lost and counted.

User stacks are walked by frame pointers so; where the unit unwinds by tables (lower_unwind.py), that comes first.
"""

from __future__ import annotations

from probescope.bpf import lower_unwind
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower
from probescope.bpf.lower_context import seen_tgid
from probescope.ir import expr as x
from probescope.model.types import Opaque

USER_STACK = 1 << 8
NO_STACK = (1 << 32) - 1
"""The number of a stack that could not be had: -1 in 32 bits."""
_EEXIST, _ENOMEM = 17, 12


def stack(l: Lower, e: x.Stack) -> Reg:
    t = e.type
    assert isinstance(t, Opaque)
    if l.unit.kind == "syscall":  # nothing was interrupted: an empty stack
        return l.b.const(NO_STACK)
    if t.kind == "kstack":
        return _by_kernel(l, l.pieces.stacks(False, t.depth), 0)
    process = seen_tgid(l)
    number = _user(l, t.depth, process)
    return l.b.alu("or", number, l.b.alu_imm("shl", process, 32))


def _by_kernel(l: Lower, table: str, flags: int) -> Reg:
    """The kernel's own walk."""
    b = l.b
    number = b.reg()
    got = b.call("get_stackid", l.fn.ctx, b.map(table), b.const(flags))
    b.assign(number, got)
    l.unless("slt", got, 0, lambda: _none(l, got, number))
    return b.zext(number, 32)


def _user(l: Lower, depth: int, process: Reg) -> Reg:
    """By tables where there are some for the process, else as the kernel walks: by frame pointers. The innermost frame
    alone is found without a walk."""
    b = l.b
    table = l.pieces.stacks(True, depth)
    if depth == 1 or not lower_unwind.possible(l):
        return _by_kernel(l, table, USER_STACK)
    number = b.reg()
    got = lower_unwind.unwound(l, depth, process)
    b.assign(number, b.zext(got, 32))
    without, done = b.block(cold=True), b.block()
    b.branch_imm("sge", got, lower_unwind.LOST, done, without)
    with l.arm(without):
        found = _by_kernel(l, table, USER_STACK)
        b.assign(number, found)
        late, there = b.block(cold=True), b.block(cold=True)
        b.branch_imm("lt", found, 1 << 31, there, done)  # threads of the kernel have no stack there, and no tables
        b.place(there)
        b.branch_imm("eq", got, lower_unwind.UNKNOWN_PROCESS, late, done)
        b.place(late)
        lower_unwind.want(l, process)
    b.jump(done)
    b.place(done)
    return number


def _none(l: Lower, got: Reg, number: Reg) -> None:
    """Kernel threads have no user stack: that is not a loss."""
    for error in (_EEXIST, _ENOMEM):
        l.unless("eq", got, -error, lambda: l.count("stack"))
    l.b.assign_imm(number, -1)
