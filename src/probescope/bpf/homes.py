"""Where values are while a function is emitted: in real registers, in memory, or nowhere because they are cheap to make
again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

from probescope.bpf import insn as i
from probescope.bpf.code import Piece
from probescope.bpf.frame import Frame
from probescope.bpf.lir import Function, Op, Reg, fits32
from probescope.bpf.regalloc import Allocation
from probescope.bpf.unit import Reloc
from probescope.errors import InternalError

FP: Final = 10
MOV: Final = i.ALU64 | i.ALU["mov"] | i.REG


class Homes:
    """Reads and writes of virtual registers at ``position``. What lives in memory is loaded before it is read, unless a
    real register still holds it from before on the only way here (``held``)."""

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
            CHEAP_EMITTERS[op.kind](self, op, to)
        else:
            self.code.append((i.LDX | i.MEM | i.SIZE[8], to, FP, self.frame.spills[v], 0))

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
        self._store_home(v, place)
        held[place] = v

    def _store_home(self, v: Reg, place: int) -> None:
        self.code.append((i.STX | i.MEM | i.SIZE[8], FP, place, self.frame.spills[v], 0))

    def _move(self, to: int, source: int) -> None:
        if to != source:
            self.code.append((MOV, to, source, 0, 0))

    def _address(self, op: Op) -> tuple[int, int]:
        """Base register and offset of a memory access: slots are reached from the frame pointer."""
        base = op.args[0]
        slot = self.cheap.get(base)
        if slot is not None and slot.kind == "slot":
            return FP, self.frame.slots[slot.imm] + slot.off + op.off
        return self._read(base), op.off

    # --- what is made again instead of being kept ---------------------------------------------------------------------

    def _const(self, op: Op, to: int) -> None:
        value = op.imm
        if fits32(value):
            self.code.append((i.ALU64 | i.ALU["mov"], to, 0, 0, value))
        elif 0 <= value < 1 << 32:
            self.code.append((i.ALU32 | i.ALU["mov"], to, 0, 0, value - (1 << 32)))
        else:
            self.code += i.wide(i.LD_IMM64, to, 0, value, value >> 32)

    def _slot(self, op: Op, to: int) -> None:
        self.code.append((MOV, to, FP, 0, 0))
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


CHEAP_EMITTERS: Mapping[str, Callable[[Homes, Op, int], None]] = {
    "const": Homes._const,
    "slot": Homes._slot,
    "map": Homes._map,
    "mapvalue": Homes._map_value,
    "function": Homes._function,
}
