"""Constants as numbers: attributes of fixed forms do not tell whether they have a sign, what they are a value of does.

    char b[256]             DW_AT_upper_bound  data1 ff          255: fewer bytes than the index has are never negative
    enum { A = 200 }        DW_AT_const_value  data1 c8          200
    enum e : int { B = -1 } DW_AT_const_value  data4 ffffffff    -1: as many bytes as the enumeration has, and a sign
    anything                DW_AT_const_value  sdata 7f          -1

GCC writes what is not negative with as few bytes as it takes, and the rest as sdata, of variables without a sign, too;
clang writes sdata and udata.
Source: DWARF 5, 7.5.5 (class constant: the context decides).
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_die import CONSTANT_SIZES, Die, plain

_SIGNED = frozenset({c.ATE_SIGNED, c.ATE_SIGNED_CHAR})


def constant(die: Die, attribute: int, kind: Die | None) -> int | None:
    """``kind``: the type that it is a value of, as far as that is known. ``None`` if it is missing or no number."""
    size, signed = _kind(plain(kind))
    return _number(die, attribute, size, signed)


def of_variable(die: Die) -> int | None:
    """The value that a variable or parameter always has."""
    return constant(die, c.AT_CONST_VALUE, die.type())


def enumerators(enumeration: Die) -> Iterator[tuple[str, int | None]]:
    """Names and values."""
    size, signed = _kind(enumeration)
    for e in enumeration.children(c.TAG_ENUMERATOR):
        yield e.name, _number(e, c.AT_CONST_VALUE, size, signed)


def of_variant(die: Die, attribute: int, tag: Die | None) -> int | None:
    """Which tag a form of a variant part has. LLVM writes negative ones with as few bytes as they take, too."""
    _, signed = _kind(plain(tag))
    return _number(die, attribute, 0, signed)


def last_index(dimension: Die) -> int | None:
    """The upper bound of an array; ``None`` where it is missing or told by an expression."""
    return constant(dimension, c.AT_UPPER_BOUND, dimension.type())


def has_negative(enumeration: Die) -> bool:
    """Compilers that do not name the type behind an enumeration make it signed only if it has to be."""
    return any(
        e.form(c.AT_CONST_VALUE) == c.FORM_SDATA and e.uint(c.AT_CONST_VALUE) is None
        for e in enumeration.children(c.TAG_ENUMERATOR)
    )


def _kind(kind: Die | None) -> tuple[int, bool]:
    """Bytes of a type, and whether its values have a sign."""
    if kind is None:
        return 8, True
    size = kind.uint(c.AT_BYTE_SIZE)
    if kind.tag == c.TAG_ENUM:
        under = plain(kind.type())
        return size or 4, _kind(under)[1] if under is not None and under.tag == c.TAG_BASE else has_negative(kind)
    return size or 8, kind.tag == c.TAG_BASE and kind.uint(c.AT_ENCODING) in _SIGNED


def _number(die: Die, attribute: int, size: int, signed: bool) -> int | None:
    form, value = die.attributes.get(attribute, (0, b""))
    if not isinstance(value, int):
        return None
    if not signed:
        return value & (1 << 8 * size) - 1 if value < 0 and size else value
    bits = 8 * max(size, CONSTANT_SIZES[form]) if form in CONSTANT_SIZES else 0
    return value - (1 << bits) if bits and value >> (bits - 1) else value
