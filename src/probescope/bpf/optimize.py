"""Cheap clean-ups before registers are given out; each is linear in the number of operations.

Known numbers become immediates, copies and constant offsets disappear into their users, extensions of what is narrow
already are dropped, division by powers of two is shifted, decided branches become jumps, dead operations go. What a
register is known to be holds for the whole function if it is written once (the definition comes before every use), for
the rest of its block otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.bpf import fold
from probescope.bpf.cfg import simplify
from probescope.bpf.dead import coalesce, remove_dead
from probescope.bpf.lir import COMMUTATIVE, Block, Function, Op, Reg, fits32, signed64


def optimize(function: Function) -> None:
    """In place."""
    simplify(function)
    if _Facts(function).run():
        simplify(function)
    uses = remove_dead(function)
    coalesce(function, uses)
    simplify(function)


class _Facts:
    """What is known of each register, gathered on the way through the function, and the rewriting that follows from
    it."""

    def __init__(self, function: Function) -> None:
        self.function = function
        once = [0] * function.regs
        for op in function.ops():
            if op.dst >= 0:
                once[op.dst] += 1
        for p in function.parameters:
            once[p] += 1
        self.once = [n == 1 for n in once]
        self.consts: dict[Reg, int] = {}
        self.locals: dict[Reg, int] = {}  # the same, of variables, in this block
        self.copies: dict[Reg, Reg] = {}
        self.sums: dict[Reg, tuple[Reg, int]] = {}  # register + number
        self.addresses: dict[Reg, Op] = {}  # of a stack slot or inside a map's value
        self.unsigned: dict[Reg, int] = {}  # how many low bits can be set
        self.signed: dict[Reg, int] = {}  # sign-extended from so many bits
        self.decided = False

    def run(self) -> bool:
        """Whether any branch was decided."""
        for block in self.function.blocks:
            self._block(block)
        return self.decided

    def _block(self, block: Block) -> None:
        self.locals.clear()
        copies, once, rules = self.copies, self.once, _RULES
        for op in block.ops:
            args = op.args
            if args and copies:
                for a in args:
                    if a in copies:
                        op.args = tuple([copies.get(x, x) for x in args])
                        break
            rule = rules.get(op.kind)
            if rule is not None:
                rule(self, op)
            dst = op.dst
            if dst >= 0 and not once[dst]:
                self._variable(op)

    def _variable(self, op: Op) -> None:
        if op.kind == "const":
            self.locals[op.dst] = op.imm
        else:
            self.locals.pop(op.dst, None)

    def const(self, r: Reg) -> int | None:
        value = self.consts.get(r)
        return self.locals.get(r) if value is None else value

    def _to_const(self, op: Op, value: int) -> None:
        op.kind, op.args, op.name, op.imm, op.size = "const", (), "", signed64(value), 64
        self._const(op)

    def _to_mov(self, op: Op, source: Reg) -> None:
        op.kind, op.args, op.name, op.imm, op.size = "mov", (source,), "", 0, 64
        self._mov(op)

    # --- one rule a kind ----------------------------------------------------------------------------------------------

    def _const(self, op: Op) -> None:
        if self.once[op.dst]:
            self.consts[op.dst] = op.imm

    def _mov(self, op: Op) -> None:
        source, dst = op.args[0], op.dst
        value = self.const(source)
        if value is not None:
            self._to_const(op, value if op.size == 64 else value & 0xFFFFFFFF)
        elif op.size == 32 and self.unsigned.get(source, 64) > 32:
            self.narrow(dst, 32)
        else:
            op.size = 64
            if self.once[dst] and self.once[source]:
                self.copies[dst] = self.copies.get(source, source)

    def narrow(self, dst: Reg, bits: int) -> None:
        if bits < 64 and self.once[dst]:
            self.unsigned[dst] = bits

    def _alu(self, op: Op) -> None:
        if len(op.args) == 2:
            self._alu_operands(op)
        if len(op.args) == 1:
            value = self.const(op.args[0])
            if value is not None:
                self._to_const(op, fold.alu(op.name, value, op.imm, op.size))
                return
            self._alu_imm(op)
        elif op.size == 32:
            self.narrow(op.dst, 32)

    def _alu_operands(self, op: Op) -> None:
        """Makes a known operand an immediate, where an instruction can hold it and the verifier takes it."""
        a, b = op.args
        value = self.const(b)
        if value is None and op.name in COMMUTATIVE:
            value = self.const(a)
            a = b
        if value is None:
            return
        value = fold.signed(value, op.size)
        if op.name in {"shl", "shr", "sar"}:
            value &= op.size - 1
        elif op.name in {"div", "mod", "sdiv", "smod"} and value in {0, -1}:
            return
        if fits32(value):
            op.args, op.imm = (a,), value

    def _alu_imm(self, op: Op) -> None:
        rule = _IMM_RULES.get(op.name)
        if rule is not None:
            rule(self, op)
        if op.kind != "alu":
            return
        known = min(self.unsigned.get(op.args[0], 64), op.size)
        if op.name == "and" and op.imm >= 0:
            self.narrow(op.dst, min(op.imm.bit_length(), known))
        elif op.name == "shr":
            self.narrow(op.dst, max(known - op.imm, 0))
        else:
            self.narrow(op.dst, op.size)

    def _add(self, op: Op) -> None:
        a, imm = op.args[0], op.imm
        if op.name == "sub":
            if not fits32(-imm):
                return
            op.name, op.imm, imm = "add", -imm, -imm
        if op.size != 64:
            return
        if imm == 0:
            self._to_mov(op, a)
            return
        address = self.addresses.get(a)
        if address is not None and fits32(address.off + imm) and address.off + imm >= 0:
            op.kind, op.args, op.name, op.imm, op.off = address.kind, (), address.name, address.imm, address.off + imm
            self._address(op)
        elif self.once[op.dst] and self.once[a]:
            root, distance = self.sums.get(a, (a, 0))
            self.sums[op.dst] = (root, distance + imm)

    def _scale(self, op: Op) -> None:
        """mul, div, mod by powers of two."""
        imm = op.imm
        if imm == 1 and op.name != "mod" and op.size == 64:
            self._to_mov(op, op.args[0])
        elif imm == 0 and op.name == "mul":
            self._to_const(op, 0)
        elif imm > 0 and not imm & (imm - 1):
            by = imm.bit_length() - 1
            op.name, op.imm = {"mul": ("shl", by), "div": ("shr", by), "mod": ("and", imm - 1)}[op.name]

    def _bits(self, op: Op) -> None:
        """or, xor, shl, shr, sar of nothing."""
        if op.imm == 0 and op.size == 64:
            self._to_mov(op, op.args[0])

    def _mask(self, op: Op) -> None:
        a, imm = op.args[0], op.imm
        if imm == 0:
            self._to_const(op, 0)
        elif (op.size == 64 and imm == -1) or (imm > 0 and not imm & (imm + 1) and self._within(a, imm.bit_length())):
            self._to_mov(op, a)

    def _within(self, a: Reg, bits: int) -> bool:
        return self.unsigned.get(a, 64) <= bits

    def _neg(self, op: Op) -> None:
        value = self.const(op.args[0])
        if value is not None:
            self._to_const(op, fold.alu("sub", 0, value, op.size))
        elif op.size == 32:
            self.narrow(op.dst, 32)

    def _sext(self, op: Op) -> None:
        a, bits = op.args[0], op.size
        value = self.const(a)
        if value is not None:
            self._to_const(op, fold.signed(value, bits))
        elif self.unsigned.get(a, 64) < bits or self.signed.get(a, 64) <= bits:
            self._to_mov(op, a)
        elif self.once[op.dst]:
            self.signed[op.dst] = bits

    def _swap(self, op: Op) -> None:
        value = self.const(op.args[0])
        if value is not None:
            self._to_const(op, fold.swap(op.name, value, op.size))
        else:
            self.narrow(op.dst, op.size)

    def _address(self, op: Op) -> None:
        if self.once[op.dst]:
            self.addresses[op.dst] = op

    def _load(self, op: Op) -> None:
        self._memory(op)
        if not op.flag:
            self.narrow(op.dst, op.size * 8)
        elif self.once[op.dst]:
            self.signed[op.dst] = op.size * 8

    def _store(self, op: Op) -> None:
        self._memory(op)
        if len(op.args) == 2:
            value = self.const(op.args[1])
            if value is not None and fits32(fold.signed(value, op.size * 8)):
                op.args, op.imm = op.args[:1], fold.signed(value, op.size * 8)

    def _memory(self, op: Op) -> None:
        """Base and offset: a sum moves into the offset. (The verifier lets a context pointer have no other.)"""
        found = self.sums.get(op.args[0])
        if found is not None and -0x8000 <= op.off + found[1] <= 0x7FFF:
            op.args = (found[0], *op.args[1:])
            op.off += found[1]

    def _branch(self, op: Op) -> None:
        if len(op.args) == 2:
            a, b = op.args
            name, value = op.name, self.const(b)
            if value is None:
                name, value, a = fold.MIRRORED[name], self.const(a), b
            if value is None or not fits32(fold.signed(value, op.size)):
                return
            op.name, op.args, op.imm = name, (a,), fold.signed(value, op.size)
        value = self.const(op.args[0])
        if value is not None:
            taken = fold.compare(op.name, value, op.imm, op.size)
            op.kind, op.args, op.name, op.imm = "jump", (), "", 0
            op.targets = op.targets[:1] if taken else op.targets[1:]
            self.decided = True

    def _exit(self, op: Op) -> None:
        if op.args:
            value = self.const(op.args[0])
            if value is not None:
                op.args, op.imm = (), value


_Rule = Callable[[_Facts, Op], None]

_RULES: dict[str, _Rule] = {
    "const": _Facts._const,
    "mov": _Facts._mov,
    "alu": _Facts._alu,
    "neg": _Facts._neg,
    "sext": _Facts._sext,
    "swap": _Facts._swap,
    "slot": _Facts._address,
    "mapvalue": _Facts._address,
    "load": _Facts._load,
    "store": _Facts._store,
    "atomic": _Facts._memory,
    "cmpxchg": _Facts._memory,
    "branch": _Facts._branch,
    "exit": _Facts._exit,
}

_IMM_RULES: dict[str, _Rule] = {
    "add": _Facts._add,
    "sub": _Facts._add,
    "mul": _Facts._scale,
    "div": _Facts._scale,
    "mod": _Facts._scale,
    "or": _Facts._bits,
    "xor": _Facts._bits,
    "shl": _Facts._bits,
    "shr": _Facts._bits,
    "sar": _Facts._bits,
    "and": _Facts._mask,
}
