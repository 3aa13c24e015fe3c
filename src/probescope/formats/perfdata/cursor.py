"""Reading small structures: bounded, in the file's byte order."""

from __future__ import annotations

import functools
import struct

from probescope.errors import FormatError


class Cursor:
    """A place in ``data``. Every method raises FormatError where the bytes end; ``section`` says of what."""

    __slots__ = ("at", "data", "order", "section")

    def __init__(self, data: bytes, big: bool, section: str = "") -> None:
        self.data = data
        self.order = ">" if big else "<"
        self.section = section
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def bytes(self, count: int) -> bytes:
        if count < 0 or count > self.left:
            raise FormatError(f"{count} bytes wanted where {self.left} are left", section=self.section, offset=self.at)
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, layout: str) -> tuple[int, ...]:
        known = _struct(self.order + layout)
        return known.unpack(self.bytes(known.size))

    def u32(self) -> int:
        return self.unpack("I")[0]

    def u64(self) -> int:
        return self.unpack("Q")[0]

    def count(self, least: int) -> int:
        """A u32 that says how many things of at least ``least`` bytes follow."""
        n = self.u32()
        if n * least > self.left:
            raise FormatError(f"{n} entries in {self.left} bytes", section=self.section, offset=self.at - 4)
        return n

    def string(self) -> str:
        """u32 length, then as many bytes, zero-terminated and padded with zeros."""
        return text(self.bytes(self.u32()))

    def strings(self) -> tuple[str, ...]:
        return tuple(self.string() for _ in range(self.count(4)))


@functools.lru_cache(256)
def _struct(layout: str) -> struct.Struct:
    return struct.Struct(layout)


def text(data: bytes) -> str:
    """Up to the first NUL; what is not UTF-8 is kept as surrogates, so that paths can be found again."""
    return data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
