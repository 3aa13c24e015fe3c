"""A recording made now, in a private instance of tracefs: pages as the kernel gives them, text as trace-cmd's."""

from __future__ import annotations

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
