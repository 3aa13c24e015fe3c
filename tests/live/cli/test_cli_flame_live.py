"""``probescope flame`` of what happens now: a command, a process, waits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler is not installed")
SOURCE = """
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void spin(int n) { for (int i = 0; i < n; i++) sum += i * sum; }
__attribute__((noinline)) void doze(void) { struct timespec t = {0, 20000000}; nanosleep(&t, 0); }
int main(void) { for (int i = 0; i < 20; i++) { spin(20000000); doze(); } return 0; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("flame")
    (folder / "dozer.c").write_text(SOURCE)
    build = ["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "dozer", "dozer.c"]
    subprocess.run(build, check=True, cwd=folder, timeout=300)
    return str(folder / "dozer")


def folded(*args: str, command: list[str] | None = None) -> dict[str, int]:
    asked = [sys.executable, "-m", "probescope", "flame", *args, "-f", "folded", "-o", "-"]
    done = subprocess.run(
        [*asked, *(["--", *command] if command else [])], capture_output=True, text=True, timeout=300, check=True
    )
    rows = (line.rpartition(" ") for line in done.stdout.splitlines())
    return {stack: int(weight) for stack, _, weight in rows}


def test_of_a_command(program: str) -> None:
    stacks = folded("-e", "cpu-clock", "-F", "499", command=[program])
    spinning = sum(w for s, w in stacks.items() if s.startswith("dozer;") and ";spin" in s)
    assert spinning > 0.5 * sum(w for s, w in stacks.items() if s.startswith("dozer;"))


def test_of_a_process_for_a_time(program: str) -> None:
    process = subprocess.Popen([program])
    try:
        stacks = folded("-e", "cpu-clock", "-p", str(process.pid), "--duration", "0.5")
    finally:
        process.kill()
        process.wait()
    assert {s.partition(";")[0] for s in stacks} == {"dozer"}


@pytest.fixture
def never_idle() -> Iterator[None]:
    """Work for every CPU, each held to its own (two on one would leave another idle): some kernels leave out switches
    from the idle task, for perf as well as for us."""
    endless = ["nice", "sh", "-c", "while :; do :; done"]
    loops = [subprocess.Popen(["taskset", "-c", str(cpu), *endless]) for cpu in os.sched_getaffinity(0)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_of_waits(program: str, never_idle: None) -> None:
    """20 times 20 ms and more; however busy the machine is, they are told as sleep."""
    stacks = folded("--off-cpu", "-c", "dozer", command=[program])
    slept = sum(w for s, w in stacks.items() if "nanosleep" in s)
    assert 20 * 20_000_000 <= slept < 20 * 1_000_000_000


def test_what_makes_no_sense(tmp_path: Path) -> None:
    (tmp_path / "a.folded").write_text("a;b 1\n")
    asked = [sys.executable, "-m", "probescope", "flame", str(tmp_path / "a.folded"), "-a"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "either a file is drawn" in done.stderr
