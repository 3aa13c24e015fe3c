"""Functions of Go programs by the table that their runtime keeps: it is there also where symbols are stripped.

    0  magic   4  0 0   6  least instruction, bytes of a pointer   8  functions, files, [start of text], places of parts
    function table   (entry, place of its record) ...              entries from the start of text since Go 1.18
    record           entry  name  args  deferreturn  pcsp  pcfile  pcln  npcdata  cu ...

Files and lines are told by pairs of differences: of the value (zigzag), of the program counter.
Source: runtime/symtab.go and cmd/link/internal/ld/pcln.go of Go; the magics of Go 1.2, 1.16, 1.18 and 1.20.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.debuginfo.elf_symbols import SymbolTable
from probescope.debuginfo.leb128 import uleb
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.debuginfo.elf import ElfFile

_MAGIC = {0xFFFFFFFB: 12, 0xFFFFFFFA: 116, 0xFFFFFFF0: 118, 0xFFFFFFF1: 120}
MAX_FUNCTIONS = 1 << 21
MAX_NAME = 4096
MAX_STEPS = 1 << 16
SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")
_GLOBAL_FUNC = 0x12


@dataclass(frozen=True, slots=True)
class GoFunction:
    name: str
    address: int
    size: int
    record: int


class GoTable:
    """``text``: address of the code, for tables that count from it and do not tell it themselves. Methods give what is
    whole of a damaged table."""

    def __init__(self, data: bytes, version: int, text: int) -> None:
        self._data, self._version = data, version
        self._pointer = data[7]
        words = 8 if version >= 118 else 7
        fields = struct.unpack_from(f"<{words}{'Q' if self._pointer == 8 else 'I'}", data, 8)
        self._count = min(fields[0], MAX_FUNCTIONS)
        self._text = 0
        self._names = self._units = self._files = self._steps = self._table = 0
        if version >= 118:
            self._text = fields[2] or text
            self._names, self._units, self._files, self._steps, self._table = fields[3:8]
        elif version == 116:
            self._names, self._units, self._files, self._steps, self._table = fields[2:7]
        else:
            self._table = 8 + self._pointer
        self._known: list[GoFunction] | None = None
        self._starts: list[int] = []

    @property
    def functions(self) -> list[GoFunction]:
        """By address."""
        if self._known is None:
            self._known = sorted(self._read(), key=lambda f: f.address)
            self._starts = [f.address for f in self._known]
        return self._known

    def _read(self) -> Iterator[GoFunction]:
        wide = 4 if self._version >= 118 else self._pointer
        code = "I" if wide == 4 else "Q"
        room = max(len(self._data) - self._table, 0) // wide
        many = min(2 * self._count + 1, room)
        if many < 3:
            return
        numbers = struct.unpack_from(f"<{many}{code}", self._data, self._table)
        left = 4 * len(self._data)  # names that lie in each other would be more than memory holds
        for i in range(0, many - 2, 2):
            start, record, end = numbers[i], numbers[i + 1] + (self._table if self._version > 12 else 0), numbers[i + 2]
            name = self._name(record)
            left -= len(name)
            if left < 0:
                return
            if name and end > start and end + self._text < 1 << 64:
                yield GoFunction(name, start + self._text, end - start, record)

    def _u32(self, at: int) -> int:
        return int.from_bytes(self._data[at : at + 4], "little") if 0 <= at < len(self._data) else 0

    def _fields(self, record: int) -> int:
        """Where the numbers behind the entry begin."""
        return record + (4 if self._version >= 118 else self._pointer)

    def _name(self, record: int) -> str:
        return self._string(self._names + self._u32(self._fields(record)))

    def _string(self, at: int) -> str:
        if not 0 < at < len(self._data):
            return ""
        end = self._data.find(b"\0", at, at + MAX_NAME)
        return self._data[at:end].decode("utf-8", "replace") if end >= 0 else ""

    def at(self, address: int) -> GoFunction | None:
        """The function that has an address."""
        known = self.functions
        i = bisect_right(self._starts, address) - 1
        return known[i] if i >= 0 and address < known[i].address + known[i].size else None

    # --- lines --------------------------------------------------------------------------------------------------------

    def lines(self, f: GoFunction) -> Iterator[tuple[int, str, int]]:
        """(address, file, line) of the pieces of a function, by address."""
        at = self._fields(f.record)
        files = list(self._ranges(self._u32(at + 16), f))
        for start, _, line in self._ranges(self._u32(at + 20), f):
            number = next((n for low, high, n in files if low <= start < high), -1)
            yield start, self._file(f.record, number), line

    def files(self, f: GoFunction) -> set[str]:
        """That code of a function comes from."""
        found = {n for _, _, n in self._ranges(self._u32(self._fields(f.record) + 16), f)}
        return {self._file(f.record, n) for n in found}

    def line(self, address: int) -> tuple[str, int] | None:
        f = self.at(address)
        found = [x for x in self.lines(f) if x[0] <= address] if f is not None else []
        return (found[-1][1], found[-1][2]) if found else None

    def _ranges(self, offset: int, f: GoFunction) -> Iterator[tuple[int, int, int]]:
        """(from, to, value)."""
        at, pc, value = self._steps + offset, f.address, -1
        unit = self._data[6]
        try:
            for i in range(MAX_STEPS):
                change, at = uleb(self._data, at)
                if not change and i:
                    return
                value += -(change + 1 >> 1) if change & 1 else change >> 1
                more, at = uleb(self._data, at)
                start, pc = pc, pc + more * unit
                yield start, pc, value
        except IndexError:
            return

    def _file(self, record: int, number: int) -> str:
        if number < 0 or self._version < 116:
            return ""
        unit = self._u32(self._fields(record) + 28)
        return self._string(self._files + self._u32(self._units + 4 * (unit + number)))

    # --- as symbols ---------------------------------------------------------------------------------------------------

    def symbols(self) -> SymbolTable:
        """The functions as a symbol table of ELF."""
        rows, strings = bytearray(), bytearray(b"\0")
        for f in self.functions:
            rows += struct.pack("<IBBHQQ", len(strings), _GLOBAL_FUNC, 0, 1, f.address, f.size)
            strings += f.name.encode() + b"\0"
        return SymbolTable(bytes(rows), bytes(strings))


def of(elf: ElfFile) -> GoTable | None:
    """That of a program. Raises ``ElfError`` where its bytes are not there."""
    section = next((s for n in SECTIONS if (s := elf.section(n)) is not None), None)
    if section is None:
        return None
    text = elf.section(".text")
    return read(elf.section_data(section), text.address if text is not None else 0)


def read(data: bytes, text: int) -> GoTable | None:
    """``None`` for bytes that are no such table."""
    if len(data) < 72:
        return None
    version = _MAGIC.get(int.from_bytes(data[:4], "little"))
    if version is None or data[4:6] != b"\0\0" or data[7] not in (4, 8) or data[6] not in (1, 2, 4):
        return None
    return GoTable(data, version, text)
