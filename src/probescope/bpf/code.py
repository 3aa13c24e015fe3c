"""What the lower half of the compiler gives: the instructions of one function, and a whole program."""

from __future__ import annotations

from probescope.bpf.insn import Insn
from probescope.bpf.lir import Block, Function
from probescope.bpf.unit import Reloc
from probescope.diagnostics import Span
from probescope.frozen import dataclass


class Piece:
    """The instructions of a function. ``branches``: (index, block) whose distance is open; ``calls``: (index,
    function)."""

    __slots__ = ("branches", "calls", "function", "insns", "labels", "lines", "relocs", "stack")

    def __init__(self, function: Function, stack: int) -> None:
        self.function = function
        self.stack = stack
        self.insns: list[Insn] = []
        self.branches: list[tuple[int, Block]] = []
        self.labels: dict[Block, int] = {}
        self.calls: list[tuple[int, str]] = []
        self.relocs: list[Reloc] = []
        self.lines: list[tuple[int, Span]] = []


@dataclass(frozen=True, slots=True)
class Code:
    """A whole program; the fields are those of ``ProgSpec``. ``signatures``: for each function its name and how many
    parameters it has, in the order of ``functions``: what ``btf_writer.func_info`` needs."""

    insns: bytes
    relocs: tuple[Reloc, ...]
    functions: tuple[tuple[int, str], ...]
    lines: tuple[tuple[int, Span], ...]
    stack_bytes: int
    signatures: tuple[tuple[str, int], ...] = ()
