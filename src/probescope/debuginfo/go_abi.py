"""Where Go functions have their arguments when they are entered, and their results when they return.

Values are taken apart into words: a string is two, a slice three, a struct its members. Those that fit go into
registers, integers and pointers and floats each in their own order; a value that does not fit as a whole is on the
stack. Before Go 1.17 all of them are.
Source: src/cmd/compile/abi-internal.md of Go.
"""

from __future__ import annotations

import re

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.values.vtypes import VType, VTypes
from probescope.frozen import dataclass, replace
from probescope.model.arch import Arch
from probescope.model.capture import Pieces
from probescope.model.fetch import Deref, Fetch, Immediate, Register

INTEGERS = ("ax", "bx", "cx", "di", "si", "r8", "r9", "r10", "r11")
FLOATS = 15
REGISTER_ABI = (1, 17)
"""Since then arguments are passed in registers on x86-64."""
G = "r14"
"""The register that has the goroutine, since 1.17."""
AT_VARIABLE_PARAMETER = 0x4B
MAX_PARAMETERS = 256
MAX_DEPTH = 16


def go_arch(arch: Arch, registers: bool) -> Arch:
    """With the arguments' registers of Go."""
    return replace(arch, arg_regs=INTEGERS if registers else (), stack_args=8)


@dataclass(frozen=True, slots=True)
class GoValue:
    """``x`` ``None``: in registers of floating-point numbers, or nowhere that is known."""

    name: str
    die: Die | None
    type: VType
    x: Fetch | None


class _NoRoom(Exception):
    """It goes on the stack."""


class _Registers:
    def __init__(self, registers: bool) -> None:
        self.integers, self.floats = (0, 0) if registers else (len(INTEGERS), FLOATS)
        self.stack = 0

    def place(self, t: VType) -> Fetch | None:
        before = self.integers, self.floats
        pieces: list[tuple[Fetch | None, int, int]] = []
        try:
            self._words(t, 0, pieces, 0)
        except _NoRoom:
            self.integers, self.floats = before
            return None
        return _together(pieces, t.size)

    def spilled(self, t: VType) -> int:
        """Bytes from where stack arguments begin."""
        align = max(t.align(), 1)
        at = -(-self.stack // align) * align
        self.stack = at + t.size
        return at

    def _words(self, t: VType, at: int, out: list[tuple[Fetch | None, int, int]], depth: int) -> None:
        if depth > MAX_DEPTH or t.size > 8 * len(INTEGERS) * 2:
            raise _NoRoom
        if t.kind == "struct":
            for m in t.members:
                self._words(m.type, at + m.offset, out, depth + 1)
        elif t.kind == "array":
            if t.count > 1:
                raise _NoRoom
            if t.count:
                self._words(t.target, at, out, depth + 1)
        elif t.kind == "float":
            if self.floats >= FLOATS:
                raise _NoRoom
            self.floats += 1
            out.append((None, at, t.size))
        elif t.size:
            if self.integers >= len(INTEGERS) or t.size > 8:
                raise _NoRoom
            out.append((Register(INTEGERS[self.integers]), at, t.size))
            self.integers += 1


def _together(pieces: list[tuple[Fetch | None, int, int]], size: int) -> Fetch | None:
    """With what lies between members; ``Immediate`` 0 stands for what cannot be read."""
    if not pieces or all(x is None for x, _, _ in pieces):
        return Deref(Immediate(0), 0) if not pieces and size else None
    parts: list[tuple[Fetch, int]] = []
    end = 0
    for x, at, n in sorted(pieces, key=lambda p: p[1]):
        if at > end:
            parts.append((Immediate(0), at - end))
        parts.append((x if x is not None else Immediate(0), n))
        end = at + n
    return Pieces(tuple(parts)) if len(parts) > 1 else parts[0][0]


def by_registers(producer: str) -> bool:
    """By what a unit says of the compiler: ``Go cmd/compile go1.19.8; regabi``."""
    found = re.search(r"go(\d+)\.(\d+)", producer)
    return found is None or (int(found[1]), int(found[2])) >= REGISTER_ABI


def values(function: Die, types: VTypes, arch: Arch, registers: bool) -> tuple[list[GoValue], list[GoValue]]:
    """Parameters at the entry, and results at a return. Raises ``DwarfError``."""
    dies = [p for _, p in zip(range(MAX_PARAMETERS), _declared(function), strict=False)]
    given = [p for p in dies if not p.flag(AT_VARIABLE_PARAMETER)]
    results = [p for p in dies if p.flag(AT_VARIABLE_PARAMETER)]
    into = _Registers(registers)
    found = [_placed(p, types, into, arch) for p in given]
    out = _Registers(registers)
    out.stack = -(-into.stack // 8) * 8
    return found, [_placed(p, types, out, arch) for p in results]


def _placed(p: Die, types: VTypes, where: _Registers, arch: Arch) -> GoValue:
    kind = p.type()
    t = types.of(kind)
    before = where.integers, where.floats
    x = where.place(t)
    if x is None and (where.integers, where.floats) == before and t.size:
        x = Deref(Register(arch.sp), arch.stack_args + where.spilled(t))
    return GoValue(p.full_name(), kind, t, x)


def _declared(function: Die) -> list[Die]:
    for die in function.lineage():
        found = list(die.children(c.TAG_PARAM))
        if found:
            return found
    return []
