"""Functions of Go and where they return, beside the compiler's own symbols and objdump."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.go_program import open_go
from probescope.sources import go_code
from tests.support import values_programs

pytestmark = pytest.mark.skipif(
    shutil.which("objdump") is None, reason="objdump is not installed: apt install binutils"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return values_programs.go(tmp_path_factory.mktemp("go"))


def test_names_are_those_of_the_symbols(program):
    """Every function of package main and of the runtime, at the same address."""
    elf = ElfFile.open(program)
    go = open_go(elf)
    assert go is not None
    said = subprocess.run(["go", "version", program], capture_output=True, text=True, check=True).stdout
    assert go.version_text in said
    mine = {f.name: f.address for f in go.table.functions}
    symtab = elf.symtab()
    assert symtab is not None
    theirs = {s.name: s.address for s in symtab if s.is_function and s.name.startswith(("main.", "runtime.(*"))}
    elf.close()
    assert len(theirs) > 100
    assert {n: mine.get(n) for n in theirs} == theirs


def test_returns_are_those_of_objdump(program):
    """Of 200 functions, large ones too."""
    elf = ElfFile.open(program)
    go = open_go(elf)
    assert go is not None
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True)
    rets = sorted(int(a, 16) for a in re.findall(r"^ +([0-9a-f]+):\t(?:repz )?ret", text.stdout, re.MULTILINE))
    functions = [f for f in go.table.functions if f.name.startswith(("main.", "fmt.", "strconv.", "runtime.(*"))][:400]
    assert len(functions) > 200
    for f in functions:
        found = go_code.returns(elf.read_vaddr(f.address, f.size))
        assert found == [a - f.address for a in rets if f.address <= a < f.address + f.size], f.name
    elf.close()
