"""Writes small ELF files, sound ones and broken ones, for tests of readers.

    elf = ElfMaker(bits=32, little=False)
    elf.symbol("main", 0x1000, 64)
    data = elf.build()

The whole file is one PT_LOAD segment at ``base``, so that a file offset is an address minus ``base``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 1, 2, 3, 6, 7, 8, 11
FUNC, OBJECT, NOTYPE, IFUNC = 2, 1, 0, 10
LOCAL, GLOBAL, WEAK = 0, 1, 2


@dataclass
class Section:
    name: str
    type: int = SHT_PROGBITS
    data: bytes = b""
    flags: int = 0
    address: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    entsize: int = 0
    size: int | None = None  # what the header claims, if not the truth


@dataclass
class Symbol:
    name: str
    value: int
    size: int = 0
    type: int = FUNC
    bind: int = GLOBAL
    section: int = 1


@dataclass
class ElfMaker:
    bits: int = 64
    little: bool = True
    type: int = 3
    machine: int = 62
    base: int = 0
    interpreter: str = ""
    sections: list[Section] = field(default_factory=lambda: [Section(".text", flags=6, data=bytes(256))])
    symbols: dict[int, list[Symbol]] = field(default_factory=dict)
    dynamic: list[tuple[int, int | str]] = field(default_factory=list)
    notes: list[bytes] = field(default_factory=list)

    def symbol(self, name: str, value: int, size: int = 0, *, table: int = SHT_SYMTAB, **more: int) -> None:
        self.symbols.setdefault(table, []).append(Symbol(name, value, size, **more))

    def pack(self, fmt: str, *values: int) -> bytes:
        return struct.pack(("<" if self.little else ">") + fmt, *values)

    def note(self, owner: bytes, kind: int, desc: bytes) -> bytes:
        name = owner + b"\0"
        return self.pack("III", len(name), len(desc), kind) + _pad(name) + _pad(desc)

    def build_id(self, value: bytes) -> None:
        data = self.note(b"GNU", 3, value)
        self.sections.append(Section(".note.gnu.build-id", SHT_NOTE, data, 2, align=4))

    def stapsdt(self, pc: int, base: int, semaphore: int, provider: str, name: str, args: str) -> None:
        desc = self.pack("QQQ" if self.bits == 64 else "III", pc, base, semaphore)
        self.notes.append(self.note(b"stapsdt", 3, desc + b"\0".join(s.encode() for s in (provider, name, args, ""))))

    def _row(self, s: Symbol, name: int) -> bytes:
        info = s.bind << 4 | s.type
        if self.bits == 64:
            return self.pack("IBBHQQ", name, info, 0, s.section, s.value, s.size)
        return self.pack("IIIBBH", name, s.value, s.size, info, 0, s.section)

    def _tables(self) -> list[Section]:
        out: list[Section] = []
        first = 1 + len(self.sections)
        for kind, symbols in self.symbols.items():
            strings, rows = b"\0", bytes(24 if self.bits == 64 else 16)
            for s in symbols:
                rows += self._row(s, len(strings))
                strings += s.name.encode() + b"\0"
            name = ".symtab" if kind == SHT_SYMTAB else ".dynsym"
            link = first + len(out) + 1
            out.append(Section(name, kind, rows, link=link, entsize=24 if self.bits == 64 else 16, align=8))
            out.append(Section(".strtab" if kind == SHT_SYMTAB else ".dynstr", SHT_STRTAB, strings))
        return out

    def build(self) -> bytes:
        sections = [*self.sections, *self._tables()]
        if self.notes:
            sections.append(Section(".note.stapsdt", SHT_NOTE, b"".join(self.notes), align=4))
        sections.append(Section(".shstrtab", SHT_STRTAB))
        names = b"\0"
        offsets = []
        for s in sections:
            offsets.append(len(names))
            names += s.name.encode() + b"\0"
        sections[-1].data = names
        return self._lay_out(sections, offsets)

    def _lay_out(self, sections: list[Section], names: list[int]) -> bytes:
        wide = self.bits == 64
        ehsize, phsize, shsize = (64, 56, 64) if wide else (52, 32, 40)
        extras = self._extras()
        at = ehsize + phsize * (1 + len(extras))
        body = b""
        for _, data in extras:
            body += data
        places: list[int] = []
        for s in sections:
            body += bytes(-(at + len(body)) % max(s.align, 1))
            places.append(at + len(body))
            body += s.data
        body += bytes(-(at + len(body)) % 8)
        shoff = at + len(body)
        rows = bytes(shsize)
        for s, name, place in zip(sections, names, places, strict=True):
            size = len(s.data) if s.size is None else s.size
            values = (name, s.type, s.flags, s.address or 0, place, size, s.link, s.info, s.align, s.entsize)
            rows += self.pack("IIQQQQIIQQ" if wide else "IIIIIIIIII", *values)
        total = shoff + len(rows)
        programs = self._program(1, 5, 0, self.base, total)
        place = at
        for kind, data in extras:
            programs += self._program(kind, 4, place, self.base + place, len(data))
            place += len(data)
        ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if self.little else 2, 1]) + bytes(9)
        head = self.pack(
            "HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH",
            *(self.type, self.machine, 1, 0, ehsize, shoff, 0, ehsize, phsize, 1 + len(extras), shsize),
            *(len(sections) + 1, len(sections)),
        )
        return ident + head + programs + body + rows

    def _extras(self) -> list[tuple[int, bytes]]:
        """Segments beside the one that is loaded: interpreter, and the dynamic table with its strings behind it."""
        out: list[tuple[int, bytes]] = []
        if self.interpreter:
            out.append((3, self.interpreter.encode() + b"\0"))
        if self.dynamic:
            out.append((2, self._dynamic(len(out))))
        return out

    def _dynamic(self, before: int) -> bytes:
        strings, rows = b"\0", []
        for tag, value in self.dynamic:
            if isinstance(value, str):
                rows.append((tag, len(strings)))
                strings += value.encode() + b"\0"
            else:
                rows.append((tag, value))
        wide = self.bits == 64
        entry = 16 if wide else 8
        start = (64 if wide else 52) + (56 if wide else 32) * (2 + before)
        start += len(self.interpreter) + 1 if self.interpreter else 0
        table_at = start + entry * (len(rows) + 3)
        rows += [(5, self.base + table_at), (10, len(strings)), (0, 0)]
        return b"".join(self.pack("QQ" if wide else "II", *r) for r in rows) + strings

    def _program(self, kind: int, flags: int, offset: int, vaddr: int, size: int) -> bytes:
        if self.bits == 64:
            return self.pack("IIQQQQQQ", kind, flags, offset, vaddr, vaddr, size, size, 4096)
        return self.pack("IIIIIIII", kind, offset, vaddr, vaddr, size, size, flags, 4096)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
