"""The parts of an ELF file that unwinding needs, taken out of it, and read again as if they were the file.

    header | program headers | .eh_frame_hdr | .eh_frame (or .debug_frame) | names of sections | section headers

Everything keeps its place: what is not there cannot be read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from probescope.debuginfo.eh_frame import PT_GNU_EH_FRAME
from probescope.debuginfo.elf import PT_LOAD, ElfFile
from probescope.debuginfo.elf_source import check_range
from probescope.errors import ElfError

Pieces = list[tuple[int, bytes]]
_SECTIONS = (".eh_frame", ".eh_frame_hdr", ".debug_frame")


class PartsSource:
    """``pieces``: offset and bytes, rising, none within another. As a source of bytes (elf_source)."""

    __slots__ = ("_data", "_starts", "name", "size")

    def __init__(self, pieces: Sequence[tuple[int, bytes]], name: str) -> None:
        self._starts = [at for at, _ in pieces]
        self._data = [data for _, data in pieces]
        self.name = name
        self.size = self._starts[-1] + len(self._data[-1]) if pieces else 0

    def read(self, offset: int, size: int) -> bytes:
        check_range(self, offset, size)
        i = bisect_right(self._starts, offset) - 1
        at = offset - self._starts[i] if i >= 0 else -1
        if at < 0 or at + size > len(self._data[i]):
            raise ElfError("this part of the file was not kept", file=self.name, offset=offset)
        return self._data[i][at : at + size]

    def close(self) -> None:
        return None


def parts(elf: ElfFile, most: int) -> Pieces:
    """Of at most so many bytes: none if there are more, or nothing to unwind by. Raises ElfError."""
    ranges = sorted(r for r in _ranges(elf) if r[1] > 0)
    merged: list[tuple[int, int]] = []
    for at, size in ranges:
        if merged and at <= merged[-1][0] + merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], at + size - merged[-1][0])
        else:
            merged.append((at, size))
    if not _frames(elf) or sum(size for _, size in merged) > most:
        return []
    return [(at, elf.source.read(at, size)) for at, size in merged]


def _frames(elf: ElfFile) -> list[tuple[int, int]]:
    """Where they lie."""
    found = [(s.offset, s.size) for s in elf.sections() if s.name in _SECTIONS and s.type != 8]  # SHT_NOBITS
    if found:
        return found
    header = next((s for s in elf.segments() if s.type == PT_GNU_EH_FRAME), None)
    if header is None:
        return []
    around = (s for s in elf.segments() if s.type == PT_LOAD and s.vaddr <= header.vaddr < s.vaddr + s.filesz)
    return [(s.offset, s.filesz) for s in around]


def _ranges(elf: ElfFile) -> Iterator[tuple[int, int]]:
    h = elf.header
    yield 0, 64
    yield h.phoff, h.phentsize * h.phnum
    if h.shnum:
        yield h.shoff, h.shentsize * h.shnum
        names = elf.sections()[h.shstrndx] if h.shstrndx < h.shnum else None
        if names is not None:
            yield names.offset, names.size
    yield from _frames(elf)
