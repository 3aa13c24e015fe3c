"""Columns of values, whatever their type, and groups of rows whose values are equal.

- numbers: a numpy array, bool or an integer of the type's width and sign (pointers: u8);
- arrays of numbers: a numpy array with a row for each event;
- everything else: ``Coded``, for each row the place of its value in a list of different ones;
- tuples and records: ``Packed``, a column for each item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from probescope.frozen import dataclass
from probescope.model.abi import item_types
from probescope.model.types import Bool, Record, Tuple, Type, is_scalar, signed, width

Column = np.ndarray[Any, Any]
Rows = Column | None
"""Indices of events, ascending; ``None``: all of them."""

NARROW = 1 << 12
MOST_KEYS = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """``codes`` (i8) are places in ``values``."""

    codes: Column
    values: Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    items: tuple[Values, ...]


Values = Column | Coded | Packed


def dtype_of(t: Type) -> str:
    """That of a scalar's column."""
    if isinstance(t, Bool):
        return "?"
    return f"{'i' if signed(t) else 'u'}{width(t)}"


def take(v: Values, rows: Rows) -> Values:
    if rows is None:
        return v
    match v:
        case Coded(codes=codes, values=values):
            return Coded(codes[rows], values)
        case Packed(items=items):
            return Packed(tuple(take(i, rows) for i in items))
        case _:
            return v[rows]


def constant(value: Any, t: Type, count: int) -> Values:
    """The same value in every row."""
    if is_scalar(t):
        return np.full(count, value, dtype_of(t))
    if isinstance(value, tuple) and isinstance(t, Tuple | Record):
        return Packed(tuple(constant(v, i, count) for v, i in zip(value, item_types(t), strict=True)))
    return Coded(np.zeros(count, np.int64), [value])


def listed(v: Values) -> list[Any]:
    """As Python values, a row each."""
    match v:
        case Coded(codes=codes, values=values):
            return [values[c] for c in codes.tolist()]
        case Packed(items=items):
            return list(zip(*(listed(i) for i in items), strict=True))
        case _:
            out: list[Any] = v.tolist()
            return out if v.ndim == 1 else list(map(tuple, out))


def length(v: Values) -> int:
    match v:
        case Coded(codes=codes):
            return len(codes)
        case Packed(items=items):
            return length(items[0])
        case _:
            return len(v)


# --- groups


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """``code``: the group of each row, below ``size``; a number may be nobody's. Two groups of ``Coded`` values may be
    equal all the same, if the list of values repeats itself."""

    code: Column
    size: int

    def firsts(self) -> Column:
        """A row of each group that has any, in order of their numbers."""
        first = np.full(self.size, -1, np.int64)
        first[self.code] = np.arange(len(self.code))
        return first[first >= 0]


def groups(v: Values | None, count: int) -> Groups:
    """Rows by their values; ``None``: all are of one group. ``size`` is in proportion to ``count``."""
    if v is None or not count:
        return Groups(np.zeros(count, np.int64), 1)
    code, size = _codes(v)
    if size > max(NARROW, 4 * count):
        code, size = _dense(code)
    return Groups(code, size)


def _codes(v: Values) -> tuple[Column, int]:
    """A number for each row, equal for equal values, and how many numbers there may be."""
    match v:
        case Coded(codes=codes, values=values):
            return codes, max(1, len(values))
        case Packed(items=items):
            return _mixed([_codes(i) for i in items], length(v))
        case _ if v.ndim > 1:
            return _mixed([_narrowed(v[:, i]) for i in range(v.shape[1])], len(v))
        case _:
            return _narrowed(v)


def _narrowed(v: Column) -> tuple[Column, int]:
    if v.dtype == np.bool_:
        return v.astype(np.int64), 2
    low, high = int(v.min()), int(v.max())
    if high - low < max(NARROW, 4 * len(v)):
        # distances from the least; in wrapping arithmetic, right for u8 as well
        distance = v.astype(np.int64, copy=False) if v.dtype != np.uint64 else v.view(np.int64)
        least = np.array([low & (1 << 64) - 1], np.uint64).view(np.int64)
        return distance - least, high - low + 1
    return _dense(v)


def _dense(v: Column) -> tuple[Column, int]:
    different, code = np.unique(v, return_inverse=True)
    return code.astype(np.int64, copy=False), len(different)


def _mixed(parts: list[tuple[Column, int]], count: int) -> tuple[Column, int]:
    code, size = np.zeros(count, np.int64), 1
    for one, many in parts:
        if size * many > MOST_KEYS:
            code, size = _dense(code)
        if size * many > MOST_KEYS:
            dense, kinds = _dense(one)
            code, size = code * kinds + dense, size * kinds
        else:
            code, size = code * many + one, size * many
    return code, size
