"""Parameters of compiled functions: names, types, and the register that each is in at every place where that changes,
as llvm-dwarfdump tells them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_declared import declared
from probescope.model.fetch import Register
from probescope.sources.probe_args import CannotFetch
from probescope.sources.probe_debug import DebugPlaces
from probescope.sources.probe_target import Wanted, open_target
from tests.support.probe_program import build

pytestmark = pytest.mark.skipif(shutil.which("llvm-dwarfdump") is None, reason="needs llvm-dwarfdump")
REGISTERS = dict(zip("RAX RDX RCX RBX RSI RDI RBP RSP".split(), "ax dx cx bx si di bp sp".split(), strict=True))
REGISTERS |= {f"R{n}": f"r{n}" for n in range(8, 16)}
SPAN = re.compile(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\): DW_OP_reg\d+ (\w+)\)?$", re.MULTILINE)
FUNCTIONS = ("work", "name_of", "main")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("places"))["fast"]


@pytest.fixture(scope="module")
def debug(program: str) -> DebugPlaces:
    found = open_target(Wanted(binary=program)).debug
    assert found is not None
    return found


def told(program: str, offset: int) -> list[tuple[str, str, list[tuple[int, int, str]]]]:
    """Name, type, and (from, to, register) of each parameter of the function whose entry is there."""
    command = ["llvm-dwarfdump", f"--debug-info={offset:#x}", "--show-children", program]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    out = []
    for block in re.split(r"\n(?=0x[0-9a-f]+: )", text):
        if re.match(r"0x[0-9a-f]+:   DW_TAG_formal_parameter", block):
            name = re.search(r'DW_AT_name\s+\("(.*?)"\)', block)
            kind = re.search(r'DW_AT_type\s+\(0x[0-9a-f]+ "(.*?)"\)', block)
            assert name is not None
            assert kind is not None
            spans = [(int(a, 16), int(b, 16), r) for a, b, r in SPAN.findall(block)]
            out.append((name[1], kind[1], spans))
    return out


def plain(text: str) -> str:
    """Without keywords, which only one of the two writes, and ``const``, which perf probe leaves out."""
    return re.sub(r"\b(struct|union|enum|const) ", "", text).replace(" ", "")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_parameters(program: str, debug: DebugPlaces, function: str) -> None:
    [die] = debug.functions.named(function)
    theirs = told(program, die.unit.offset + die.at)
    ours = {p.full_name(): declared(p).rpartition("\t")[0] for p in die.children(c.TAG_PARAM)}
    assert [(n, plain(t)) for n, t, _ in theirs] == [(n, plain(t)) for n, t in ours.items()]
    seen = 0
    for name, _, spans in theirs:
        for low, high, register in spans:
            if low < high and register in REGISTERS:
                seen += 1
                assert debug.variable(name, low).x == Register(REGISTERS[register]), f"{function} {name} at {low:#x}"
                assert debug.variable(name, high - 1).x == Register(REGISTERS[register])
            elif low < high:
                with pytest.raises(CannotFetch):  # %xmm0: no probe reads it
                    debug.variable(name, low)
    assert seen >= len([n for n, _, spans in theirs if spans]) // 2
