"""Integer and text operations, as ``ir/expr.py`` defines them. Pure functions of Python values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from probescope.model.types import Bool, Type, is_scalar, signed, width, wrap

Binary = Callable[[Any, Any], Any]

_COMPARE: dict[str, Binary] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

_WRAPPED: dict[str, Binary] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def comparison(op: str) -> Binary:
    return _COMPARE[op]


def wrapper(t: Type) -> Callable[[int], int]:
    """``model.types.wrap`` to one type, which is looked at once."""
    if isinstance(t, Bool):
        return lambda v: int(bool(v))
    mask = (1 << 8 * width(t)) - 1
    if not signed(t):
        return lambda v: v & mask
    least, most = -(mask >> 1) - 1, mask >> 1

    def run(v: int) -> int:
        if least <= v <= most:
            return v
        v &= mask
        return v - mask - 1 if v > most else v

    return run


def arithmetic(op: str, t: Type) -> Binary:
    """``op`` on two values of type ``t``, wrapped to it. ``div`` and ``mod`` raise ``ZeroDivisionError``: see
    ``AT_ZERO``."""
    kept = wrapper(t)
    if op in _WRAPPED:
        f = _WRAPPED[op]
        return lambda a, b: kept(f(a, b))
    bits = width(t) * 8
    if op == "shl":
        return lambda a, b: kept(a << (b % bits))
    if op == "shr":
        return lambda a, b: kept(a >> (b % bits))
    if op == "div":
        return lambda a, b: kept(truncated(a, b))
    if op == "mod":
        return lambda a, b: kept(a - b * truncated(a, b))
    raise ValueError(op)


AT_ZERO = 1
"""The result of div and mod where the divisor is zero, as users of bpftrace know it."""


def truncated(a: int, b: int) -> int:
    """Division toward zero."""
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def text(value: bytes) -> bytes:
    """Up to the first NUL."""
    return value.split(b"\0", 1)[0]


def truth(value: Any, t: Type) -> bool:
    """Whether a condition holds: a scalar that is not zero, a text that is not empty."""
    if is_scalar(t):
        return bool(value)
    return any(value) if isinstance(value, bytes | tuple) else bool(value)


def to_bytes(value: int, t: Type) -> bytes:
    import sys

    return (value & ((1 << 8 * width(t)) - 1)).to_bytes(width(t), sys.byteorder)


def from_bytes(raw: bytes, t: Type) -> int:
    import sys

    return int.from_bytes(raw, sys.byteorder, signed=signed(t))


def byte_swap(value: int, t: Type) -> int:
    return wrap(int.from_bytes((value & ((1 << 8 * width(t)) - 1)).to_bytes(width(t), "little"), "big"), t)
