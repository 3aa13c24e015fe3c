"""Pointers as .eh_frame writes them, encoded by a byte (DW_EH_PE_*).

    encoding   7         6 5 4        3 2 1 0
               indirect  relative to  format        0xff: left out

Source: Linux Standard Base Core 5.0, 10.5 "DWARF Extensions".
"""

from __future__ import annotations

import struct

from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import ElfError

OMIT = 0xFF
_INDIRECT, _RELATIVE, _FORMAT = 0x80, 0x70, 0x0F
_PCREL, _DATAREL = 0x10, 0x30
_ULEB128, _SLEB128 = 0x01, 0x09
_FIXED = {0x02: "H", 0x03: "I", 0x04: "Q", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
_MASK = (1 << 64) - 1


class Pointers:
    """Reads encoded pointers of one section. ``address``: where the section lies; ``base``: what data-relative ones are
    relative to."""

    __slots__ = ("address", "base", "data", "formats")

    def __init__(self, data: bytes, address: int, base: int = 0, *, little: bool = True, bits: int = 64) -> None:
        self.data = data
        self.address = address
        self.base = base
        order = "<" if little else ">"
        self.formats = {k: struct.Struct(order + f) for k, f in _FIXED.items()}
        self.formats[0x00] = struct.Struct(order + ("Q" if bits == 64 else "I"))

    def plain(self, at: int, encoding: int) -> tuple[int, int]:
        """The number alone, relative to nothing, and where it ends. Raises ElfError."""
        kind = encoding & _FORMAT
        try:
            if kind == _ULEB128:
                return uleb(self.data, at)
            if kind == _SLEB128:
                return sleb(self.data, at)
            fmt = self.formats[kind]
            return fmt.unpack_from(self.data, at)[0], at + fmt.size
        except KeyError:
            raise ElfError(f"pointer encoding {encoding:#x} is not known", offset=at) from None
        except (struct.error, IndexError):
            raise ElfError("a pointer is cut", offset=at) from None

    def read(self, at: int, encoding: int) -> tuple[int, int]:
        """The address, and where it ends. Raises ElfError, also for what would have to be read from a running
        process (indirect) or needs the start of a function."""
        value, end = self.plain(at, encoding)
        relative = encoding & _RELATIVE
        if encoding & _INDIRECT or relative not in (0, _PCREL, _DATAREL):
            raise ElfError(f"pointer encoding {encoding:#x} cannot be followed in a file", offset=at)
        if relative == _PCREL:
            value += self.address + at
        elif relative == _DATAREL:
            value += self.base
        return value & _MASK, end

    def skip(self, at: int, encoding: int) -> int:
        """Where a pointer that nobody asks for ends."""
        return at if encoding == OMIT else self.plain(at, encoding)[1]
