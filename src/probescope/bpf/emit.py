"""One function with its registers given out -> instructions, with what is still open: branches, calls, addresses known
at load.

An operation becomes one instruction almost always. What lives in memory is loaded before it is read, unless a real
register still holds it from before in the same block (``held``); what is cheap is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from probescope.bpf import insn as i
from probescope.bpf.cfg import layout
from probescope.bpf.code import Piece
from probescope.bpf.fold import INVERSE
from probescope.bpf.frame import Frame
from probescope.bpf.lir import Block, Function, Op, Reg, fits32
from probescope.bpf.moves import parallel_moves
from probescope.bpf.regalloc import Allocation
from probescope.bpf.unit import Reloc
from probescope.diagnostics import NOWHERE, Span
from probescope.errors import InternalError
from probescope.kernel.uapi.helpers import IDS

FP: Final = 10
_MOV: Final = i.ALU64 | i.ALU["mov"] | i.REG
_MOV_IMM: Final = i.ALU64 | i.ALU["mov"]
_LDX: Final = i.LDX | i.MEM
_STX: Final = i.STX | i.MEM
_CLASS: Final = {64: i.ALU64, 32: i.ALU32}


def emit(function: Function, allocation: Allocation, frame: Frame) -> Piece:
    return _Emitter(function, allocation, frame).run()


class _Emitter:
    def __init__(self, function: Function, allocation: Allocation, frame: Frame) -> None:
        self.function = function
        self.allocation = allocation
        self.frame = frame
        self.place = allocation.place
        self.cheap = allocation.live.cheap
        self.piece = Piece(function, frame.size)
        self.code = self.piece.insns
        self.held: dict[int, Reg] = {}  # real register -> the virtual one without a place whose value it has
        self.position = 0
        self.following: Block | None = None
        self.span: Span = NOWHERE

    def run(self) -> Piece:
        self._entry()
        blocks = self.function.blocks
        order = layout(self.function)
        starts = self.allocation.live.block_starts
        for n, following in zip(order, [*order[1:], -1], strict=True):
            self.following = blocks[following] if following >= 0 else None
            self._block(blocks[n], starts[n])
        return self.piece

    def _block(self, block: Block, position: int) -> None:
        emitters, code, cheap = _EMITTERS, self.code, self.cheap
        self.piece.labels[block] = len(code)
        self.held.clear()
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
                self.code.append((_STX | i.SIZE[8], FP, n, self.frame.spills[p], 0))
            elif live.end[p] >= 0:
                moves[self.place[p]] = n
        free = next(r for r in range(10) if r not in moves and r not in moves.values())
        for to, source in parallel_moves(moves, free):
            self._move(to, source)

    # --- where values are ---------------------------------------------------------------------------------------------

    def _read(self, v: Reg) -> int:
        """The real register that has the value now, loaded if need be."""
        place = self.place[v]
        if place >= 0:
            return place
        place = self.allocation.at(v, self.position)
        if place < 0:
            raise InternalError(f"%{v} has no register at {self.position} in {self.function.name}")
        if self.held.get(place) != v:
            self._load_home(v, place)
            self.held[place] = v
        return place

    def _fetch(self, v: Reg, to: int) -> None:
        """The value into a given register."""
        place = self._in_register(v)
        if place >= 0:
            self._move(to, place)
        else:
            self._load_home(v, to)
        self.held.pop(to, None)

    def _in_register(self, v: Reg) -> int:
        place = self.place[v]
        if place < 0 and self.held:
            return next((r for r, x in self.held.items() if x == v), -1)
        return place

    def _load_home(self, v: Reg, to: int) -> None:
        op = self.cheap.get(v)
        if op is not None:
            _CHEAP_EMITTERS[op.kind](self, op, to)
        else:
            self.code.append((_LDX | i.SIZE[8], to, FP, self.frame.spills[v], 0))

    def _target(self, v: Reg) -> int:
        """The real register that a result is to be written to."""
        place = self.place[v]
        return place if place >= 0 else self.allocation.at(v, self.position + 1)

    def _written(self, v: Reg, place: int) -> None:
        """After the instruction that wrote ``v``: what has its home in memory goes there too."""
        held = self.held
        if held:
            held.pop(place, None)
        if self.place[v] >= 0:
            return
        for r in [r for r, x in held.items() if x == v]:
            del held[r]
        if v in self.allocation.live.compared:
            # Copying gives a number an identity, so that a later comparison of one copy bounds the one in memory too.
            # The kernel does so by itself since "bpf: Assign ID to scalars on spill" (6.8).
            self.code.append((_MOV, place, place, 0, 0))
        self.code.append((_STX | i.SIZE[8], FP, place, self.frame.spills[v], 0))
        held[place] = v

    def _move(self, to: int, source: int) -> None:
        if to != source:
            self.code.append((_MOV, to, source, 0, 0))

    def _address(self, op: Op) -> tuple[int, int]:
        """Base register and offset of a memory access: slots are reached from the frame pointer."""
        base = op.args[0]
        slot = self.cheap.get(base)
        if slot is not None and slot.kind == "slot":
            return FP, self.frame.slots[slot.imm] + slot.off + op.off
        return self._read(base), op.off

    # --- values -------------------------------------------------------------------------------------------------------

    def _make(self, op: Op) -> None:
        """A cheap value in a variable."""
        to = self._target(op.dst)
        _CHEAP_EMITTERS[op.kind](self, op, to)
        self._written(op.dst, to)

    def _const(self, op: Op, to: int) -> None:
        value = op.imm
        if fits32(value):
            self.code.append((_MOV_IMM, to, 0, 0, value))
        elif 0 <= value < 1 << 32:
            self.code.append((i.ALU32 | i.ALU["mov"], to, 0, 0, value - (1 << 32)))
        else:
            self.code += i.wide(i.LD_IMM64, to, 0, value, value >> 32)

    def _slot(self, op: Op, to: int) -> None:
        self.code.append((_MOV, to, FP, 0, 0))
        self.code.append((i.ALU64 | i.ALU["add"], to, 0, 0, self.frame.slots[op.imm] + op.off))

    def _map(self, op: Op, to: int) -> None:
        self._reloc("map", op.name)
        self.code += i.wide(i.LD_IMM64, to, i.PSEUDO_MAP_FD, 0)

    def _map_value(self, op: Op, to: int) -> None:
        self._reloc("map_value", op.name)
        self.code += i.wide(i.LD_IMM64, to, i.PSEUDO_MAP_VALUE, 0, op.off)

    def _reloc(self, kind: Literal["map", "map_value", "kfunc"], name: str) -> None:
        self.piece.relocs.append(Reloc(len(self.code), kind, name))

    def _function(self, op: Op, to: int) -> None:
        self.piece.calls.append((len(self.code), op.name))
        self.code += i.wide(i.LD_IMM64, to, i.PSEUDO_FUNC, 0)

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
        self.code.append((_MOV, to, self._read(op.args[0]), op.size, 0))
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
        self.piece.branches.append((len(self.code), then))
        self.code.append((opcode, a, b, 0, op.imm if len(op.args) == 1 else 0))
        self._goto(otherwise)

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


_CHEAP_EMITTERS: Mapping[str, Callable[[_Emitter, Op, int], None]] = {
    "const": _Emitter._const,
    "slot": _Emitter._slot,
    "map": _Emitter._map,
    "mapvalue": _Emitter._map_value,
    "function": _Emitter._function,
}

_EMITTERS: Mapping[str, Callable[[_Emitter, Op], None]] = {
    **dict.fromkeys(_CHEAP_EMITTERS, _Emitter._make),
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
