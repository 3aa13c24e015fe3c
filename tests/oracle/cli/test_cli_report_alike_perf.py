"""``report`` of functions that are called alike, beside perf report: each has its own row."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc"),
]
WORK = "static __attribute__((noinline)) void work(void) { for (volatile long i = 0; i < %dL; i++); }\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two static functions ``work``, one with three times the other's work."""
    folder = tmp_path_factory.mktemp("alike")
    (folder / "one.c").write_text(WORK % 60_000_000 + "void other(void); int main(void) { work(); other(); }\n")
    (folder / "two.c").write_text(WORK % 20_000_000 + "void other(void) { work(); }\n")
    subprocess.run(["gcc", "-O1", "one.c", "two.c", "-o", "alike"], cwd=folder, check=True, timeout=120)
    recorded = folder / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock:u", "-o", str(recorded), "--", str(folder / "alike")]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    return str(recorded)


def rows(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [line.rstrip() for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("keys", ["comm,dso,sym", "sym"])
def test_functions_that_are_called_alike(path: Path, keys: str) -> None:
    """What one of them takes is not added to the other."""
    options = ["--no-children", "-i", str(path), "-s", keys]
    ours = rows(sys.executable, "-m", "probescope", "report", *options)
    assert ours == rows("perf", "report", "--stdio", *options)
    assert sum(line.endswith("[.] work") for line in ours) == 2
