"""Location expressions, as far as they can be told before the program runs: a register, memory beside a register, a
constant, or pieces of those.

    DW_OP_reg5                          Held("di")
    DW_OP_fbreg -20                     Near("bp" or so, -20)
    DW_OP_fbreg -20 DW_OP_deref         Behind("bp" or so, -20, 0): of what is passed by its address
    DW_OP_addr 0x4010                   Static(0x4010)
    DW_OP_lit0 DW_OP_stack_value        Fixed(0)
    DW_OP_breg3 32 DW_OP_stack_value    Sum("bx", 32)
    DW_OP_fbreg -80 DW_OP_deref DW_OP_const1u 48 DW_OP_minus DW_OP_stack_value              Loaded("bp" or so, -80, -48)
    DW_OP_reg5 DW_OP_piece 8 DW_OP_reg4 DW_OP_piece 4          Pieces(...)

Source: DWARF 5, 2.5 and 2.6, 7.7.1; System V AMD64 psABI figure 3.36 and DWARF for the Arm 64-bit Architecture 4.1 for
the numbers of registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probescope.debuginfo.leb128 import sleb, uleb
from probescope.model.arch import Arch

MAX_OPS = 256
MAX_STACK = 64


class Held(NamedTuple):
    """In a register. ``name`` is empty for one that BPF cannot read."""

    name: str


class Near(NamedTuple):
    """In memory, ``offset`` bytes from where a register points."""

    register: str
    offset: int


class Behind(NamedTuple):
    """In memory, ``inner`` bytes from where the pointer at ``offset`` bytes from a register points."""

    register: str
    offset: int
    inner: int


class Sum(NamedTuple):
    """No place: the value is what a register holds, and a number."""

    register: str
    offset: int


class Loaded(NamedTuple):
    """No place: the value is the word in memory ``offset`` bytes from where a register points, and a number."""

    register: str
    offset: int
    plus: int


class Fixed(NamedTuple):
    """A constant."""

    value: int


class Static(NamedTuple):
    """In memory at an address of the file."""

    address: int


class Pieces(NamedTuple):
    """(place, bytes) of a value in several places; ``None`` for a piece that is nowhere."""

    parts: tuple[tuple[Place | None, int], ...]


Place = Held | Near | Behind | Sum | Loaded | Fixed | Static | Pieces


class _Value(NamedTuple):
    """Content of ``register`` plus ``number``; of no register a plain number, or an address of the file. With
    ``behind``: the word in memory there, plus that."""

    register: str
    number: int
    static: bool = False
    behind: int | None = None


class _Unknown(Exception):
    """What only the running program can tell."""


class Moment(NamedTuple):
    """Where the program is when the expression is asked for: ``cfa`` of that instruction (``None``: not known), and
    whether the function is entered there. ``indexed``: addresses by their number in .debug_addr."""

    cfa: Near | None
    entry: bool = True
    indexed: Callable[[int], int] | None = None


def evaluate(
    expression: bytes, arch: Arch, *, frame: Near | None = None, size: int = 8, moment: Moment | None = None
) -> Place | None:
    """``frame``: what DW_OP_fbreg counts from. ``moment``: by default the entry of the function. ``None`` for
    everything else that an expression may say."""
    if not expression:
        return None
    if moment is None:
        moment = Moment(Near(arch.sp, arch.stack_args))
    try:
        return _Machine(expression, arch, frame, size, moment).run()
    except (IndexError, _Unknown):
        return None


class _Machine:
    def __init__(self, data: bytes, arch: Arch, frame: Near | None, size: int, moment: Moment) -> None:
        self.data, self.arch, self.frame, self.size, self.moment = data, arch, frame, size, moment
        self.at = 0
        self.stack: list[_Value] = []
        self.place: Place | None = None
        self.pieces: list[tuple[Place | None, int]] = []

    def run(self) -> Place | None:
        for _ in range(MAX_OPS):
            if self.at >= len(self.data):
                return Pieces(tuple(self.pieces)) if self.pieces else self._result()
            op = self.data[self.at]
            self.at += 1
            self._step(op)
        return None

    def _result(self) -> Place | None:
        if self.place is not None:
            return self.place
        if not self.stack:
            return None
        top = self.stack[-1]
        if top.behind is not None:
            return Behind(top.register, top.number, top.behind)
        if top.static:
            return Static(top.number)
        return Near(top.register, top.number) if top.register else None

    def _step(self, op: int) -> None:
        if 0x50 <= op <= 0x6F or op == 0x90:  # reg0, regx
            self.place = Held(self._register(op - 0x50 if op != 0x90 else self._uleb()))
        elif 0x70 <= op <= 0x8F or op == 0x92:  # breg0, bregx
            name = self._register(op - 0x70 if op != 0x92 else self._uleb())
            offset = self._sleb()
            if not name:  # that of xmm0 is no number
                raise _Unknown
            self._push(name, offset)
        elif 0x30 <= op <= 0x4F:  # lit0
            self._push("", op - 0x30)
        elif 0x08 <= op <= 0x11:
            self._push("", self._constant(op))
        elif op == 0x9C:  # call_frame_cfa
            if self.moment.cfa is None:
                raise _Unknown
            self._push(*self.moment.cfa)
        elif op == 0x91:  # fbreg
            offset = self._sleb()
            if self.frame is None:
                raise _Unknown
            self._push(self.frame.register, self.frame.offset + offset)
        elif op in (0x22, 0x23, 0x1C):
            self._add(op)
        elif op == 0x06:  # deref
            top = self.stack.pop()
            if not top.register or top.static or top.behind is not None:
                raise _Unknown
            self.stack.append(top._replace(behind=0))
        elif op in (0x03, 0xA1, 0xFB):
            self.stack.append(_Value("", self._address(op), static=True))
        elif op in (0x9F, 0x93, 0x9E, 0xA3, 0xF3, 0x96):
            self._special(op)
        else:
            raise _Unknown

    def _special(self, op: int) -> None:
        if op == 0x9F:  # stack_value
            top = self.stack[-1]
            if top.static:
                raise _Unknown
            if top.behind is not None:
                self.place = Loaded(top.register, top.number, top.behind)
            elif top.register:
                self.place = Sum(top.register, top.number) if top.number else Held(top.register)
            else:
                self.place = Fixed(top.number)
        elif op == 0x93:  # piece
            self.pieces.append((self._result(), self._uleb()))
            self.place, self.stack = None, []
        elif op == 0x9E:  # implicit_value
            data = self._block()
            if len(data) > 8:
                raise _Unknown
            self.place = Fixed(int.from_bytes(data, "little"))
        elif op in (0xA3, 0xF3):  # entry_value: at the entry that is now
            name = self._only_register(self._block())
            if not name or not self.moment.entry:
                raise _Unknown
            self._push(name, 0)

    def _add(self, op: int) -> None:
        if op == 0x23:  # plus_uconst
            top = self.stack.pop()
            more = self._uleb()
            if top.behind is not None:
                self.stack.append(top._replace(behind=top.behind + more))
            else:
                self.stack.append(top._replace(number=top.number + more))
            return
        second, first = self.stack.pop(), self.stack.pop()
        if (second.register and (first.register or op == 0x1C)) or first.static or second.static:
            raise _Unknown
        if first.behind is not None or second.behind is not None:
            self._add_behind(first, second, op)
            return
        number = first.number + second.number if op == 0x22 else first.number - second.number
        self._push(first.register or second.register, number)

    def _add_behind(self, first: _Value, second: _Value, op: int) -> None:
        """A number to a word of memory."""
        if second.behind is not None:
            if op == 0x1C:
                raise _Unknown
            first, second = second, first
        if first.behind is None or second.behind is not None or second.register:
            raise _Unknown
        self.stack.append(first._replace(behind=first.behind + (second.number if op == 0x22 else -second.number)))

    def _address(self, op: int) -> int:
        """addr, addrx, GNU_addr_index"""
        if op != 0x03:
            if self.moment.indexed is None:
                raise _Unknown
            return self.moment.indexed(self._uleb())
        data = self.data[self.at : self.at + 8]
        if len(data) < 8:
            raise IndexError
        self.at += 8
        return int.from_bytes(data, "little")

    def _push(self, register: str, number: int) -> None:
        if len(self.stack) >= MAX_STACK:
            raise _Unknown
        self.stack.append(_Value(register, number))

    def _register(self, number: int) -> str:
        names = self.arch.dwarf_regs
        return names[number] if number < len(names) else ""

    def _only_register(self, block: bytes) -> str:
        """What the expression of an entry value is, as compilers write it; empty for anything else."""
        if len(block) == 1 and 0x50 <= block[0] <= 0x6F:
            return self._register(block[0] - 0x50)
        if block[:1] == b"\x90":  # regx
            number, end = uleb(block, 1)
            return self._register(number) if end == len(block) else ""
        return ""

    def _constant(self, op: int) -> int:
        if op in (0x10, 0x11):
            return self._uleb() if op == 0x10 else self._sleb()
        width = 1 << (op - 0x08) // 2
        data = self.data[self.at : self.at + width]
        if len(data) < width:
            raise IndexError
        self.at += width
        return int.from_bytes(data, "little", signed=bool(op & 1))

    def _block(self) -> bytes:
        size = self._uleb()
        data = self.data[self.at : self.at + size]
        if len(data) < size:
            raise IndexError
        self.at += size
        return data

    def _uleb(self) -> int:
        value, self.at = uleb(self.data, self.at)
        return value

    def _sleb(self) -> int:
        value, self.at = sleb(self.data, self.at)
        return value
