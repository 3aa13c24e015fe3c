"""Many messages of one shape at once: columns to the bytes of protocol buffers, by numpy.

A message is a list of parts, each of them the same for all rows (bytes), of one width (a matrix of bytes), or of a size
of its own (``Texts`` by index). Numbers are varints as wide as the greatest of the column needs; sizes of messages are
varints of four bytes. Both may be longer than they must be, which every reader takes.

    field 4 of each row:  tag 22 | size xx xx xx xx | tag 08 | pid xx xx xx | tag 12 | size xx xx xx xx | comm ...
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.protobuf import utf8, varint

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]
    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

SIZE_BYTES = 4


class Texts:
    """Texts of rows: different ones once, in ``values`` from ``start`` on, ``size`` bytes."""

    def __init__(self, texts: Sequence[str]) -> None:
        index: dict[str, int] = {}
        which = [index.setdefault(t, len(index)) for t in texts]
        encoded = [utf8(t) for t in index]
        sizes = np.array([len(e) for e in encoded], np.int64)
        starts = np.cumsum(sizes) - sizes
        rows = np.array(which, np.int64)
        self.values: Bytes = np.frombuffer(b"".join(encoded), np.uint8)
        self.start: Column = starts[rows] if len(rows) else rows
        self.size: Column = sizes[rows] if len(rows) else rows


class Message:
    """``count`` messages of one shape: parts are added field by field."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.parts: list[bytes | Bytes | Texts] = []
        self.size: Column = np.zeros(count, np.int64)

    def number(self, field: int, values: Column) -> Message:
        """Integers of any type; negative ones as int64."""
        if values.dtype.kind == "i":
            values = values.astype(np.int64).view(np.uint64)
        return self._fixed(varint(field << 3))._fixed(varints(values.astype(np.uint64, copy=False)))

    def constant(self, field: int, value: int) -> Message:
        return self._fixed(varint(field << 3) + varint(value))

    def literal(self, field: int, value: bytes) -> Message:
        """The same bytes in all."""
        return self._fixed(varint(field << 3 | 2) + varint(len(value)) + value)

    def texts(self, field: int, texts: Sequence[str]) -> Message:
        found = Texts(texts)
        self._fixed(varint(field << 3 | 2))._fixed(varints(found.size.astype(np.uint64)))
        self.parts.append(found)
        self.size = self.size + found.size
        return self

    def message(self, field: int, inner: Message) -> Message:
        self._fixed(varint(field << 3 | 2))._fixed(varints(inner.size.astype(np.uint64), SIZE_BYTES))
        self.parts += inner.parts
        self.size = self.size + inner.size
        return self

    def _fixed(self, part: bytes | Bytes) -> Message:
        self.parts.append(part)
        self.size = self.size + (len(part) if isinstance(part, bytes) else part.shape[1])
        return self

    def bytes(self) -> bytes:
        """All messages one after the other, without anything between them."""
        ends = np.cumsum(self.size)
        out = np.empty(int(ends[-1]) if self.count else 0, np.uint8)
        at = ends - self.size
        for part in _blocks(self.parts, self.count):
            if isinstance(part, Texts):
                total = int(part.size.sum())
                within = np.arange(total) - np.repeat(np.cumsum(part.size) - part.size, part.size)
                out[np.repeat(at, part.size) + within] = part.values[np.repeat(part.start, part.size) + within]
                at = at + part.size
            else:
                out[at[:, None] + np.arange(part.shape[1])] = part
                at = at + part.shape[1]
        return out.tobytes()


def varints(values: Column, width: int = 0) -> Bytes:
    """A row of ``width`` bytes for each of the u8 values; 0: as many as the greatest needs."""
    most = int(values.max(initial=0))
    width = width or max(1, -(-most.bit_length() // 7))
    out = np.empty((len(values), width), np.uint8)
    for i in range(width):
        more = 0x80 if i < width - 1 else 0
        out[:, i] = (values >> np.uint64(7 * i) & np.uint64(0x7F)).astype(np.uint8) | more
    return out


def _blocks(parts: Iterable[bytes | Bytes | Texts], count: int) -> list[Bytes | Texts]:
    """Neighbours of fixed width as one matrix."""
    out: list[Bytes | Texts] = []
    held: list[Bytes] = []
    for part in parts:
        if isinstance(part, Texts):
            if held:
                out.append(np.concatenate(held, axis=1))
            out.append(part)
            held = []
        elif isinstance(part, bytes):
            held.append(np.broadcast_to(np.frombuffer(part, np.uint8), (count, len(part))))
        else:
            held.append(part)
    if held:
        out.append(np.concatenate(held, axis=1))
    return out
