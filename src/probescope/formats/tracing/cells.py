"""Lines of text put together for many events at once, by columns of texts.

    part 0    part 1   part 2         part 3
    | dd 71   | NR     | 16 . .     | (7, . . .       . is what a text does not need of its column's width
                       ^ where each text begins is known: the sum of the sizes of all before it

A column (``Cells``) is ``Texts``, the same text for all, or a list of texts that are too different in size.
Each column is written to its places in all lines at once, in its full width; what it does not need is written over by
the next column. What the last columns of a line write too much goes into the next line's beginning, which is written
once more at the end. So a line costs some 5 ns a column, whatever is in it; Python's own formatting costs 100 ns.
Numbers are cut into groups of four digits, and a group's text is looked up in a table; so are texts that repeat.

Where ``rows`` is compiled, lines are put together by that: ``cells_rows``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from probescope.formats.tracing import cells_rows as compiled
from probescope.formats.tracing.cells_rows import Numbers

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]
    Cells: TypeAlias = "Texts | bytes | list[bytes] | Numbers"

MOST_BYTES = 1 << 20
"""That are written to at once: more would leave the processor's cache."""
AT_ONCE = 1 << 16 if compiled.WRITTEN is not None else 1 << 13
"""Lines whose columns should be made at once: so many as the processor's cache takes."""
MOST_WIDE = 64
"""Bytes a row of a column of texts, above which they have to be like each other in size."""


class Texts:
    """``values``: texts, each at the beginning of a V of one width; ``sizes``: of each, or of all (then as wide);
    ``least``: none is shorter."""

    __slots__ = ("least", "sizes", "values")

    def __init__(self, values: Column, sizes: Column | int, least: int = 0) -> None:
        self.values, self.sizes = values, sizes
        self.least = sizes if isinstance(sizes, int) else least

    def take(self, which: Column) -> Texts:
        sizes = self.sizes if isinstance(self.sizes, int) else self.sizes.take(which)
        return Texts(self.values.take(which), sizes, self.least)

    def part(self, first: int, end: int) -> Texts:
        sizes = self.sizes if isinstance(self.sizes, int) else self.sizes[first:end]
        return Texts(self.values[first:end], sizes, self.least)

    @property
    def width(self) -> int:
        return int(self.values.dtype.itemsize)


def lines(parts: Sequence[tuple[Column | None, Sequence[Cells]]], count: int) -> bytes:
    """The texts of all rows, one after the other. A part has the cells of some rows (ascending); None: of all."""
    if not count:
        return b""
    if any(isinstance(c, list) for _, cells in parts for c in cells):
        columns = _columns(parts[0][1], count) if len(parts) == 1 and parts[0][0] is None else [each_line(parts, count)]
        pieces = [b""] * (count * len(columns))  # all at once: a line for itself would be one more copy of it
        for place, column in enumerate(columns):
            pieces[place :: len(columns)] = column
        return b"".join(pieces)
    if compiled.WRITTEN is not None:
        return _written(parts, count, ended=False)[0]
    step = max(MOST_BYTES // max(sum(_width(c) for c in parts[0][1]), 1), 1)
    if count <= step or len(parts) > 1:
        data, _ = _written(parts, count)
        return data
    steps = ((at, min(at + step, count)) for at in range(0, count, step))
    return b"".join(_written([(None, _rows(parts[0][1], at, end))], end - at)[0] for at, end in steps)


def each_line(parts: Sequence[tuple[Column | None, Sequence[Cells]]], count: int) -> list[bytes]:
    """The text of each row."""
    loose = any(isinstance(c, list) for _, cells in parts for c in cells)
    if loose and len(parts) > 1:
        out = [b""] * count
        for rows, some in parts:
            places: list[int] = np.arange(count).tolist() if rows is None else rows.tolist()
            for at, line in zip(places, each_line([(None, some)], len(places)), strict=True):
                out[at] = line
        return out
    if loose:
        return list(map(b"".join, zip(*_columns(parts[0][1], count), strict=True)))
    data, ends = _written(parts, count)
    stops = ends.tolist()
    return [data[a:b] for a, b in zip([0, *stops], stops, strict=False)]


def _columns(cells: Sequence[Cells], count: int) -> list[list[bytes]]:
    """Columns of texts of any sizes, and what is between them."""
    out: list[list[bytes]] = []
    begun = 0
    for place, column in enumerate((*cells, [])):
        if not isinstance(column, list):
            continue
        between = [c for c in cells[begun:place] if c != b""]
        if between and all(isinstance(c, bytes) for c in between):
            out.append([b"".join(c for c in between if isinstance(c, bytes))] * count)
        elif between:
            out.append(each_line([(None, between)], count))
        if place < len(cells):
            out.append(column)
        begun = place + 1
    return out


def _rows(cells: Sequence[Cells], first: int, end: int) -> list[Cells]:
    return [c.part(first, end) if isinstance(c, Texts) else c for c in cells]


def _width(cells: Cells) -> int:
    return cells.width if isinstance(cells, Texts) else 0 if isinstance(cells, Numbers) else len(cells)


def _plain(cells: Cells) -> list[Cells]:
    """Without numbers."""
    if not isinstance(cells, Numbers):
        return [cells]
    if cells.kind == compiled.SECONDS:
        return _seconds(cells.values, cells.before, cells.behind)
    return _looked_up(cells.values, 16) if cells.kind == compiled.HEX else _decimal(cells.values)


def _written(
    parts: Sequence[tuple[Column | None, Sequence[Cells]]], count: int, *, ended: bool = True
) -> tuple[bytes, Column]:
    """Also where each line ends."""
    if compiled.WRITTEN is not None:
        if len(parts) <= compiled.MOST_PARTS:
            return compiled.written(parts, count, ended=ended)
        parts = [(rows, [plain for c in some for plain in _plain(c)]) for rows, some in parts]
    joined = [(rows, together(some, count if rows is None else len(rows))) for rows, some in parts]
    sizes = np.zeros(count, np.int64)
    for rows, some in joined:
        size = sum((c.sizes for c in some), np.int64(0))
        if rows is None:
            sizes += size
        else:
            sizes[rows] = size
    ends = sizes.cumsum()
    total = int(ends[-1])
    room = max((c.width for _, some in joined for c in some), default=0)
    out = np.empty(total + room, np.uint8)
    for rows, some in joined:
        at = (ends - sizes) if rows is None else (ends - sizes)[rows]
        for c in some:
            _view(out, c.width)[at] = c.values
            at = at + c.sizes
    over = max((_over(some) for _, some in joined), default=0)
    if over > 0:
        _mend(out, joined, ends - sizes, over)
    return out[:total].tobytes(), ends


def _view(out: Column, width: int) -> Column:
    return np.ndarray((len(out) - width + 1,), f"V{width}", out.data, 0, (1,))


def _over(cells: Sequence[Texts]) -> int:
    """How many bytes at most are written behind a line's end."""
    most = after = 0
    for c in reversed(cells):
        most = max(most, c.width - c.least - after)
        after += c.least
    return most


def _mend(out: Column, joined: Sequence[tuple[Column | None, Sequence[Texts]]], starts: Column, over: int) -> None:
    """The first ``over`` bytes of each line once more, in the order of columns, and never more than the text has."""
    for rows, cells in joined:
        at = starts if rows is None else starts[rows]
        left = np.full(len(at), over)
        for c in cells:
            if c.least >= over:  # of the first column, as a rule
                values = c.values.view(np.uint8).reshape(len(at), c.width)[:, :over]
                _view(out, over)[at] = np.ascontiguousarray(values).view(f"V{over}")[:, 0]
                break
            sizes = np.minimum(left, c.sizes)
            for size in np.unique(sizes[sizes > 0]).tolist():
                which = (sizes == size).nonzero()[0]
                values = c.values.take(which).view(np.uint8).reshape(len(which), c.width)[:, :size]
                _view(out, size)[at[which]] = np.ascontiguousarray(values).view(f"V{size}")[:, 0]
            left = left - sizes
            at = at + c.sizes
            if not left.any():
                break


def together(cells: Sequence[Cells], count: int) -> list[Texts]:
    """Neighbours as one column up to one whose texts have different sizes: fewer places to write to."""
    out: list[Texts] = []
    solid: list[Texts | bytes] = []
    for c in cells:
        if isinstance(c, list | Numbers) or (isinstance(c, bytes) and not c):
            continue
        solid.append(c)
        if isinstance(c, Texts) and not isinstance(c.sizes, int):
            before = sum(map(_width, solid)) - c.width
            out.append(Texts(matrix(solid, count), c.sizes + np.int64(before), before + c.least))
            solid = []
    if solid:
        values = matrix(solid, count)
        out.append(Texts(values, int(values.dtype.itemsize)))
    return out


def matrix(cells: Sequence[Texts | bytes], count: int) -> Column:
    """A row of what is the same for all is copied to each, then the columns are set into it."""
    same = b"".join(c if isinstance(c, bytes) else bytes(c.width) for c in cells)
    out = np.empty(count, f"V{len(same)}")
    if not len(same) or not count:
        return out
    out[:] = np.frombuffer(same, out.dtype)
    at = 0
    for column in cells:
        if isinstance(column, Texts):
            np.ndarray((count,), f"V{column.width}", out.data, at, (len(same),))[:] = column.values
        at += _width(column)
    return out


# --- columns


def texts(found: Iterable[bytes]) -> Texts:
    """Any texts; a table of them, if they are looked up later. None of them ends with a NUL."""
    all_of_them = list(found)
    sizes = np.array(list(map(len, all_of_them)), np.int64)
    width = int(sizes.max(initial=0))
    values = np.array(all_of_them, f"S{max(width, 1)}").view(f"V{max(width, 1)}")
    return Texts(values, width if width and (sizes == width).all() else sizes, int(sizes.min(initial=width)))


def without_newline(cells: Sequence[Cells]) -> list[Cells]:
    """Less one newline at the end of each text, where there is one."""
    *before, last = cells or [b""]
    if isinstance(last, bytes):
        last = last.removesuffix(b"\n")
    elif isinstance(last, list):
        last = [text.removesuffix(b"\n") for text in last]
    elif isinstance(last, Texts) and len(last.values):
        rows = last.values.view(np.uint8).reshape(len(last.values), last.width)
        sizes = np.broadcast_to(np.asarray(last.sizes, np.int64), len(rows))
        ends = (sizes > 0) & (rows[np.arange(len(rows)), np.maximum(sizes - 1, 0)] == 10)
        if ends.any():
            last = Texts(last.values, sizes - ends)
    return [*before, last]


def encoded(found: Iterable[str]) -> Cells:
    """Any texts, as many as there are rows."""
    all_of_them = [text.encode("utf-8", "surrogateescape") for text in found]
    most = max(map(len, all_of_them), default=0)
    if most > MOST_WIDE and most * len(all_of_them) > 2 * sum(map(len, all_of_them)):
        return all_of_them
    return texts(all_of_them)


@cache
def _groups(base: int) -> tuple[Column, Column]:
    """Texts of 0 to base**4 - 1; the same with leading zeros; and nothing. And their sizes."""
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    numbers = np.arange(base**4)
    full = digits[np.stack([numbers // base**n % base for n in (3, 2, 1, 0)], axis=1)]
    short = full.copy()
    sizes = np.full(2 * base**4 + 1, 4, np.uint8)
    for n in (3, 2, 1):
        short[: base**n, :n] = full[: base**n, 4 - n :]
        short[: base**n, n:] = 0
        sizes[: base**n] = n
    sizes[-1] = 0
    table = np.concatenate((short, full, np.zeros((1, 4), np.uint8)))
    return np.ascontiguousarray(table).view("V4")[:, 0], sizes


def _looked_up(numbers: Column, base: int) -> list[Cells]:
    """u8 numbers, the highest digits first, eight or less in a column."""
    (table, sizes), size = _groups(base), base**4
    most = int(numbers.max(initial=0))
    groups: list[Texts] = []
    rest = numbers
    scale = 1
    while True:
        above = rest >> np.uint64(16) if base == 16 else rest // np.uint64(size)
        group = (rest - above * np.uint64(size)).view(np.int64)
        if most >= size * scale:
            group += (above != 0) * np.int64(size)
        if scale > 1:
            group += (rest == 0) * np.int64(2 * size)
        groups.append(Texts(table.take(group), sizes.take(group), 1 if scale == 1 else 0))
        scale *= size
        if most < scale:
            break
        rest = above
    pairs = zip(groups[::2], groups[1::2], strict=False)
    out: list[Cells] = [_pair(high, low) for low, high in pairs]
    return [*groups[len(out) * 2 :], *reversed(out)]


def _pair(high: Texts, low: Texts) -> Texts:
    """Two groups of up to four characters in one of up to eight."""
    first, second = (t.values.view("<u4").astype("<u8") for t in (high, low))
    values = first | second << (high.sizes * np.uint64(8))
    return Texts(values.view("V8"), high.sizes + low.sizes, low.least)


def hexadecimal(numbers: Column) -> list[Cells]:
    """u8 numbers, without leading zeros."""
    return _looked_up(numbers, 16) if compiled.WRITTEN is None else [Numbers(compiled.HEX, numbers)]


def decimal(numbers: Column) -> list[Cells]:
    """u8 or i8 numbers."""
    kind = compiled.UNSIGNED if numbers.dtype.kind == "u" else compiled.SIGNED
    return _decimal(numbers) if compiled.WRITTEN is None else [Numbers(kind, numbers)]


def _decimal(numbers: Column) -> list[Cells]:
    if numbers.dtype.kind == "u":
        return _looked_up(numbers, 10)
    below = numbers < 0
    if not below.any():
        return _looked_up(numbers.view(np.uint64), 10)
    sign = Texts(np.full(len(numbers), ord("-"), np.uint8).view("V1"), below.astype(np.uint8))
    return [sign, *_looked_up(np.where(below, -numbers, numbers).view(np.uint64), 10)]


@cache
def _thousand() -> Texts:
    return texts(b"%03d" % n for n in range(1000))


def seconds(times: Column, width: int, digits: int) -> list[Cells]:
    """Nanoseconds as seconds in ``width``, a point, and 3, 6 or 9 digits, cut off behind."""
    found = compiled.times(times, width, digits) if compiled.WRITTEN is not None else None
    return _seconds(times, width, digits) if found is None else [found]


def _seconds(times: Column, width: int, digits: int) -> list[Cells]:
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
