"""``probescope diff`` beside ``perf diff``: the same text, of a program without a name that has several symbols."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which("perf") is None or shutil.which("cc") is None, reason="perf or a C compiler is not installed"
)
SOURCE = """
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void slow(int n) { for (int i = 0; i < n; i++) sum += i * sum; }
__attribute__((noinline)) void quick(int n) { for (int i = 0; i < n; i++) sum ^= i; }
__attribute__((noinline)) void late(int n) { for (int i = 0; i < n; i++) sum -= i; }
int main(int argc, char **argv) {
    int k = atoi(argv[1]);
    for (int i = 0; i < 20000; i++) { slow(k); quick(3000); if (k > 2000) late(1000); }
    return 0;
}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder: Path = tmp_path_factory.mktemp("diff")
    (folder / "work.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-o", "work", "work.c"], check=True, cwd=folder, timeout=300)
    for name, count in (("a", "1000"), ("b", "2500"), ("c", "4000")):
        record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "1999", "-o", f"{name}.data", "./work", count]
        subprocess.run(record, check=True, cwd=folder, timeout=300, capture_output=True)
    return [str(folder / f"{name}.data") for name in "abc"]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("-c", "delta", "-s", "dso"),
        ("-c", "ratio", "-p", "--formula"),
        ("-c", "wdiff:2,1", "-p", "--formula"),
        ("-b",),
        ("-o", "0", "-s", "comm,dso,symbol"),
        ("-q",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("count", [2, 3])
def test_the_same_text(files: list[str], args: tuple[str, ...], count: int) -> None:
    """Rows of code that the C library's loader has are called by other names of the same place: they are left out."""
    ours = run(sys.executable, "-m", "probescope", "diff", *args, *files[:count])
    theirs = run("perf", "diff", *args, *files[:count])
    kept = [[line for line in text.splitlines() if "libc" not in line and "ld-" not in line] for text in (ours, theirs)]
    plain = [[re.sub(r" +", " ", line.replace("..", ".")) for line in lines] for lines in kept]
    assert [re.sub(r"\.+", ".", line) for line in plain[0]] == [re.sub(r"\.+", ".", line) for line in plain[1]]
    assert any("slow" in line or "work" in line for line in kept[0])


def test_one_event_with_other_modifiers(files: list[str]) -> None:
    """cpu-clock:u of one recording and cpu-clock of another are compared, as perf does."""
    folder = Path(files[0]).parent
    record = ["perf", "record", "-q", "-e", "task-clock,cpu-clock", "-F", "1999", "-o", "d.data", "./work", "1500"]
    subprocess.run(record, check=True, cwd=folder, timeout=300, capture_output=True)
    words = ("-s", "dso", files[0], str(folder / "d.data"))
    ours, theirs = run(sys.executable, "-m", "probescope", "diff", *words), run("perf", "diff", *words)
    mine, other = (next(w for x in text.splitlines() if (w := x.split())[-1:] == ["work"]) for text in (ours, theirs))
    assert re.fullmatch(r"[+-]\d+\.\d+%", other[1])
    assert mine == other


def test_json(files: list[str]) -> None:
    text = run(sys.executable, "-m", "probescope", "diff", "-f", "json", *files[:2])
    rows = [json.loads(line) for line in text.splitlines()]
    late = next(r for r in rows if r["symbol"].endswith("late"))
    assert late["weights"][0] is None
    assert late["delta-abs"][0] == pytest.approx(late["percents"][1], abs=0.001)
