"""Flame graphs of recordings beside perf script: the same samples, weights and depths of stacks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("flame") / "perf.data")
    work = ["sh", "-c", "ls -lR /usr/lib/python3 /etc > /dev/null; du -s /usr/share > /dev/null"]
    record = ["perf", "record", "-q", "-e", "page-faults,cpu-clock", "-F", "997", "-g", "-o", path, "--", *work]
    subprocess.run(record, check=True, timeout=300, capture_output=True)
    return path


def theirs(path: str, event: str) -> Counter[tuple[str, int]]:
    """Weight by thread's name and number of frames, from perf's text: ``NAME PERIOD EVENT:``, then a line a frame."""
    fields = "comm,period,event,ip,sym"
    text = subprocess.run(
        ["perf", "script", "--no-inline", "-i", path, "-F", fields], capture_output=True, text=True, check=True
    ).stdout
    out: Counter[tuple[str, int]] = Counter()
    for block in text.split("\n\n"):
        head, *frames = block.strip("\n").split("\n")
        words = head.split()
        if len(words) == 3 and words[2] == f"{event}:":
            out[words[0], len(frames)] += int(words[1])
    return out


@pytest.mark.parametrize("event", ["page-faults", "cpu-clock"])
def test_weights(recorded: str, event: str) -> None:
    args = ["flame", "--no-inline", recorded, "-e", event, "-f", "folded", "-o", "-"]
    done = subprocess.run([sys.executable, "-m", "probescope", *args], capture_output=True, text=True, check=True)
    ours: Counter[tuple[str, int]] = Counter()
    for line in done.stdout.splitlines():
        stack, _, weight = line.rpartition(" ")
        comm, *frames = stack.split(";")
        ours[comm, len(frames)] += int(weight)
    assert ours == theirs(recorded, event)
    assert sum(ours.values()) > 100


def test_selection(recorded: str) -> None:
    """Filters are those of ``script``."""
    args = ["flame", "--no-inline", recorded, "-e", "cpu-clock", "-c", "du", "-f", "folded", "-o", "-"]
    done = subprocess.run([sys.executable, "-m", "probescope", *args], capture_output=True, text=True, check=True)
    assert {line.partition(";")[0] for line in done.stdout.splitlines()} == {"du"}


def test_other_event(recorded: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "flame", recorded, "-e", "cpu-clok"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "did you mean cpu-clock?" in done.stderr


def test_cut_recording(recorded: str, tmp_path: Path) -> None:
    """Half of a file is half of its samples, and a word about it."""
    cut = tmp_path / "cut.data"
    cut.write_bytes(Path(recorded).read_bytes()[: Path(recorded).stat().st_size // 2])
    args = ["flame", str(cut), "-f", "folded", "-o", "-"]
    done = subprocess.run([sys.executable, "-m", "probescope", *args], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "WARNING" in done.stderr or "ERROR" in done.stderr
