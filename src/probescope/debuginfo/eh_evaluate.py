"""One step up a stack by a rule in its general form: any register, any expression.

    registers of a frame, its rule, memory  ──►  registers of its caller

Registers are numbered as DWARF has them: of x86-64 6 frame pointer, 7 stack pointer, 16 return address. What a rule
says nothing of is unchanged where the ABI says so, and unknown otherwise.

Source: DWARF 5, 2.5 and 6.4; System V ABI for AMD64, figures 3.4 and 3.36.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

from probescope.debuginfo.eh_rules import X86_64, Conventions, Kept, Rule
from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import ElfError

MOST_OPS = 128
MOST_STACK = 64
_MASK = (1 << 64) - 1

Get = Callable[[int], int | None]
"""A register's content, or a word of memory; ``None`` where it is not known."""


class Unknown(Exception):
    """A register or a word of memory is needed that is not known, or an expression says what is not read here."""


class Caller(NamedTuple):
    """``frame``: the frame pointer; ``None`` where it is not known."""

    ip: int
    sp: int
    frame: int | None


def step(rule: Rule, register: Get, read: Get, machine: Conventions = X86_64) -> Caller:
    """The caller's registers. Raises ``Unknown``."""
    cfa = evaluate(rule.code, register, read) if rule.code else _must(register(rule.register)) + rule.offset & _MASK
    back = machine.link if machine.link >= 0 else machine.ip
    ret = _must(restored(back, rule.ret, cfa, register, read, machine)) & machine.mask
    return Caller(ret, cfa, restored(machine.frame, rule.frame, cfa, register, read, machine))


def restored(
    number: int, kept: Kept | None, cfa: int, register: Get, read: Get, machine: Conventions = X86_64
) -> int | None:
    """What a register holds in the caller. ``kept``: what the rule says of it, ``None`` for nothing. Raises
    ``Unknown``."""
    if kept is None or kept.how == "same":
        return register(number) if number in machine.preserved else None
    match kept.how:
        case "undefined":
            return None
        case "at":
            return read(cfa + kept.number & _MASK)
        case "is":
            return cfa + kept.number & _MASK
        case "register":
            return register(kept.number)
        case "expression":
            return read(evaluate(kept.code, register, read, cfa))
        case _:
            return evaluate(kept.code, register, read, cfa)


def _must(value: int | None) -> int:
    if value is None:
        raise Unknown
    return value


def evaluate(code: bytes, register: Get, read: Get, first: int | None = None) -> int:
    """The value of an expression; ``first`` is on the stack when it begins. Raises ``Unknown``."""
    machine = _Machine(code, register, read)
    machine.stack = [] if first is None else [first]
    try:
        return machine.run()
    except (IndexError, ElfError, ZeroDivisionError):
        raise Unknown from None


def _signed(value: int) -> int:
    return value - (value >> 63 << 64)


def _divided(a: int, b: int) -> int:
    """Signed, toward zero."""
    x, y = _signed(a), _signed(b)
    return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)


def _shifted(a: int, b: int) -> int:
    return a << b if b < 64 else 0


_TWO: dict[int, Callable[[int, int], int]] = {
    0x1A: operator.and_,
    0x1B: _divided,
    0x1C: operator.sub,
    0x1D: operator.mod,
    0x1E: operator.mul,
    0x21: operator.or_,
    0x22: operator.add,
    0x24: _shifted,
    0x25: lambda a, b: a >> min(b, 64),
    0x26: lambda a, b: _signed(a) >> min(b, 64),
    0x27: operator.xor,
    0x29: operator.eq,
    0x2A: lambda a, b: _signed(a) >= _signed(b),
    0x2B: lambda a, b: _signed(a) > _signed(b),
    0x2C: lambda a, b: _signed(a) <= _signed(b),
    0x2D: lambda a, b: _signed(a) < _signed(b),
    0x2E: operator.ne,
}
_ONE: dict[int, Callable[[int], int]] = {0x19: lambda a: abs(_signed(a)), 0x1F: operator.neg, 0x20: operator.invert}
_CONST = {
    0x08: (1, 0),
    0x09: (1, 1),
    0x0A: (2, 0),
    0x0B: (2, 1),
    0x0C: (4, 0),
    0x0D: (4, 1),
    0x0E: (8, 0),
    0x0F: (8, 1),
}
_CONST[0x03] = (8, 0)


class _Machine:
    def __init__(self, code: bytes, register: Get, read: Get) -> None:
        self.code, self.register, self.read = code, register, read
        self.at = 0
        self.stack: list[int] = []

    def run(self) -> int:
        for _ in range(MOST_OPS):
            if self.at >= len(self.code):
                return self.stack[-1] & _MASK
            op = self.code[self.at]
            self.at += 1
            self.operation(op)
            if len(self.stack) > MOST_STACK:
                raise Unknown
        raise Unknown

    def operation(self, op: int) -> None:
        stack = self.stack
        if 0x30 <= op < 0x50:
            stack.append(op - 0x30)
        elif 0x70 <= op < 0x90:
            stack.append(self.beside(op - 0x70))
        elif op in _CONST:
            size, signed = _CONST[op]
            stack.append(int.from_bytes(self.take(size), "little", signed=bool(signed)) & _MASK)
        elif op in _TWO:
            b, a = stack.pop(), stack.pop()
            stack.append(int(_TWO[op](a, b)) & _MASK)
        elif op in _ONE:
            stack.append(_ONE[op](stack.pop()) & _MASK)
        else:
            self.other(op)

    def other(self, op: int) -> None:
        stack = self.stack
        match op:
            case 0x06:  # deref
                stack.append(_must(self.read(stack.pop())))
            case 0x94:  # deref_size
                size = self.take(1)[0]
                stack.append(_must(self.read(stack.pop())) & (1 << 8 * size) - 1)
            case 0x10:
                stack.append(self.uleb())
            case 0x11:
                stack.append(self.sleb() & _MASK)
            case 0x12:  # dup
                stack.append(stack[-1])
            case 0x14:  # over
                stack.append(stack[-2])
            case 0x15:  # pick
                stack.append(stack[-1 - self.take(1)[0]])
            case 0x13:
                stack.pop()
            case 0x16:
                stack[-1], stack[-2] = stack[-2], stack[-1]
            case 0x17:
                stack[-1], stack[-2], stack[-3] = stack[-2], stack[-3], stack[-1]
            case 0x23:
                stack.append(stack.pop() + self.uleb() & _MASK)
            case 0x28 | 0x2F:  # bra, skip
                distance = int.from_bytes(self.take(2), "little", signed=True)
                if op == 0x2F or stack.pop():
                    self.at += distance
                if self.at < 0:
                    raise Unknown
            case 0x92:
                stack.append(self.beside(self.uleb()))
            case 0x96:
                pass
            case _:
                raise Unknown

    def beside(self, number: int) -> int:
        return _must(self.register(number)) + self.sleb() & _MASK

    def take(self, size: int) -> bytes:
        found = self.code[self.at : self.at + size]
        if len(found) < size:
            raise Unknown
        self.at += size
        return found

    def uleb(self) -> int:
        value, self.at = uleb(self.code, self.at)
        return value

    def sleb(self) -> int:
        value, self.at = sleb(self.code, self.at)
        return value
