"""Globs and regular expressions: an automaton's table among the constants, and a loop that follows it.

    constants   256 bytes: class of each byte   then next states: [state << bits | class], up to a power of two
    loop        class = classes[text[i]]; state = table[state << bits | class]

NUL ends the text: it leads to state 0 or 1, which nothing leaves, so several bytes are taken in a turn, and looking
whether it is over is the only branch. The verifier sees as little of a large pattern as of a small one.
"""

from __future__ import annotations

from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower
from probescope.bpf.lower_text import const_text, operand
from probescope.bpf.lower_walk import walk
from probescope.bpf.pieces import CONSTANTS
from probescope.ir import expr as x
from probescope.model.automaton import SURE, Dfa, dfa_of

_CLASSES = 256
TURN = 8
"""Bytes that are read before looking whether it is over."""


def branch_match(l: Lower, e: x.Call, yes: Block, no: Block) -> None:
    """Ends the block."""
    pattern = const_text(e.args[1])
    if pattern is None:
        l.refuse(f"{e.name}() needs a pattern that is known while compiling")
    made = dfa_of(e.name, pattern)
    known = const_text(e.args[0])
    if known is not None:
        l.b.jump(yes if made.matches(known) else no)
        return
    _run(l, e, made, yes, no)


def _run(l: Lower, e: x.Call, made: Dfa, yes: Block, no: Block) -> None:
    b = l.b
    place, size = operand(l, e.args[0])
    if made.start <= SURE:
        b.jump(yes if made.start == SURE else no)
        return
    states = 1 << max(1, len(made.table) - 1).bit_length()
    data = made.classes + made.table.ljust(states, b"\0")
    table = b.map_value(CONSTANTS, l.pieces.constant(data))
    state, end = b.reg(), b.block()
    b.assign_imm(state, made.start)

    def follow(byte: Reg) -> None:
        index = b.alu("or", b.alu_imm("shl", state, made.bits), b.load(b.alu("add", table, byte), 0, 1))
        # by its making it is in range; the verifier knows of each byte only that it is one
        index = b.alu_imm("and", index, states - 1)
        b.load(b.alu("add", table, index), _CLASSES, 1, into=state)

    def turn(i: Reg) -> None:
        here, on = b.alu("add", place.base, i), b.block()
        for k in range(TURN):
            follow(b.load(here, place.off + k, 1))
        b.branch_imm("le", state, SURE, end, on)
        b.place(on)

    whole = size // TURN * TURN
    if whole:
        rest = b.block()
        walk(l, whole, 1, rest, turn, step=TURN)
        b.place(rest)
    for k in range(whole, size):
        follow(b.load(place.base, place.off + k, 1))
    follow(b.const(0))  # a text that fills its room has no NUL
    b.jump(end)
    b.place(end)
    b.branch_imm("eq", state, SURE, yes, no)
