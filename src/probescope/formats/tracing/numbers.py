"""Numbers of a print format, worked out for all records at once.

Every column is u8, holding a C value in 64 bits; ``Number.width`` (4 or 8 bytes) and ``signed`` are its C type after
promotion. Values of 4 bytes are kept extended by their sign. As the kernel computes, not as libtraceevent does, which
takes every field for unsigned; where both can be told apart the text is the kernel's.

Division by zero gives 0, shifts take the count modulo 64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from probescope.errors import FormatError
from probescope.formats.tracing import tree as t
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.helpers import CONSTANTS
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Symbols
    from probescope.model.recording import Column, RawField

Compute = Callable[[Records], "Column"]
_MASK = (1 << 64) - 1
_ARRAYS = {1: 1, 2: 2, 4: 4, 8: 8}


@dataclass(frozen=True, slots=True)
class Number:
    """``of(records)``: the column. ``value``: the same for all records, if it is."""

    of: Compute
    width: int
    signed: bool
    value: int | None = None

    @property
    def mask(self) -> int:
        return 0xFFFFFFFF if self.width == 4 else _MASK


def constant(value: int, width: int = 4, signed: bool = True) -> Number:
    word = np.uint64(value & _MASK)
    return Number(lambda r: np.full(len(r), word, np.uint64), width, signed, value & _MASK)


def number(node: t.Node, symbols: Symbols, long_size: int) -> Number:
    """Raises FormatError where a text stands in a number's place."""
    match node:
        case t.Num():
            return constant(_extend(node.value, node.width, node.signed), node.width, node.signed)
        case t.Symbol():
            return constant(CONSTANTS.get(node.name, symbols.address(node.name)), 8, False)
        case t.Field():
            return _field(node.field, long_size)
        case t.DynamicLength():
            field = node.field
            return Number(lambda r: r.extent(field)[1].astype(np.uint64), 4, True)
        case t.Dynamic():
            # an address in the recording program's memory: of no use but in %p, where it is the place in the record
            field = node.field
            return Number(lambda r: (r.extent(field)[0] - r.start).astype(np.uint64), 8, False)
        case t.Unary():
            return _unary(node.op, number(node.value, symbols, long_size))
        case t.Binary():
            return _binary(node.op, number(node.left, symbols, long_size), number(node.right, symbols, long_size))
        case t.Cond():
            return _cond(*(number(n, symbols, long_size) for n in (node.test, node.yes, node.no)))
        case t.Cast():
            return _cast(number(node.value, symbols, long_size), node.size, node.signed)
        case t.Index():
            return _index(node, number(node.at, symbols, long_size), long_size)
        case t.DynamicText():
            return constant(0)
        case _:
            raise FormatError("a text where a number is wanted", section="print fmt")


def _extend(value: int, width: int, signed: bool) -> int:
    bits = width * 8
    value &= (1 << bits) - 1
    return (value - (1 << bits)) & _MASK if signed and value >> (bits - 1) else value


def _field(field: RawField, long_size: int) -> Number:
    if field.dynamic:
        return Number(lambda r: r.number(field.offset, field.size), 4, False)
    if field.count and field.count > 1:  # an array's name is its address
        return Number(lambda r: r.field(field), long_size, False)
    width = 8 if field.size == 8 else 4
    return Number(lambda r: r.field(field), width, field.signed or field.size < 4)


def _fitted(column: Column, width: int, signed: bool) -> Column:
    """A result cut to its type."""
    if width == 8:
        return column
    if signed:
        return column.astype(np.uint32).view(np.int32).astype(np.int64).view(np.uint64)
    return column & np.uint64(0xFFFFFFFF)


def _cast(value: Number, size: int, signed: bool) -> Number:
    if not size:
        return value
    width = 8 if size == 8 else 4
    promoted = signed or size < 4
    if size == 8:
        return Number(value.of, 8, signed, value.value)
    if value.value is not None:
        return constant(_extend(value.value, size, signed), width, promoted)
    of, unsigned = value.of, np.dtype(f"u{size}")
    if signed:
        narrow = np.dtype(f"i{size}")
        return Number(lambda r: of(r).astype(unsigned).view(narrow).astype(np.int64).view(np.uint64), width, promoted)
    return Number(lambda r: of(r).astype(unsigned).astype(np.uint64), width, promoted)


def _unary(op: str, value: Number) -> Number:
    of, width, signed = value.of, value.width, value.signed
    if op == "!":
        return Number(lambda r: (of(r) == 0).astype(np.uint64), 4, True)
    if op == "~":
        return Number(lambda r: _fitted(~of(r), width, signed), width, signed)
    if op == "-":
        return Number(lambda r: _fitted(np.uint64(0) - of(r), width, signed), width, signed)
    size = int(op.removeprefix("swap"))
    return Number(lambda r: of(r).astype(f"u{size}").byteswap().astype(np.uint64), max(4, size), size < 4)


_WRAP: dict[str, Callable[[Column, Column], Column]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
_COMPARE: dict[str, Callable[[Column, Column], Column]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
}


def _common(a: Number, b: Number) -> tuple[int, bool]:
    """The usual arithmetic conversions: (width, signed)."""
    if a.width == b.width:
        return a.width, a.signed and b.signed
    wide = a if a.width > b.width else b
    return wide.width, wide.signed


def _binary(op: str, a: Number, b: Number) -> Number:
    left, right = a.of, b.of
    if op == "&&":
        return Number(lambda r: ((left(r) != 0) & (right(r) != 0)).astype(np.uint64), 4, True)
    if op == "||":
        return Number(lambda r: ((left(r) != 0) | (right(r) != 0)).astype(np.uint64), 4, True)
    if op in {"<<", ">>"}:
        return _shift(op, a, b)
    width, signed = _common(a, b)
    ours, theirs = _converted(a, width, signed), _converted(b, width, signed)
    kind = np.int64 if signed else np.uint64
    if op in _COMPARE:
        compare = _COMPARE[op]
        return Number(lambda r: compare(ours(r).view(kind), theirs(r).view(kind)).astype(np.uint64), 4, True)
    if op in {"/", "%"}:
        return Number(lambda r: _fitted(_divided(op, ours(r), theirs(r), signed), width, signed), width, signed)
    wrap = _WRAP[op]
    return Number(lambda r: _fitted(wrap(ours(r), theirs(r)), width, signed), width, signed)


def _converted(a: Number, width: int, signed: bool) -> Compute:
    """A signed int that meets an unsigned one loses what its sign was extended by."""
    of = a.of
    if width == 4 and not signed and a.signed:
        return lambda r: of(r) & np.uint64(0xFFFFFFFF)
    return of


def _shift(op: str, a: Number, b: Number) -> Number:
    left, right, width, signed = a.of, b.of, a.width, a.signed
    if op == "<<":
        return Number(lambda r: _fitted(left(r) << (right(r) & np.uint64(63)), width, signed), width, signed)
    if signed:
        return Number(
            lambda r: (left(r).view(np.int64) >> (right(r) & np.uint64(63)).view(np.int64)).view(np.uint64), width, True
        )
    return Number(lambda r: left(r) >> (right(r) & np.uint64(63)), width, False)


def _divided(op: str, a: Column, b: Column, signed: bool) -> Column:
    """C rounds towards zero."""
    if not signed:
        safe = np.where(b == 0, np.uint64(1), b)
        out = a // safe if op == "/" else a % safe
        return np.where(b == 0, np.uint64(0), out)
    x, y = a.view(np.int64), b.view(np.int64)
    negative = (x < 0) ^ (y < 0)
    big_x, big_y = np.where(x < 0, np.uint64(0) - a, a), np.where(y < 0, np.uint64(0) - b, b)
    safe = np.where(big_y == 0, np.uint64(1), big_y)
    if op == "/":
        out = big_x // safe
        out = np.where(negative, np.uint64(0) - out, out)
    else:
        out = big_x % safe
        out = np.where(x < 0, np.uint64(0) - out, out)
    return np.where(big_y == 0, np.uint64(0), out)


def _cond(test: Number, yes: Number, no: Number) -> Number:
    width, signed = _common(yes, no)
    ours, theirs, which = _converted(yes, width, signed), _converted(no, width, signed), test.of
    if test.value is not None:
        chosen, value = (yes, ours) if test.value else (no, theirs)
        return Number(value, width, signed, chosen.value)
    return Number(lambda r: np.where(which(r) != 0, ours(r), theirs(r)), width, signed)


def _index(node: t.Index, at: Number, long_size: int) -> Number:
    """An element of an array: of the field's own elements, or of those that a cast of it names."""
    base, size, signed = node.base, 0, False
    while isinstance(base, t.Cast):
        if base.pointee and not size:
            size, signed = base.pointee, base.pointee_signed
        base = base.value
    if not isinstance(base, t.Field | t.Dynamic | t.DynamicText):
        raise FormatError("an index into what is no array", section="print fmt")
    field = base.field
    if not size:
        size, signed = element(field, long_size)
    if size not in _ARRAYS:
        raise FormatError(f"elements of {size} bytes", section="print fmt")

    if at.value is not None and not field.dynamic and (at.value + 1) * size <= field.size:
        place = field.offset + at.value * size
        return Number(lambda r: r.number(place, size, signed), 8 if size == 8 else 4, signed or size < 4)

    def of(r: Records) -> Column:
        start, length = r.extent(field)
        offset = np.minimum(at.of(r), np.uint64(1 << 32)).astype(np.int64) * size
        return r.extended(r.gather(start + offset, size, offset + size <= length), signed)

    return Number(of, 8 if size == 8 else 4, signed or size < 4)


def element(field: RawField, long_size: int) -> tuple[int, bool]:
    """Bytes and sign of a field's elements."""
    from probescope.formats.tracing.ctype_sizes import size_of

    if field.dynamic:
        size, signed = size_of(field.declared.split(), long_size)
        return (size or 1), signed
    return (field.size // field.count if field.count else field.size), field.signed
