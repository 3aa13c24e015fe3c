"""Lines of text put together for many events at once: a matrix of bytes, a row for each line, NULs where nothing is.

    | "NR " | 1 6 . . | " (" | 7 . . . | 2 4 0 0 | ", " | ...      . is a NUL

Each column of cells has one width. Numbers are cut into groups of four digits, and a group's text is looked up in a
table; texts that repeat are looked up as well. At last all NULs are taken out at once. So a line costs some 0.2 us,
whatever is in it; Python's own formatting costs 0.1 us for each value.
No text that goes in has a NUL of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]
    Cells = Column | bytes | list[bytes]
    """One column: texts of one width (V), the same text for all, or texts that are too different in size."""

MOST_BYTES = 1 << 20
"""Of one matrix: more would leave the processor's cache."""
MOST_WIDE = 64
"""Bytes a row of a column of texts, above which they have to be like each other in size."""


def lines(cells: Sequence[Cells], count: int) -> bytes:
    """The texts of all rows, one after the other."""
    if any(isinstance(c, list) for c in cells):
        return b"".join(each_line(cells, count))
    step = max(MOST_BYTES // max(sum(map(_width, cells)), 1), 1)
    if count <= step:
        return matrix(cells, count).tobytes().translate(None, b"\0")
    steps = range(0, count, step)
    return b"".join(lines(_rows(cells, at, min(at + step, count)), min(step, count - at)) for at in steps)


def each_line(cells: Sequence[Cells], count: int) -> list[bytes]:
    """The text of each row."""
    loose = next((i for i, c in enumerate(cells) if isinstance(c, list)), -1)
    if loose >= 0:
        before, after = each_line(cells[:loose], count), each_line(cells[loose + 1 :], count)
        return list(map(b"".join, zip(before, cells[loose], after, strict=True)))
    step = max(MOST_BYTES // max(sum(map(_width, cells)), 1), 1)
    out: list[bytes] = []
    for at in range(0, count, step):
        rows = matrix(_rows(cells, at, at + step), min(step, count - at))
        ends = np.cumsum(np.count_nonzero(rows, axis=1)).tolist()
        data = rows.tobytes().translate(None, b"\0")
        out += [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return out


def _rows(cells: Sequence[Cells], first: int, end: int) -> list[Cells]:
    return [c if isinstance(c, bytes) else c[first:end] for c in cells]


def _width(cells: Cells) -> int:
    return cells.dtype.itemsize if isinstance(cells, np.ndarray) else len(cells)


def matrix(cells: Sequence[Cells], count: int) -> Column:
    width = sum(_width(c) for c in cells)
    out = np.empty((count, width), np.uint8)
    at = 0
    for column in cells:
        size = _width(column)
        if size and count:
            place = np.ndarray((count,), f"V{size}", out.data, at, (width,))
            place[:] = np.frombuffer(column, place.dtype)[0] if isinstance(column, bytes) else column
        at += size
    return out


# --- columns


def texts(found: Iterable[bytes]) -> Column:
    """Any texts; a table of them, if they are looked up later."""
    column = np.array(list(found), np.bytes_)
    return column.view(f"V{column.dtype.itemsize}") if column.dtype.itemsize else column.astype("S1").view("V1")


def encoded(found: Iterable[str]) -> Cells:
    """Any texts, as many as there are rows."""
    all_of_them = [text.encode("utf-8", "surrogateescape") for text in found]
    most = max(map(len, all_of_them), default=0)
    if most > MOST_WIDE and most * len(all_of_them) > 2 * sum(map(len, all_of_them)):
        return all_of_them
    return texts(all_of_them)


@cache
def _groups(base: int) -> Column:
    """Texts of 0 to base**4 - 1; the same with leading zeros; and nothing."""
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    numbers = np.arange(base**4)
    full = digits[np.stack([numbers // base**n % base for n in (3, 2, 1, 0)], axis=1)]
    short = full.copy()
    for n in range(3):
        short[: base ** (3 - n), n] = 0
    table = np.concatenate((short, full, np.zeros((1, 4), np.uint8)))
    return np.ascontiguousarray(table).view("V4")[:, 0]


def _looked_up(numbers: Column, base: int) -> list[Column]:
    """u8 numbers, the highest digits first."""
    table, size = _groups(base), base**4
    most = int(numbers.max(initial=0))
    out: list[Column] = []
    rest = numbers
    scale = 1
    while True:
        above = rest >> np.uint64(16) if base == 16 else rest // np.uint64(size)
        group = (rest - above * np.uint64(size)).view(np.int64)
        if most >= size * scale:
            group += np.where(above > 0, size, 0)
        if scale > 1:
            group[rest == 0] = 2 * size
        out.insert(0, table.take(group))
        scale *= size
        if most < scale:
            return out
        rest = above


def hexadecimal(numbers: Column) -> list[Cells]:
    """u8 numbers, without leading zeros."""
    return list(_looked_up(numbers, 16))


def decimal(numbers: Column) -> list[Cells]:
    """u8 or i8 numbers."""
    if numbers.dtype.kind == "u":
        return list(_looked_up(numbers, 10))
    below = numbers < 0
    if not below.any():
        return list(_looked_up(numbers.view(np.uint64), 10))
    sign = np.where(below, np.uint8(ord("-")), np.uint8(0)).view("V1")
    return [sign, *_looked_up(np.where(below, -numbers, numbers).view(np.uint64), 10)]


@cache
def _thousand() -> Column:
    return texts(b"%03d" % n for n in range(1000))


def seconds(times: Column, width: int, digits: int) -> list[Cells]:
    """Nanoseconds as seconds in ``width``, a point, and 3, 6 or 9 digits, cut off behind."""
    table = _thousand()
    whole = times // np.uint64(1_000_000_000)
    rest = times - whole * np.uint64(1_000_000_000)
    first, last = (int(whole.min()), int(whole.max())) if len(times) else (0, 0)
    if last - first < 1 << 12:
        before = texts(b"%*d." % (width, n) for n in range(first, last + 1)).take((whole - np.uint64(first)).view("i8"))
    else:
        before = texts(b"%*d." % (width, n) for n in whole.tolist())
    out: list[Cells] = [before]
    for scale in (1_000_000, 1000, 1)[: digits // 3]:
        above = rest // np.uint64(scale)
        out.append(table.take(above.view(np.int64)))
        rest = rest - above * np.uint64(scale)
    return out
