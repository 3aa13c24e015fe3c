"""``FUNCTION@FILE`` and ``FUNCTION:LINE`` in programs of Go, by the runtime's own table; ``go tool objdump`` says which
file and line each instruction comes from."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from probescope.errors import ProbeError
from probescope.lang.probe.parser import parse
from probescope.sources.probe_target import Wanted, open_target

MAIN = """package main

import "os"

//go:noinline
func work(n int) int {
\treturn small(n) + 1
}

func main() {
\tos.Exit(work(len(os.Args)) + apart(2))
}
"""
OTHER = """package main

func small(n int) int {
\tfor i := 0; i < 3; i++ {
\t\tn += i
\t}
\treturn n * 3
}

//go:noinline
func apart(n int) int {
\tn = small(n)
\treturn n + 5
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("gofiles")
    (folder / "go.mod").write_text("module demo\n\ngo 1.19\n")
    (folder / "main.go").write_text(MAIN)
    (folder / "other.go").write_text(OTHER)
    subprocess.run(["go", "build", "-o", "gp", "."], cwd=folder, check=True, timeout=300)
    return str(folder / "gp")


def instructions(program: str, function: str) -> list[tuple[str, int, int]]:
    """(file, line, address) by Go's own disassembler."""
    words = ["go", "tool", "objdump", "-s", f"^{function}$", program]
    text = subprocess.run(words, check=True, capture_output=True, text=True, timeout=300).stdout
    found = re.findall(r"^\s+(\w+\.go):(\d+)\s+0x([0-9a-f]+)", text, re.MULTILINE)
    return [(file, int(line), int(address, 16)) for file, line, address in found]


def addresses(program: str, definition: str) -> list[int]:
    return [f.address for f in open_target(Wanted(binary=program)).resolve(parse(definition))]


def test_a_function_is_in_the_file_that_declares_it(program: str) -> None:
    """Not in that of a function that was inlined into it, of which it has code as well."""
    code = instructions(program, "main.work")
    assert {file for file, _, _ in code} == {"main.go", "other.go"}
    for how in ("main.work@main.go", "main.work"):
        assert addresses(program, how) == [code[0][2]]
    folder = Path(program).parent.name
    assert addresses(program, f"main.work@{folder}/main.go") == [code[0][2]]
    for how in ("", ":1", "%return"):
        with pytest.raises(ProbeError, match=r"main\.work is not in other\.go") as e:
            addresses(program, f"main.work@other.go{how}")
        assert list(e.value.hints) == [f"it is in {Path(program).parent}/main.go"]
    with pytest.raises(ProbeError, match=r"main\.work is not in nowhere\.go"):
        addresses(program, "main.work@nowhere.go")
    [ret] = addresses(program, "main.work@main.go%return")
    assert ret == code[-1][2]


def test_lines_of_a_function_are_its_own(program: str) -> None:
    """Counted from the first with code, and never those of the file, nor of what is inlined."""
    code = instructions(program, "main.apart")
    first = code[0][1]
    [at] = addresses(program, f"main.apart@other.go:{13 - first}")
    assert ("other.go", 13) in {(file, line) for file, line, address in code if address == at}
    with pytest.raises(ProbeError, match=r"no code at line 7 of main\.work") as e:
        addresses(program, "main.work:7")
    assert list(e.value.hints) == ["line 0 has code: main.work:0"]
