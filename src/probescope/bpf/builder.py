"""How lowering writes LIR: one method an operation, each giving the fresh register of its result.

    b = Builder("count_reads", features)          # main(ctx); Builder(name, features, "callback", parameters=2)
    ctx = b.parameters[0]
    b.span = clause.span                          # every operation from here on came from there
    key = b.slot(8, name="key")                   # a piece of the stack frame
    size = b.load(ctx, 24, 8)                     # *(u64 *)(ctx + 24)
    b.store_slot(key, 0, size, 8)
    value = b.call("map_lookup_elem", b.map("counts"), b.slot_address(key))
    found, out = b.block(), b.block()
    missing = b.block(cold=True)                  # laid out off the straight path
    b.branch_imm("ne", value, 0, found, missing)
    b.place(found)                                # what follows goes there
    b.atomic("add", value, 0, b.const(1), 8)
    b.jump(out)
    b.place(missing)
    ...
    b.place(out)                                  # an open block falls into the one placed next
    b.exit_imm(0)
    function = b.finish()

Registers: a result is written once. A variable that changes is a register of its own (``b.reg()``), written by
``b.assign`` or by ``into=`` of the arithmetic. After a terminator nothing can be added until another block is placed;
``b.open`` tells.

Instructions that this kernel lacks are replaced here (Features ``isa:v4``: signed division, sign extension, signed
loads, byte swap; ``isa:v3``: 32-bit comparisons). Immediates of any size are taken; large ones become constants.
``alu_imm`` accepts a zero divisor and wide shifts (the verifier does not) with the meaning that the ISA gives the
register form.
"""

from __future__ import annotations

from typing import Literal

from probescope.bpf import expand, fold
from probescope.bpf.lir import (
    ENDLESS,
    NONE,
    PURE_HELPERS,
    TERMINATORS,
    Alu,
    Atomic,
    Block,
    Cond,
    Fetch,
    Function,
    Op,
    Reg,
    Slot,
    fits32,
    overwrites,
    signed64,
)
from probescope.diagnostics import NOWHERE
from probescope.errors import InternalError
from probescope.model.features import BASELINE_6_1, Features

Size = Literal[1, 2, 4, 8]
Bits = Literal[32, 64]


class Builder:
    """Builds one ``Function``. ``span`` is given to each new operation. Raises InternalError on misuse."""

    def __init__(
        self,
        name: str,
        features: Features = BASELINE_6_1,
        kind: Literal["main", "local", "callback"] = "main",
        parameters: int = 1,
    ) -> None:
        self.features = features
        self.v3 = features.has("isa:v3")
        self.v4 = features.has("isa:v4")
        self.function = Function(name, kind)
        self.parameters = tuple(self.function.new_reg() for _ in range(parameters))
        self.function.parameters = self.parameters
        self.span = NOWHERE
        self.called = ""  # the helper that was called last
        self._blocks = 0
        self._ops: list[Op] | None = None
        self.current = self.block()
        self.place(self.current)

    # --- blocks and the end of them -----------------------------------------------------------------------------------

    def block(self, *, cold: bool = False) -> Block:
        """A new block, in no place yet."""
        self._blocks += 1
        return Block(self._blocks - 1, cold=cold)

    def place(self, block: Block) -> Block:
        """What follows goes into ``block``; an open block before it continues there."""
        if self._ops is not None:
            self.jump(block)
        if block.ops:
            raise InternalError(f"block {block} of {self.function.name} is placed twice")
        self.function.blocks.append(block)
        self.current = block
        self._ops = block.ops
        return block

    @property
    def open(self) -> bool:
        """Whether an operation can be added: False after a terminator."""
        return self._ops is not None

    def add(self, op: Op) -> None:
        """Appends an operation as it is."""
        if self._ops is None:
            raise InternalError(f"{op.kind} after the end of a block of {self.function.name}")
        op.span = self.span
        self._ops.append(op)
        if op.kind in TERMINATORS:
            self._ops = None

    def jump(self, to: Block) -> None:
        self.add(Op("jump", targets=(to,)))

    def branch(self, cond: Cond, a: Reg, b: Reg, then: Block, otherwise: Block, bits: Bits = 64) -> None:
        if bits == 32 and not self.v3:
            a, b, bits = expand.widen(self, cond, a), expand.widen(self, cond, b), 64
        self.add(Op("branch", args=(a, b), name=cond, size=bits, targets=(then, otherwise)))

    def branch_imm(self, cond: Cond, a: Reg, imm: int, then: Block, otherwise: Block, bits: Bits = 64) -> None:
        """``imm`` is compared as if sign-extended to ``bits``: both -1 and 0xffffffff mean all ones for 32."""
        imm = fold.signed(imm, bits)
        if not fits32(imm) or (bits == 32 and not self.v3):
            self.branch(cond, a, self.const(imm), then, otherwise, bits)
        else:
            self.add(Op("branch", args=(a,), name=cond, imm=imm, size=bits, targets=(then, otherwise)))

    def may_goto(self, stop: Block, go_on: Block, turns: int = ENDLESS) -> None:
        """Goes to ``stop`` once the kernel's budget of loop turns (8 million, or a quarter of a second) is spent, else
        to ``go_on``. ``turns``: how often it is come by at most. Needs ``isa:may_goto``."""
        self.add(Op("may_goto", imm=turns, targets=(stop, go_on)))

    def exit(self, value: Reg) -> None:
        self.add(Op("exit", args=(value,)))

    def exit_imm(self, value: int = 0) -> None:
        self.add(Op("exit", imm=signed64(value)))

    def finish(self) -> Function:
        """The function. Raises InternalError if a block is open or a target was never placed."""
        if self._ops is not None:
            raise InternalError(f"function {self.function.name} does not end")
        placed = set(self.function.blocks)
        if any(t not in placed for b in self.function.blocks for t in b.targets):
            raise InternalError(f"function {self.function.name} branches to a block that was never placed")
        return self.function

    # --- values -------------------------------------------------------------------------------------------------------

    def reg(self) -> Reg:
        """A register for a variable; write it with ``assign``, ``assign_imm`` or ``into=`` before any path reads it."""
        return self.function.new_reg()

    def const(self, value: int) -> Reg:
        return self.result(Op("const", imm=signed64(value)))

    def copy(self, a: Reg) -> Reg:
        return self.result(Op("mov", args=(a,)))

    def assign(self, variable: Reg, a: Reg) -> None:
        self.add(Op("mov", variable, (a,)))

    def assign_imm(self, variable: Reg, value: int) -> None:
        self.add(Op("const", variable, imm=signed64(value)))

    def result(self, op: Op, into: Reg | None = None) -> Reg:
        """Appends an operation and gives its result: in ``into`` or a fresh register."""
        if into is None or overwrites(op, into):
            op.dst = self.function.new_reg()
            self.add(op)
            if into is not None:
                self.assign(into, op.dst)
        else:
            op.dst = into
            self.add(op)
        return op.dst if into is None else into

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def alu(self, name: Alu, a: Reg, b: Reg, bits: Bits = 64, into: Reg | None = None) -> Reg:
        """32-bit results have a zero upper half. Never use 32 bits on pointers."""
        if name in {"sdiv", "smod"}:
            return expand.signed_division(self, name, a, b, bits, into)
        return self.result(Op("alu", args=(a, b), name=name, size=bits), into)

    def alu_imm(self, name: Alu, a: Reg, imm: int, bits: Bits = 64, into: Reg | None = None) -> Reg:
        imm = fold.signed(imm, bits)
        if name in {"shl", "shr", "sar"}:
            imm &= bits - 1
        elif name in {"div", "mod", "sdiv", "smod"} and not expand.divisor_ok(self, name, imm):
            return expand.division_imm(self, name, a, imm, bits, into)
        if not fits32(imm):
            return self.alu(name, a, self.const(imm), bits, into)
        return self.result(Op("alu", args=(a,), name=name, imm=imm, size=bits), into)

    def neg(self, a: Reg, bits: Bits = 64, into: Reg | None = None) -> Reg:
        return self.result(Op("neg", args=(a,), size=bits), into)

    def sext(self, a: Reg, bits: Literal[8, 16, 32], into: Reg | None = None) -> Reg:
        """The low ``bits`` of ``a``, sign-extended to 64."""
        if self.v4:
            return self.result(Op("sext", args=(a,), size=bits), into)
        return self.alu_imm("sar", self.alu_imm("shl", a, 64 - bits), 64 - bits, into=into)

    def zext(self, a: Reg, bits: Literal[8, 16, 32], into: Reg | None = None) -> Reg:
        """The low ``bits`` of ``a``, the rest zero."""
        if bits == 32:
            return self.result(Op("mov", args=(a,), size=32), into)
        return self.alu_imm("and", a, (1 << bits) - 1, into=into)

    def swap(self, a: Reg, bits: Literal[16, 32, 64], to: Literal["be", "le", "swap"] = "swap") -> Reg:
        """The low ``bits`` of ``a`` converted from host order to big or little endian, or reversed; the rest is
        zero."""
        if to == "swap" and not self.v4:
            to = "be"  # the hosts that have collectors are little-endian
        return self.result(Op("swap", args=(a,), name=to, size=bits))

    # --- memory -------------------------------------------------------------------------------------------------------

    def load(self, base: Reg, off: int, size: Size, *, signed: bool = False, into: Reg | None = None) -> Reg:
        """Zero- or sign-extended to 64 bits. ``base``: the context, a map value, ring record, slot address, BTF
        pointer."""
        base, off = self._reach(base, off)
        if signed and size < 8 and not self.v4:
            plain = self.result(Op("load", args=(base,), off=off, size=size))
            return self.sext(plain, expand.BITS[size], into)
        return self.result(Op("load", args=(base,), off=off, size=size, flag=signed and size < 8), into)

    def store(self, base: Reg, off: int, value: Reg, size: Size) -> None:
        base, off = self._reach(base, off)
        self.add(Op("store", args=(base, value), off=off, size=size))

    def store_imm(self, base: Reg, off: int, imm: int, size: Size) -> None:
        imm = fold.signed(imm, size * 8)
        if not fits32(imm):
            self.store(base, off, self.const(imm), size)
            return
        base, off = self._reach(base, off)
        self.add(Op("store", args=(base,), imm=imm, off=off, size=size))

    def atomic(self, name: Atomic, base: Reg, off: int, value: Reg, size: Literal[4, 8] = 8) -> None:
        base, off = self._reach(base, off)
        self.add(Op("atomic", args=(base, value), name=name, off=off, size=size))

    def fetch(self, name: Fetch, base: Reg, off: int, value: Reg, size: Literal[4, 8] = 8) -> Reg:
        """The old value. Needs ``isa:atomic_fetch``."""
        base, off = self._reach(base, off)
        return self.result(Op("atomic", args=(base, value), name=name, off=off, size=size))

    def cmpxchg(self, base: Reg, off: int, expected: Reg, new: Reg, size: Literal[4, 8] = 8) -> Reg:
        """The old value; ``new`` was stored if that equals ``expected``. Needs ``isa:atomic_fetch``."""
        base, off = self._reach(base, off)
        return self.result(Op("cmpxchg", args=(base, expected, new), off=off, size=size))

    def _reach(self, base: Reg, off: int) -> tuple[Reg, int]:
        """An offset beyond an instruction's 16 bits is added first."""
        return (base, off) if -0x8000 <= off <= 0x7FFF else (self.alu_imm("add", base, off), 0)

    # --- the stack frame ----------------------------------------------------------------------------------------------

    def slot(self, size: int, align: int = 8, name: str = "") -> Slot:
        """Bytes of the frame (512 in all). ``name`` is for error messages. Slots may share memory where the time
        between their ``begin`` and ``end`` does not overlap; one without these marks has its bytes for the whole
        function."""
        slot = Slot(len(self.function.slots), size, align, name)
        self.function.slots.append(slot)
        return slot

    def begin(self, slot: Slot) -> None:
        """From here on the slot may be used; its content is undefined. Every path to a use comes through here, and
        every path from here through ``end`` (or it keeps its bytes from others until the function ends)."""
        self.add(Op("begin", imm=slot.index))

    def end(self, slot: Slot) -> None:
        self.add(Op("end", imm=slot.index))

    def slot_address(self, slot: Slot, off: int = 0) -> Reg:
        return self.result(Op("slot", imm=slot.index, off=off))

    def load_slot(self, slot: Slot, off: int, size: Size, *, signed: bool = False) -> Reg:
        return self.load(self.slot_address(slot), off, size, signed=signed)

    def store_slot(self, slot: Slot, off: int, value: Reg, size: Size) -> None:
        self.store(self.slot_address(slot), off, value, size)

    def zero_slot(self, slot: Slot, off: int = 0, length: int = -1) -> None:
        """Zeros ``length`` bytes (-1: to the end)."""
        self.zero(self.slot_address(slot), off, slot.size - off if length < 0 else length)

    def zero(self, base: Reg, off: int, length: int) -> None:
        """Zeros ``length`` bytes by the widest aligned stores; ``base`` is taken to be aligned to 8."""
        end = off + length
        while off < end:
            size: Size = 8
            while off % size or size > end - off:
                size = expand.HALF[size]
            self.store_imm(base, off, 0, size)
            off += size

    # --- addresses known at load time ---------------------------------------------------------------------------------

    def map(self, name: str) -> Reg:
        """The map itself, for helpers."""
        return self.result(Op("map", name=name))

    def map_value(self, name: str, off: int = 0) -> Reg:
        """A pointer into the one value of an array map."""
        return self.result(Op("mapvalue", name=name, off=off))

    def callback(self, name: str) -> Reg:
        """The address of a function of kind ``callback`` of this program."""
        return self.result(Op("function", name=name))

    # --- calls --------------------------------------------------------------------------------------------------------

    def call(self, helper: str, *args: Reg, pure: bool | None = None) -> Reg:
        """A helper by its name in ``kernel/uapi/helpers.py``. ``pure``: drop the call if nobody reads the result
        (default: by table)."""
        self.called = helper
        return self._call("call", helper, args, helper in PURE_HELPERS if pure is None else pure)

    def kfunc(self, name: str, *args: Reg, pure: bool = False) -> Reg:
        return self._call("kfunc", name, args, pure)

    def local(self, name: str, *args: Reg) -> Reg:
        """A function of kind ``local`` of this program."""
        return self._call("local", name, args, False)

    def _call(self, kind: str, name: str, args: tuple[Reg, ...], pure: bool) -> Reg:
        if len(args) > 5 or NONE in args:
            raise InternalError(f"bad arguments of {name} in {self.function.name}")
        return self.result(Op(kind, args=args, name=name, flag=pure))
