"""A small machine for BPF bytes, strict where the verifier is: what a call destroys cannot be read afterwards.

Written from the instruction set's description, sharing nothing with the compiler; with it the compiler's output can be
run without a kernel. Memory: the context, and one stack frame for each function being called.
"""

from __future__ import annotations

import struct

M64 = (1 << 64) - 1
CONTEXT = 0x1000_0000
STACK = 0x7000_0000
FRAME = 512


def sign(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Fault(Exception):
    pass


class Machine:
    def __init__(self, code, context, most=2_000_000):
        self.insns = [(op, r & 15, r >> 4, off, imm) for op, r, off, imm in struct.iter_unpack("<BBhi", code)]
        self.context = context
        self.frames = []
        self.left = most

    def run(self):
        return self.call(0, {1: CONTEXT})

    def region(self, address, size):
        for start, memory in [(CONTEXT, self.context), *self.frames]:
            if start <= address and address + size <= start + len(memory):
                return memory, address - start
        raise Fault(f"access to {address:#x}")

    def load(self, address, size):
        memory, at = self.region(address, size)
        return int.from_bytes(memory[at : at + size], "little")

    def store(self, address, value, size):
        memory, at = self.region(address, size)
        memory[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def call(self, pc, regs):
        depth = len(self.frames)
        self.frames.append((STACK + depth * 0x1000, bytearray(b"\xaa" * FRAME)))
        regs[10] = STACK + depth * 0x1000 + FRAME
        try:
            return self.steps(pc, regs)
        finally:
            self.frames.pop()

    def steps(self, pc, regs):
        def get(r):
            if r not in regs:
                raise Fault(f"r{r} is not readable at {pc}")
            return regs[r]

        while True:
            self.left -= 1
            if self.left < 0:
                raise Fault("does not end")
            op, dst, src, off, imm = self.insns[pc]
            pc += 1
            kind = op & 7
            if op == 0x18:
                regs[dst] = (imm & 0xFFFFFFFF) | (self.insns[pc][4] & 0xFFFFFFFF) << 32
                pc += 1
            elif kind in {4, 7}:
                regs[dst] = self.alu(op, dst, src, off, imm, get, 64 if kind == 7 else 32)
            elif kind == 1:
                size = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}[op & 0x18]
                value = self.load(get(src) + off, size)
                regs[dst] = sign(value, 8 * size) & M64 if op & 0xE0 == 0x80 else value
            elif kind in {2, 3}:
                self.write(op, dst, src, off, imm, get, regs)
            elif op == 0x95:
                return get(0)
            elif op == 0x85:
                args = {n: regs[n] for n in range(1, 6) if n in regs}
                result = self.call(pc + imm, args) if src == 1 else 0
                for n in range(6):
                    regs.pop(n, None)
                regs[0] = result
            else:
                pc += self.jump(op, dst, src, off, imm, get)

    def alu(self, op, dst, src, off, imm, get, bits):
        code = op & 0xF0
        mask = (1 << bits) - 1
        if code == 0xD0:
            data = (get(dst) & ((1 << imm) - 1)).to_bytes(imm // 8, "little")
            return int.from_bytes(data if op == 0xD4 else data[::-1], "little")
        if code == 0x80:
            return -get(dst) & mask
        b = get(src) if op & 8 else imm
        if code == 0xB0:
            return (sign(b, off) if off else b) & mask
        a, b = get(dst) & mask, b & mask
        if off == 1 and code in {0x30, 0x90}:
            sa, sb = sign(a, bits), sign(b, bits)
            if sb == 0:
                return 0 if code == 0x30 else a
            q = abs(sa) // abs(sb) * (-1 if (sa < 0) != (sb < 0) else 1)
            return (q if code == 0x30 else sa - q * sb) & mask
        if code == 0x30:
            return a // b if b else 0
        if code == 0x90:
            return a % b if b else a
        n = b & (bits - 1)
        table = {0x00: a + b, 0x10: a - b, 0x20: a * b, 0x40: a | b, 0x50: a & b, 0xA0: a ^ b}
        table |= {0x60: a << n, 0x70: a >> n, 0xC0: sign(a, bits) >> n}
        return table[code] & mask

    def write(self, op, dst, src, off, imm, get, regs):
        size = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}[op & 0x18]
        address = get(dst) + off
        if op & 0xE0 == 0x60:
            self.store(address, get(src) if op & 7 == 3 else imm, size)
            return
        old = self.load(address, size)
        value = get(src)
        if imm == 0xF1:
            if old == get(0) & ((1 << 8 * size) - 1):
                self.store(address, value, size)
            regs[0] = old
            return
        new = {0: old + value, 0x40: old | value, 0x50: old & value, 0xA0: old ^ value, 0xE0: value}[imm & 0xF0]
        self.store(address, new, size)
        if imm & 1:
            regs[src] = old

    def jump(self, op, dst, src, off, imm, get):
        if op == 0x05:
            return off
        if op == 0x06:
            return imm
        if op == 0xE5:
            return 0
        bits = 64 if op & 7 == 5 else 32
        mask = (1 << bits) - 1
        a, b = get(dst) & mask, (get(src) if op & 8 else imm) & mask
        sa, sb = sign(a, bits), sign(b, bits)
        taken = {
            0x10: a == b,
            0x20: a > b,
            0x30: a >= b,
            0x40: a & b,
            0x50: a != b,
            0x60: sa > sb,
            0x70: sa >= sb,
            0xA0: a < b,
            0xB0: a <= b,
            0xC0: sa < sb,
            0xD0: sa <= sb,
        }[op & 0xF0]
        return off if taken else 0
