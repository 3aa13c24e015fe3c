"""Debug sections of files that were never linked (.o, .ko): references in them are written down as relocations.

    .rela.debug_info    offset   symbol, kind   addend          what stands at ``offset`` is symbol + addend

Sections of code and data all begin at 0 there; here they are laid one behind the other, so that an address tells its
section. Source: System V ABI, "Relocation"; its AMD64 supplement, table 4.9; ELF for the Arm 64-bit Architecture, 5.7.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_headers import Section
from probescope.errors import ElfError

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

ET_REL, SHT_RELA, SHT_SYMTAB, SHF_ALLOC = 1, 4, 2, 2
FIRST = 1 << 20
"""Where the first section begins: no address is 0."""
_WIDTHS = {"x86_64": {1: 8, 10: 4, 11: 4}, "aarch64": {257: 8, 258: 4}}
_RELA, _SYMBOL = 24, 24


class Layout:
    """Where the sections of a file are laid. ``starts``: (address, section), ascending."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self.bases: dict[int, int] = {}
        self.starts: list[tuple[int, Section]] = []
        at = FIRST
        for s in elf.sections():
            if s.flags & SHF_ALLOC and s.size < 1 << 30:
                at += -at % 4096
                self.bases[s.index] = at
                self.starts.append((at, s))
                at += s.size

    def address(self, section: int, value: int) -> int | None:
        """Of a symbol; ``None`` if it is in no section of code or data."""
        base = self.bases.get(section)
        return None if base is None else base + value

    def section_at(self, address: int) -> tuple[Section, int] | None:
        """The section, and the place in it."""
        i = bisect_right([start for start, _ in self.starts], address) - 1
        if i < 0 or address >= self.starts[i][0] + self.starts[i][1].size:
            return None
        return self.starts[i][1], address - self.starts[i][0]


def layout_of(elf: ElfFile) -> Layout | None:
    """``None`` for a file that was linked."""
    return Layout(elf) if elf.header.type == ET_REL else None


def relocated(elf: ElfFile, section: Section) -> bytes:
    """The bytes of a section, decompressed, with its references filled in. Raises ``ElfError``."""
    data = elf.section_data(section)
    for table in elf.sections():
        if table.type == SHT_RELA and table.info == section.index:
            data = _applied(elf, data, table)
    return data


def _applied(elf: ElfFile, data: bytes, table: Section) -> bytes:
    import numpy as np

    widths = _WIDTHS.get(elf.machine)
    if widths is None or elf.bits != 64 or not elf.little:
        raise ElfError(f"relocations of {elf.machine} are not applied", file=elf.path, section=table.name)
    raw = elf.section_data(table)
    rows = np.frombuffer(raw, np.dtype("<u8"), len(raw) // _RELA * 3).reshape(-1, 3)
    values = _symbols(elf, table.link)
    number = (rows[:, 1] >> np.uint64(32)).astype(np.int64)
    good = number < len(values)
    rows, number = rows[good], number[good]
    targets = values[number] + rows[:, 2]
    kinds = (rows[:, 1] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    out = np.frombuffer(bytearray(data), np.uint8)
    for kind, width in widths.items():
        picked = (kinds == kind) & (rows[:, 0] < max(len(data) - width + 1, 0))
        places, words = rows[picked, 0].astype(np.int64), targets[picked]
        for i in range(width):
            out[places + i] = (words >> np.uint64(8 * i)).astype(np.uint8)
    return out.tobytes()


def _symbols(elf: ElfFile, link: int) -> Column:
    """Values of the symbols: addresses, of those in debug sections offsets."""
    import numpy as np

    sections = elf.sections()
    if not 0 <= link < len(sections) or sections[link].type != SHT_SYMTAB:
        raise ElfError("relocations without symbols", file=elf.path)
    raw = elf.section_data(sections[link])
    count = len(raw) // _SYMBOL
    names, formats = ("name", "info", "other", "section", "value", "size"), ("<u4", "u1", "u1", "<u2", "<u8", "<u8")
    shape = np.dtype(list(zip(names, formats, strict=True)))
    rows = np.frombuffer(raw, shape, count)
    bases = np.zeros(1 << 16, np.uint64)
    for index, base in Layout(elf).bases.items():
        if index < 1 << 16:
            bases[index] = base
    values: Column = rows["value"] + bases[rows["section"]]
    return values
