"""Line programs by hand, from the opcodes of DWARF 5, 6.2.5."""

from __future__ import annotations

import pytest

from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_line import LineProgram
from probescope.debuginfo.dwarf_rows import LineTable
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_source import BufferSource
from probescope.errors import DwarfError

OPCODE_LENGTHS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
LINE_BASE, LINE_RANGE, OPCODE_BASE = -5, 14, 13


def special(ahead: int, lines: int) -> bytes:
    return bytes(((lines - LINE_BASE) + LINE_RANGE * ahead + OPCODE_BASE,))


def at(address: int) -> bytes:
    return b"\0\x09\x02" + address.to_bytes(8, "little")


END = b"\0\x01\x01"


def program(code: bytes) -> LineProgram:
    tables = b"\x01\x01\x08\x01/src\0" + b"\x01\x01\x08\x02a.c\0b.c\0"  # one directory, two files, as strings
    head = bytes((1, 1, 1, LINE_BASE & 0xFF, LINE_RANGE, OPCODE_BASE)) + OPCODE_LENGTHS + tables
    body = b"\x05\0\x08\0" + len(head).to_bytes(4, "little") + head + code
    data = len(body).to_bytes(4, "little") + body
    section = Section(BufferSource(data), 0, len(data), ".debug_line", "x")
    return LineProgram(DwarfFile(_Nothing("x")), section, 0)


class _Nothing(ElfFile):
    def __init__(self, path: str) -> None:
        self.path = path


CODE = (
    at(0x1000)
    + b"\x05\x09\x04\x00"  # column 9, file 0
    + special(0, 9 - 1)  # line 9 at 0x1000
    + b"\x06"  # no statement from here
    + special(4, 3)  # line 12 at 0x1004
    + special(0, -5)  # line 7 at 0x1004, which counts
    + b"\x03\xe4\x00\x02\x80\x01\x04\x01\x05\x83\x80\x01\x01"  # line 107, 0x1084, file 1, column 16387, a row
    + b"\x08\x09\x10\x00\x01"  # const_add_pc 17, fixed_advance_pc 16, a row at 0x10a5
    + b"\x02\x05"
    + END  # 0x10aa
    + at(0)
    + special(0, 1)
    + b"\x02\x20"
    + END  # left out by the linker
    + at(0x800)
    + b"\x03\x7f\x01"  # line 0
    + b"\x02\x10"
    + END
)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (0x1000, ("/src/a.c", 9, 9)),
        (0x1003, ("/src/a.c", 9, 9)),
        (0x1004, ("/src/a.c", 7, 9)),
        (0x1083, ("/src/a.c", 7, 9)),
        (0x1084, ("/src/b.c", 107, 0)),  # a column beyond what is kept
        (0x10A9, ("/src/b.c", 107, 0)),
        (0x10AA, None),
        (0xFFF, None),
        (0x10, None),
        (0x80F, ("/src/b.c", 0, 0)),
    ],
)
def test_row_of_an_address(address: int, found: tuple[str, int, int] | None) -> None:
    """Each opcode moves what it says; of two rows at an address the second counts; dead code has address 0."""
    assert LineTable(program(CODE)).at(address) == found


def test_rows_of_a_cut_program() -> None:
    """What stands before the damage is told, and then the damage."""
    rows = program(CODE[:16] + b"\x03").rows()
    assert next(rows)[:3] == (0x1000, 0, 9)
    with pytest.raises(DwarfError, match="cut"):
        list(rows)


def test_ends_of_sequences() -> None:
    """The first address behind the code is a row of its own, as the standard has it."""
    rows = list(program(CODE).rows())
    assert [(r.address, r.end) for r in rows if r.end] == [(0x10AA, True), (0x20, True), (0x810, True)]
    assert [r.statement for r in rows[:3]] == [True, False, False]
