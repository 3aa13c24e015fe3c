"""Instructions as text, in the notation of the kernel's own verifier log and of bpftool.

    r0 = *(u64 *)(r1 +8)      *(u32 *)(r10 -4) = w2        r1 += 5     w1 s>>= w2        if r1 s> 0x5 goto pc+3
    r1 = map counts           call map_lookup_elem         lock *(u64 *)(r0 +0) += r1

Numbers of the original are kept where no name is given; anything that is not an instruction reads ``(0xff) unknown``.
The notation is that of kernel/bpf/disasm.c; the fields are those of
Documentation/bpf/standardization/instruction-set.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from probescope.bpf import insn as i
from probescope.bpf.insn import Insn, unpack
from probescope.kernel.uapi.helpers import NAMES

_ALU: Final[Mapping[int, str]] = {
    0x00: "+=",
    0x10: "-=",
    0x20: "*=",
    0x30: "/=",
    0x40: "|=",
    0x50: "&=",
    0x60: "<<=",
    0x70: ">>=",
    0x90: "%=",
    0xA0: "^=",
    0xB0: "=",
    0xC0: "s>>=",
}
_NEG, _END, _MOV = 0x80, 0xD0, 0xB0
_JUMP: Final[Mapping[int, str]] = {
    0x10: "==",
    0x20: ">",
    0x30: ">=",
    0x40: "&",
    0x50: "!=",
    0x60: "s>",
    0x70: "s>=",
    0xA0: "<",
    0xB0: "<=",
    0xC0: "s<",
    0xD0: "s<=",
}
_BITS: Final[Mapping[int, int]] = {0x00: 32, 0x08: 16, 0x10: 8, 0x18: 64}
_ATOMIC: Final[Mapping[int, str]] = {0x00: "+=", 0x40: "|=", 0x50: "&=", 0xA0: "^="}
_FETCH: Final[Mapping[int, str]] = {0x01: "add", 0x41: "or", 0x51: "and", 0xA1: "xor"}
_XCHG, _CMPXCHG, _ACQUIRE, _RELEASE = 0xE1, 0xF1, 0x100, 0x110

Name = Callable[[int], str]
"""From an instruction's index to the name of what it refers to, or an empty text."""


def disassemble(code: bytes, name: Name = lambda _: "") -> list[tuple[int, str]]:
    """(index, text) of each instruction; the second half of a 64-bit constant has none of its own."""
    units = unpack(code)
    out: list[tuple[int, str]] = []
    at = 0
    while at < len(units):
        high = 0
        if units[at][0] == i.LD_IMM64 and at + 1 < len(units):
            high = units[at + 1][4]
        out.append((at, text(units[at], high, name(at))))
        at += 2 if units[at][0] == i.LD_IMM64 else 1
    return out


def text(insn: Insn, high: int = 0, name: str = "") -> str:
    """One instruction. ``high``: the upper half of a 64-bit constant. ``name``: of the map or function that it refers
    to."""
    opcode = insn[0]
    kind = opcode & 7
    if kind in {i.ALU32, i.ALU64}:
        found = _alu(insn)
    elif kind in {i.JMP, i.JMP32}:
        found = _jump(insn, name)
    elif opcode == i.LD_IMM64:
        return _constant(insn, high, name)
    else:
        found = _memory(insn)
    return found or f"({opcode:#04x}) unknown"


def _alu(insn: Insn) -> str:
    opcode, dst, src, off, imm = insn
    wide = opcode & 7 == i.ALU64
    r = "r" if wide else "w"
    operation = opcode & 0xF0
    if operation == _END:
        return _swap(opcode, dst, imm, wide=wide)
    if operation == _NEG:
        return f"{r}{dst} = -{r}{dst}"
    sign = _ALU.get(operation, "")
    if not sign:
        return ""
    if not opcode & i.REG:
        return f"{r}{dst} {'s' if off == 1 else ''}{sign} {imm}"
    if operation == _MOV and off:
        if wide and off == 1 and imm:
            return f"r{dst} = addr_space_cast(r{src}, {imm >> 16 & 0xFFFF}, {imm & 0xFFFF})"
        return f"{r}{dst} = (s{off}){r}{src}"
    return f"{r}{dst} {'s' if off == 1 else ''}{sign} {r}{src}"


def _swap(opcode: int, dst: int, bits: int, *, wide: bool) -> str:
    to = "bswap" if wide else "be" if opcode & i.REG else "le"
    return f"r{dst} = {to}{bits} r{dst}"


def _jump(insn: Insn, name: str) -> str:
    opcode, dst, src, off, imm = insn
    operation = opcode & 0xF0
    r = "r" if opcode & 7 == i.JMP else "w"
    if opcode == i.CALL:
        return _call(src, imm, name)
    if opcode == i.JA:
        return f"goto pc{off:+d}"
    if opcode == i.GOTOL:
        return f"gotol pc{imm:+d}"
    if opcode == i.EXIT:
        return "exit"
    if opcode == i.MAY_GOTO:
        return f"may_goto pc{off:+d}"
    sign = _JUMP.get(operation, "")
    if not sign:
        return ""
    other = f"{r}{src}" if opcode & i.REG else hex(imm & 0xFFFFFFFF)
    return f"if {r}{dst} {sign} {other} goto pc{off:+d}"


def _call(src: int, imm: int, name: str) -> str:
    if src == i.PSEUDO_CALL:
        return f"call {name}" if name else f"call pc{imm:+d}"
    if src == i.PSEUDO_KFUNC:
        return f"call {name or f'kernel-function#{imm}'}"
    known = NAMES[imm] if 0 <= imm < len(NAMES) else "unknown"
    return f"call {name}" if name else f"call bpf_{known}#{imm}"


def _constant(insn: Insn, high: int, name: str) -> str:
    _, dst, src, _, imm = insn
    if src in {i.PSEUDO_MAP_FD, i.PSEUDO_MAP_IDX}:
        return f"r{dst} = map {name or f'#{imm}'}"
    if src in {i.PSEUDO_MAP_VALUE, i.PSEUDO_MAP_IDX_VALUE}:
        return f"r{dst} = map {name or f'#{imm}'}[0]+{high}"
    if src == i.PSEUDO_FUNC:
        return f"r{dst} = subprog {name}" if name else f"r{dst} = subprog pc{imm:+d}"
    return f"r{dst} = {(high & 0xFFFFFFFF) << 32 | (imm & 0xFFFFFFFF):#x}"


def _memory(insn: Insn) -> str:
    opcode, dst, src, off, imm = insn
    kind, mode, bits = opcode & 7, opcode & 0xE0, _BITS[opcode & 0x18]
    if kind == i.LD:
        return _packet(mode, bits, src, imm)
    if kind == i.LDX and mode in {i.MEM, i.MEMSX}:
        sign = "s" if mode == i.MEMSX else "u"
        return f"r{dst} = *({sign}{bits} *)(r{src} {off:+d})"
    place = f"*(u{bits} *)(r{dst} {off:+d})"
    if kind == i.STX and mode == i.ATOMIC:
        return _atomic(insn, bits, place)
    if mode == i.MEM and kind == i.STX:
        return f"{place} = r{src}"
    if mode == i.MEM and kind == i.ST:
        return f"{place} = {imm}"
    return ""


def _packet(mode: int, bits: int, src: int, imm: int) -> str:
    if mode == i.ABS:
        return f"r0 = *(u{bits} *)skb[{imm}]"
    if mode == i.IND:
        return f"r0 = *(u{bits} *)skb[r{src} + {imm}]"
    return ""


def _atomic(insn: Insn, bits: int, place: str) -> str:
    _, dst, src, off, imm = insn
    atomic = "atomic64" if bits == 64 else "atomic"
    if imm in _ATOMIC:
        return f"lock {place} {_ATOMIC[imm]} r{src}"
    at = place[1:]
    if imm in _FETCH:
        return f"r{src} = {atomic}_fetch_{_FETCH[imm]}({at}, r{src})"
    if imm == _CMPXCHG:
        return f"r0 = {atomic}_cmpxchg({at}, r0, r{src})"
    if imm == _XCHG:
        return f"r{src} = {atomic}_xchg({at}, r{src})"
    if imm == _ACQUIRE:
        return f"r{dst} = load_acquire((u{bits} *)(r{src} {off:+d}))"
    if imm == _RELEASE:
        return f"store_release({at}, r{src})"
    return ""
