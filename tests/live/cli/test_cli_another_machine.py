"""A recording and what lies beside it are enough: reports where none of the recorded files are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from collect_programs import build

OURS = (sys.executable, "-m", "probescope")
PROGRAM = r"""
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone, used))
volatile long sink;
KEEP int compare(const void *a, const void *b) {
    for (volatile int i = 0; i < 30; i++) sink += i;
    return *(const int *)a - *(const int *)b;
}
KEEP void sorted(int n) { int v[300]; for (int i = 0; i < 300; i++) v[i] = rand(); qsort(v, n, 4, compare); sink++; }
KEEP void deep(int n) { if (n) deep(n - 1); else sorted(300); sink++; }
int main(void) { for (int i = 0; i < 1500; i++) deep(i % 9); return 0; }
"""


def run(*args: str, home: Path) -> subprocess.CompletedProcess[str]:
    """``home`` without perf's cache of files."""
    env = {**os.environ, "HOME": str(home)}
    return subprocess.run([*OURS, *args], capture_output=True, text=True, timeout=300, check=True, env=env)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    program = build("sorter", PROGRAM, "-O2", "-fomit-frame-pointer", "-g0")
    path = folder / "perf.data"
    options = ("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,16384")
    run("record", "-q", *options, "-o", str(path), "--", program, home=folder)
    return path


def test_stacks_of_another_machine(recorded: Path, tmp_path: Path) -> None:
    """The tree is the same, to the last function: tables for unwinding lie beside the recording, as names do. Only what
    is inlined is not known there."""
    (tmp_path / "nothing").mkdir()
    look = ("report", "-i", str(recorded), "--no-inline")
    here = run(*look, home=tmp_path)
    there = run(*look, "--symfs", str(tmp_path / "nothing"), home=tmp_path)
    assert "--compare" in here.stdout
    assert here.stdout.count("deep") > 10
    assert there.stdout == here.stdout


def test_functions_that_assembly_left_without_a_size(tmp_path: Path) -> None:
    """The loader begins in one, and each first touch of a page in it has that for its outermost frame."""
    (tmp_path / "nothing").mkdir()
    path = tmp_path / "faults.data"
    options = ("-e", "page-faults:u", "-c", "1", "--call-graph", "dwarf,16384")
    run("record", "-q", *options, "-o", str(path), "--", "/bin/true", home=tmp_path)
    look = ("report", "-i", str(path), "--no-inline")
    here = run(*look, home=tmp_path).stdout
    assert run(*look, "--symfs", str(tmp_path / "nothing"), home=tmp_path).stdout == here
    assert "ld-linux" in here or "ld-musl" in here


def test_without_what_lies_beside_it(recorded: Path, tmp_path: Path) -> None:
    """The test above can fail: nothing is known then."""
    (tmp_path / "nothing").mkdir()
    (tmp_path / "perf.data").write_bytes(recorded.read_bytes())
    look = ("report", "-i", str(tmp_path / "perf.data"), "--no-inline", "--symfs", str(tmp_path / "nothing"))
    assert "deep" not in run(*look, home=tmp_path).stdout


def test_it_is_small(recorded: Path) -> None:
    size = recorded.with_name("perf.data.symbols").stat().st_size
    assert 10_000 < size < min(2_000_000, recorded.stat().st_size)


def test_damage_costs_names_alone(recorded: Path, tmp_path: Path) -> None:
    """Whatever lies beside it: a report, or a typed error, in bounded time."""
    (tmp_path / "nothing").mkdir()
    (tmp_path / "perf.data").write_bytes(recorded.read_bytes())
    good = recorded.with_name("perf.data.symbols").read_bytes()
    beside = tmp_path / "perf.data.symbols"
    look = [*OURS, "report", "-i", str(tmp_path / "perf.data"), "--symfs", str(tmp_path / "nothing")]
    bad = (good[: len(good) // 2], b"PSSYMS01" + b"\xff" * 4000, good[:12] + bytes(500), good[:3000] + bytes(len(good)))
    for data in bad:
        beside.write_bytes(data)
        done = subprocess.run(look, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in {0, 1}
        assert "Traceback" not in done.stderr
