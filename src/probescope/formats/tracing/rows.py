"""Lines of text by their cells, one line after the other, in a form that mypyc makes machine code of (hatch_build.py
does where it can). Uncompiled it is not used: ``cells`` puts lines together by columns then, and tests hold both
together.

    plan    | CONST text | SIZED texts, width, sizes | HEX numbers | SECONDS times, width, digits |     4 numbers each
"""

from __future__ import annotations

from typing import Final

from librt.strings import (
    BytesWriter,
    read_i16_le,
    read_i32_le,
    read_i64_le,
    write_i16_le,
    write_i32_le,
    write_i64_le,
)
from librt.vecs import append, vec
from mypy_extensions import i64, u8

CONST: Final = 0
SIZED: Final = 1
FIXED: Final = 2
HEX: Final = 3
UNSIGNED: Final = 4
SIGNED: Final = 5
SECONDS: Final = 6
DIGITS: Final = b"".join(b"%02d" % n for n in range(100)) + b"".join(b"%02x" % n for n in range(256))
"""Pairs of decimal digits, and from _HEX on pairs of hexadecimal ones."""
_HEX: Final = 200


def written(
    kinds: bytes, plans: list[bytes], texts: bytes, words: bytes, ended: bool, count: i64
) -> tuple[bytes, bytes]:
    """All lines, and, if ``ended`` is asked for, where each ends, i8. ``kinds``: a byte for each line, the number of
    its plan; with one plan they may be empty. ``plans``: of what stands in a line, each an operation and three numbers:

        CONST    place in ``texts``, bytes                       HEX, UNSIGNED, SIGNED    place in ``words``
        FIXED    place of rows in ``texts``, bytes of each       SECONDS    place of ns in ``words``, width, digits
        SIZED    the same, and the place of sizes in ``words``

    A plan's lines take rows one after the other. All numbers are of eight bytes."""
    out, ends = BytesWriter(), BytesWriter()
    rows = vec[i64]()
    for _ in plans:
        rows = append(rows, 0)
    digits = DIGITS
    mixed = len(kinds) > 0
    plan = plans[0]
    kind: i64 = 0
    line: i64 = 0
    while line < count:
        if mixed:
            kind = i64(kinds[line])
            plan = plans[kind]
        row: i64 = rows[kind]
        rows[kind] = row + 1
        at: i64 = 0
        while at < len(plan):
            operation: i64 = read_i64_le(plan, at)
            place: i64 = read_i64_le(plan, at + 8)
            if operation == CONST:
                _copy(out, texts, place, read_i64_le(plan, at + 16))
            elif operation == SIZED:
                start: i64 = place + row * read_i64_le(plan, at + 16)
                _copy(out, texts, start, read_i64_le(words, read_i64_le(plan, at + 24) + (row << 3)))
            elif operation == FIXED:
                width: i64 = read_i64_le(plan, at + 16)
                _copy(out, texts, place + row * width, width)
            elif operation == HEX:
                _hex(out, read_i64_le(words, place + (row << 3)), digits)
            elif operation == SECONDS:
                time: i64 = read_i64_le(words, place + (row << 3))
                _seconds(out, time, read_i64_le(plan, at + 16), read_i64_le(plan, at + 24), digits)
            else:
                number: i64 = read_i64_le(words, place + (row << 3))
                if number >= 0:
                    _decimal(out, number, digits)
                else:
                    _odd(out, number, operation == SIGNED, digits)
            at += 32
        if ended:
            write_i64_le(ends, len(out))
        line += 1
    return out.getvalue(), ends.getvalue()


def _odd(out: BytesWriter, number: i64, signed: bool, digits: bytes) -> None:
    """A number below 0, or one of 64 bits without a sign."""
    if not signed:
        tens: i64 = ((number >> 1) & 0x7FFFFFFFFFFFFFFF) // 5
        _decimal(out, tens, digits)
        out.append(u8(48 + number - tens * 10))
        return
    out.append(45)
    if number == -number:  # the least of all
        _decimal(out, -(number // 10) - 1, digits)
        out.append(56)
    else:
        _decimal(out, -number, digits)


def _copy(out: BytesWriter, texts: bytes, place: i64, size: i64) -> None:
    at: i64 = place
    end: i64 = place + size
    while at + 8 <= end:
        write_i64_le(out, read_i64_le(texts, at))
        at += 8
    if size & 4:
        write_i32_le(out, read_i32_le(texts, at))
        at += 4
    if size & 2:
        write_i16_le(out, read_i16_le(texts, at))
        at += 2
    if size & 1:
        out.append(u8(texts[at]))


def _hex(out: BytesWriter, number: i64, digits: bytes) -> None:
    """Without leading zeros."""
    rest: i64 = number
    count: i64 = 1
    if rest >> 32:
        count = 9
        rest = (rest >> 32) & 0xFFFFFFFF
    if rest >> 16:
        count += 4
        rest >>= 16
    if rest >> 8:
        count += 2
        rest >>= 8
    if rest >> 4:
        count += 1
    if count & 1:
        nibble: i64 = (number >> ((count - 1) << 2)) & 15
        out.append(u8(nibble + 48 + (39 if nibble > 9 else 0)))
        count -= 1
    while count:
        count -= 2
        write_i16_le(out, read_i16_le(digits, _HEX + (((number >> (count << 2)) & 255) << 1)))


def _decimal(out: BytesWriter, number: i64, digits: bytes) -> None:
    """None below 0."""
    if number < 10:
        out.append(u8(48 + number))
        return
    if number < 100:
        write_i16_le(out, read_i16_le(digits, number << 1))
        return
    above: i64 = number // 100
    _decimal(out, above, digits)
    write_i16_le(out, read_i16_le(digits, (number - above * 100) << 1))


def _seconds(out: BytesWriter, time: i64, width: i64, places: i64, digits: bytes) -> None:
    """``width`` of what stands before the point; 3, 6 or 9 ``places`` behind it, the rest cut off."""
    whole: i64 = time // 1000000000
    rest: i64 = time - whole * 1000000000
    size: i64 = 1
    most: i64 = 10
    while size < width:
        if whole < most:
            out.append(32)
        most *= 10
        size += 1
    _decimal(out, whole, digits)
    out.append(46)
    if places == 9:
        out.append(u8(48 + rest // 100000000))
        rest = rest % 100000000
        _pairs(out, rest, 1000000, digits)
    elif places == 6:
        _pairs(out, rest // 1000, 10000, digits)
    else:
        rest = rest // 1000000
        out.append(u8(48 + rest // 100))
        _pairs(out, rest % 100, 1, digits)


def _pairs(out: BytesWriter, number: i64, scale: i64, digits: bytes) -> None:
    """Two digits each, the first ones of so many."""
    rest: i64 = number
    while scale:
        pair: i64 = rest // scale
        write_i16_le(out, read_i16_le(digits, pair << 1))
        rest -= pair * scale
        scale //= 100
