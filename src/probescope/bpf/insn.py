"""Instructions as numbers: operation codes by name, and their eight bytes.

    byte  0         1             2..3     4..7
          opcode    src<<4 | dst  offset   immediate       (little-endian; a 64-bit immediate takes a second unit)

    opcode of ALU and JMP:   operation 0xf0 | source 0x08 (0: immediate, 8: register) | class 0x07
    opcode of LD/ST:         mode 0xe0 | size 0x18 | class 0x07

Source: Documentation/bpf/standardization/instruction-set.rst, include/uapi/linux/bpf.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Final

Insn = tuple[int, int, int, int, int]
"""opcode, dst, src, offset, immediate."""

UNIT: Final = struct.Struct("<BBhi")

LD, LDX, ST, STX, ALU32, JMP, JMP32, ALU64 = range(8)
REG: Final = 0x08  # the second operand is a register

ALU: Final[Mapping[str, int]] = {
    "add": 0x00,
    "sub": 0x10,
    "mul": 0x20,
    "div": 0x30,
    "or": 0x40,
    "and": 0x50,
    "shl": 0x60,
    "shr": 0x70,
    "neg": 0x80,
    "mod": 0x90,
    "xor": 0xA0,
    "mov": 0xB0,
    "sar": 0xC0,
    "end": 0xD0,
    "sdiv": 0x30,  # offset 1 makes it signed
    "smod": 0x90,
}
SIGNED_OFFSET: Final[Mapping[str, int]] = {"sdiv": 1, "smod": 1}

JUMP: Final[Mapping[str, int]] = {
    "eq": 0x10,
    "gt": 0x20,
    "ge": 0x30,
    "set": 0x40,
    "ne": 0x50,
    "sgt": 0x60,
    "sge": 0x70,
    "lt": 0xA0,
    "le": 0xB0,
    "slt": 0xC0,
    "sle": 0xD0,
}
JA: Final = 0x05
GOTOL: Final = 0x06  # JMP32's ja: the distance is the immediate
CALL: Final = 0x85
EXIT: Final = 0x95
MAY_GOTO: Final = 0xE5

SIZE: Final[Mapping[int, int]] = {4: 0x00, 2: 0x08, 1: 0x10, 8: 0x18}
IMM, ABS, IND, MEM, MEMSX, ATOMIC = 0x00, 0x20, 0x40, 0x60, 0x80, 0xC0
LD_IMM64: Final = 0x18

# src of ld_imm64: what the immediate means
PSEUDO_MAP_FD, PSEUDO_MAP_VALUE, PSEUDO_BTF_ID, PSEUDO_FUNC, PSEUDO_MAP_IDX, PSEUDO_MAP_IDX_VALUE = 1, 2, 3, 4, 5, 6
# src of call
PSEUDO_CALL, PSEUDO_KFUNC = 1, 2

ATOMIC_OP: Final[Mapping[str, int]] = {
    "add": 0x00,
    "or": 0x40,
    "and": 0x50,
    "xor": 0xA0,
    "fetch_add": 0x01,
    "fetch_or": 0x41,
    "fetch_and": 0x51,
    "fetch_xor": 0xA1,
    "xchg": 0xE1,
    "cmpxchg": 0xF1,
}

LONGEST: Final = 1_000_000
"""Instructions that a program may have (BPF_COMPLEXITY_LIMIT_INSNS), given CAP_BPF."""


def pack(insns: Iterable[Insn]) -> bytes:
    """The bytes that BPF_PROG_LOAD takes."""
    unit = UNIT.pack
    return b"".join([unit(op, src << 4 | dst, off, imm) for op, dst, src, off, imm in insns])


def unpack(code: bytes) -> list[Insn]:
    """The units of a program; a piece of one at the end is left out."""
    whole = code[: len(code) // 8 * 8]
    return [(op, regs & 15, regs >> 4, off, imm) for op, regs, off, imm in UNIT.iter_unpack(whole)]


def wide(op: int, dst: int, src: int, low: int, high: int = 0) -> tuple[Insn, Insn]:
    """The two units of ``ld_imm64``; ``low`` and ``high`` as unsigned or signed 32-bit numbers."""
    return (op, dst, src, 0, _signed32(low)), (0, 0, 0, 0, _signed32(high))


def _signed32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
