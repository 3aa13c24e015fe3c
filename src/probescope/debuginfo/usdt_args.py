"""The argument strings of USDT notes: assembler operands to places where a probe finds its values.

    -4@%edi 8@-20(%rbp) 4@$5 8@counter+8(%rip) 8@(%rax,%rbx,4) 8f@%xmm0                      x86-64
    4@[sp, 12] -4@w1 8@x0 4@5 8@[x1, x2, lsl 3]                                              AArch64

Before the @ stands the size in bytes, negative for signed, with an f for floating point (whose bits are then taken as
an unsigned integer); after it an operand, as the assembler of the architecture writes it. What cannot be read from
the saved registers (vector registers, thread-local storage, high bytes such as %ah) has no place: ``None``.
Source: SystemTap wiki "UserSpaceProbeImplementation"; operand syntax of GNU as.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probescope.frozen import dataclass
from probescope.model.arch import Arch
from probescope.model.site import Constant, Field, Location, Reg, RegMem
from probescope.model.types import Int

MAX_TEXT = 4096
MAX_ARGS = 32

_ARG = re.compile(r"(-?)(\d{1,2})(f?)@(.+)", re.DOTALL)
_X86_MEMORY = re.compile(r"([^()%]*)\((?:%(\w+))?(?:,\s*%(\w+)(?:,\s*([1248]))?)?\)")
_TERM = re.compile(r"\s*([+-]?)\s*([\w.$@]+)\s*")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,16}|\d{1,20})")
_ARM_MEMORY = re.compile(r"\[\s*(\w+)\s*(?:,\s*#?([^],]+?)\s*)?(?:,\s*lsl\s+#?([0-4])\s*)?\]")

Resolve = Callable[[str], int | None]
"""Virtual address of a symbol of the file."""


@dataclass(frozen=True, slots=True)
class Operands:
    """What operands refer to. ``pc`` is the virtual address of the probe, by which %rip-relative ones are rewritten."""

    arch: Arch
    pc: int
    resolve: Resolve


def split(text: str) -> list[str]:
    """The arguments of a note: by spaces that are not inside brackets."""
    out, word, depth = [], "", 0
    for c in text[:MAX_TEXT]:
        depth += (c in "[(") - (c in "])")
        if c == " " and depth <= 0:
            out += [word] if word else []
            word = ""
        else:
            word += c
    return [*out, word][:MAX_ARGS] if word else out[:MAX_ARGS]


def parse(text: str, of: Operands) -> tuple[Field | None, ...]:
    """One field per argument, named ``arg0``...; ``None`` for one that cannot be read or is not understood."""
    return tuple(_argument(f"arg{i}", word, of) for i, word in enumerate(split(text)))


def _argument(name: str, word: str, of: Operands) -> Field | None:
    m = _ARG.fullmatch(word)
    if m is None or int(m[2]) not in (1, 2, 4, 8):
        return None
    t = Int(int(m[2]), bool(m[1]) and not m[3])
    parser = {"x86_64": _x86, "aarch64": _arm}.get(of.arch.name)
    place = parser(m[4].strip(), t, of) if parser else None
    return None if place is None else Field(name, t, place)


def _register(name: str, of: Operands) -> str | None:
    """Its kernel name, or ``None`` if the saved registers have none such."""
    return of.arch.aliases.get(name, name) if of.arch.reg_offset(name) is not None else None


def _number(text: str) -> int | None:
    return int(text, 0 if "x" in text else 10) if _NUMBER.fullmatch(text) else None


def _constant(value: int | None, t: Int) -> Constant | None:
    if value is None:
        return None
    value &= (1 << 8 * t.size) - 1
    return Constant(value - (1 << 8 * t.size) if t.signed and value >> (8 * t.size - 1) else value)


# --- x86-64 -----------------------------------------------------------------------------------------------------------


def _x86(operand: str, t: Int, of: Operands) -> Location | None:
    if operand.startswith("$"):
        return _constant(_sum(operand[1:], of), t)
    if operand.startswith("%"):
        reg = _register(operand[1:], of)
        return None if reg is None else Reg(reg, t.size, t.signed)
    m = _X86_MEMORY.fullmatch(operand)
    if m is None:  # a bare symbol or number: an absolute address, which only a fixed program has
        address = _sum(operand, of)
        return None if address is None else RegMem(of.arch.ip, address - of.pc, t.size, t.signed)
    return _x86_memory(m, t, of)


def _x86_memory(m: re.Match[str], t: Int, of: Operands) -> Location | None:
    offset = _sum(m[1], of) if m[1].strip() else 0
    base = _register(m[2], of) if m[2] else ""
    index = _register(m[3], of) if m[3] else ""
    if offset is None or base is None or index is None or not (base or index):
        return None
    if m[2] == "rip":
        if _number(m[1].strip()) is not None:
            return None  # relative to the end of an instruction that is not there
        return RegMem(of.arch.ip, offset - of.pc, t.size, t.signed)  # names the symbol: the assembler's meaning
    scale = int(m[4] or 1)
    if not base:  # (,%rbx,8): no base register to name
        return RegMem(index, offset, t.size, t.signed) if scale == 1 else None
    return RegMem(base, offset, t.size, t.signed, index, scale)


def _sum(text: str, of: Operands) -> int | None:
    """``sym+16``, ``-8``, ``16+sym``: the sum of numbers and addresses of symbols."""
    total, at = 0, 0
    text = text.strip()
    while at < len(text):
        m = _TERM.match(text, at)
        if m is None or (at and not m[1]):
            return None
        value = _number(m[2])
        if value is None:
            value = of.resolve(m[2])
        if value is None:
            return None
        total += -value if m[1] == "-" else value
        at = m.end()
    return total if text else None


# --- AArch64 ----------------------------------------------------------------------------------------------------------


def _arm(operand: str, t: Int, of: Operands) -> Location | None:
    if operand in ("xzr", "wzr"):
        return Constant(0)
    reg = _register(operand, of)
    if reg is not None:
        return Reg(reg, t.size, t.signed)
    m = _ARM_MEMORY.fullmatch(operand)
    if m is None:
        return _constant(_number(operand.removeprefix("#")), t)
    base = _register(m[1], of)
    if base is None:
        return None
    offset = _number(m[2]) if m[2] else 0
    if offset is not None:
        return RegMem(base, offset, t.size, t.signed) if not m[3] else None
    index = _register(m[2], of)
    if index is None or m[2].startswith("w"):  # a 32-bit index is extended first
        return None
    return RegMem(base, 0, t.size, t.signed, index, 1 << int(m[3] or 0))
