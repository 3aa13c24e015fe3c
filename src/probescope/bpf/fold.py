"""Arithmetic on known numbers, with the meaning that the instructions have. Values are signed 64-bit numbers, as in
``Op.imm``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from probescope.bpf.lir import signed64

_SIGNED_ALU = frozenset({"sdiv", "smod", "sar"})


def signed(value: int, bits: int) -> int:
    """The low ``bits`` of a number, as a signed one."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _truncating(a: int, b: int) -> int:
    """Division toward zero, where Python's goes down."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_ALU: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "div": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else a,
    "sdiv": lambda a, b: _truncating(a, b) if b else 0,
    "smod": lambda a, b: a - _truncating(a, b) * b if b else a,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "sar": lambda a, b: a >> b,
}


def alu(name: str, a: int, b: int, bits: int) -> int:
    """One operation; a 32-bit result has a zero upper half."""
    mask = (1 << bits) - 1
    if name in {"shl", "shr", "sar"}:
        b &= bits - 1
    elif name in _SIGNED_ALU:
        b = signed(b, bits)
    else:
        b &= mask
    a = signed(a, bits) if name in _SIGNED_ALU else a & mask
    return signed64(_ALU[name](a, b) & mask)


def swap(to: str, value: int, bits: int) -> int:
    """Byte order conversion on a little-endian host."""
    data = (value & ((1 << bits) - 1)).to_bytes(bits // 8, "little")
    return signed64(int.from_bytes(data, "little" if to == "le" else "big"))


_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "set": lambda a, b: bool(a & b),
}


def compare(cond: str, a: int, b: int, bits: int) -> bool:
    """Whether the branch is taken."""
    if cond.startswith("s") and cond != "set":
        return _COMPARE[cond[1:]](signed(a, bits), signed(b, bits))
    mask = (1 << bits) - 1
    return _COMPARE[cond](a & mask, b & mask)


MIRRORED: Final[Mapping[str, str]] = {
    "eq": "eq",
    "ne": "ne",
    "set": "set",
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
    "slt": "sgt",
    "sgt": "slt",
    "sle": "sge",
    "sge": "sle",
}
"""a OP b is b MIRRORED[OP] a."""

INVERSE: Final[Mapping[str, str]] = {
    "eq": "ne",
    "ne": "eq",
    "lt": "ge",
    "ge": "lt",
    "gt": "le",
    "le": "gt",
    "slt": "sge",
    "sge": "slt",
    "sgt": "sle",
    "sle": "sgt",
}
"""a OP b is not (a INVERSE[OP] b). ``set`` has none."""
