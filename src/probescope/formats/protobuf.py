"""The wire format of protocol buffers, as much of it as writers need.

    tag = number << 3 | kind      kind 0: varint    2: size, bytes
    varint: seven bits a byte, the lowest first, the top bit set in all but the last
    packed: many varints as one field of bytes

A varint may be longer than it must be (``80 80 00`` is 0): numbers of one width, which a column of them needs.
Source: https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

from collections.abc import Iterable

MASK = (1 << 64) - 1


def varint(n: int) -> bytes:
    """Negative numbers as int64 has them: ten bytes."""
    n &= MASK
    if n < 0x80:
        return bytes((n,))
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field: int, n: int) -> bytes:
    return varint(field << 3) + varint(n)


def data(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def text(field: int, value: str) -> bytes:
    """Half characters, which UTF-8 has none of, are shown as ``visible`` shows them."""
    return data(field, utf8(value))


def utf8(value: str) -> bytes:
    from probescope.model.visible import visible

    try:
        return value.encode()
    except UnicodeEncodeError:
        return visible(value).encode("utf-8", "replace")


def packed(field: int, numbers: Iterable[int]) -> bytes:
    return data(field, b"".join(map(varint, numbers)))
