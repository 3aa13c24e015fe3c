"""Short loops of the compiler's own: over the bytes of a text, the words of a value, the CPUs.

The verifier follows such a loop turn by turn, and keeps in mind every branch that it has not yet looked at, of which it
allows 8192 (BPF_COMPLEXITY_LIMIT_JMP_SEQ). Where that is not enough the loop runs under may_goto, over a counter whose
value the verifier does not know.
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower
from probescope.bpf.pieces import GLOBALS
from probescope.bpf.unit import GLOBAL_ZERO

MOST_BRANCHES = 7000


def walk(l: Lower, turns: int, branches: int, end: Block, body: Callable[[Reg], None], *, step: int = 1) -> None:
    """``body(i)`` for i = 0, ``step``, ... below ``turns``; it ends by jumping out, or open for the next turn. Then to
    ``end``. ``branches``: how many of them one turn has."""
    b = l.b
    goto = by_goto(l, turns // step * (branches + 1))
    i = b.reg()
    start(l, i, goto)
    head, on = b.block(), b.block()
    b.place(head)
    if goto:
        sure = b.block()
        b.may_goto(end, sure, turns // step + 1)
        b.place(sure)
    b.branch_imm("lt", i, turns, on, end)
    with l.arm(on):
        body(i)
    if b.open:
        b.alu_imm("add", i, step, into=i)
        b.jump(head)


def by_goto(l: Lower, branches: int) -> bool:
    """Whether a loop with so many branches in all its turns needs may_goto."""
    if branches <= MOST_BRANCHES:
        return False
    if not l.features.has("isa:may_goto"):
        l.refuse("texts of this size need may_goto (Linux 6.9) to be compared", "lower max_strlen")
    return True


def start(l: Lower, counter: Reg, goto: bool) -> None:
    """0. Under may_goto one that is loaded for each counter: of copies of a number the verifier would remember that
    they are equal."""
    if goto:
        l.b.assign(counter, unknown_zero(l))
    else:
        l.b.assign_imm(counter, 0)


def unknown_zero(l: Lower) -> Reg:
    return l.b.load(l.b.map_value(l.pieces.use(GLOBALS), 8 * GLOBAL_ZERO), 0, 8)
