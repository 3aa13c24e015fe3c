"""``record --off-cpu``: how long a program waits, as it knows itself and as perf reads it of our file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
OURS = (sys.executable, "-m", "probescope")
SLEEPS = "import time\nfor _ in range(3): time.sleep(0.1)"
OTHERS = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(0.2)'])"


def said(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded(path: Path, *words: str) -> str:
    said(*OURS, "record", "-q", "--off-cpu", "-o", str(path), *words)
    return str(path)


def waits(tool: Sequence[str], path: str) -> list[tuple[int, int]]:
    """(thread, ns)."""
    text = said(*tool, "script", "-i", path, "-F", "tid,period,event", "-G")
    return [(int(m[1]), int(m[2])) for m in re.finditer(r"^ *(\d+) +(\d+) +offcpu-time:", text, re.MULTILINE)]


def test_perf_reads_how_long_a_command_slept(tmp_path: Path) -> None:
    """Three sleeps of 0.1 s are 0.3 s or a little more, by thread and stack; perf report has the row that we have."""
    path = recorded(tmp_path / "p.data", "--", sys.executable, "-S", "-c", SLEEPS)
    found = waits(OURS, path)
    assert found == waits(("perf",), path)
    assert 0.3e9 <= sum(ns for _, ns in found) < 6e9
    ask = ("report", "-i", path, "--stdio", "--no-children", "-g", "none", "-s", "sym", "--percent-limit", "20")
    tables = [re.findall(r"^ +\S+% .*sleep.*", said(*tool, *ask), re.MULTILINE) for tool in (OURS, ("perf",))]
    assert tables[0]
    assert [" ".join(row.split()) for row in tables[0]] == [" ".join(row.split()) for row in tables[1]]
    folded = said(*OURS, "flame", "--off-cpu", path, "-f", "folded", "-o", "-")
    assert sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()) == sum(ns for _, ns in found)


def test_children_wait_too_but_not_with_no_inherit(tmp_path: Path) -> None:
    """Of a process and what it starts; with -i of that process alone."""
    whole = waits(OURS, recorded(tmp_path / "a.data", "--", sys.executable, "-S", "-c", OTHERS))
    alone = waits(OURS, recorded(tmp_path / "b.data", "-i", "--", sys.executable, "-S", "-c", OTHERS))
    assert len({tid for tid, _ in whole}) >= 2
    assert len({tid for tid, _ in alone}) == 1
    # the parent waits for the child that sleeps
    assert sum(ns for _, ns in whole) >= 0.4e9
