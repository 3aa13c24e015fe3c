"""What the code of a file refers to in its data, and which pointers in its data refer to other data.

    x86-64   48 8d 3d [disp32]       lea  text(%rip),%rdi      place + 4 + disp32
             48 c7 c7 [imm32]        mov  $text,%rdi           imm32, extended: files that are not moved, the kernel
             bf [imm32]              mov  $text,%edi
    AArch64  adrp x0, page ; add x0, x0, #low

Instructions are not decoded from the start, which would need every function's: every place is looked at as if a
displacement began there, by columns, and kept if the bytes before it are those of such an instruction and the target
lies in data. One place in some 100,000 is wrong by that, and wrong ones point into the middle of something.
Relocatable files (kernel modules) tell all by relocations; sections are given addresses by their place in the file.

Source: Intel SDM volume 2, 2.1.5 and 2.2.1.6 (ModR/M with mod 00, r/m 101); Arm ARM C6.2 (ADRP, ADD immediate);
System V psABI x86-64 4.4.1, AArch64 ELF ABI 5.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probescope.debuginfo.crossrefs_code import BLOCK, FINDERS
from probescope.debuginfo.elf import ET_DYN, ET_REL, SHF_EXECINSTR, SHT_NOBITS, ElfFile
from probescope.debuginfo.elf_headers import Section

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]

SHF_ALLOC, SHT_RELA, SHT_REL = 0x2, 4, 9
MAX_SCANNED = 1 << 29
"""Bytes of code and data that are looked at."""
_RELATIVE = {"x86_64": 8, "aarch64": 1027}
_POINTER = {"x86_64": 1, "aarch64": 257}
_PC_RELATIVE = {"x86_64": frozenset({2, 4}), "aarch64": frozenset({277})}
"""R_X86_64_PC32, R_X86_64_PLT32; R_AARCH64_ADD_ABS_LO12_NC."""
_ABSOLUTE = {"x86_64": frozenset({10, 11}), "aarch64": frozenset[int]()}
"""R_X86_64_32, R_X86_64_32S."""


class Span(NamedTuple):
    """A section in memory: its first address, one past its last, its bytes."""

    name: str
    start: int
    end: int
    data: bytes
    code: bool


class Crossrefs(NamedTuple):
    """``places[i]`` in code refers to ``targets[i]`` in data; the pointer at ``slots[i]`` to ``pointed[i]``. Each pair
    is sorted by the second column, u8. ``spans`` by address."""

    spans: tuple[Span, ...]
    places: Column
    targets: Column
    slots: Column
    pointed: Column

    def span(self, address: int) -> Span | None:
        return next((s for s in self.spans if s.start <= address < s.end), None)

    def users(self, target: int) -> list[int]:
        """Places in code that refer to exactly that address."""
        return _equal(self.targets, self.places, target)

    def holders(self, target: int) -> list[int]:
        """Pointers in data to exactly that address."""
        return _equal(self.pointed, self.slots, target)

    def nearest_below(self, address: int) -> int | None:
        """The greatest address not above that one which code refers to: where the table begins that it lies in."""
        i = int(np.searchsorted(self.targets, np.uint64(address), side="right"))
        return int(self.targets[i - 1]) if i else None


def _equal(keys: Column, values: Column, wanted: int) -> list[int]:
    low, high = np.searchsorted(keys, np.uint64(wanted), "left"), np.searchsorted(keys, np.uint64(wanted), "right")
    return sorted({int(v) for v in values[low:high]})


def crossrefs(elf: ElfFile) -> Crossrefs:
    """Raises ElfError where sections are malformed. Machines without a finder have pointers only."""
    spans = tuple(_spans(elf))
    if elf.header.type == ET_REL:
        places, targets, slots, pointed = _by_relocations(elf, spans)
    else:
        places, targets = _in_code(elf, spans)
        slots, pointed = _pointers(elf, spans)
    return Crossrefs(spans, *_sorted(places, targets), *_sorted(slots, pointed))


def _sorted(values: Column, keys: Column) -> tuple[Column, Column]:
    order = np.argsort(keys, kind="stable")
    return values[order], keys[order]


def _spans(elf: ElfFile) -> Iterator[Span]:
    left = MAX_SCANNED
    for s in sorted(elf.sections(), key=lambda s: address_of(elf, s)):
        if s.flags & SHF_ALLOC and s.type != SHT_NOBITS and (s.address or elf.header.type == ET_REL) and s.size <= left:
            left -= s.size
            data = elf.section_data(s)
            start = address_of(elf, s)
            yield Span(s.name, start, start + len(data), data, bool(s.flags & SHF_EXECINSTR))


def address_of(elf: ElfFile, section: Section) -> int:
    """Relocatable files have no addresses yet: their places in the file tell sections apart as well."""
    return section.offset if elf.header.type == ET_REL else section.address


def _in_code(elf: ElfFile, spans: tuple[Span, ...]) -> tuple[Column, Column]:
    find = FINDERS.get(elf.machine)
    found: list[tuple[Column, Column]] = []
    data = _ranges(spans)
    for s in spans if find is not None else ():
        for at in range(0, len(s.data) if s.code else 0, BLOCK):
            assert find is not None
            found.append(_kept(*find(s.data, s.start, at, elf.header.type != ET_DYN), data))
    return _joined(found)


def _ranges(spans: tuple[Span, ...]) -> tuple[Column, Column]:
    data = [s for s in spans if not s.code]
    return np.array([s.start for s in data], np.uint64), np.array([s.end for s in data], np.uint64)


def _kept(places: Column, targets: Column, data: tuple[Column, Column]) -> tuple[Column, Column]:
    """Those that point into data."""
    starts, ends = data
    if not len(starts):
        return places[:0], targets[:0]
    i = np.searchsorted(starts, targets, side="right")
    inside = (i > 0) & (targets < ends[i - 1])
    return places[inside], targets[inside]


def _joined(found: list[tuple[Column, Column]]) -> tuple[Column, Column]:
    if not found:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _pointers(elf: ElfFile, spans: tuple[Span, ...]) -> tuple[Column, Column]:
    """Pointers are relocated, or stand in the data as they are: files that are not moved, and .relr.dyn."""
    data = _ranges(spans)
    found = [_kept(*_relative(elf, s), data) for s in elf.sections() if s.type == SHT_RELA and s.flags & SHF_ALLOC]
    if elf.bits == 64 and elf.little:
        found += [_kept(*_words(s), data) for s in spans if not s.code]
    return _joined(found)


def _words(span: Span) -> tuple[Column, Column]:
    skip = -span.start % 8
    words = np.frombuffer(span.data, "<u8", max(len(span.data) - skip, 0) // 8, skip)
    kept = np.flatnonzero(words)
    return kept.astype(np.uint64) * np.uint64(8) + np.uint64(span.start + skip), words[kept]


def _relative(elf: ElfFile, section: Section) -> tuple[Column, Column]:
    if elf.bits != 64 or not elf.little:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    rows = _rows(elf, section)
    rows = rows[(rows[:, 1] & np.uint64(0xFFFFFFFF)) == np.uint64(_RELATIVE.get(elf.machine, 0))]
    return rows[:, 0], rows[:, 2]


def _rows(elf: ElfFile, section: Section) -> Column:
    """Elf64_Rela: r_offset, r_info (symbol << 32 | type), r_addend."""
    data = elf.section_data(section)
    return np.frombuffer(data, "<u8", len(data) // 24 * 3).reshape(-1, 3)


def _by_relocations(elf: ElfFile, spans: tuple[Span, ...]) -> tuple[Column, Column, Column, Column]:
    """Of a file that is still to be linked."""
    data, sections = _ranges(spans), elf.sections()
    bases = _bases(elf)
    code: list[tuple[Column, Column]] = []
    pointers: list[tuple[Column, Column]] = []
    for s in sections:
        at = sections[s.info] if s.type == SHT_RELA and s.info < len(sections) else None
        if at is None or not at.flags & SHF_ALLOC or elf.bits != 64 or not elf.little:
            continue
        for into, kinds, less in (
            (code, _PC_RELATIVE.get(elf.machine, frozenset()), 4 if elf.machine == "x86_64" else 0),
            (code, _ABSOLUTE.get(elf.machine, frozenset()), 0),
            (pointers, frozenset({_POINTER.get(elf.machine, 0)}), 0),
        ):
            into.append(_kept(*_linked(_rows(elf, s), kinds, less, address_of(elf, at), bases), data))
    return *_joined(code), *_joined(pointers)


def _linked(rows: Column, kinds: frozenset[int], less: int, base: int, bases: Column) -> tuple[Column, Column]:
    symbol = rows[:, 1] >> np.uint64(32)
    known = np.isin(rows[:, 1] & np.uint64(0xFFFFFFFF), list(kinds)) & (symbol < np.uint64(len(bases)))
    rows, symbol = rows[known], symbol[known].astype(np.intp)
    target = bases[symbol] + rows[:, 2] + np.uint64(less)
    return rows[:, 0] + np.uint64(base), np.where(bases[symbol] > 0, target, np.uint64(0))


def _bases(elf: ElfFile) -> Column:
    """By symbol: its address; 0 for what other files define."""
    table, sections = elf.symtab(), elf.sections()
    if table is None:
        return np.empty(0, np.uint64)
    where = [address_of(elf, s) for s in sections]
    return np.array([s.address + where[s.section] if 0 < s.section < len(where) else 0 for s in table], dtype=np.uint64)
