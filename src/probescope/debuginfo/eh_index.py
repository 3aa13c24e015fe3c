"""Functions of a file by address, read as they are asked for: a library of 110 MB answers at once.

Linkers sort what .eh_frame has into .eh_frame_hdr, mostly as pairs of four bytes relative to it::

    0        1             2          3          4                                 12
    version  encoding of   of count   of table   address of .eh_frame, count       (function, its entry)...

Where there is no such table, or another form of it, all functions are read once.

Source: Linux Standard Base Core 5.0, 10.6.2 "The .eh_frame_hdr section".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.debuginfo.eh_frame import MAX_FRAMES, PT_GNU_EH_FRAME, Frame, FrameSection, section_of
from probescope.debuginfo.eh_pointer import Pointers
from probescope.debuginfo.elf import ElfFile
from probescope.errors import ElfError

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

_SORTED = 0x3B  # relative to the header, four bytes, signed


class FrameIndex:
    """``starts``: virtual addresses of functions, u8, ascending. The entry of each is read by ``frame``."""

    def __init__(self, elf: ElfFile) -> None:
        """Raises ElfError where the file has no unwind information, or the machine is not known."""
        self._section, address = section_of(elf, every=True)
        found = _sorted_table(elf) if address >= 0 else None
        self._frames: list[Frame] = []
        self._places: Column | None = None
        if found is not None:
            self.starts, places = found
            self._places = places - address
        else:
            self.starts = self._read_all(self._section)

    def _read_all(self, section: FrameSection) -> Column:
        import numpy as np

        self._frames = sorted(section, key=lambda f: f.start)
        return np.array([f.start for f in self._frames], np.uint64)

    def frame(self, i: int) -> Frame | None:
        """Of ``starts[i]``; ``None`` where its entry is malformed, or is another function's."""
        if self._places is None:
            return self._frames[i]
        try:
            found = self._section.at(int(self._places[i]))
        except ElfError:
            return None
        return found if found is not None and found.start == int(self.starts[i]) else None

    def end(self, i: int) -> int:
        """Where the next function begins."""
        return int(self.starts[i + 1]) if i + 1 < len(self.starts) else 1 << 64


def _sorted_table(elf: ElfFile) -> tuple[Column, Column] | None:
    """Addresses of functions and of their entries, sorted by the former."""
    import numpy as np

    header = next((s for s in elf.segments() if s.type == PT_GNU_EH_FRAME), None)
    if header is None:
        return None
    try:
        data = elf.read_vaddr(header.vaddr, header.filesz)
        if len(data) < 4 or data[0] != 1 or data[3] != _SORTED:
            return None
        pointers = Pointers(data, header.vaddr, header.vaddr, little=elf.little, bits=elf.bits)
        _, at = pointers.read(4, data[1])
        count, at = pointers.plain(at, data[2])
    except ElfError:
        return None
    if not 0 < count <= min(MAX_FRAMES, (len(data) - at) // 8):
        return None
    pairs = np.frombuffer(data, "<i4" if elf.little else ">i4", 2 * count, at).astype(np.int64) + header.vaddr
    starts, places = pairs[::2].astype(np.uint64), pairs[1::2]
    order = np.argsort(starts, kind="stable")
    return starts[order], places[order]
