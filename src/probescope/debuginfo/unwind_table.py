"""Tables for unwinding without frame pointers: from an ELF file's call frame information to the rows that the kernel
side walks by (model/unwind.py).

A row costs some 2.5 us to make, and 8 bytes: libc has 23,000 (60 ms), a library of 110 MB 840,000 (2 s).
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from probescope.debuginfo.eh_frame import Frame, frames_of
from probescope.debuginfo.eh_rules import Kept, Rule
from probescope.debuginfo.elf import PT_LOAD, ElfFile
from probescope.debuginfo.leb128 import sleb
from probescope.errors import ElfError
from probescope.frozen import dataclass
from probescope.model import unwind as u

SMALL_GAP = 16
"""Bytes between functions that are nothing but alignment: no row is spent on them."""
_FP, _SP = 6, 7
_RETURN = Kept("at", -8)
_DEREF = 0x06
_BREG = 0x70
# DW_OP_breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus: the linker's own of .plt
PLT_RULE = re.compile(rb"\x77\x08\x80\x00\x3f\x1a([\x30-\x3f])\x2a\x33\x24\x22", re.DOTALL)


@dataclass(frozen=True, slots=True)
class UnwindTable:
    """``pcs`` (from virtual address ``base`` on, ascending) and ``rules`` (packed) are rows. ``frames``: functions;
    ``framed``: those of them with a frame pointer; ``odd``: rows with a rule that does not fit; ``bad``: functions
    whose information is malformed."""

    base: int
    pcs: array[int]
    rules: array[int]
    frames: int
    framed: int
    odd: int
    bad: int

    def rule(self, address: int) -> int:
        """The rule at a virtual address."""
        at = bisect_right(self.pcs, address - self.base) - 1
        return self.rules[at] if at >= 0 and address >= self.base else u.GAP

    @property
    def blocks(self) -> int:
        return max(1, -(-len(self.pcs) // u.BLOCK))

    def content(self) -> bytes:
        """The rows in blocks, the last one filled up."""
        out = array("I", bytes(self.blocks * u.BLOCK_BYTES))
        for k, values in ((0, self.pcs), (1, self.rules)):
            out[k : 2 * len(values) : 2] = values
        for k in range(2 * len(self.pcs), len(out), 2):
            out[k] = u.NO_ROW
        return out.tobytes()


def table_of(elf: ElfFile) -> UnwindTable:
    """Raises ElfError where the file has no unwind information, is for another machine, or has too many rows."""
    if elf.machine != "x86_64" or sys.byteorder != "little":
        raise ElfError(f"stacks of {elf.machine} are walked by frame pointers", file=elf.path)
    base = min((s.vaddr for s in elf.segments() if s.type == PT_LOAD), default=0)
    section = frames_of(elf)
    frames = sorted(section, key=_start)
    pcs, rules = array("I"), array("I")
    for pc, rule in _rows(frames):
        if 0 <= pc - base < u.NO_ROW:
            pcs.append(pc - base)
            rules.append(rule)
    if len(pcs) > u.MOST_ROWS:
        raise ElfError(f"{len(pcs)} rows of unwind information are more than fit", file=elf.path)
    framed = sum(map(_framed, frames))
    return UnwindTable(base, pcs, rules, len(frames), framed, rules.count(u.OTHER), section.bad)


SAMPLE = 2000
"""Functions that are looked at to tell whether a file was compiled with frame pointers."""


def framed_share(elf: ElfFile) -> tuple[int, float]:
    """How many functions that need a frame were looked at, and which share of them has a frame pointer. Those that
    leave the stack as it is (leaf functions) have none in any file. Raises as ``table_of``."""
    section = frames_of(elf)
    if elf.machine != "x86_64":
        raise ElfError(f"stacks of {elf.machine} are walked by frame pointers", file=elf.path)
    some = [f for f in islice(section, SAMPLE) if len(f.rows) > 1]
    return len(some), sum(map(_framed, some)) / max(1, len(some))


def _framed(frame: Frame) -> bool:
    return any(rule.register == _FP for _, rule in frame.rows)


def _start(frame: Frame) -> int:
    return frame.start


def _rows(frames: list[Frame]) -> Iterator[tuple[int, int]]:
    """All rows in order, without those that say what the one before them says; where functions overlap, the one that
    starts last counts."""
    before = -1
    packed = _Packer()
    for i, frame in enumerate(frames):
        start = frame.start
        following = frames[i + 1].start if i + 1 < len(frames) else 1 << 64
        end = min(frame.end, following)
        for at, rule in packed.rows(frame):
            if start + at >= end:
                break
            if rule != before:
                before = rule
                yield start + at, rule
        if following - end >= SMALL_GAP:
            before = u.GAP
            yield end, u.GAP


class _Packer:
    """Rules to packed rules: a file has some hundred different ones, and functions that share their rows."""

    def __init__(self) -> None:
        self._rules: dict[tuple[Rule, bool], int] = {}
        self._rows: dict[int, list[tuple[int, int]]] = {}  # by the identity of the rows, which their frames keep alive

    def rows(self, frame: Frame) -> list[tuple[int, int]]:
        found = self._rows.get(id(frame.rows))
        if found is None:
            found = self._rows[id(frame.rows)] = [(at, self._rule(r, frame.signal)) for at, r in frame.rows]
        return found

    def _rule(self, rule: Rule, signal: bool) -> int:
        key = (rule, signal)
        found = self._rules.get(key)
        if found is None:
            found = self._rules[key] = pack(rule, signal=signal)
        return found


def pack(rule: Rule, *, signal: bool = False) -> int:
    """The packed form of a rule of x86-64; OTHER for what it cannot say."""
    if signal:
        return u.SIGNAL if _is_ucontext(rule) else u.OTHER
    if rule.ret.how == "undefined" and (rule.code or rule.register >= 0):
        return u.END
    slot = _slot(rule.frame)
    if rule.ret != _RETURN or slot is None:
        return u.OTHER
    if not rule.code:
        kind = {_SP: u.SP, _FP: u.FP}.get(rule.register)
        return u.OTHER if kind is None or rule.offset % 8 else u.pack_rule(kind, rule.offset // 8, slot)
    plt = PLT_RULE.fullmatch(rule.code)
    if plt:
        return u.pack_rule(u.PLT, plt[1][0] - 0x30, slot)
    where = dereferenced(rule.code)
    if where is None or where[0] not in (_SP, _FP) or where[1] % 8:
        return u.OTHER
    return u.pack_rule(u.AT_SP if where[0] == _SP else u.AT_FP, where[1] // 8, slot)


def _slot(frame: Kept) -> int | None:
    match frame.how:
        case "same" | "undefined":
            return 0
        case "at" if frame.number and frame.number % 8 == 0:
            number = frame.number // 8
            return number if u.AT_FRAME < number < -u.AT_FRAME else None
        case "expression" if frame.code == bytes([_BREG + _FP, 0]):
            return u.AT_FRAME
        case _:
            return None


def dereferenced(code: bytes) -> tuple[int, int] | None:
    """Register and offset of ``DW_OP_bregN offset; DW_OP_deref``."""
    if len(code) < 3 or code[-1] != _DEREF or not _BREG <= code[0] < _BREG + 32:
        return None
    return (code[0] - _BREG, sleb(code, 1)[0]) if sleb(code, 1)[1] == len(code) - 1 else None


def _is_ucontext(rule: Rule) -> bool:
    """Whether a signal's frame is where the kernel puts it."""
    return (
        dereferenced(rule.code) == (_SP, u.SIGNAL_SP)
        and dereferenced(rule.ret.code + bytes([_DEREF])) == (_SP, u.SIGNAL_IP)
        and dereferenced(rule.frame.code + bytes([_DEREF])) == (_SP, u.SIGNAL_BP)
    )
