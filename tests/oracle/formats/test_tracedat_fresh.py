"""A recording made now, in a private instance of tracefs: pages as the kernel gives them, text as trace-cmd's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import formats_traces as traces
import pytest
from formats_fresh import fresh

from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat.writer import Head, Pages, write_tracedat

SYSTEMS = ("sched", "raw_syscalls", "irq", "task", "signal")


@pytest.fixture(scope="module")
def recorded() -> tuple[Head, list[Pages]]:
    return fresh(SYSTEMS)  # in buffers small enough to lose events


@pytest.mark.parametrize("newer", [False, True], ids=["installed", "newer"])
@pytest.mark.parametrize(("version", "compression"), [(6, "none"), (7, "none"), (7, "zstd")])
def test_text_of_a_fresh_recording(
    recorded: tuple[Head, list[Pages]], tmp_path: Path, version: int, compression: str, *, newer: bool
) -> None:
    """Every line of thousands, in all containers, without plugins, which know fewer states if old."""
    from probescope.frozen import replace

    head, buffers = recorded
    path = tmp_path / "trace.dat"
    with path.open("wb") as file:
        write_tracedat(file, replace(head, version=version, compression=compression), buffers)
    program = traces.newer_trace_cmd() if newer else traces.trace_cmd()
    theirs = traces.theirs(path, "-N", program=program)
    flags = traces.has_flags(program)
    with open_tracedat(str(path)) as recording:
        ours = traces.ours(recording, flags=flags, plugins=False)
        assert recording.damage == ()
    assert len(ours) > 1000
    assert ours == theirs


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("newer", [False, True], ids=["installed", "newer"])
@pytest.mark.parametrize("options", [(), ("--file-version", "6"), ("-T",)], ids=["v7", "v6", "stacks"])
def test_what_ftrace_record_writes(tmp_path: Path, options: tuple[str, ...], *, newer: bool) -> None:
    """Recorded by probescope, read by trace-cmd and here: the same lines."""
    program = traces.newer_trace_cmd() if newer else traces.trace_cmd()
    path = tmp_path / "trace.dat"
    stacks = "-T" in options  # printed by a plugin: then without sched_switch, of whose states old plugins know less
    what = ["-e", "sched:sched_waking" if stacks else "sched", "-e", "irq", *options, "-o", str(path)]
    command = [sys.executable, "-m", "probescope", "ftrace", "record", *what, "--", "ls", "-lR", "/usr/share/doc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open_tracedat(str(path)) as recording:
        ours = traces.ours(recording, flags=traces.has_flags(program), plugins=stacks)
        assert recording.damage == ()
    assert len(ours) > 50
    assert ours == traces.theirs(path, *(() if stacks else ("-N",)), program=program)
