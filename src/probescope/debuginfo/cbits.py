"""Where a bit field is read: the unit of bytes, and the bits in it, as ``model.types.Member`` wants them.

byte     0        1        2        3        4
|........|........|...fffff|ff......|      7 bits at bit 19, declared int
unit     |<------- int at 0, bit_offset 19 ----->|
"""

from __future__ import annotations

from probescope.model.types import Enum, Int, Member, Type


def place_bits(name: str, t: Type, at: int, width: int, unit: int, size: int) -> Member:
    """A bit field of ``width`` bits that starts ``at`` bits into a struct of ``size`` bytes, declared with a type of
    ``unit`` bytes. The unit is the declared one where that lies in the struct and covers the field; else (packed
    structs) the smallest that does, with the integer type of that width."""
    for candidate in (unit, 1, 2, 4, 8):
        if candidate not in (1, 2, 4, 8):
            continue
        offset = at // (8 * candidate) * candidate
        if at + width <= 8 * (offset + candidate) and offset + candidate <= size:
            return Member(name, _as_unit(t, candidate, unit), offset, at - 8 * offset, width)
    for candidate in (1, 2, 4, 8):  # not aligned to its own width
        offset = min(at // 8, max(size - candidate, 0))
        if offset * 8 <= at and at + width <= 8 * (offset + candidate):
            return Member(name, _as_unit(t, candidate, unit), offset, at - 8 * offset, width)
    return Member(name, _as_unit(t, 8, unit), at // 8, at % 8, min(width, 64 - at % 8))


def _as_unit(t: Type, size: int, declared: int) -> Type:
    if size == declared:
        return t
    return Int(size, t.signed if isinstance(t, Int | Enum) else False)
