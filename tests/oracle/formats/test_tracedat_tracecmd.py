"""Files written here, read by trace-cmd: the same text as ours, and as what was put in."""

from __future__ import annotations

import struct
from pathlib import Path

import formats_tracemaker as tm
import formats_traces as traces
import pytest

from probescope.formats.tracedat import open_tracedat
from probescope.formats.tracedat import options as o

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


def shift(flags: int, *cpus: list[tuple[int, int, int, int]]) -> bytes:
    """TIME_SHIFT: of each CPU samples of (time, offset, scaling, fraction)."""
    out = struct.pack("<QII", 7, flags, len(cpus))
    for samples in cpus:
        times, offsets, scalings, _ = zip(*samples, strict=True)
        n = len(samples)
        out += struct.pack(f"<I{n}Q{n}q{n}Q", n, *times, *offsets, *scalings)
    return out + b"".join(struct.pack("<Q", sample[3]) for samples in cpus for sample in samples)


FIRST = [(1_000_000_000, 100_000, 3, 1), (1_000_500_000, 300_700, 3, 1), (1_100_000_000, -5_000, 3, 1)]
SECOND = [(0, -50_000, 1, 0), (5_000_000_000, -90_000, 1, 0)]
TIMES = {
    "offset": [(o.OFFSET, b"-7000000\0")],
    "date": [(o.DATE, b"0x1000\0")],
    "tsc": [(o.TSC2NSEC, struct.pack("<IIQ", 1_022_611_260, 31, 900_000_000))],
    "shift, one sample": [(o.TIME_SHIFT, shift(0, FIRST[:1], SECOND[:1]))],
    "shift, steps": [(o.TIME_SHIFT, shift(0, FIRST, SECOND))],
    "shift, interpolated": [(o.TIME_SHIFT, shift(1, FIRST, SECOND))],
    "shift of one CPU": [(o.TIME_SHIFT, shift(1, SECOND))],
    "all": [
        (o.TIME_SHIFT, shift(1, FIRST, SECOND)),
        (o.TSC2NSEC, struct.pack("<IIQ", 1_022_611_260, 31, 0)),
        (o.OFFSET, b"5\0"),
    ],
}


@pytest.mark.parametrize("version", [6, 7])
@pytest.mark.parametrize("kind", TIMES)
def test_times_are_corrected_as_trace_cmd_does(tmp_path: Path, program: str, kind: str, version: int) -> None:
    """Offsets, rates of a TSC, and guests' clocks: to the nanosecond."""
    path = tmp_path / "trace.dat"
    options = ((o.TRACEID, struct.pack("<Q", 9)), (o.GUEST, b"guest\0" + struct.pack("<QI", 8, 0)), *TIMES[kind])
    path.write_bytes(tm.Maker(version, options=options).build(("", tm.events(400))))
    with open_tracedat(str(path)) as recording:
        lines = traces.ours(recording, flags=traces.has_flags(program), nanoseconds=True)
    assert lines == traces.theirs(path, "-t", program=program)


def test_a_newer_trace_cmd_reads_zlib(tmp_path: Path) -> None:
    """Debian 12's was built without it."""
    program = traces.newer_trace_cmd()
    path = tmp_path / "trace.dat"
    path.write_bytes(tm.Maker(7, compression="zlib").build(("", tm.events(3000, 3))))
    with open_tracedat(str(path)) as recording:
        assert traces.ours(recording) == traces.theirs(path, program=program)
