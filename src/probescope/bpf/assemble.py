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
from probescope.model.features import BASELINE_6_1, Features

_MAY_GOTO_STACK = 16  # the kernel keeps the count (and, since 6.15, a clock) in the frame of the function


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
    reserved = _MAY_GOTO_STACK if any(b.ops[-1].kind == "may_goto" for b in function.blocks) else 0
    frame = lay_out(function, allocation, reserved)
    # "bpf: Assign ID to scalars on spill" came with 6.8; what proves a kernel to be as new is may_goto, of 6.9
    return emit(function, allocation, frame, forgetful=not features.has("isa:may_goto"))
