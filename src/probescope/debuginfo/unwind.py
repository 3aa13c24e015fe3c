"""Walking a stack by tables (model/unwind.py), step by step: what the program in the kernel does, in its plain form.

pc -> mapping -> table -> rule -> CFA -> return address = the next pc, CFA = its stack pointer
           no mapping, no rule -> the frame pointer, if it looks like one
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

from probescope.model import unwind as u

Why = Literal["end", "depth", "table", "rule", "read"]
"""Why a walk ended: at the outermost function; at the greatest depth; at code without a table; at a rule that tables
cannot say; at memory that cannot be read. In the last three there are callers that it does not show."""

_MASK = (1 << 64) - 1


class Registers(NamedTuple):
    ip: int
    sp: int
    fp: int


class Table(Protocol):
    def rule(self, address: int) -> int: ...


class Stack(NamedTuple):
    frames: list[int]
    why: Why


Find = Callable[[int], tuple[Table, int] | None]
"""The table of an address, and what to take off for the virtual address in its file."""
Read = Callable[[int], int | None]
"""The u64 at an address; None where there is none."""


class _Stop(Exception):
    why: Why

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


def unwind(regs: Registers, find: Find, read: Read, depth: int = 127) -> Stack:
    """The frames from the innermost on: the instruction pointer, then return addresses."""
    frames: list[int] = []
    interrupted = True  # the pc is that of the next instruction, not one after a call
    try:
        while len(frames) < depth:
            frames.append(regs.ip)
            regs, interrupted = _step(regs, interrupted, find, read)
            if regs.ip == 0:
                return Stack(frames, "end")
    except _Stop as stop:
        return Stack(frames, stop.why)
    return Stack(frames, "depth")


def _step(regs: Registers, interrupted: bool, find: Find, read: Read) -> tuple[Registers, bool]:
    pc = regs.ip - (not interrupted)
    found = find(pc)
    rule = found[0].rule(pc - found[1]) if found is not None else u.GAP
    kind, number, slot = u.unpack_rule(rule)
    if kind == u.END:
        raise _Stop("end")
    if kind in (u.GAP, u.OTHER):
        return _by_frame_pointer(regs, read, "table" if kind == u.GAP else "rule"), False
    if kind == u.SIGNAL:
        get = [_must(read, regs.sp + at) for at in (u.SIGNAL_IP, u.SIGNAL_SP, u.SIGNAL_BP)]
        return Registers(*get), True
    cfa = _cfa(regs, kind, number, read)
    ip = _must(read, cfa - 8)
    fp = regs.fp
    if slot == u.AT_FRAME:
        fp = _must(read, regs.fp)
    elif slot:
        fp = _must(read, cfa + 8 * slot)
    return Registers(ip, cfa, fp), False


def _cfa(regs: Registers, kind: int, number: int, read: Read) -> int:
    match kind:
        case u.SP:
            return regs.sp + 8 * number & _MASK
        case u.FP:
            return regs.fp + 8 * number & _MASK
        case u.PLT:
            return regs.sp + (16 if regs.ip & 15 >= number else 8)
        case u.AT_SP:
            return _must(read, regs.sp + 8 * number)
        case _:
            return _must(read, regs.fp + 8 * number)


def _must(read: Read, address: int) -> int:
    value = read(address & _MASK)
    if value is None:
        raise _Stop("read")
    return value


def _by_frame_pointer(regs: Registers, read: Read, why: Why) -> Registers:
    """Code of a JIT compiler, or assembly: many keep a frame pointer. What cannot be one ends the walk."""
    if regs.fp % 8 or not 0 <= regs.fp - regs.sp < u.MOST_FRAME:
        raise _Stop(why)
    fp, ip = read(regs.fp), read(regs.fp + 8)
    if fp is None or ip is None:
        raise _Stop(why)
    return Registers(ip, regs.fp + 16, fp)
