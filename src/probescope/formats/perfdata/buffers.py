"""Memory for pieces of a file: with room at the front, used again when nobody looks at it any more.

    0              front                           end
    |   room ...   | bytes of the file ........... |        one numpy array of bytes, and the same as native words

What is left over of the piece before (records that wait for a later round) is copied into the room, ending where the
piece's own bytes begin or where the room was used last; so records of two pieces are in one array, and the larger of
both was not copied.
Fresh memory costs a page fault for each 4 KiB, as much as everything else that is done with a record; so buffers that
no view refers to (their reference count tells) are handed out again.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from probescope.formats.perfdata.mapped import Mapped
    from probescope.formats.perfdata.walk import Places

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]
    Words = np.ndarray[Any, np.dtype[np.uint64]]

ROOM = 1 << 20
KEPT = 6
#: References that a buffer in the pool has when nobody uses it: the pool's list, the loop's variable, the call's.
_IDLE = 3


class Buffer:
    """``data``: bytes, ``words``: the same as native numbers. ``front``: first byte of the piece; ``room``: first
    word in use. ``mapped``: bytes that the kernel keeps, which need not be held together. ``copied``: some of the bytes
    once more, as compiled loops want them, and the word they begin with, where the kernel's cannot be used. ``origin``:
    of a part, what the whole was mapped from, and which byte it begins at."""

    __slots__ = ("big", "copied", "data", "front", "mapped", "origin", "room", "words")

    def __init__(self, data: Bytes, front: int, big: bool, mapped: Mapped | None = None) -> None:
        self.data, self.front, self.big, self.mapped = data, front, big, mapped
        self.room = front // 8
        self.copied: tuple[int, bytes] = (0, b"")
        self.origin: tuple[Mapped | None, int] = (mapped, 0)
        self.words: Words = data[: len(data) // 8 * 8].view(">u8" if big else "<u8")
        if big:
            self.words = self.words.astype(np.uint64)

    @classmethod
    def of(cls, words: Words) -> Buffer:
        """Of native numbers."""
        out = cls.__new__(cls)
        out.data, out.words = words.view(np.uint8), words
        out.front = out.room = 0
        out.big, out.mapped, out.copied, out.origin = False, None, (0, b""), (None, 0)
        return out

    def part(self, first: int, end: int) -> Buffer:
        """The words from ``first`` to before ``end``, to be looked at."""
        out = Buffer.__new__(Buffer)
        out.data, out.words = self.data[first * 8 : end * 8], self.words[first:end]
        out.front = out.room = 0
        out.big, out.mapped, out.copied = self.big, None, (0, b"")
        out.origin = (self.origin[0], self.origin[1] + first * 8)
        return out

    def source(self) -> tuple[bytes, int] | None:
        """As ``Ragged`` has it."""
        mapped, first = self.origin
        whole = mapped.whole() if mapped is not None else None
        return None if whole is None else (whole, first)

    def compiled(self) -> tuple[int, bytes]:
        """Bytes for compiled loops, not to be kept, and the word they begin with; none where nobody has copied any."""
        whole = self.mapped.whole() if self.mapped is not None else None
        return self.copied if whole is None else (0, whole)

    def rows(self, at: Places, count: int) -> Words:
        """``count`` words from each of these places on, a row for each: one copy of a piece, not of each word. Behind
        the end there are zeros."""
        words = self.words
        last = len(words) - count
        if len(at) and at.max() > last:
            first = max(last, 0)
            longer = Buffer.of(np.append(words[first:], np.zeros(count, np.uint64)))
            if last < 0:
                return longer.rows(at, count)
            rows = self.rows(np.minimum(at, last), count)
            late = (at > last).nonzero()[0]
            rows[late] = longer.rows(at[late] - first, count)
            return rows
        kind = np.dtype((np.void, count * 8))
        pieces: Any = np.ndarray((max(last + 1, 0),), kind, words.data, 0, (8,))
        found: Words = pieces[at].view(np.uint64).reshape(len(at), count)
        return found

    def halves(self, at: Any) -> Any:
        """The i4 numbers at these places, counted in fours of bytes."""
        view = self.data[: len(self.words) * 8].view(">i4" if self.big else "<i4")
        return view[at].astype(np.int32, copy=False)

    def split(self, rows: Words, at: int) -> tuple[Any, Any]:
        """The i4 numbers at the lower and the higher address of a word of each row."""
        first = int((sys.byteorder == "big") != self.big)
        return rows.view(np.int32)[:, 2 * at + first], rows.view(np.int32)[:, 2 * at + 1 - first]

    def first_halves(self, rows: Words, at: int) -> Any:
        return rows.view(np.int32)[:, 2 * at + int((sys.byteorder == "big") != self.big)]

    def low(self, words: Words) -> Places:
        """The u4 number at the lower address of each word."""
        if self.big:
            return (words >> np.uint64(32)).view(np.int64)
        return (words & np.uint64(0xFFFFFFFF)).view(np.int64)

    def take_room(self, words: int) -> int:
        """Where ``words`` may be put; -1 if there is no room for them."""
        if words > self.room:
            return -1
        self.room -= words
        return self.room


class Pool:
    def __init__(self) -> None:
        self._held: list[Bytes] = []

    def bytes(self, size: int) -> Bytes:
        """An array of ``size`` bytes, with anything in it."""
        for held in self._held:
            if size <= len(held) <= 4 * size and sys.getrefcount(held) <= _IDLE:
                return held[:size]
        fresh = np.empty(size, np.uint8)
        if len(self._held) >= KEPT:
            self._held.pop(0)
        self._held.append(fresh)
        return fresh[:]
