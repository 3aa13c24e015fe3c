"""Displacements in machine code by columns, one finder a machine; see crossrefs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]
    Finder = Callable[[bytes, int, int, bool], tuple[Column, Column]]

BLOCK = 1 << 20
_LOOK = 8
"""Bytes before a displacement that are looked at."""


_NONE = 0xFF


def _opcodes(one: str, four: str, none: str) -> Column:
    """Bytes of immediates between a displacement and the instruction's end, by opcode; ``_NONE`` for opcodes that have
    no ModR/M byte (and for 00, which is what zeros look like). ``none``: those that have one and no immediate. All in
    hexadecimal, ranges with a dash."""
    out = np.full(256, _NONE, np.uint8)
    for size, text in ((0, none), (1, one), (4, four)):
        for word in text.split():
            low, _, high = word.partition("-")
            out[int(low, 16) : int(high or low, 16) + 1] = size
    return out


_BEHIND = _opcodes(
    "6b 80 83 c0 c1 c6",
    "69 81 c7",
    "01-03 08-0b 10-13 18-1b 20-23 28-2b 30-33 38-3b 63 84-8b 8d 8f d0-d3 d8-df f6 f7 fe ff",
)
_BEHIND_0F = _opcodes(
    "70-73 a4 ac ba c2 c4-c6", "", "10-17 28-2f 40-6f 74-7f 90-9f a3 a5 ab-af b0-b7 bb-bf c0-c3 d0-fe"
)
"""Source: Intel SDM volume 2, appendix A, tables A-2 and A-3."""


def _behind(escape: Column, opcode: Column, modrm: Column) -> Column:
    """By the three bytes before a displacement. 0F may as well be the last byte of the instruction before."""
    one = _BEHIND[opcode].copy()
    test = (modrm & 0x38) < 0x10
    one[test & (opcode == 0xF6)] = 1
    one[test & (opcode == 0xF7)] = 4
    two = np.where(escape == 0x0F, _BEHIND_0F[opcode], _NONE)
    return np.where(two != _NONE, two, one)


def _amd64(code: bytes, base: int, at: int, fixed: bool) -> tuple[Column, Column]:
    """Places of instructions' displacements from ``at`` on, and what they refer to. ``fixed``: addresses are known when
    the file is linked, so they may be in the code as they are."""
    first = max(at - _LOOK, 0)
    part = np.frombuffer(code, np.uint8, min(len(code) - first, BLOCK + _LOOK + 4), first)
    n = len(part) - 3
    if n <= _LOOK:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    words: Column = np.ndarray((n,), "<i4", part, 0, (1,))
    before = part[: n - 1]  # of the place i + 1
    relative = np.flatnonzero((before & 0xC7) == 0x05) + 1
    relative = relative[relative >= 3]
    behind = _behind(part[relative - 3], part[relative - 2], part[relative - 1])
    known = behind != _NONE
    relative = relative[known]
    start = np.uint64(base + first)
    places, targets = [relative], [_u8(relative + 4 + behind[known]) + start + _u8(words[relative])]
    if fixed:
        here = _immediates(part, before)
        places.append(here)
        targets.append(_u8(words[here]))
    out, where = np.concatenate(places), np.concatenate(targets)
    mine = out >= at - first
    return _u8(out[mine]) + start, where[mine]


def _u8(values: Column) -> Column:
    """Sums are made of these: they wrap, as addresses do."""
    return values.astype(np.int64).view(np.uint64)


def _immediates(part: Column, before: Column) -> Column:
    """Mov $imm32 to a register (b8+r, c7 /0), or to memory by a register with no or a short offset; push $imm32."""
    hit = ((before & 0xF8) == 0xB8) | (before == 0x68)
    hit[1:] |= (before[:-1] == 0xC7) & (((before[1:] & 0xF8) == 0xC0) | ((before[1:] & 0xF8) == 0x00))
    hit[2:] |= (before[:-2] == 0xC7) & ((before[1:-1] & 0xF8) == 0x40)
    hit[3:] |= (before[:-3] == 0xC7) & (before[2:-1] == 0x24) & ((before[1:-2] & 0xFF) == 0x44)
    hit |= (before & 0xC0) == 0x80
    hit[1:] |= ((before[:-1] & 0xC7) == 0x04) & ((before[1:] & 0x07) == 0x05)
    return np.flatnonzero(hit) + 1


_PAIRED = 8
"""Instructions within which an ADD follows its ADRP."""


def _arm64(code: bytes, base: int, at: int, fixed: bool) -> tuple[Column, Column]:
    first = max(at - 4 * _PAIRED, 0)
    words = np.frombuffer(code, "<u4", min(len(code) - first, BLOCK + 8 * _PAIRED) // 4, first).astype(np.int64)
    pages = np.flatnonzero((words & 0x9F000000) == 0x90000000)
    high = ((words[pages] >> 5) & 0x7FFFF) << 2 | (words[pages] >> 29) & 3
    high = (high ^ (1 << 20)) - (1 << 20)
    start = np.uint64(base + first)
    page = ((start + _u8(pages * 4)) & ~np.uint64(0xFFF)) + _u8(high << 12)
    register = words[pages] & 31
    places, targets = [], []
    for step in range(1, _PAIRED):
        inside = pages + step < len(words)
        later = words[pages[inside] + step]
        add = ((later & 0xFFC00000) == 0x91000000) & (((later >> 5) & 31) == register[inside])
        places.append(start + _u8((pages[inside][add] + step) * 4))
        targets.append(page[inside][add] + _u8((later[add] >> 10) & 0xFFF))
    out, where = np.concatenate(places), np.concatenate(targets)
    mine = (out >= np.uint64(base + at)) & (out - np.uint64(base + at) < np.uint64(BLOCK))
    return out[mine], where[mine]


FINDERS: dict[str, Finder] = {"x86_64": _amd64, "aarch64": _arm64}
