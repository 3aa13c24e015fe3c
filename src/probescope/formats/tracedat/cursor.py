"""Numbers and texts at a place in a file, or in the bytes of a section: bounded, in the recording's byte order."""

from __future__ import annotations

import struct
from typing import BinaryIO

from probescope.errors import FormatError

MOST_BYTES = 1 << 27
MOST_STRING = 1 << 16


class Cursor:
    """Reads on from where ``file`` stands. Every method raises FormatError where the bytes end. ``size`` is that of the
    whole file."""

    __slots__ = ("file", "order", "section", "size")

    def __init__(self, file: BinaryIO, size: int, big: bool = False, section: str = "") -> None:
        self.file = file
        self.size = size
        self.order = ">" if big else "<"
        self.section = section

    @property
    def at(self) -> int:
        return self.file.tell()

    @property
    def left(self) -> int:
        return max(0, self.size - self.file.tell())

    def seek(self, offset: int) -> None:
        if not 0 <= offset <= self.size:
            raise self.error(f"place {offset:#x} is not in the file, which ends at {self.size:#x}")
        self.file.seek(offset)

    def error(self, what: str) -> FormatError:
        return FormatError(what, section=self.section, offset=self.at)

    def bytes(self, count: int) -> bytes:
        if count > self.left or count > MOST_BYTES:
            raise self.error(f"{count} bytes wanted where {self.left} are left")
        data = self.file.read(count)
        if len(data) < count:
            raise self.error(f"{count} bytes wanted where {len(data)} are left")
        return data

    def unpack(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(self.order + layout, self.bytes(struct.calcsize("<" + layout)))

    def u16(self) -> int:
        return self.unpack("H")[0]

    def u32(self) -> int:
        return self.unpack("I")[0]

    def u64(self) -> int:
        return self.unpack("Q")[0]

    def count(self, least: int) -> int:
        """A u32 that says how many things of at least ``least`` bytes follow."""
        n = self.u32()
        if n * least > self.left:
            raise self.error(f"{n} entries in {self.left} bytes")
        return n

    def string(self) -> str:
        """Up to its NUL."""
        at = self.at
        piece = self.file.read(min(MOST_STRING, self.left))
        end = piece.find(b"\0")
        if end < 0:
            raise self.error("a text without an end")
        self.file.seek(at + end + 1)
        return piece[:end].decode("utf-8", "surrogateescape")

    def sized(self, size: int) -> str:
        """A text of ``size`` bytes."""
        return self.bytes(size).decode("utf-8", "surrogateescape")
