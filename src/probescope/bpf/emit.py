"""One function with its registers given out -> instructions, with what is still open: branches, calls, addresses known
at load.

An operation becomes one instruction almost always. Where its operands come from and its result goes: ``homes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from probescope.bpf import insn as i
from probescope.bpf.cfg import layout, predecessors
from probescope.bpf.code import Piece
from probescope.bpf.fold import INVERSE
from probescope.bpf.frame import Frame
from probescope.bpf.homes import CHEAP_EMITTERS, MOV, Homes
from probescope.bpf.lir import Block, Function, Op, Reg
from probescope.bpf.moves import parallel_moves
from probescope.bpf.regalloc import Allocation
from probescope.diagnostics import NOWHERE, Span
from probescope.errors import InternalError
from probescope.kernel.uapi.helpers import IDS

_STX: Final = i.STX | i.MEM
_CLASS: Final = {64: i.ALU64, 32: i.ALU32}


def emit(function: Function, allocation: Allocation, frame: Frame, *, forgetful: bool = True) -> Piece:
    """``forgetful``: this kernel's verifier does not know that a number in memory and the register that it was loaded
    into are the same: what a comparison says of one it does not believe of the other. So it is stored again after
    each."""
    return _Emitter(function, allocation, frame, forgetful=forgetful).run()


class _Stub:
    __slots__ = ("label", "span", "stores", "target")

    def __init__(self, stores: list[tuple[Reg, int]], target: Block, span: Span) -> None:
        self.label = Block(-1)
        self.stores = stores
        self.target = target
        self.span = span


class _Emitter(Homes):
    def __init__(self, function: Function, allocation: Allocation, frame: Frame, *, forgetful: bool) -> None:
        super().__init__(function, allocation, frame)
        self.following: Block | None = None
        self.forgetful = forgetful
        self.stubs: list[_Stub] = []
        self.span: Span = NOWHERE

    def run(self) -> Piece:
        self._entry()
        blocks = self.function.blocks
        order = layout(self.function)
        starts = self.allocation.live.block_starts
        entered = predecessors(self.function)
        before: tuple[Block, ...] = ()
        for n, following in zip(order, [*order[1:], -1], strict=True):
            self.following = blocks[following] if following >= 0 else None
            if blocks[n] not in before or entered[blocks[n]] > 1:  # else it is only entered from the block just emitted
                self.held.clear()
            self._block(blocks[n], starts[n])
            before = blocks[n].targets
        self._emit_stubs()
        return self.piece

    def _block(self, block: Block, position: int) -> None:
        emitters, code, cheap = _EMITTERS, self.code, self.cheap
        self.piece.labels[block] = len(code)
        for op in block.ops:
            if op.dst not in cheap:
                self.position = position
                start = len(code)
                emitters[op.kind](self, op)
                if op.span is not self.span and len(code) > start and op.span.line:
                    self.span = op.span
                    self.piece.lines.append((start, op.span))
            position += 2

    def _entry(self) -> None:
        """Parameters go where they live."""
        live = self.allocation.live
        moves = {}
        for n, p in enumerate(self.function.parameters, 1):
            if p in self.frame.spills:
                self._store_home(p, n)
            elif live.end[p] >= 0:
                moves[self.place[p]] = n
        free = next(r for r in range(10) if r not in moves and r not in moves.values())
        for to, source in parallel_moves(moves, free):
            self._move(to, source)

    # --- values -------------------------------------------------------------------------------------------------------

    def _make(self, op: Op) -> None:
        """A cheap value in a variable."""
        to = self._target(op.dst)
        CHEAP_EMITTERS[op.kind](self, op, to)
        self._written(op.dst, to)

    def _mov(self, op: Op) -> None:
        to = self._target(op.dst)
        if op.size == 64:
            self._fetch(op.args[0], to)
        else:
            self.code.append((i.ALU32 | i.ALU["mov"] | i.REG, to, self._read(op.args[0]), 0, 0))
        self._written(op.dst, to)

    def _alu(self, op: Op) -> None:
        to = self._target(op.dst)
        opcode = _CLASS[op.size] | i.ALU[op.name]
        off = i.SIGNED_OFFSET.get(op.name, 0)
        a = op.args[0]
        if len(op.args) == 1:
            self._move(to, self._read(a))
            self.code.append((opcode, to, 0, off, op.imm))
        else:
            b = self._read(op.args[1])
            if a in self.cheap and b != to:
                self._fetch(a, to)
            else:
                first = self._read(a)
                if b == to and first != to:
                    if op.name in {"sub", "div", "mod", "sdiv", "smod", "shl", "shr", "sar"}:
                        raise InternalError(f"{op} in {self.function.name} destroys its operand")
                    first, b = b, first
                self._move(to, first)
            self.code.append((opcode | i.REG, to, b, off, 0))
        self._written(op.dst, to)

    def _neg(self, op: Op) -> None:
        to = self._target(op.dst)
        self._move(to, self._read(op.args[0]))
        self.code.append((_CLASS[op.size] | i.ALU["neg"], to, 0, 0, 0))
        self._written(op.dst, to)

    def _sext(self, op: Op) -> None:
        to = self._target(op.dst)
        self.code.append((MOV, to, self._read(op.args[0]), op.size, 0))
        self._written(op.dst, to)

    def _swap(self, op: Op) -> None:
        to = self._target(op.dst)
        self._move(to, self._read(op.args[0]))
        opcode = (i.ALU64 if op.name == "swap" else i.ALU32) | i.ALU["end"] | (i.REG if op.name == "be" else 0)
        self.code.append((opcode, to, 0, 0, op.size))
        self._written(op.dst, to)

    # --- memory -------------------------------------------------------------------------------------------------------

    def _load(self, op: Op) -> None:
        base, off = self._address(op)
        to = self._target(op.dst)
        self.code.append((i.LDX | (i.MEMSX if op.flag else i.MEM) | i.SIZE[op.size], to, base, off, 0))
        self._written(op.dst, to)

    def _store(self, op: Op) -> None:
        base, off = self._address(op)
        if len(op.args) == 2:
            self.code.append((_STX | i.SIZE[op.size], base, self._read(op.args[1]), off, 0))
        else:
            self.code.append((i.ST | i.MEM | i.SIZE[op.size], base, 0, off, op.imm))

    def _atomic(self, op: Op) -> None:
        base, off = self._address(op)
        source = self._read(op.args[1])
        opcode = i.STX | i.ATOMIC | i.SIZE[op.size]
        if op.dst < 0:
            self.code.append((opcode, base, source, off, i.ATOMIC_OP[op.name]))
            return
        to = self._target(op.dst)
        if base == to:
            raise InternalError(f"{op} in {self.function.name} destroys its address")
        self._move(to, source)
        self.code.append((opcode, base, to, off, i.ATOMIC_OP[op.name]))
        self._written(op.dst, to)

    def _cmpxchg(self, op: Op) -> None:
        base, off = self._address(op)
        new = self._read(op.args[2])
        self._fetch(op.args[1], 0)
        self.code.append((i.STX | i.ATOMIC | i.SIZE[op.size], base, new, off, i.ATOMIC_OP["cmpxchg"]))
        self._result(op)

    def _result(self, op: Op) -> None:
        if op.dst >= 0:
            to = self._target(op.dst)
            self._move(to, 0)
            self._written(op.dst, to)

    # --- calls --------------------------------------------------------------------------------------------------------

    def _arguments(self, op: Op) -> None:
        moves: dict[int, int] = {}
        homes: list[tuple[int, Reg]] = []
        for n, v in enumerate(op.args, 1):
            place = self._in_register(v)
            if place >= 0:
                moves[n] = place
            else:
                homes.append((n, v))
        for to, source in parallel_moves(moves, 0):
            self._move(to, source)
        for n, v in homes:
            self._load_home(v, n)
        for r in range(6):
            self.held.pop(r, None)

    def _call(self, op: Op) -> None:
        self._arguments(op)
        self.code.append((i.CALL, 0, 0, 0, IDS[op.name]))
        self._result(op)

    def _kfunc(self, op: Op) -> None:
        self._arguments(op)
        self._reloc("kfunc", op.name)
        self.code.append((i.CALL, 0, i.PSEUDO_KFUNC, 0, 0))
        self._result(op)

    def _local(self, op: Op) -> None:
        self._arguments(op)
        self.piece.calls.append((len(self.code), op.name))
        self.code.append((i.CALL, 0, i.PSEUDO_CALL, 0, 0))
        self._result(op)

    # --- ends of blocks -----------------------------------------------------------------------------------------------

    def _goto(self, to: Block) -> None:
        if to is not self.following:
            self.piece.branches.append((len(self.code), to))
            self.code.append((i.JA, 0, 0, 0, 0))

    def _jump(self, op: Op) -> None:
        self._goto(op.targets[0])

    def _branch(self, op: Op) -> None:
        then, otherwise = op.targets
        a = self._read(op.args[0])
        cond = op.name
        b = self._read(op.args[1]) if len(op.args) == 2 else 0
        if then is self.following and cond in INVERSE:
            cond, then, otherwise = INVERSE[cond], otherwise, then
        opcode = (i.JMP if op.size == 64 else i.JMP32) | i.JUMP[cond] | (i.REG if len(op.args) == 2 else 0)
        stores = self._learned(op.args, (a, b))
        if stores:
            stub = _Stub(stores, then, op.span)
            self.stubs.append(stub)
            then = stub.label
        self.piece.branches.append((len(self.code), then))
        self.code.append((opcode, a, b, 0, op.imm if len(op.args) == 1 else 0))
        for v, place in stores:
            self._store_home(v, place)
        self._goto(otherwise)

    def _learned(self, args: tuple[Reg, ...], places: tuple[int, int]) -> list[tuple[Reg, int]]:
        """The operands of a comparison whose copies in memory a forgetful verifier will know nothing of."""
        if not self.forgetful:
            return []
        spills, end, now = self.frame.spills, self.allocation.live.end, self.position
        return [(v, place) for v, place in zip(args, places, strict=False) if v in spills and end[v] > now]

    def _emit_stubs(self) -> None:
        """The taken sides of comparisons after which something is stored, then on to where the branch goes."""
        self.following = None
        for stub in self.stubs:
            start = len(self.code)
            self.piece.labels[stub.label] = start
            for v, place in stub.stores:
                self._store_home(v, place)
            self._goto(stub.target)
            if stub.span.line:
                self.piece.lines.append((start, stub.span))

    def _may_goto(self, op: Op) -> None:
        self.piece.branches.append((len(self.code), op.targets[0]))
        self.code.append((i.MAY_GOTO, 0, 0, 0, 0))
        self._goto(op.targets[1])

    def _exit(self, op: Op) -> None:
        if op.args:
            self._fetch(op.args[0], 0)
        else:
            self._const(op, 0)
        self.code.append((i.EXIT, 0, 0, 0, 0))

    def _mark(self, op: Op) -> None:
        """``begin`` and ``end`` are for the layout of the frame."""


_EMITTERS: Mapping[str, Callable[[_Emitter, Op], None]] = {
    **dict.fromkeys(CHEAP_EMITTERS, _Emitter._make),
    "mov": _Emitter._mov,
    "alu": _Emitter._alu,
    "neg": _Emitter._neg,
    "sext": _Emitter._sext,
    "swap": _Emitter._swap,
    "load": _Emitter._load,
    "store": _Emitter._store,
    "atomic": _Emitter._atomic,
    "cmpxchg": _Emitter._cmpxchg,
    "call": _Emitter._call,
    "kfunc": _Emitter._kfunc,
    "local": _Emitter._local,
    "jump": _Emitter._jump,
    "branch": _Emitter._branch,
    "may_goto": _Emitter._may_goto,
    "exit": _Emitter._exit,
    "begin": _Emitter._mark,
    "end": _Emitter._mark,
}
