"""Call frame information: .eh_frame as compilers write it for exceptions, and .debug_frame, its older sibling.

    .eh_frame      0       4               8
                   length  CIE: 0          version, augmentation, alignments, return register, data, program
                   length  FDE: back to    start, size, data, program
                           its CIE

A CIE is what several functions have in common, an FDE is one function. A length of 0xffffffff says that eight bytes of
length follow (and in .debug_frame eight of identity); a length of 0 ends .eh_frame. .debug_frame has ffffffff where a
CIE of .eh_frame has 0, and its FDEs name their CIE by its place in the section.

Source: Linux Standard Base Core 5.0, 10.6 "Exception Frames"; DWARF 5, 6.4.1 and 7.24.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probescope.debuginfo.eh_pointer import OMIT, Pointers
from probescope.debuginfo.eh_rules import MACHINES, Program, Rows, Start
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import ElfError

MAX_FRAMES = 1 << 22
"""Functions of one file; Chromium has some 700,000."""


class Frame(NamedTuple):
    """One function: virtual addresses from ``start`` to ``end``. ``signal``: it is the return from a signal handler,
    whose caller was interrupted before an instruction, not after a call."""

    start: int
    end: int
    rows: Rows
    signal: bool = False


class _Cie(NamedTuple):
    program: Program
    encoding: int  # of the FDE's addresses
    sized: bool  # FDEs say how much data they have before their program
    signal: bool


class FrameSection:
    """The frames of one section. Iterating gives those that can be read; ``bad`` counts the others."""

    def __init__(
        self, pointers: Pointers, machine: str, *, debug: bool = False, little: bool = True, every: bool = False
    ) -> None:
        """``every``: rules tell of all registers. Raises ElfError for a machine whose registers are not known here."""
        if machine not in MACHINES:
            raise ElfError(f"frames of {machine} are not read")
        self.bad = 0
        self._p = pointers
        self._machine = MACHINES[machine]
        self._debug = debug
        self._little = little
        self._every = every
        self._cies: dict[int, _Cie | None] = {}

    def __iter__(self) -> Iterator[Frame]:
        at, size, count = 0, len(self._p.data), 0
        while at + 4 <= size and count < MAX_FRAMES:
            start, length, wide = self._length(at)
            if length == 0 or length > size - start:
                self.bad += length != 0
                return
            at = start + length
            identity = self._number(start, wide)
            if length < wide or self._is_cie(identity, wide):
                continue
            frame = self._frame(start, at, identity, wide)
            count += 1
            if frame is not None:
                yield frame

    def at(self, place: int) -> Frame | None:
        """The function whose entry begins at byte ``place`` of the section; ``None`` if there is none."""
        if not 0 <= place <= len(self._p.data) - 4:
            return None
        start, length, wide = self._length(place)
        if not wide <= length <= len(self._p.data) - start:
            return None
        identity = self._number(start, wide)
        return None if self._is_cie(identity, wide) else self._frame(start, start + length, identity, wide)

    # --- entries ------------------------------------------------------------------------------------------------------

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._p.data[at : at + size], "little" if self._little else "big")

    def _length(self, at: int) -> tuple[int, int, int]:
        """Where the entry's body starts, its bytes, and the bytes of its identity."""
        length = self._number(at, 4)
        if length != 0xFFFFFFFF:
            return at + 4, length, 4
        return at + 12, self._number(at + 4, 8), 8 if self._debug else 4

    def _is_cie(self, identity: int, wide: int) -> bool:
        return identity == ((1 << 8 * wide) - 1 if self._debug else 0)

    def _frame(self, at: int, end: int, identity: int, wide: int) -> Frame | None:
        place = identity if self._debug else at - identity
        if place not in self._cies:
            self._cies[place] = self._cie(place)
        cie = self._cies[place]
        if cie is None:
            self.bad += 1
            return None
        try:
            start, at = self._p.read(at + wide, cie.encoding)
            size, at = self._p.plain(at, cie.encoding)
            if cie.sized:
                more, at = uleb(self._p.data, at)
                at += more
        except (ElfError, IndexError):
            self.bad += 1
            return None
        if size <= 0 or at > end or start + size >= 1 << 64:
            self.bad += size > 0
            return None
        return Frame(start, start + size, cie.program.run(self._p.data[at:end]), cie.signal)

    def _cie(self, place: int) -> _Cie | None:
        try:
            return self._read_cie(place)
        except (ElfError, IndexError):
            return None

    def _read_cie(self, place: int) -> _Cie:
        data = self._p.data
        if not 0 <= place < len(data):
            raise ElfError("a CIE lies outside of the section", offset=place)
        at, length, wide = self._length(place)
        end = at + length
        if end > len(data) or not self._is_cie(self._number(at, wide), wide):
            raise ElfError("this is no CIE", offset=place)
        version = data[at + wide]
        stop = data.find(b"\0", at + wide + 1, end)
        if version not in (1, 3, 4) or stop < 0:
            raise ElfError(f"version {version} of a CIE is not known", offset=place)
        augmentation = data[at + wide + 1 : stop]
        at = stop + 1 + 2 * (version == 4)  # sizes of addresses and segments
        code_align, at = uleb(data, at)
        data_align, at = sleb(data, at)
        ret, at = (data[at], at + 1) if version == 1 else uleb(data, at)
        at, encoding = self._augmented(augmentation, at)
        m = self._machine
        begin = Start(code_align, data_align, m.frame, ret, m.leaf, self._little, self._every)
        return _Cie(Program(begin, data[at:end]), encoding, augmentation[:1] == b"z", b"S" in augmentation)

    def _augmented(self, letters: bytes, at: int) -> tuple[int, int]:
        """Where the program starts, and the encoding of FDE addresses."""
        if not letters:
            return at, 0
        if letters[:1] != b"z":
            raise ElfError(f"augmentation {letters!r} is not known", offset=at)
        size, at = uleb(self._p.data, at)
        end, encoding = at + size, 0
        for letter in letters[1:]:
            if letter == ord("R"):
                encoding, at = self._p.data[at], at + 1
            elif letter == ord("L"):
                at += 1
            elif letter == ord("P"):
                at = self._p.skip(at + 1, self._p.data[at])
            elif letter not in b"SBG":  # signal frame; pointers signed by key B; tagged memory
                break  # its data cannot be skipped; what matters stands before it
        if encoding == OMIT:
            raise ElfError("FDEs have no addresses", offset=at)
        return end, encoding


def frames_of(elf: ElfFile, *, every: bool = False) -> FrameSection:
    """The frames of a file: of .eh_frame, or of .debug_frame where that is missing. Raises ElfError where there is
    neither, or the machine is not known."""
    return section_of(elf, every=every)[0]


def section_of(elf: ElfFile, *, every: bool = False) -> tuple[FrameSection, int]:
    """As ``frames_of``, and the virtual address of the section; -1 of .debug_frame, which is not loaded."""
    for name, debug in ((".eh_frame", False), (".debug_frame", True)):
        section = elf.section(name)
        data = elf.section_data(section) if section is not None else b""
        if section is not None and data:
            pointers = Pointers(data, section.address, little=elf.little, bits=elf.bits)
            found = FrameSection(pointers, elf.machine, debug=debug, little=elf.little, every=every)
            return found, -1 if debug else section.address
    return _by_segment(elf, every)


PT_GNU_EH_FRAME = 0x6474E550


def _by_segment(elf: ElfFile, every: bool) -> tuple[FrameSection, int]:
    """Without section headers, .eh_frame is found through .eh_frame_hdr::

        0        1             2          3          4
        version  encoding of   of count   of table   address of .eh_frame, count, sorted table

    and ends with its entry of length 0, at the latest with its segment."""
    header = next((s for s in elf.segments() if s.type == PT_GNU_EH_FRAME), None)
    if header is None:
        raise ElfError("the file has no unwind tables", file=elf.path)
    data = elf.read_vaddr(header.vaddr, header.filesz)
    if len(data) < 4 or data[0] != 1:
        raise ElfError("version of .eh_frame_hdr is not known", file=elf.path)
    start, _ = Pointers(data, header.vaddr, header.vaddr, little=elf.little, bits=elf.bits).read(4, data[1])
    segment = next((s for s in elf.segments() if s.type == 1 and s.vaddr <= start < s.vaddr + s.filesz), None)
    if segment is None:
        raise ElfError(".eh_frame lies outside of the file", file=elf.path)
    body = elf.read_vaddr(start, segment.vaddr + segment.filesz - start)
    pointers = Pointers(body, start, little=elf.little, bits=elf.bits)
    return FrameSection(pointers, elf.machine, little=elf.little, every=every), start
