"""Definitions in a program for AArch64, looked at on this machine: perf probe tells the same registers and offsets."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from probescope.cli.main import main

GCC = "aarch64-linux-gnu-gcc"
pytestmark = pytest.mark.skipif(shutil.which(GCC) is None, reason=f"needs {GCC}")
SOURCE = r"""
struct box { int id; char name[8]; };
__attribute__((noinline, noipa)) int visit(long n, struct box *b, int *many) { return n && b && many; }
int main(int argc, char **argv) { struct box b = {argc, "x"}; return visit(argc, &b, &b.id); }
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("arm")
    (folder / "arm.c").write_text(SOURCE)
    for name in ("O0", "O2"):
        subprocess.run([GCC, "-g", f"-{name}", "-o", name, "arm.c"], check=True, cwd=folder, timeout=300)
    return {name: str(folder / name) for name in ("O0", "O2")}


@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize("text", ["visit n", "visit b->id b->name:string", "visit many %x9", "visit%return $retval"])
def test_as_perf(programs: dict[str, str], capsys: pytest.CaptureFixture[str], level: str, text: str) -> None:
    if shutil.which("perf") is None:
        pytest.skip("needs perf")
    assert main(["probe", "-x", programs[level], "-D", text]) == 0
    perf = subprocess.run(
        ["perf", "probe", "-x", programs[level], "-D", text], capture_output=True, text=True, timeout=300, check=False
    )
    if not perf.stdout:
        pytest.skip(f"perf has none: {perf.stderr.strip()[-200:]}")
    assert capsys.readouterr().out == perf.stdout


def test_what_is_of_this_machine_alone(programs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments by the calling convention and instructions are those of the file; probing it here is refused."""
    path = programs["O2"]
    assert main(["probe", "-x", path, "-D", "visit $arg1 $arg3"]) == 0
    assert capsys.readouterr().out.endswith(" %x0 %x2\n")
    assert main(["probe", "-x", path, "-D", "visit+2"]) == 1
    assert "instructions begin at +0 and +4" in capsys.readouterr().err
    assert main(["probe", "-x", path, "visit"]) == 1
    assert "is for aarch64, this machine runs" in capsys.readouterr().err
    assert main(["args", "visit", "-x", path]) == 2
    assert "code of aarch64 is not guessed from" in capsys.readouterr().err
