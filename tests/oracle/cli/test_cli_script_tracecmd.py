"""``probescope script`` of a trace.dat beside ``trace-cmd report``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import formats_tracemaker as tm
import formats_traces as traces
import pytest


def script(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "probescope", "script", *args]
    return subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", timeout=300, check=False)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Twenty events on two CPUs, in the older of the two versions, which every trace-cmd reads."""
    path = tmp_path / "trace.dat"
    path.write_bytes(tm.Maker(version=6).build(("", tm.events(20))))
    return path


def test_text(made: Path) -> None:
    """But for the column of flags, which newer versions of trace-cmd have."""
    ours = script("-i", str(made))
    assert ours.returncode == 0, ours.stderr
    plain = [
        line[:30].split("]")[0] + "]" + line.split("]", 1)[1][7:] if "]" in line else line
        for line in ours.stdout.splitlines()
    ]
    theirs = traces.theirs(made)
    assert len(plain) == len(theirs) == 21
    assert [x.split() for x in plain] == [x.split() for x in theirs]


@pytest.mark.skipif(not traces.samples(), reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", traces.samples(), ids=lambda p: p.name)
def test_samples(path: Path) -> None:
    assert script("-i", str(path)).stdout.splitlines() == traces.expected(path)


def test_json(made: Path) -> None:
    """An object for each line of the text, with the event's own fields."""
    rows = [json.loads(line) for line in script("-i", str(made), "-f", "json").stdout.splitlines()]
    assert len(rows) == 20
    assert all(r["fields"] and not any(k.startswith("common_") for k in r["fields"]) for r in rows)


def test_options_of_the_other_format(made: Path) -> None:
    done = script("-i", str(made), "--pid", "3")
    assert done.returncode == 2
    assert "--pid is for perf.data" in done.stderr


def test_cut_file(made: Path) -> None:
    made.write_bytes(made.read_bytes()[:200])
    done = script("-i", str(made))
    assert "Traceback" not in done.stderr
    assert "ERROR" in done.stderr or "WARNING" in done.stderr
