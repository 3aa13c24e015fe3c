"""ELF files: headers, sections, segments, symbols, notes. 32 and 64 bits, both byte orders; nothing is read unasked.

    0        16      e_shoff          e_shoff + n * e_shentsize
    [e_ident][header]...[sections' bytes]...[section headers]

Source of all layouts: System V gABI chapters 4 and 5 (elf.h), and the GNU extensions named where they are used.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Self

from probescope.debuginfo import elf_dynamic, elf_notes
from probescope.debuginfo.elf_headers import (
    Section,
    Segment,
    cstring,
    layout_of,
    read_header,
    read_sections,
    read_segments,
)
from probescope.debuginfo.elf_source import BufferSource, ByteSource, FileSource
from probescope.debuginfo.elf_symbols import SymbolSet, SymbolTable
from probescope.debuginfo.elf_unpack import decompress, unxz
from probescope.errors import ElfError

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
PF_X = 1
SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 3, 7, 8, 11
SHF_EXECINSTR, SHF_COMPRESSED = 0x4, 0x800
DT_NULL, DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME = 0, 1, 4, 5, 6, 10, 14
DT_FLAGS_1, DF_1_PIE = 0x6FFFFFFB, 0x08000000

MACHINES: dict[int, str] = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 22: "s390x", 21: "ppc64", 243: "riscv"}

MAX_DYNAMIC = 1 << 16
_DYN = {32: "iI", 64: "qQ"}


class ElfFile:
    """One ELF file. Open with ``ElfFile.open(path)`` or make from bytes; a context manager, as it keeps a descriptor.

    Every method raises ElfError where the bytes that it needs are malformed; what does not need them still works.
    """

    def __init__(self, source: ByteSource | bytes) -> None:
        self.source: ByteSource = BufferSource(source) if isinstance(source, bytes) else source
        self.path = self.source.name
        try:
            self.header = read_header(self.source)
        except ElfError:
            self.source.close()
            raise
        self._sections: tuple[Section, ...] | None = None
        self._segments: tuple[Segment, ...] | None = None
        self._by_name: dict[str, Section] | None = None
        self._dynamic: tuple[tuple[int, int], ...] | None = None
        self._tables: dict[str, SymbolTable | None] = {}

    @staticmethod
    def open(path: str) -> ElfFile:
        """A file, or ``ARCHIVE!/MEMBER`` of a zip archive."""
        if "!/" not in path:
            return ElfFile(FileSource(path))
        from probescope.debuginfo.archive import open_source

        return ElfFile(open_source(path))

    def in_file(self, offset: int) -> tuple[str, int]:
        """The file that the kernel sees, and where in it an offset is: a member of an archive is a part of that."""
        return getattr(self.source, "file", self.path), offset + getattr(self.source, "base", 0)

    def close(self) -> None:
        """What was read so far stays usable."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- facts of the header ------------------------------------------------------------------------------------------

    @property
    def bits(self) -> int:
        return self.header.bits

    @property
    def little(self) -> bool:
        return self.header.little

    @property
    def machine(self) -> str:
        """``x86_64``, ``aarch64``...; the number as text for one that is not known."""
        return MACHINES.get(self.header.machine, str(self.header.machine))

    @property
    def is_pie(self) -> bool:
        """A program that loads anywhere: ET_DYN with DF_1_PIE or, from before that flag (glibc 2.26), PT_INTERP."""
        if self.header.type != ET_DYN:
            return False
        flags = next((v for t, v in self.dynamic() if t == DT_FLAGS_1), 0)
        return bool(flags & DF_1_PIE) or self.interpreter() != ""

    @property
    def is_executable(self) -> bool:
        return self.header.type == ET_EXEC or self.is_pie

    # --- sections and segments ----------------------------------------------------------------------------------------

    def sections(self) -> tuple[Section, ...]:
        if self._sections is None:
            self._sections = read_sections(self.source, self.header)
        return self._sections

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        if self._by_name is None:
            self._by_name = {s.name: s for s in reversed(self.sections())}
        return self._by_name.get(name)

    def section_data(self, section: Section | str) -> bytes:
        """Its bytes, decompressed; empty for .bss and its like and for a name that is not there."""
        found = self.section(section) if isinstance(section, str) else section
        if found is None or found.type == SHT_NOBITS:
            return b""
        data = self._read(found.offset, found.size, found.name)
        if found.flags & SHF_COMPRESSED:
            return decompress(data, self.header.bits, self.header.little, self.path, found.name)
        return data

    def segments(self) -> tuple[Segment, ...]:
        if self._segments is None:
            self._segments = tuple(read_segments(self.source, self.header))
        return self._segments

    def to_offset(self, vaddr: int) -> int | None:
        """File offset of a virtual address, by the loaded segments; ``None`` if no byte of the file lies there."""
        for s in self.segments():
            if s.type == PT_LOAD and s.vaddr <= vaddr < s.vaddr + s.filesz:
                return vaddr - s.vaddr + s.offset
        return None

    def to_vaddr(self, offset: int) -> int | None:
        """Virtual address of a byte of the file; ``None`` if it is not loaded."""
        for s in self.segments():
            if s.type == PT_LOAD and s.offset <= offset < s.offset + s.filesz:
                return offset - s.offset + s.vaddr
        return None

    # --- dynamic linking ----------------------------------------------------------------------------------------------

    def dynamic(self) -> tuple[tuple[int, int], ...]:
        """(tag, value) pairs of the dynamic segment, up to DT_NULL."""
        if self._dynamic is None:
            self._dynamic = tuple(self._read_dynamic())
        return self._dynamic

    def _read_dynamic(self) -> Iterable[tuple[int, int]]:
        seg = next((s for s in self.segments() if s.type == PT_DYNAMIC), None)
        if seg is None:
            return
        fmt = self._fmt(_DYN)
        count = min(seg.filesz // fmt.size, MAX_DYNAMIC)
        for tag, value in fmt.iter_unpack(self._read(seg.offset, count * fmt.size, "PT_DYNAMIC")):
            if tag == DT_NULL:
                return
            yield tag, value

    def needed(self) -> tuple[str, ...]:
        """Names of the libraries that the loader brings in (DT_NEEDED)."""
        return tuple(self._dynamic_strings(DT_NEEDED))

    def soname(self) -> str:
        return next(iter(self._dynamic_strings(DT_SONAME)), "")

    def _dynamic_strings(self, tag: int) -> list[str]:
        values = [v for t, v in self.dynamic() if t == tag]
        if not values:
            return []
        strings = self._dynamic_string_table()
        return [cstring(strings, v) for v in values]

    def _dynamic_string_table(self) -> bytes:
        tags = dict(self.dynamic())
        offset = self.to_offset(tags.get(DT_STRTAB, 0))
        return b"" if offset is None else self._read(offset, tags.get(DT_STRSZ, 0), "DT_STRTAB")

    def interpreter(self) -> str:
        """Path of the program interpreter (ld.so); empty for libraries and static programs."""
        seg = next((s for s in self.segments() if s.type == PT_INTERP), None)
        return "" if seg is None else cstring(self._read(seg.offset, min(seg.filesz, 4096), "PT_INTERP"), 0)

    # --- notes --------------------------------------------------------------------------------------------------------

    def notes(self) -> list[elf_notes.Note]:
        """All notes: of the sections, or of the segments where no section has any. A malformed one ends its section."""
        places = [(s.offset, s.size, s.align, s.name) for s in self.sections() if s.type == SHT_NOTE]
        if not places:
            places = [(s.offset, s.filesz, s.align, "PT_NOTE") for s in self.segments() if s.type == PT_NOTE]
        out: list[elf_notes.Note] = []
        for offset, size, align, name in places:
            out += elf_notes.parse(self._read(offset, size, name), self.header.little, align)
        return out

    def build_id(self) -> str:
        """The GNU build-id in lower-case hex; empty if there is none."""
        for s in self.segments():
            if s.type == PT_NOTE:
                found = elf_notes.build_id(self._read(s.offset, s.filesz, "PT_NOTE"), self.header.little, s.align)
                if found:
                    return found
        return elf_notes.build_id(self.section_data(".note.gnu.build-id"), self.header.little, 4)

    def debuglink(self) -> tuple[str, int] | None:
        """File name and CRC-32 of the separate debug file (.gnu_debuglink)."""
        return elf_notes.debuglink(self.section_data(".gnu_debuglink"), self.header.little)

    # --- symbols ------------------------------------------------------------------------------------------------------

    def symbols(self) -> SymbolSet:
        """Everything that the file itself knows: .symtab, .dynsym and the small .symtab of .gnu_debugdata."""
        tables = [self.symtab(), self.dynsym()]
        if tables[0] is None:
            tables += [self.mini_symtab(), self.go_symtab()]
        return SymbolSet([t for t in tables if t is not None])

    def symtab(self) -> SymbolTable | None:
        return self._table(SHT_SYMTAB)

    def dynsym(self) -> SymbolTable | None:
        if not self.sections() and "stripped" not in self._tables:
            self._tables["stripped"] = elf_dynamic.symbol_table(self)
        return self._table(SHT_DYNSYM) or self._tables.get("stripped")

    def mini_symtab(self) -> SymbolTable | None:
        """Function symbols in an xz-compressed ELF inside this one, as Fedora's builds have them (.gnu_debugdata)."""
        if "mini" not in self._tables:
            inner = self.section_data(".gnu_debugdata")
            name = f"{self.path}:.gnu_debugdata"
            self._tables["mini"] = ElfFile(BufferSource(unxz(inner, name), name)).symtab() if inner else None
        return self._tables["mini"]

    def go_symtab(self) -> SymbolTable | None:
        """Functions of a Go program, by its runtime's own table."""
        if "go" not in self._tables:
            from probescope.debuginfo import gopclntab

            wanted = any(self.section(n) is not None for n in gopclntab.SECTIONS)
            found = gopclntab.of(self) if wanted else None
            self._tables["go"] = found.symbols() if found is not None else None
        return self._tables["go"]

    def _table(self, kind: int) -> SymbolTable | None:
        key = str(kind)
        if key not in self._tables:
            sec = next((s for s in self.sections() if s.type == kind), None)
            self._tables[key] = None if sec is None else self._load_table(sec)
        return self._tables[key]

    def _load_table(self, sec: Section) -> SymbolTable:
        all_sections = self.sections()
        if not 0 < sec.link < len(all_sections):
            raise ElfError(f"string table {sec.link} is not there", file=self.path, section=sec.name)
        text = frozenset(s.index for s in all_sections if s.flags & SHF_EXECINSTR)
        strings = self.section_data(all_sections[sec.link])
        where = f"{self.path}:{sec.name}"
        return SymbolTable(self.section_data(sec), strings, self.header.bits, self.header.little, text, where)

    # --- bytes --------------------------------------------------------------------------------------------------------

    def read_vaddr(self, vaddr: int, size: int) -> bytes:
        """``size`` bytes at a virtual address, as the file has them. Raises ElfError where it has none."""
        offset = self.to_offset(vaddr)
        if offset is None:
            raise ElfError(f"address {vaddr:#x} is not in the file", file=self.path)
        return self._read(offset, size, "")

    def _read(self, offset: int, size: int, section: str) -> bytes:
        try:
            return self.source.read(offset, size)
        except ElfError as e:
            raise ElfError(e.what, file=self.path, section=section, offset=e.offset) from e

    def _fmt(self, by_bits: dict[int, str]) -> struct.Struct:
        return layout_of(by_bits, self.header.bits, self.header.little)
