"""Numbers of variable length, as DWARF and .eh_frame write them.

    uleb128   0xE5 0x8E 0x26  ->  0x26 << 14 | 0x0E << 7 | 0x65  =  624485          low groups of seven bits first

What does not fit in 64 bits is cut. Source: DWARF 5, 7.6.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_MOST_BITS = 70


def uleb(data: bytes, at: int) -> tuple[int, int]:
    """A number without sign, and where it ends. Raises IndexError at the end of the data, and for one that has no
    end."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, at + 1
        shift += 7
        if shift > _MOST_BITS:
            raise IndexError("a number of more than 70 bits")


def sleb(data: bytes, at: int) -> tuple[int, int]:
    """A number with sign, and where it ends; raises as ``uleb``."""
    value, end = uleb(data, at)
    bits = min(7 * (end - at), 64)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), end
