"""What it costs to put a uprobe on an instruction: the kernel emulates some, and single-steps the others out of line.

On x86-64 a probe on an emulated instruction adds 0.6 us, on a single-stepped one 10 us. Sources: branch_setup_xol_ops
and push_setup_xol_ops of arch/x86/kernel/uprobes.c (push: "uprobes/x86: Emulate push insns for uprobe on x86", 4.16;
nops of several bytes: 6.16, before it they are stepped; 5-byte ones become a call from 6.18 on); arm_probe_decode_insn
of arch/arm64/kernel/probes/decode-insn.c.
"""

from __future__ import annotations

from typing import Literal

Cost = Literal["nop5", "emulated", "stepped", "refused", "unknown"]
"""``refused``: the kernel takes no probe there (a branch with an operand-size prefix)."""

MAX_INSN = 15
"""Bytes of code that are enough to tell."""

_LEGACY_PREFIXES = frozenset((0x66, 0x67, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0xF2, 0xF3, 0xF0))
_NOP5 = b"\x0f\x1f\x44\x00\x00"
_BRANCHES = frozenset((0xE8, 0xE9, 0xEB, *range(0x70, 0x80)))  # call, jmp, short jcc


def cost(code: bytes, machine: str = "x86_64") -> Cost:
    """The class of the first instruction of ``code``; ``unknown`` for too few bytes or another architecture."""
    if machine == "x86_64":
        return _x86(code)
    if machine == "aarch64":
        return _arm(code)
    return "unknown"


def is_slow(code: bytes, machine: str = "x86_64") -> bool:
    """Whether a probe here has to single-step."""
    return cost(code, machine) == "stepped"


def _x86(code: bytes) -> Cost:
    if code.startswith(_NOP5):
        return "nop5"
    at = 0
    while at < min(len(code), MAX_INSN) and code[at] in _LEGACY_PREFIXES:
        at += 1
    op, after = code[at : at + 1], code[at + 1 : at + 2]
    if not op or (op[0] in (0x0F, 0x41) and not after):
        return "unknown"
    if op[0] == 0x90 or op + after == b"\x0f\x1f":  # nop, with any prefixes
        return "emulated"
    if op[0] in _BRANCHES or (op[0] == 0x0F and 0x80 <= after[0] <= 0x8F):
        return "refused" if 0x66 in code[:at] else "emulated"
    push = after[0] if op[0] == 0x41 else op[0]  # 41: r8 to r15
    return "emulated" if 0x50 <= push <= 0x57 and at == 0 else "stepped"


def _arm(code: bytes) -> Cost:
    if len(code) < 4:
        return "unknown"
    word = int.from_bytes(code[:4], "little")
    return "emulated" if any(word & mask == value for mask, value in _ARM_SIMULATED) else "stepped"


_ARM_SIMULATED: tuple[tuple[int, int], ...] = (
    (0xFFFFFFFF, 0xD503201F),  # nop, from 6.13
    (0xFF000010, 0x54000000),  # b.cond
    (0x7E000000, 0x34000000),  # cbz, cbnz
    (0x7E000000, 0x36000000),  # tbz, tbnz
    (0x1F000000, 0x10000000),  # adr, adrp
    (0x7C000000, 0x14000000),  # b, bl
    (0xFF9FFC1F, 0xD61F0000),  # br, blr, ret
    (0xBF000000, 0x18000000),  # ldr, literal
    (0xFF000000, 0x98000000),  # ldrsw, literal
)
