"""Programs of more split units than files are kept open for: all of them are found, and those that are not are told."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.debuginfo import dwarf_open, elf_source
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_named import definitions, instances
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_types import DwarfTypes

UNITS, KEPT = 40, 8
SOURCE = r"""
struct only_{i} {{ int a; char b[{i} + 1]; }};
extern volatile int sink;
static inline __attribute__((always_inline)) int in_{i}(int x) {{ return x * ({i} + 2) + 3; }}
int f_{i}(struct only_{i} *p) {{ sink = in_{i}(p->a); return p->b[0]; }}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    made = tmp_path_factory.mktemp("split")
    for i in range(UNITS):
        (made / f"u{i}.c").write_text(SOURCE.format(i=i))
    (made / "main.c").write_text("volatile int sink;\nint main(void) { return 0; }\n")
    names = [f"u{i}.c" for i in range(UNITS)]
    subprocess.run(["gcc", "-gdwarf-5", "-gsplit-dwarf", "-O1", "-c", "main.c", *names], cwd=made, check=True)
    subprocess.run(["gcc", "-o", "many", "main.o", *[f"u{i}.o" for i in range(UNITS)]], cwd=made, check=True)
    return made


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dwarf_open, "MAX_SPLIT", KEPT)
    monkeypatch.setattr(elf_source, "_MOST_OPEN", KEPT)


def opened(path: Path) -> DwarfFile:
    found = open_dwarf(Binary(str(path)))
    assert found is not None
    return found


def check_all(dwarf: DwarfFile) -> None:
    finder = Finder(dwarf)
    types = DwarfTypes(finder)
    for i in (*range(UNITS), *range(0, UNITS, 9)):  # some again, after their bytes were given back
        (found,) = [x for d in definitions(finder, f"in_{i}") for x in instances(finder, d)]
        assert found.inlined
        assert types.named(f"struct only_{i}") is not None
        layout = types.layout(f"struct only_{i}")
        assert layout is not None
        assert layout.size == (4 + i + 1 + 3) // 4 * 4
    assert not dwarf.lost()


def test_files_of_every_unit_are_read_with_few_descriptors(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    check_all(opened(folder / "many"))
    assert len(os.listdir("/proc/self/fd")) - before <= KEPT + 2


def test_units_of_a_package_share_its_strings(folder: Path, tmp_path: Path) -> None:
    if shutil.which("llvm-dwp") is None:
        pytest.skip("needs llvm-dwp")
    shutil.copy(folder / "many", tmp_path / "many")
    subprocess.run(["llvm-dwp", "-e", "many", "-o", tmp_path / "many.dwp"], cwd=folder, check=True)
    hidden = folder.rename(folder.with_name("hidden"))
    try:
        dwarf = opened(tmp_path / "many")
        check_all(dwarf)
        halves = [dwarf.full(u).dwarf for u in dwarf.units()]
        assert len({id(h) for h in halves}) > UNITS
        assert len({id(h.section(".debug_str")) for h in halves}) == 1
    finally:
        hidden.rename(folder)


def test_what_is_not_there_is_told(folder: Path, tmp_path: Path) -> None:
    away = tmp_path / "u7.dwo"
    (folder / "u7.dwo").rename(away)
    try:
        finder = Finder(opened(folder / "many"))
        assert not list(definitions(finder, "in_7"))
        (hint,) = finder.dwarf.lost()
        assert "u7.dwo" in hint
        assert "--debuginfo" in hint
    finally:
        away.rename(folder / "u7.dwo")


def test_bytes_of_few_files_are_kept(folder: Path) -> None:
    dwarf = opened(folder / "many")
    finder = Finder(dwarf)
    assert len(list(definitions(finder, "in_9"))) == 1
    halves = {dwarf.full(u) for u in dwarf.units()} - set(dwarf.units())
    assert sum(u._data is not None for u in halves) <= KEPT
