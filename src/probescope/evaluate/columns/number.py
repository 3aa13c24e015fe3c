"""Arithmetic on whole columns at the width and sign of a type, as ``evaluate.arithmetic`` has it for one value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from probescope.evaluate.arithmetic import AT_ZERO
from probescope.evaluate.columns.values import Column, dtype_of
from probescope.model.types import Type, width

Binary = Callable[[Column, Column], Column]

COMPARE: dict[str, Binary] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

_PLAIN: dict[str, Binary] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def arithmetic(op: str, t: Type) -> Binary:
    """Both operands have the type ``t``, whose width wraps; shifts count modulo it, whatever type they come in."""
    plain = _PLAIN.get(op)
    if plain is not None:
        return plain
    bits = width(t) * 8
    if op in ("shl", "shr"):
        shift = np.left_shift if op == "shl" else np.right_shift
        return lambda a, b: shift(a, np.mod(b, b.dtype.type(bits)).astype(a.dtype))
    return _divided if op == "div" else _rest


def _divided(a: Column, b: Column) -> Column:
    """Toward zero; 1 where the divisor is 0."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    with np.errstate(over="ignore"):
        floor = a // safe
        if a.dtype.kind == "i":
            floor = floor + ((a - floor * safe != 0) & ((a < 0) != (safe < 0)))
    return _where_zero(b, floor.astype(a.dtype, copy=False))


def _rest(a: Column, b: Column) -> Column:
    with np.errstate(over="ignore"):
        rest = a - _divided(a, b) * b
    return _where_zero(b, rest.astype(a.dtype, copy=False))


def _where_zero(b: Column, result: Column) -> Column:
    result[b == 0] = AT_ZERO
    return result


def cast(v: Column, to: Type) -> Column:
    """To another scalar type: extended by the source's sign, or cut; a Bool says whether it is not zero."""
    kind = dtype_of(to)
    out: Column = v != 0 if kind == "?" else v.astype(kind, copy=False)
    return out


def bit_length(v: Column) -> Column:
    """Of u8 values. Only the leading bit is kept before it becomes a float, so that nothing is rounded up."""
    lead = v & ~(v >> np.uint64(1))
    out: Column = np.frexp(lead.astype(np.float64))[1].astype(np.uint64)
    return out
