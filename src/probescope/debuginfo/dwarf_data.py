"""Bytes of debug sections.

A section is read in pieces: .debug_info of a kernel has hundreds of megabytes, of which one question needs one. What
is compressed is unpacked whole (``elf_unpack.MAX_UNPACKED`` is the bound).

Source: DWARF 5, 7.4 (formats of 32 and 64 bits).
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.debuginfo.dwarf_const import damaged
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_headers import Section as ElfSection
from probescope.debuginfo.elf_source import BufferSource, ByteSource
from probescope.errors import DwarfError, ElfError

KEEP = 1 << 24
"""Sections of at most so many bytes are kept in memory once a string or number of them was asked for."""
MAX_STRING = 1 << 16
CHUNK = 1 << 22
MAX_SAME = 1 << 14
SHT_NOBITS, SHF_COMPRESSED, ET_REL = 8, 0x800, 1


class Section:
    """One section, or the part of one that belongs to a unit of a package (.dwp)."""

    __slots__ = ("_kept", "_source", "_start", "file", "little", "name", "size")

    def __init__(self, source: ByteSource, start: int, size: int, name: str, file: str, little: bool = True) -> None:
        self._source, self._start, self.size = source, start, size
        self.name, self.file, self.little = name, file, little
        self._kept: bytes | None = None

    def read(self, offset: int, size: int) -> bytes:
        """Exactly ``size`` bytes. Raises ``DwarfError``."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise self.error(f"{size} bytes reach behind the end of the section", offset)
        try:
            return self._source.read(self._start + offset, size)
        except ElfError as e:
            raise self.error(e.what, offset) from e

    def some(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes, fewer where the section ends."""
        return self.read(offset, min(size, max(self.size - offset, 0)))

    def whole(self) -> bytes:
        """All of it, remembered. For sections that are small, or searched."""
        if self._kept is None:
            self._kept = self.read(0, self.size)
        return self._kept

    def forget(self) -> None:
        """Gives back what is remembered; it is read again where it is asked for."""
        self._kept = None

    def string(self, offset: int) -> str:
        """Up to its NUL. Raises ``DwarfError`` for one without."""
        if self.size <= KEEP:
            data = self.whole()
            end = data.find(b"\0", offset, offset + MAX_STRING) if 0 <= offset < len(data) else -1
            if end >= 0:
                return data[offset:end].decode("utf-8", "replace")
            raise self.error("a string has no end", offset)
        for size in (128, 4096, MAX_STRING):
            data = self.some(offset, size)
            end = data.find(b"\0")
            if end >= 0:
                return data[:end].decode("utf-8", "replace")
        raise self.error("a string has no end", offset)

    def word(self, offset: int, size: int) -> int:
        """A number of ``size`` bytes."""
        data = self.whole()[offset : offset + size] if self.size <= KEEP else self.read(offset, size)
        if offset < 0 or len(data) != size:
            raise self.error("a number reaches behind the end of the section", offset)
        return int.from_bytes(data, "little" if self.little else "big")

    def find(self, needle: bytes) -> Iterator[int]:
        """Every offset at which some bytes stand, in bounded memory."""
        step = max(CHUNK, 2 * len(needle))
        for start in range(0, self.size, step):
            data = self.some(start, step + len(needle) - 1)
            at = data.find(needle)
            while 0 <= at < step:
                yield start + at
                at = data.find(needle, at + 1)

    def part(self, start: int, size: int) -> Section:
        """Raises ``DwarfError`` if it is not inside."""
        if start < 0 or size < 0 or start + size > self.size:
            raise self.error(f"a part of {size} bytes reaches behind the end of the section", start)
        return Section(self._source, self._start + start, size, self.name, self.file, self.little)

    def error(self, what: str, offset: int = -1) -> DwarfError:
        return damaged(what, self.file, self.name, offset)


def open_section(elf: ElfFile, name: str) -> Section | None:
    """``.debug_info``, also as ``.debug_info.dwo`` or the older ``.zdebug_info`` if asked for by that; ``None`` if it
    is not there or has no bytes. Raises ``DwarfError``."""
    try:
        found = elf.section(name)
        if found is None:
            return _old_compressed(elf, name)
        same = [s for s in elf.sections() if s.name == name] if name.endswith(".dwo") else []
        if len(same) > 1:  # of files that were never linked: type units are sections of their own
            return _in_memory(_joined(elf, same, name), elf, name)
        if found.type == SHT_NOBITS or not found.size:
            return None
        if elf.header.type == ET_REL:
            from probescope.debuginfo.dwarf_relocate import relocated

            return _in_memory(relocated(elf, found), elf, name)
        if found.flags & SHF_COMPRESSED:
            return _in_memory(elf.section_data(found), elf, name)
    except ElfError as e:
        raise damaged(e.what, elf.path, name, e.offset) from e
    if found.offset + found.size > elf.source.size:
        raise damaged("the section reaches behind the end of the file", elf.path, name)
    return Section(elf.source, found.offset, found.size, name, elf.path, elf.little)


def _joined(elf: ElfFile, same: list[ElfSection], name: str) -> bytes:
    """Sections of one name after each other, in bounded memory: several may be the same bytes of the file."""
    from probescope.debuginfo.elf_unpack import MAX_UNPACKED

    out = bytearray()
    for section in same[:MAX_SAME]:
        out += elf.section_data(section)
        if len(out) > MAX_UNPACKED:
            raise damaged(f"has more than the {MAX_UNPACKED} bytes that are read", elf.path, name)
    return bytes(out)


def _in_memory(data: bytes, elf: ElfFile, name: str) -> Section:
    return Section(BufferSource(data, elf.path), 0, len(data), name, elf.path, elf.little)


def _old_compressed(elf: ElfFile, name: str) -> Section | None:
    """``.zdebug_info``: "ZLIB", the size in eight bytes, high first, and a zlib stream (binutils before 2.26)."""
    found: ElfSection | None = elf.section(name.replace(".debug_", ".zdebug_")) if name.startswith(".debug_") else None
    if found is None:
        return None
    import zlib

    from probescope.debuginfo.elf_unpack import MAX_UNPACKED

    data = elf.section_data(found)
    size = int.from_bytes(data[4:12], "big")
    if data[:4] != b"ZLIB" or size > MAX_UNPACKED:
        raise damaged("is not compressed as its name says", elf.path, found.name)
    try:
        return _in_memory(zlib.decompressobj().decompress(data[12:], max(size, 1)), elf, name)
    except zlib.error as e:
        raise damaged(f"does not unpack: {e}", elf.path, found.name) from e
