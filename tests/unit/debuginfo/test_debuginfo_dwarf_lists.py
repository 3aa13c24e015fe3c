"""Lists of ranges that do not end: told, and never taken for whole."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.elf import ElfFile
from probescope.errors import DwarfError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
FUNCTIONS = "".join(f"int f{i}(int x) {{ return x * {i + 3}; }}\n" for i in range(6))


@pytest.mark.parametrize("version", [4, 5])
def test_more_entries_than_are_read(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit of six functions in sections of their own has six ranges; beyond the limit there is an error."""
    (tmp_path / "six.c").write_text(FUNCTIONS + "int main(void) { return f0(1) + f5(2); }\n")
    options = [f"-gdwarf-{version}", "-O1", "-ffunction-sections", "-Wl,--no-gc-sections"]
    subprocess.run(["gcc", *options, "six.c", "-o", "six"], cwd=tmp_path, check=True, timeout=120)
    dwarf = DwarfFile(ElfFile.open(str(tmp_path / "six")))
    units = [dwarf.unit(start) for start in dwarf.starts()]
    unit = next(u for u in units if len(dwarf_ranges.of(u.root)) == len(FUNCTIONS.splitlines()) + 1)
    monkeypatch.setattr(dwarf_ranges, "MAX_ENTRIES", 3)
    with pytest.raises(DwarfError, match="more than 3 entries"):
        dwarf_ranges.of(unit.root)
