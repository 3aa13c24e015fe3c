"""The program of a kprobe session: what runs at a function's entry and what runs at its return, in one.

    r6 = r1                      the context
    bpf_session_is_return(r1)    no argument before 7.0 ("bpf: Change prototype of bpf_session_{is_return,cookie}"),
    r0 &= 0xff                   which reads no register then; a bool fills one byte of its register
    r1 = r6
    if r0 != 0 goto RETURN
    ...                          the program of the entry: it ends with its own exit
    RETURN: ...                  that of the return

Both have the frame for themselves. An entry that gives 1 has the kernel leave out the return, which is cheaper: so it
does for processes that are not asked for. Source: kprobe_multi_link_handler of kernel/trace/bpf_trace.c.
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.bpf import insn as i
from probescope.bpf.code import Piece
from probescope.bpf.insn import Insn
from probescope.bpf.lir import Block
from probescope.bpf.unit import Reloc

IS_RETURN = "bpf_session_is_return"
_MOV = i.ALU64 | i.ALU["mov"] | i.REG
_HEAD: tuple[Insn, ...] = (
    (_MOV, 6, 1, 0, 0),
    (i.CALL, 0, i.PSEUDO_KFUNC, 0, 0),
    (i.ALU64 | i.ALU["and"], 0, 0, 0, 0xFF),
    (_MOV, 1, 6, 0, 0),
    (i.JMP | i.JUMP["ne"], 0, 0, 0, 0),
)
_CALL, _BRANCH = 1, 4


def joined(entry: Sequence[Piece], exit_: Sequence[Piece]) -> list[Piece]:
    """The functions of both programs, the main ones as one piece that takes the entry's name."""
    at_return = Block(-1)
    main = Piece(entry[0].function, max(entry[0].stack, exit_[0].stack))
    main.insns += _HEAD
    main.relocs.append(Reloc(_CALL, "kfunc", IS_RETURN))
    main.branches.append((_BRANCH, at_return))
    _append(main, entry[0])
    main.labels[at_return] = len(main.insns)
    _append(main, exit_[0])
    return [main, *entry[1:], *exit_[1:]]


def _append(to: Piece, piece: Piece) -> None:
    base = len(to.insns)
    to.insns += piece.insns
    to.branches += [(base + at, block) for at, block in piece.branches]
    to.labels.update((block, base + at) for block, at in piece.labels.items())
    to.calls += [(base + at, name) for at, name in piece.calls]
    to.relocs += [Reloc(base + r.insn, r.kind, r.name) for r in piece.relocs]
    to.lines += [(base + at, span) for at, span in piece.lines]
