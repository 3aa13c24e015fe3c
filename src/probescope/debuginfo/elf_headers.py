"""The three tables of an ELF file: its header, the section headers, the program headers (gABI chapter 4 and 5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from probescope.debuginfo.elf_source import ByteSource
from probescope.errors import ElfError
from probescope.frozen import dataclass

MAX_SECTIONS = 1 << 20
"""-ffunction-sections objects exceed 65,535; more than a million is hostile."""
MAX_SEGMENTS = 1 << 16

SHN_XINDEX = 0xFFFF
PN_XNUM = 0xFFFF

# struct formats without the byte order, by the width of the file
_EHDR = {32: "HHIIIIIHHHHHH", 64: "HHIQQQIHHHHHH"}
_SHDR = {32: "IIIIIIIIII", 64: "IIQQQQIIQQ"}
_PHDR = {32: "IIIIIIII", 64: "IIQQQQQQ"}


@dataclass(frozen=True, slots=True)
class Header:
    """The file header, with extended numbering (counts kept in section 0) already followed."""

    bits: int
    little: bool
    type: int
    machine: int
    entry: int
    phoff: int
    phentsize: int
    phnum: int
    shoff: int
    shentsize: int
    shnum: int
    shstrndx: int


@dataclass(frozen=True, slots=True)
class Section:
    """Addresses, offsets and sizes in bytes; ``index`` is its place in the table."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entsize: int


@dataclass(frozen=True, slots=True)
class Segment:
    type: int
    flags: int
    offset: int
    vaddr: int
    filesz: int
    memsz: int
    align: int


def layout_of(formats: Mapping[int, str], bits: int, little: bool) -> struct.Struct:
    return struct.Struct(("<" if little else ">") + formats[bits])


def cstring(data: bytes, offset: int) -> str:
    """The text up to the next NUL; empty where ``offset`` lies outside."""
    if not 0 <= offset < len(data):
        return ""
    end = data.find(b"\0", offset)
    return data[offset : end if end >= 0 else len(data)].decode("utf-8", "replace")


def read_header(source: ByteSource) -> Header:
    ident = source.read(0, min(16, source.size))
    if ident[:4] != b"\x7fELF":
        raise ElfError("not an ELF file", file=source.name, offset=0)
    if len(ident) < 16 or ident[4] not in (1, 2) or ident[5] not in (1, 2):
        raise ElfError("unknown class or byte order", file=source.name, offset=4)
    bits, little = 32 * ident[4], ident[5] == 1
    fmt = layout_of(_EHDR, bits, little)
    (kind, machine, _, entry, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, shstrndx) = fmt.unpack(
        source.read(16, fmt.size)
    )
    if shoff and (shnum == 0 or shstrndx == SHN_XINDEX or phnum == PN_XNUM):
        shnum, shstrndx, phnum = _extended(source, bits, little, shoff, (shnum, shstrndx, phnum))
    return Header(
        bits, little, kind, machine, entry, phoff, phentsize, phnum, shoff, shentsize, shnum if shoff else 0, shstrndx
    )


def _extended(
    source: ByteSource, bits: int, little: bool, shoff: int, counts: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Counts that do not fit in 16 bits are in section 0: sh_size sections, sh_link the names, sh_info segments."""
    fmt = layout_of(_SHDR, bits, little)
    first = fmt.unpack(source.read(shoff, fmt.size))
    shnum, shstrndx, phnum = counts
    return (
        first[5] if shnum == 0 else shnum,
        first[6] if shstrndx == SHN_XINDEX else shstrndx,
        first[7] if phnum == PN_XNUM else phnum,
    )


def _rows(
    source: ByteSource, fmt: struct.Struct, place: tuple[int, int, int], most: int, what: str
) -> Iterator[tuple[int, ...]]:
    offset, entsize, count = place
    if count == 0:
        return iter(())
    if entsize != fmt.size:
        raise ElfError(f"{what} headers of {entsize} bytes instead of {fmt.size}", file=source.name, offset=offset)
    if count > most:
        raise ElfError(f"{count} {what} headers are more than the {most} that are read", file=source.name)
    return fmt.iter_unpack(source.read(offset, entsize * count))


def read_sections(source: ByteSource, h: Header) -> tuple[Section, ...]:
    place = (h.shoff, h.shentsize, h.shnum)
    rows = list(_rows(source, layout_of(_SHDR, h.bits, h.little), place, MAX_SECTIONS, "section"))
    names = b""
    if 0 < h.shstrndx < len(rows):
        row = rows[h.shstrndx]
        names = source.read(row[4], row[5])
    return tuple(Section(i, cstring(names, r[0]), *r[1:]) for i, r in enumerate(rows))


def read_segments(source: ByteSource, h: Header) -> Iterator[Segment]:
    place = (h.phoff, h.phentsize, h.phnum)
    for r in _rows(source, layout_of(_PHDR, h.bits, h.little), place, MAX_SEGMENTS, "program"):
        if h.bits == 64:
            kind, flags, offset, vaddr, _, filesz, memsz, align = r
        else:
            kind, offset, vaddr, _, filesz, memsz, flags, align = r
        yield Segment(kind, flags, offset, vaddr, filesz, memsz, align)
