"""Addresses of processes to source lines and build ids, through their mappings."""

from __future__ import annotations

from pathlib import Path

import dwarf_programs as programs
import pytest

from probescope.debuginfo import symbolize
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.symbolize import AddressSpace, UserSymbols
from probescope.frozen import dataclass

START = 0x7F0000000000
SOURCE = "\n\nint answer(void) { return 42; }\nint main(void) { return answer(); }\n"


@dataclass(frozen=True, slots=True)
class Map:
    start: int
    end: int
    offset: int
    path: str
    inode: int = 0


def space_of(path: str) -> tuple[AddressSpace, int]:
    """A process that has the whole file mapped, and where its `answer` is there."""
    with ElfFile.open(path) as elf:
        found = elf.symbols().find("answer")
        assert found is not None
        offset = elf.to_offset(found.address)
        assert offset is not None
    return AddressSpace([Map(START, START + (1 << 20), 0, path)]), START + offset


def test_line_of_an_address(tmp_path: Path) -> None:
    """Nothing where there is no file, or no debug information in it."""
    path = programs.build(tmp_path, SOURCE, "-O1")
    space, address = space_of(path)
    users = UserSymbols()
    assert [(f.function, f.line) for f in users.source(space, address)] == [("answer", 3)]
    assert users.source(space, START - 1) == ()
    bare, at = space_of(programs.build(tmp_path, SOURCE, name="bare", debug=False))
    assert users.source(bare, at) == ()


def test_lines_of_many_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may be large: those used longest ago are let go, and read again when they are asked for."""
    monkeypatch.setattr(symbolize, "MAX_LINED", 2)
    users = UserSymbols()
    files = [space_of(programs.build(tmp_path, SOURCE, name=f"p{i}")) for i in range(4)]
    for _ in range(2):
        for space, address in files:
            assert users.source(space, address)[0].line == 3
    assert len(users._lined) == 2
    assert sum(o._inlines is not None for o in users._objects.values() if o is not None) == 2


def test_build_id_of_an_address(tmp_path: Path) -> None:
    """The file's own, and the offset in the file."""
    path = programs.build(tmp_path, SOURCE, "-Wl,--build-id=0xabcdef0123456789")
    space, address = space_of(path)
    users = UserSymbols()
    assert users.build_id(space, address) == ("abcdef0123456789", address - START)
    assert users.build_id(space, START - 1) is None
    none, at = space_of(programs.build(tmp_path, SOURCE, "-Wl,--build-id=none", name="none"))
    assert users.build_id(none, at) is None
