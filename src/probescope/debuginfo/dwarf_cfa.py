"""Where the canonical frame address of an instruction is, by the call frame information of a file.

An entry of .debug_frame tells the address of its function in full, so it is found by a search for those bytes; of
.eh_frame there is a sorted table.
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.debuginfo.dwarf_data import ET_REL, Section, open_section
from probescope.debuginfo.dwarf_expr import Near
from probescope.debuginfo.eh_frame import Frame, FrameSection
from probescope.debuginfo.eh_index import FrameIndex
from probescope.debuginfo.eh_pointer import Pointers
from probescope.debuginfo.elf import ElfFile
from probescope.errors import DwarfError, ElfError
from probescope.model.arch import Arch


class Frames:
    """Of a binary and its debug file. ``start_of``: where the function that has an address begins."""

    def __init__(self, elf: ElfFile, debug: ElfFile | None, arch: Arch, start_of: Callable[[int], int | None]) -> None:
        self._files = (elf, debug)
        self._arch, self._start_of = arch, start_of
        self._index: FrameIndex | None = None
        self._section: tuple[Section, FrameSection] | None = None
        self._looked = False

    def cfa(self, address: int) -> Near | None:
        """``None`` where nobody knows, or it is no register and a number."""
        if not self._looked:
            self._looked = True
            self._open()
        frame = self._frame(address)
        if frame is None or not frame.start <= address < frame.end:
            return None
        rule = [r for at, r in frame.rows if frame.start + at <= address][-1:]
        names = self._arch.dwarf_regs
        if not rule or rule[0].code or not 0 <= rule[0].register < len(names):
            return None
        return Near(names[rule[0].register], rule[0].offset)

    def _open(self) -> None:
        for elf in self._files:
            if elf is None:
                continue
            try:
                linked = elf.header.type != ET_REL
                if linked and self._index is None and elf.section(".eh_frame") is not None:
                    self._index = FrameIndex(elf)
                self._section = self._section or _debug_frame(elf)
            except (ElfError, DwarfError):
                continue

    def _frame(self, address: int) -> Frame | None:
        if self._index is not None and len(self._index.starts):
            i = int(self._index.starts.searchsorted(address, "right")) - 1
            found = self._index.frame(i) if i >= 0 else None
            if found is not None and found.start <= address < found.end:
                return found
        start = self._start_of(address)
        if self._section is None or start is None:
            return None
        section, frames = self._section
        for at in section.find(start.to_bytes(8, "little" if section.little else "big")):
            for head in (8, 20):  # behind a length and a reference of four bytes, or of eight
                found = frames.at(at - head) if at >= head else None
                if found is not None and found.start == start:
                    return found
        return None


def _debug_frame(elf: ElfFile) -> tuple[Section, FrameSection] | None:
    section = open_section(elf, ".debug_frame")
    if section is None:
        return None
    data = section.whole()
    pointers = Pointers(data, 0, little=elf.little, bits=elf.bits)
    return section, FrameSection(pointers, elf.machine, debug=True, little=elf.little)
