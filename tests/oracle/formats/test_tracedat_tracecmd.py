"""Files written here, read by trace-cmd: the same text as ours, and as what was put in."""

from __future__ import annotations

from pathlib import Path

import formats_tracemaker as tm
import formats_traces as traces
import pytest

from probescope.formats.tracedat import open_tracedat

#: (version, big-endian, bytes of a long, compression). Debian 12's trace-cmd reads no zlib.
SHAPES = [
    (6, False, 8, "none"),
    (6, False, 4, "none"),
    (6, True, 8, "none"),
    (6, True, 4, "none"),
    (7, False, 8, "none"),
    (7, False, 8, "zstd"),
    (7, True, 8, "zstd"),
    (7, False, 4, "zstd"),
    (7, True, 4, "zstd"),
]


@pytest.fixture(params=["installed", "newer"])
def program(request: pytest.FixtureRequest) -> str:
    """trace-cmd; and a newer one where there is one, which has a column of flags."""
    return traces.trace_cmd() if request.param == "installed" else traces.newer_trace_cmd()


@pytest.mark.parametrize(("version", "big", "long_size", "compression"), SHAPES)
def test_trace_cmd_reads_what_is_written(
    tmp_path: Path, program: str, version: int, big: bool, long_size: int, compression: str
) -> None:
    """Protects the writer: every event, in the same order, with the same text."""
    path = tmp_path / "trace.dat"
    path.write_bytes(tm.Maker(version, big, long_size, compression).build(("", tm.events(3000, 3))))
    with open_tracedat(str(path)) as recording:
        lines = traces.ours(recording, flags=traces.has_flags(program))
    assert len(lines) == 3001
    assert lines == traces.theirs(path, program=program)


@pytest.mark.parametrize("version", [6, 7])
def test_trace_cmd_reads_instances(tmp_path: Path, program: str, version: int) -> None:
    """Events of all buffers in one order, the buffer's name before each."""
    wanted = tm.events(200)
    path = tmp_path / "trace.dat"
    top, inner = [e for e in wanted if e[3] % 4], [e for e in wanted if not e[3] % 4]
    path.write_bytes(tm.Maker(version).build(("", top), ("inner", inner)))
    with open_tracedat(str(path)) as recording:
        assert traces.ours(recording, flags=traces.has_flags(program)) == traces.theirs(path, program=program)


@pytest.mark.parametrize("count", [1, 5, 70000, -1])
def test_trace_cmd_sees_the_same_losses(tmp_path: Path, program: str, count: int) -> None:
    """In the same place, with the same number."""
    path = tmp_path / "trace.dat"
    path.write_bytes(tm.Maker(lost={0: count, 1: count}).build(("", tm.events(600))))
    with open_tracedat(str(path)) as recording:
        lines = traces.ours(recording, flags=traces.has_flags(program))
    assert sum("EVENTS DROPPED" in line for line in lines) == 2
    assert lines == traces.theirs(path, program=program)


def test_a_newer_trace_cmd_reads_zlib(tmp_path: Path) -> None:
    """Debian 12's was built without it."""
    program = traces.newer_trace_cmd()
    path = tmp_path / "trace.dat"
    path.write_bytes(tm.Maker(7, compression="zlib").build(("", tm.events(3000, 3))))
    with open_tracedat(str(path)) as recording:
        assert traces.ours(recording) == traces.theirs(path, program=program)
