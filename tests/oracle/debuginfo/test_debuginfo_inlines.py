"""Inlined calls and source lines of every instruction of compiled programs, as llvm-symbolizer tells them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import dwarf_programs as programs
import pytest

from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_inlines import Inlines, SourceFrame
from probescope.debuginfo.dwarf_open import open_dwarf

pytestmark = pytest.mark.skipif(shutil.which("llvm-symbolizer") is None, reason="needs llvm-symbolizer")

NESTED = r"""
#include <stdio.h>
#include <stdlib.h>
#define IN static inline __attribute__((always_inline))
IN int leaf(int n) {
    if (n > 1000) abort();
    return n * 7 ^ n >> 2;
}
IN int middle(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += leaf(i); return sum; }
IN int outer(int n) { return n % 2 ? middle(n) + leaf(n + 1) : leaf(n) - leaf(n * n); }
__attribute__((noinline)) int twice(int n) { return outer(n) + outer(n + 1); }
int apart(int n) { int v = twice(n); { int w = outer(v); printf("%d\n", w); } return v; }
int main(int argc, char **argv) { return apart(argc) & 1; }
"""

BUILDS = {
    "5": (NESTED, ("-O2",)),
    "4": (NESTED, ("-O2", "-gdwarf-4")),
    "3": (NESTED, ("-O2", "-gdwarf-3")),
    "5-slow": (NESTED, ("-O0",)),
    "sections": (NESTED, ("-O2", "-ffunction-sections", "-Wl,--gc-sections")),
    "small": (NESTED, ("-Os", "-flto")),
    "split": (NESTED, ("-O2", "-gsplit-dwarf")),
    "cpp": (programs.CPP_SOURCE, ("-O2",)),
    "cpp-4": (programs.CPP_SOURCE, ("-O1", "-gdwarf-4")),
}


def addresses(path: str) -> list[int]:
    """Every instruction of .text, by objdump."""
    said = subprocess.run(["objdump", "-d", "-j", ".text", path], check=True, capture_output=True, text=True).stdout
    found = [line.split(":")[0].strip() for line in said.splitlines() if "\t" in line]
    return [int(text, 16) for text in found]


def theirs(path: str, wanted: list[int]) -> dict[int, list[SourceFrame]]:
    """Function, file, line and column of each frame; the last one is not inlined."""
    said = subprocess.run(
        ["llvm-symbolizer", "-e", path, "--no-demangle", "-i", "-f=linkage", "--output-style=LLVM"],
        input="\n".join(map(hex, wanted)),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    out = {}
    for address, block in zip(wanted, said.strip().split("\n\n"), strict=True):
        lines = block.splitlines()
        frames = []
        for i in range(0, len(lines), 2):
            file, line, column = lines[i + 1].rsplit(":", 2)
            frames.append(SourceFrame(lines[i], file, int(line), int(column), i + 2 < len(lines)))
        out[address] = frames
    return out


def ours(path: str, wanted: list[int]) -> dict[int, tuple[SourceFrame, ...]]:
    dwarf = open_dwarf(Binary(path))
    assert dwarf is not None
    return Inlines(dwarf).many(wanted)


def same(mine: tuple[SourceFrame, ...], other: list[SourceFrame]) -> bool:
    """llvm-symbolizer takes the last function's name from the symbol table, which knows also what has no debug
    information, parts of functions, and namespaces that have no name."""
    if not mine:
        return other[0].line == 0  # only the symbol table knows it
    return [_plain(f) for f in mine[:-1]] == [_plain(f) for f in other[:-1]] and (
        _plain(mine[-1])[1:] == _plain(other[-1])[1:] and mine[-1].function in other[-1].function
    )


def _plain(f: SourceFrame) -> tuple[str, str, int, int]:
    return f.function, str(Path(f.file).resolve()), f.line, f.column


@pytest.mark.parametrize("build", BUILDS)
def test_every_instruction(tmp_path: Path, build: str) -> None:
    """The frames of all instructions: functions, files, lines, columns and which are inlined."""
    source, flags = BUILDS[build]
    path = programs.build(tmp_path, source, *flags)
    wanted = addresses(path)
    mine, other = ours(path, wanted), theirs(path, wanted)
    different = [(hex(a), mine[a], other[a]) for a in wanted if not same(mine[a], other[a])]
    assert not different[:3]
    if build != "5-slow":
        assert max(len(f) for f in mine.values()) >= 3


@pytest.mark.parametrize("how", ["link", "build-id"])
def test_separate_files(tmp_path: Path, how: str) -> None:
    """A stripped program has its debug information beside it, found by .gnu_debuglink or by its build id."""
    path = programs.build(tmp_path, NESTED, "-O2", "-Wl,--build-id=sha1")
    wanted = addresses(path)
    other = theirs(path, wanted)
    debug = tmp_path / "prog.debug"
    subprocess.run(["objcopy", "--only-keep-debug", path, str(debug)], check=True)
    subprocess.run(["strip", path], check=True)
    dirs = []
    if how == "link":
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True, cwd=tmp_path)
    else:
        build_id = Binary(path).elf.build_id()
        folder = tmp_path / "all" / ".build-id" / build_id[:2]
        folder.mkdir(parents=True)
        debug.rename(folder / f"{build_id[2:]}.debug")
        dirs = [str(tmp_path / "all")]
    dwarf = open_dwarf(Binary(path, dirs=dirs))
    assert dwarf is not None
    mine = Inlines(dwarf).many(wanted)
    assert all(same(mine[a], other[a]) for a in wanted)


@pytest.mark.skipif(shutil.which("dwz") is None, reason="needs dwz")
def test_partial_units(tmp_path: Path) -> None:
    """What dwz moved into units of its own is found by reference."""
    first = programs.build(tmp_path, NESTED, "-O2")
    second = tmp_path / "second"
    second.write_bytes(Path(first).read_bytes())
    wanted = addresses(first)
    before = ours(first, wanted)
    assert subprocess.run(["dwz", "-m", str(tmp_path / "common"), first, str(second)], check=False).returncode == 0
    after = ours(first, wanted)
    assert after == before
    assert any(len(f) > 2 for f in after.values())
