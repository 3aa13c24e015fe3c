"""Source lines to addresses, and addresses to source lines.

Which of thousands of line programs knows a file is told by a search for bytes: the file's name stands in the program
(version 4) or in .debug_line_str, at an offset that stands in the program (version 5).
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_line import LineProgram
from probescope.debuginfo.dwarf_unit import Unit
from probescope.errors import DwarfError

MAX_NAMES = 1 << 12
MAX_PROGRAMS = 1 << 20


class Place(NamedTuple):
    """Code of a source line. ``path`` as far as the line table tells it."""

    address: int
    path: str
    line: int
    column: int
    statement: bool


class Lines:
    """Methods raise ``DwarfError``; one damaged line program does not hide the others."""

    def __init__(self, dwarf: DwarfFile) -> None:
        self.dwarf = dwarf
        self._starts: list[int] | None = None
        self._folders: dict[int, str] | None = None

    def starts(self) -> list[int]:
        """Offsets of all line programs."""
        if self._starts is None:
            self._starts = list(_chain(self.dwarf.section(".debug_line")))
        return self._starts

    def program(self, offset: int) -> LineProgram:
        return LineProgram(self.dwarf, self.dwarf.need(".debug_line"), offset)

    def of_unit(self, unit: Unit) -> LineProgram | None:
        """The line program of a unit."""
        at = (unit.skeleton or unit).root.uint(c.AT_STMT_LIST)
        return self.program(at) if at is not None else None

    # --- from lines ---------------------------------------------------------------------------------------------------

    def places(self, file: str) -> Iterator[Place]:
        """All code of the files whose path is ``file``, or ends with it (whole names of directories)."""
        for start in self.candidates(file.rpartition("/")[2]):
            try:
                program = self.program(start)
                yield from self._of_file(program, file)
            except DwarfError:
                continue

    def _of_file(self, program: LineProgram, file: str) -> Iterator[Place]:
        folder = self._folder(program) if program.version < 5 else ""
        wanted = {}
        for number in range(len(program.files)):
            path = program.path(number, folder)
            if ends_with(path, file):
                wanted[number] = path
        if not wanted:
            return
        for row in program.rows():
            if not row.end and row.file in wanted and row.line:
                yield Place(row.address, wanted[row.file], row.line, row.column, row.statement)

    def _folder(self, program: LineProgram) -> str:
        """Where a unit was compiled, which old line programs do not say."""
        if self._folders is None:
            self._folders = {}
            for unit in self.dwarf.units():
                try:
                    at = unit.root.uint(c.AT_STMT_LIST)
                    if at is not None:
                        self._folders.setdefault(at, unit.root.text(c.AT_COMP_DIR))
                except DwarfError:
                    continue
        return self._folders.get(program.offset, "")

    def candidates(self, name: str) -> list[int]:
        """Offsets of line programs that may have a file of this name, without its folders."""
        starts, section = self.starts(), self.dwarf.section(".debug_line")
        if section is None or not name:
            return []
        raw = name.encode("utf-8", "surrogateescape") + b"\0"
        needles = [raw]
        strings = self.dwarf.section(".debug_line_str")
        if strings is not None:
            little = "little" if strings.little else "big"
            needles += [at.to_bytes(4, little) for at in _beginnings(strings, raw)]  # type: ignore[arg-type]
        found: set[int] = set()
        for needle in needles:
            for at in section.find(needle):
                i = bisect_right(starts, at)
                if i:
                    found.add(starts[i - 1])
        return sorted(found)

    # --- from addresses -----------------------------------------------------------------------------------------------

    def line_of(self, unit: Unit, address: int) -> Place | None:
        """The source line of an address in the code of a unit."""
        program = self.of_unit(unit)
        best = before = None
        for row in program.rows() if program is not None else ():
            if before is not None and before.address <= address < row.address and not before.end:
                best = before
                break
            before = row
        if best is None or program is None:
            return None
        folder = (unit.skeleton or unit).root.text(c.AT_COMP_DIR)
        return Place(best.address, program.path(best.file, folder), best.line, best.column, best.statement)


def ends_with(path: str, wanted: str) -> bool:
    """Whether a path is ``wanted``, or ends with it at the border of a directory."""
    wanted = posixpath.normpath(wanted)
    return path == wanted or (not wanted.startswith("/") and path.endswith(f"/{wanted}"))


def _beginnings(strings: Section, raw: bytes) -> Iterator[int]:
    """Offsets of strings that end with a file's name: the name alone, and with directories before it."""
    data = strings.whole()
    count = 0
    at = data.find(raw)
    while at >= 0 and count < MAX_NAMES:
        yield at
        begin = data.rfind(b"\0", 0, at) + 1
        if begin < at and data[at - 1 : at] == b"/":
            yield begin
        count += 1
        at = data.find(raw, at + 1)


def _chain(section: Section | None) -> Iterator[int]:
    at, size = 0, section.size if section is not None else 0
    for _ in range(MAX_PROGRAMS):
        if section is None or at + 8 > size:
            return
        length, start = section.word(at, 4), 4
        if length == 0xFFFFFFFF:
            length, start = section.word(at + 4, 8), 12
        if at + start + length > size:
            return
        if length:
            yield at
        at += start + length
