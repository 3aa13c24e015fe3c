"""trace.dat cut down: trace-cmd reads it, and prints of it what it prints of the whole with the same choice."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import formats_traces as traces
import pytest
from cli_exports import export
from formats_fresh import fresh

from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat.writer import write_tracedat
from probescope.frozen import replace


@pytest.fixture(scope="module", params=[(6, "none"), (7, "none"), (7, "zstd")], ids=str)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    version, compression = request.param
    head, buffers = fresh(("sched", "raw_syscalls"), 256, stacks=True)  # small: some are lost
    path = tmp_path_factory.mktemp("cut") / "trace.dat"
    with path.open("wb") as file:
        write_tracedat(file, replace(head, version=version, compression=compression), buffers)
    return path


def test_everything(recorded: Path, tmp_path: Path) -> None:
    """Nothing left out: every line as before."""
    export(recorded, "-o", tmp_path / "a.dat")
    ours, theirs = traces.theirs(tmp_path / "a.dat", "-t"), traces.theirs(recorded, "-t")
    assert len(theirs) > 1000
    assert ours == theirs


def test_a_newer_trace_cmd_reads_all_of_it(recorded: Path, tmp_path: Path) -> None:
    """Cut and whole, with its column of flags; and ours is its text."""
    program = traces.newer_trace_cmd()
    export(recorded, "-o", tmp_path / "a.dat")
    theirs = traces.theirs(recorded, program=program)
    assert traces.theirs(tmp_path / "a.dat", program=program) == theirs
    with open_tracedat(str(tmp_path / "a.dat")) as recording:
        assert traces.ours(recording) == theirs


_LINE = re.compile(r"\[(\d+)\].*? (\d+\.\d+): (\w+):")


def test_by_event_cpu_and_time(recorded: Path, tmp_path: Path) -> None:
    """As many system calls of one CPU in the middle third, each with its stack."""
    lines = [m for line in traces.theirs(recorded, "-t") if (m := _LINE.search(line))]
    times = sorted(m[2] for m in lines)
    span = (times[len(times) // 3], times[2 * len(times) // 3])
    cpu = Counter(m[1] for m in lines if m[3] == "sys_exit" and span[0] <= m[2] <= span[1]).most_common(1)[0][0]
    options = ("-e", "raw_syscalls:*", "-C", str(int(cpu)), "--time", ",".join(span))
    export(recorded, *options, "-o", tmp_path / "a.dat")
    ours = [m for line in traces.theirs(tmp_path / "a.dat", "-t") if (m := _LINE.search(line))]
    mine = [m for m in lines if m[1] == cpu and span[0] <= m[2] <= span[1]]
    wanted = [(m[2], m[3]) for m in mine if m[3].startswith("sys_")]
    assert [(m[2], m[3]) for m in ours if m[3] != "kernel_stack"] == wanted
    assert len(wanted) > 20
    theirs = sum(b[3] == "kernel_stack" and a[3].startswith("sys_") for a, b in pairwise(mine))
    assert abs(sum(m[3] == "kernel_stack" for m in ours) - theirs) <= 1  # the last one's may be outside of the span


@pytest.mark.skipif(not traces.samples(), reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", traces.samples(), ids=lambda p: p.name)
def test_recordings_of_other_machines(path: Path, tmp_path: Path) -> None:
    export(path, "-o", tmp_path / "a.dat")
    if "zlib" not in path.name:  # trace-cmd of Debian 12 has no zlib
        assert traces.theirs(tmp_path / "a.dat") == traces.theirs(path)
