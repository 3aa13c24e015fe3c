"""LIR -> a program's bytes: the lower half of the compiler, in one call."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.bpf.code import Code, Piece
from probescope.bpf.emit import emit
from probescope.bpf.frame import lay_out
from probescope.bpf.link import link
from probescope.bpf.lir import Function
from probescope.bpf.optimize import optimize
from probescope.bpf.regalloc import allocate
from probescope.errors import LimitError
from probescope.model.features import BASELINE_6_1, Features

_MAY_GOTO_STACK = 16  # the kernel keeps the count (and, since 6.15, a clock) in the frame of the function
_UNCLOCKED = 65_535
_SHARED_STACK = 48
"""After ``_UNCLOCKED`` turns (BPF_MAX_TIMED_LOOPS) the kernel looks at the clock in the frame (6.15). On x86 it finds
that by the machine's frame pointer ("bpf, x86: Add x86 JIT support for timed may_goto"), though a function with more
than ``_SHARED_STACK`` bytes has its frame elsewhere (BPF_PRIV_STACK_MIN_SIZE; "bpf, x86: Support private stack for
jit", 6.13). What is there is no clock: the loop ends early, or a saved register that is 0 becomes a time."""


class TooManyTurns(LimitError):
    """Loops under may_goto that the kernel cannot count."""


def assemble(functions: Sequence[Function], features: Features = BASELINE_6_1) -> Code:
    """The program itself first, then its callbacks and local functions. The functions are changed (optimised) on the
    way. Raises LimitError if the stack or the instructions do not suffice."""
    return linked(assemble_functions(functions, features), features)


def assemble_functions(functions: Sequence[Function], features: Features = BASELINE_6_1) -> list[Piece]:
    """Each by itself: what they call is found when they are linked."""
    return [assemble_function(f, features) for f in functions]


def linked(pieces: Sequence[Piece], features: Features = BASELINE_6_1) -> Code:
    """The second half of ``assemble``."""
    return link(pieces, long_jumps=features.has("isa:gotol") or features.has("isa:v4"))


def assemble_function(function: Function, features: Features = BASELINE_6_1) -> Piece:
    optimize(function)
    allocation = allocate(function)
    turns = sum(b.ops[-1].imm for b in function.blocks if b.ops[-1].kind == "may_goto")
    frame = lay_out(function, allocation, _MAY_GOTO_STACK if turns else 0)
    if turns >= _UNCLOCKED and frame.size > _SHARED_STACK:
        raise TooManyTurns(
            f"texts are compared byte by byte {turns} times, of which {_UNCLOCKED} are possible",
            hints=["lower max_strlen, or give str() a smaller length"],
        )
    # "bpf: Assign ID to scalars on spill" came with 6.8; what proves a kernel to be as new is may_goto, of 6.9
    return emit(function, allocation, frame, forgetful=not features.has("isa:may_goto"))
