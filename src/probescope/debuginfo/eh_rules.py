"""How the caller's registers are found: rules, and the programs of .eh_frame that make them (DWARF 5, 6.4).

A program is a list of instructions. It walks through a function and says, from one place to the next, where the CFA is
(the canonical frame address: the stack pointer of the caller before its call) and where registers are kept. Of these
two matter for nearly every walk up the stack: the frame pointer and the return address. The ``others`` are kept where a
reader asks for ``every`` register.

    pc      CFA        frame pointer   return address        x86-64, push %rbp; mov %rsp,%rbp
    +0      rsp + 8    same            at CFA - 8
    +1      rsp + 16   at CFA - 16     at CFA - 8
    +4      rbp + 16   at CFA - 16     at CFA - 8
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import ElfError

MAX_REMEMBERED = 64
"""Depth of DW_CFA_remember_state: compilers need one or two."""

MAX_OTHERS = 64
"""Other registers that a rule speaks of: machines have fewer that matter."""

How = Literal["same", "undefined", "at", "is", "register", "expression", "value"]


class Kept(NamedTuple):
    """Where a register of the caller is: the ``same`` as now, nowhere (``undefined``), in memory ``at`` CFA + number,
    CFA + number itself (``is``), in another ``register``, in memory where an ``expression`` says, or its ``value``."""

    how: How
    number: int = 0
    code: bytes = b""


SAME, UNDEFINED = Kept("same"), Kept("undefined")


class Rule(NamedTuple):
    """CFA = ``register`` + ``offset``, or by ``code``, an expression. ``register`` -1 without code: not known.
    ``others``: further registers of which something is said, ascending, if they were asked for."""

    register: int
    offset: int
    code: bytes
    frame: Kept
    ret: Kept
    others: tuple[tuple[int, Kept], ...] = ()


UNKNOWN = Rule(-1, 0, b"", SAME, SAME)
"""Of a place whose program is malformed or says what is not read here."""

Rows = list[tuple[int, Rule]]
"""(bytes from the function's start, rule from there on), ascending."""


class Conventions(NamedTuple):
    """Register numbers of a machine: frame pointer and stack pointer. ``leaf``: how the return address is kept where
    nothing is said of it: in its own register (AArch64), or nowhere. ``ip``: what stands for the instruction pointer;
    ``link``: the register of return addresses, -1 where calls push them. ``preserved``: registers that a called
    function gives back as they were. ``mask``: bits of code's addresses; others may sign them."""

    name: str
    frame: int
    stack: int
    leaf: Kept
    ip: int
    link: int = -1
    preserved: frozenset[int] = frozenset()
    mask: int = (1 << 64) - 1


X86_64 = Conventions("x86_64", 6, 7, UNDEFINED, 16, preserved=frozenset((3, 6, 12, 13, 14, 15)))
"""System V ABI for AMD64, figures 3.4 and 3.36."""
AARCH64 = Conventions("aarch64", 29, 31, SAME, 32, 30, frozenset(range(19, 31)), (1 << 48) - 1)
"""DWARF for the Arm 64-bit Architecture, table 4.1, where the instruction pointer has number 32; Procedure Call
Standard, 6.1.1. Bits above the 48th may be a pointer's authentication code."""
MACHINES: dict[str, Conventions] = {m.name: m for m in (X86_64, AARCH64)}


class Start(NamedTuple):
    """What all functions of a CIE begin with."""

    code_align: int
    data_align: int
    frame: int  # the frame pointer's register number
    ret: int  # the return address's
    leaf: Kept
    little: bool = True
    every: bool = False  # the other registers too


class Program:
    """Runs programs of one CIE. ``run`` is pure; what it gave for the same bytes before is given again: functions that
    save the same registers have the same program."""

    def __init__(self, start: Start, initial: bytes) -> None:
        self.start = start
        self._known: dict[bytes, Rows] = {}
        self._first = UNKNOWN._replace(ret=start.leaf)
        self._first = _Walk(self).walk(initial)[-1][1]

    @property
    def first(self) -> Rule:
        """The rule of a function's first instruction."""
        return self._first

    def run(self, code: bytes) -> Rows:
        """At least one row, the first one at 0. From where the program is malformed on the rule is UNKNOWN."""
        rows = self._known.get(code)
        if rows is None:
            rows = self._known[code] = _Walk(self).walk(code)
        return rows


class _Walk:
    """The state of one program while it runs."""

    __slots__ = (
        "at", "code", "frame", "loc", "offset", "others", "program", "register", "remembered", "ret", "rows", "start",
    )  # fmt: skip

    def __init__(self, program: Program) -> None:
        self.program = program
        self.start = program.start
        self.loc = 0
        self.rows: Rows = []
        self.remembered: list[Rule] = []
        self.at = 0
        self.set(program.first)

    def set(self, rule: Rule) -> None:
        self.register, self.offset, self.code, self.frame, self.ret, self.others = rule

    def walk(self, data: bytes) -> Rows:
        at, end = 0, len(data)
        try:
            while at < end:
                op = data[at]
                at += 1
                high = op & 0xC0
                if high == 0x40:  # DW_CFA_advance_loc
                    self.advance(op & 0x3F)
                elif op == 0x0E:  # DW_CFA_def_cfa_offset
                    self.offset, at = uleb(data, at)
                elif high == 0x80:  # DW_CFA_offset
                    number, at = uleb(data, at)
                    self.keep(op & 0x3F, Kept("at", number * self.start.data_align))
                elif high == 0xC0:  # DW_CFA_restore
                    self.restore(op & 0x3F)
                elif op:
                    at = _OPS[op](self, data, at)
        except (IndexError, KeyError, ElfError):
            self.set(UNKNOWN)
        self.row()
        return self.rows

    def row(self) -> None:
        rule = Rule(self.register, self.offset, self.code, self.frame, self.ret, self.others)
        if self.rows and self.rows[-1][0] == self.loc:
            self.rows[-1] = (self.loc, rule)
        elif not self.rows or self.rows[-1][1] != rule:
            self.rows.append((self.loc, rule))

    def advance(self, delta: int) -> None:
        self.row()
        self.loc += delta * self.start.code_align

    def keep(self, register: int, kept: Kept) -> None:
        if register == self.start.ret:
            self.ret = kept
        elif register == self.start.frame:
            self.frame = kept
        elif self.start.every:
            self.others = tuple(sorted({**dict(self.others), register: kept}.items()))[:MAX_OTHERS]

    def restore(self, register: int) -> None:
        first = self.program.first
        if register == self.start.ret:
            self.ret = first.ret
        elif register == self.start.frame:
            self.frame = first.frame
        elif self.start.every:
            before = dict(first.others).get(register, SAME)
            self.others = tuple(sorted({**dict(self.others), register: before}.items()))[:MAX_OTHERS]


_Step = Callable[[_Walk, bytes, int], int]


def _advance(size: int) -> _Step:
    def step(w: _Walk, data: bytes, at: int) -> int:
        raw = data[at : at + size]
        if len(raw) < size:
            raise IndexError
        w.advance(int.from_bytes(raw, "little" if w.start.little else "big"))
        return at + size

    return step


def _kept(how: How, *, signed: bool, scaled: bool) -> _Step:
    """register, number"""

    def step(w: _Walk, data: bytes, at: int) -> int:
        register, at = uleb(data, at)
        number, at = (sleb if signed else uleb)(data, at)
        w.keep(register, Kept(how, number * w.start.data_align if scaled else number))
        return at

    return step


def _bare(kept: Kept) -> _Step:
    def step(w: _Walk, data: bytes, at: int) -> int:
        register, at = uleb(data, at)
        w.keep(register, kept)
        return at

    return step


def _restore(w: _Walk, data: bytes, at: int) -> int:
    register, at = uleb(data, at)
    w.restore(register)
    return at


def _negative(w: _Walk, data: bytes, at: int) -> int:
    register, at = uleb(data, at)
    number, at = uleb(data, at)
    w.keep(register, Kept("at", -number * w.start.data_align))
    return at


def _expression(how: How) -> _Step:
    def step(w: _Walk, data: bytes, at: int) -> int:
        register, at = uleb(data, at)
        code, at = _block(data, at)
        w.keep(register, Kept(how, 0, code))
        return at

    return step


def _block(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = uleb(data, at)
    if size > len(data) - at:
        raise IndexError
    return data[at : at + size], at + size


def _remember(w: _Walk, _data: bytes, at: int) -> int:
    if len(w.remembered) >= MAX_REMEMBERED:
        raise ElfError("DW_CFA_remember_state is nested too deeply")
    w.remembered.append(Rule(w.register, w.offset, w.code, w.frame, w.ret, w.others))
    return at


def _recall(w: _Walk, _data: bytes, at: int) -> int:
    w.set(w.remembered.pop())
    return at


def _cfa(*, signed: bool) -> _Step:
    def step(w: _Walk, data: bytes, at: int) -> int:
        w.register, at = uleb(data, at)
        number, at = (sleb if signed else uleb)(data, at)
        w.offset, w.code = (number * w.start.data_align if signed else number), b""
        return at

    return step


def _cfa_register(w: _Walk, data: bytes, at: int) -> int:
    w.register, at = uleb(data, at)
    w.code = b""
    return at


def _cfa_offset(w: _Walk, data: bytes, at: int) -> int:
    number, at = sleb(data, at)
    w.offset = number * w.start.data_align
    return at


def _cfa_expression(w: _Walk, data: bytes, at: int) -> int:
    w.register, w.offset = -1, 0
    w.code, at = _block(data, at)
    return at


def _arguments(_w: _Walk, data: bytes, at: int) -> int:
    return uleb(data, at)[1]


def _nothing(_w: _Walk, _data: bytes, at: int) -> int:
    return at


_OPS: dict[int, _Step] = {
    0x02: _advance(1),
    0x03: _advance(2),
    0x04: _advance(4),
    0x05: _kept("at", signed=False, scaled=True),  # offset_extended
    0x06: _restore,  # restore_extended
    0x07: _bare(UNDEFINED),
    0x08: _bare(SAME),
    0x09: _kept("register", signed=False, scaled=False),
    0x0A: _remember,
    0x0B: _recall,
    0x0C: _cfa(signed=False),
    0x0D: _cfa_register,
    0x0F: _cfa_expression,
    0x10: _expression("expression"),
    0x11: _kept("at", signed=True, scaled=True),  # offset_extended_sf
    0x12: _cfa(signed=True),
    0x13: _cfa_offset,
    0x14: _kept("is", signed=False, scaled=True),  # val_offset
    0x15: _kept("is", signed=True, scaled=True),
    0x16: _expression("value"),
    0x2D: _nothing,  # AArch64: the return address is signed from here on, or no longer
    0x2E: _arguments,  # GNU_args_size
    0x2F: _negative,  # GNU_negative_offset_extended
}
"""DW_CFA_set_loc (0x01) is missing: no compiler writes it, and what follows it is UNKNOWN."""
