"""Bytes of records as text: masks, lists of CPUs, hexadecimal, arrays of numbers, dumps.

Source: lib/vsprintf.c (``%*pb``, ``%*pbl``), kernel/trace/trace_output.c (``trace_print_array_seq`` and its like),
lib/hexdump.c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing import tree as t
from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.numbers import number

if TYPE_CHECKING:
    from probescope.formats.tracing.numbers import Number
    from probescope.formats.tracing.symbols import Context

Show = Callable[[Records], list[str]]
MAX_BYTES = 1 << 16
PRINTABLE = range(0x20, 0x7F)


def shown(node: t.Mask | t.Hex | t.Elements | t.HexDump, c: Context) -> Show:
    """Raises FormatError where the node cannot be worked out."""
    match node:
        case t.Mask():
            field, big = node.field, c.big
            of = cpu_list if node.cpus else bitmask
            return lambda r: [of(piece, big) for piece in r.pieces(field)]
        case t.Hex():
            return _hex(node, c)
        case t.Elements():
            return _elements(node, c)
        case t.HexDump():
            return _dump(node, c)


def bytes_of(node: t.Node) -> t.Field | t.Dynamic | t.DynamicText | None:
    """The field whose bytes an expression points to."""
    while isinstance(node, t.Cast):
        node = node.value
    return node if isinstance(node, t.Field | t.Dynamic | t.DynamicText) else None


def from_start(r: Records, node: t.Node, counts: list[int]) -> list[bytes]:
    """So many bytes from a field's beginning, though the field be shorter; nothing beyond the record."""
    found = bytes_of(node)
    if found is None:
        return [b""] * len(r)
    data, end = r.data, (r.start + r.size).tolist()
    start = r.extent(found.field)[0].tolist()
    return [data[a : min(a + n, e)] for a, n, e in zip(start, counts, end, strict=True)]


def counts_of(value: Number, r: Records) -> list[int]:
    wanted = value.of(r) & np.uint64(value.mask)
    counts: list[int] = np.minimum(wanted, np.uint64(MAX_BYTES)).astype(np.int64).tolist()
    return counts


def bitmask(data: bytes, big: bool) -> str:
    """Hexadecimal, a comma after each 32 bits."""
    digits = (data if big else data[::-1]).hex()
    first = len(digits) % 8
    groups = [digits[:first]] if first else []
    return ",".join(groups + [digits[i : i + 8] for i in range(first, len(digits), 8)])


def cpu_list(data: bytes, big: bool) -> str:
    """``0-3,7``."""
    value = int.from_bytes(data, "big" if big else "little")
    out: list[str] = []
    at = 0
    while value:
        zeros = (value & -value).bit_length() - 1
        value >>= zeros
        ones = (~value & (value + 1)).bit_length() - 1
        value >>= ones
        at += zeros
        out.append(str(at) if ones == 1 else f"{at}-{at + ones - 1}")
        at += ones
    return ",".join(out)


def _hex(node: t.Hex, c: Context) -> Show:
    length, base, delimiter = number(node.length, c.symbols, c.long_size), node.base, " " if node.spaced else ""
    if delimiter:
        return lambda r: [piece.hex(" ") for piece in from_start(r, base, counts_of(length, r))]
    return lambda r: [piece.hex() for piece in from_start(r, base, counts_of(length, r))]


def _elements(node: t.Elements, c: Context) -> Show:
    size = number(node.size, c.symbols, c.long_size)
    count = number(node.count, c.symbols, c.long_size) if node.count else None
    base, order = node.base, "big" if c.big else "little"

    def show(r: Records) -> list[str]:
        sizes = counts_of(size, r)
        if count is not None:
            wanted = [n * s for n, s in zip(counts_of(count, r), sizes, strict=True)]
            data = from_start(r, base, wanted)
        else:
            found = bytes_of(base)
            data = r.pieces(found.field) if found else [b""] * len(r)
        return [array(piece, each, order == "big") for piece, each in zip(data, sizes, strict=True)]

    return show


def array(data: bytes, size: int, big: bool) -> str:
    """``{0x1,0x2}``."""
    if size not in {1, 2, 4, 8}:
        return "{" + ",".join(f"BAD SIZE:{size} 0x{b:x}" for b in data[: 16 * (size > 0)]) + "}"
    numbers = np.frombuffer(data[: len(data) // size * size], (">" if big else "<") + f"u{size}").tolist()
    return "{" + ",".join(f"0x{n:x}" for n in numbers) + "}"


def _dump(node: t.HexDump, c: Context) -> Show:
    length, kind, row, group, text = (
        number(n, c.symbols, c.long_size) for n in (node.length, node.kind, node.row, node.group, node.ascii)
    )
    base, prefix, big = node.base, node.prefix, c.big

    def show(r: Records) -> list[str]:
        settings = [counts_of(n, r) for n in (kind, row, group, text)]
        data = from_start(r, base, counts_of(length, r))
        rows = zip(data, *settings, strict=True)
        return [
            hex_dump(piece, prefix, (kind_, row_, group_, text_), big) for piece, kind_, row_, group_, text_ in rows
        ]

    return show


def hex_dump(data: bytes, prefix: str, settings: tuple[int, int, int, int], big: bool) -> str:
    """Lines of 16 or 32 bytes in groups of 1, 2, 4 or 8, with their offset and as characters at will. ``settings``:
    kind of prefix (2: offset), bytes of a line, bytes of a group, characters."""
    kind, row, group, text = settings
    row = row if row in {16, 32} else 16
    group = group if group in {1, 2, 4, 8} and len(data) % group == 0 else 1
    lines: list[str] = []
    for at in range(0, len(data), row):
        piece = data[at : at + row]
        words = [piece[i : i + group] for i in range(0, len(piece), group)]
        digits = " ".join((w if big else w[::-1]).hex() for w in words)
        width = row * 2 + row // group - 1
        characters = "".join(chr(b) if b in PRINTABLE else "." for b in piece)
        place = f"{at:08x}: " if kind == 2 else ""
        lines.append(f"{prefix}{place}" + (f"{digits:<{width}}  {characters}" if text else digits))
    return "\n" + "\n".join(lines)
