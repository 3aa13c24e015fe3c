"""Line tables: the header of a line program, and the rows that it makes when it runs.

    unit_length version [address_size segment_size] header_length             version 5 has what is in brackets
    min_inst max_ops default_is_stmt line_base line_range opcode_base opcode lengths...
    directories, files
    opcodes...

Of versions before 5 directory 0 is that of the unit, which only .debug_info names, and files count from 1.
Source: DWARF 5, 6.2.4 and 6.2.5; DWARF 4, 6.2.4.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.leb128 import uleb
from probescope.errors import DwarfError

MAX_PROGRAM = 1 << 26
MAX_FILES = 1 << 18

LNCT_PATH, LNCT_DIRECTORY = 1, 2


class Row(NamedTuple):
    """``file`` is a number of the program's file table; ``statement``: a good place to stop at; ``end``: the address
    is the first behind the code."""

    address: int
    file: int
    line: int
    column: int
    statement: bool
    end: bool


class LineProgram:
    """The one at an offset of .debug_line. Raises ``DwarfError``."""

    def __init__(self, dwarf: DwarfFile, section: Section, offset: int) -> None:
        self.dwarf, self.section, self.offset = dwarf, section, offset
        head = section.some(offset, 12)
        self._wide = head[:4] == b"\xff\xff\xff\xff"
        length = self._int(head[4:12] if self._wide else head[:4])
        start = 12 if self._wide else 4
        if length > MAX_PROGRAM:
            raise self.error(f"a line program of {length} bytes")
        self.data = section.read(offset, start + length)
        self.directories: list[str] = []
        self.files: list[tuple[str, int]] = []
        try:
            self._header(start)
        except (IndexError, ZeroDivisionError):
            raise self.error("the header of a line program is cut") from None

    def error(self, what: str, at: int = 0) -> DwarfError:
        return self.section.error(what, self.offset + at)

    def _int(self, data: bytes) -> int:
        return int.from_bytes(data, "little" if self.section.little else "big")

    def _take(self, at: int, size: int) -> tuple[int, int]:
        if at + size > len(self.data):
            raise IndexError
        return self._int(self.data[at : at + size]), at + size

    # --- header -------------------------------------------------------------------------------------------------------

    def _header(self, at: int) -> None:
        data, offset_size = self.data, 8 if self._wide else 4
        self.version, at = self._take(at, 2)
        if not 2 <= self.version <= 5:
            raise self.error(f"a line program of version {self.version}")
        self.address_size = 8
        if self.version >= 5:
            self.address_size = data[at]
            at += 2
        length, at = self._take(at, offset_size)
        self.program = at + length
        self.step = data[at]
        at += 2 if self.version >= 4 else 1
        self.default_statement = data[at] != 0
        self.line_base = data[at + 1] - 256 if data[at + 1] > 127 else data[at + 1]
        self.line_range, self.opcode_base = data[at + 2], data[at + 3]
        if not self.line_range or not self.opcode_base:
            raise self.error("a line program without lines or opcodes")
        self.lengths = data[at + 4 : at + 3 + self.opcode_base]
        at += 3 + self.opcode_base
        if self.version >= 5:
            at = self._tables(at)
        else:
            self._old_tables(at)

    def _old_tables(self, at: int) -> None:
        self.directories = [""]
        while self.data[at]:
            text, at = self._text(at)
            self.directories.append(text)
        at += 1
        self.files = [("", 0)]
        while self.data[at] and len(self.files) < MAX_FILES:
            text, at = self._text(at)
            directory, at = uleb(self.data, at)
            _, at = uleb(self.data, at)
            _, at = uleb(self.data, at)
            self.files.append((text, directory))

    def _text(self, at: int) -> tuple[str, int]:
        end = self.data.index(b"\0", at) if at < len(self.data) and b"\0" in self.data[at:] else -1
        if end < 0:
            raise IndexError
        return self.data[at:end].decode("utf-8", "replace"), end + 1

    def _tables(self, at: int) -> int:
        rows, at = self._table(at)
        self.directories = [str(r.get(LNCT_PATH, "")) for r in rows]
        rows, at = self._table(at)
        for r in rows:
            directory = r.get(LNCT_DIRECTORY, 0)
            self.files.append((str(r.get(LNCT_PATH, "")), directory if isinstance(directory, int) else 0))
        return at

    def _table(self, at: int) -> tuple[list[dict[int, int | str]], int]:
        shape: list[tuple[int, int]] = []
        for _ in range(self.data[at]):
            kind, at = uleb(self.data, at + 1 if not shape else at)
            form, at = uleb(self.data, at)
            shape.append((kind, form))
        at += 1 if not shape else 0
        count, at = uleb(self.data, at)
        if count > MAX_FILES or (count and not shape):
            raise self.error(f"a table of {count} files")
        out: list[dict[int, int | str]] = []
        for _ in range(count):
            row: dict[int, int | str] = {}
            for kind, form in shape:
                value, at = self._value(at, form)
                row[kind] = value
            out.append(row)
        return out, at

    def _value(self, at: int, form: int) -> tuple[int | str, int]:
        offset_size = 8 if self._wide else 4
        if form in (c.FORM_LINE_STRP, c.FORM_STRP):
            where, at = self._take(at, offset_size)
            name = ".debug_line_str" if form == c.FORM_LINE_STRP else ".debug_str"
            return self.dwarf.need(name).string(where), at
        if form == c.FORM_STRING:
            return self._text(at)
        if form == c.FORM_UDATA:
            return uleb(self.data, at)
        sizes = {c.FORM_DATA1: 1, c.FORM_DATA2: 2, c.FORM_DATA4: 4, c.FORM_DATA8: 8, c.FORM_DATA16: 16}
        if form in sizes:
            return self._take(at, sizes[form])
        if form == c.FORM_BLOCK:
            size, at = uleb(self.data, at)
            return 0, at + size
        raise self.error(f"a file table with form {form:#x}", at)

    def path(self, file: int, unit_directory: str = "") -> str:
        """The name of a file, with its directory as far as that is told; empty for a number that is none."""
        if not 0 <= file < len(self.files):
            return ""
        name, directory = self.files[file]
        folder = self.directories[directory] if directory < len(self.directories) else ""
        if self.version >= 5:
            unit_directory = self.directories[0] if directory and self.directories else ""
        return posixpath.normpath(posixpath.join(unit_directory, folder, name)) if name else ""

    # --- rows ---------------------------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Row]:
        """In the order of the program: by address within each sequence. Raises ``DwarfError`` behind those that stand
        before the damage."""
        from probescope.debuginfo import dwarf_rows

        table = dwarf_rows.run(self)
        ends = iter([*table.ends, (len(table.addresses) + 1, 0)])
        end, behind = next(ends)
        for i, (address, packed) in enumerate(zip(table.addresses, table.places, strict=True)):
            file, line, column = dwarf_rows.unpacked(packed)
            yield Row(address, file, line, column, bool(packed & 1), False)
            while i + 1 == end:
                yield Row(behind, file, line, column, bool(packed & 1), True)
                end, behind = next(ends)
        if table.damage is not None:
            raise table.damage
