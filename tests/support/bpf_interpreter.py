"""What LIR means, said a second time and as plainly as possible: the oracle of the tests of bpf/'s lower half.

Shares no code with the compiler. Memory is the context (one bytearray), map values and the slots (one each); an address
is (memory, offset).
"""

from __future__ import annotations

M64 = (1 << 64) - 1


def sign(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value & (1 << (bits - 1)) else value


def alu(name, a, b, bits):
    mask = (1 << bits) - 1
    a &= mask
    b &= mask
    sa, sb = sign(a, bits), sign(b, bits)
    if name == "div":
        return a // b if b else 0
    if name == "mod":
        return a % b if b else a
    if name in {"sdiv", "smod"}:
        if sb == 0:
            return 0 if name == "sdiv" else a
        quotient = abs(sa) // abs(sb)
        if (sa < 0) != (sb < 0):
            quotient = -quotient
        return (quotient if name == "sdiv" else sa - quotient * sb) & mask
    count = b % bits
    return {
        "add": a + b,
        "sub": a - b,
        "mul": a * b,
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
        "shl": a << count,
        "shr": a >> count,
        "sar": sa >> count,
    }[name] & mask


def compare(cond, a, b, bits):
    mask = (1 << bits) - 1
    a &= mask
    b &= mask
    sa, sb = sign(a, bits), sign(b, bits)
    return {
        "eq": a == b,
        "ne": a != b,
        "lt": a < b,
        "le": a <= b,
        "gt": a > b,
        "ge": a >= b,
        "slt": sa < sb,
        "sle": sa <= sb,
        "sgt": sa > sb,
        "sge": sa >= sb,
        "set": a & b != 0,
    }[cond]


class Interpreter:
    def __init__(self, functions, helpers=None, maps=None, most=1_000_000):
        self.functions = {f.name: f for f in functions}
        self.helpers = helpers or {}
        self.maps = maps or {}
        self.left = most

    def call(self, function, args):
        regs = dict(zip(function.parameters, args, strict=False))
        slots = {s.index: bytearray(s.size) for s in function.slots}
        block = function.blocks[0]
        while True:
            for op in block.ops:
                self.left -= 1
                assert self.left > 0, "the program does not end"
                if op.targets:
                    block = self.next_block(op, regs)
                    break
                if op.kind == "exit":
                    return regs[op.args[0]] if op.args else op.imm & M64
                value = self.value(op, regs, slots)
                if op.dst >= 0:
                    regs[op.dst] = value
            else:
                raise AssertionError("a block without an end")

    def next_block(self, op, regs):
        if op.kind == "jump":
            return op.targets[0]
        if op.kind == "may_goto":
            return op.targets[1]
        b = regs[op.args[1]] if len(op.args) == 2 else op.imm
        return op.targets[0] if compare(op.name, regs[op.args[0]], b, op.size) else op.targets[1]

    def value(self, op, regs, slots):
        kind = op.kind
        args = [regs[a] for a in op.args]
        if kind == "const":
            return op.imm & M64
        if kind == "mov":
            return args[0] if op.size == 64 else args[0] & 0xFFFFFFFF
        if kind == "alu":
            if isinstance(args[0], tuple):  # an address and a number
                memory, offset = args[0]
                by = sign(args[1] if len(args) == 2 else op.imm, 64)
                return memory, offset + (by if op.name == "add" else -by)
            return alu(op.name, args[0], args[1] if len(args) == 2 else op.imm, op.size)
        if kind == "neg":
            return alu("sub", 0, args[0], op.size)
        if kind == "sext":
            return sign(args[0], op.size) & M64
        if kind == "swap":
            data = (args[0] & ((1 << op.size) - 1)).to_bytes(op.size // 8, "little")
            return int.from_bytes(data if op.name == "le" else data[::-1], "little")
        if kind == "slot":
            return slots[op.imm], op.off
        if kind == "mapvalue":
            return self.maps[op.name], op.off
        if kind in {"begin", "end"}:
            slots[op.imm][:] = b"\xee" * len(slots[op.imm])
            return None
        if kind == "local":
            return self.call(self.functions[op.name], args)
        if kind == "call":
            return self.helpers.get(op.name, lambda *_: 0)(*args) & M64
        return self.memory(op, args)

    def memory(self, op, args):
        memory, offset = args[0]
        at = offset + op.off
        assert 0 <= at <= len(memory) - op.size, "outside of memory"
        old = int.from_bytes(memory[at : at + op.size], "little")

        def put(value):
            memory[at : at + op.size] = (value & ((1 << 8 * op.size) - 1)).to_bytes(op.size, "little")

        if op.kind == "load":
            return sign(old, 8 * op.size) & M64 if op.flag else old
        if op.kind == "store":
            put(args[1] if len(args) == 2 else op.imm)
        elif op.kind == "cmpxchg":
            if old == args[1] & ((1 << 8 * op.size) - 1):
                put(args[2])
            return old
        elif op.name == "xchg":
            put(args[1])
            return old
        else:
            put(alu(op.name.removeprefix("fetch_"), old, args[1], 8 * op.size))
            return old
        return None


def interpret(functions, context, helpers=None, maps=None):
    """Runs the first of the functions on the context (changed in place); its result as 64 bits."""
    return Interpreter(functions, helpers, maps).call(functions[0], [(context, 0)])
