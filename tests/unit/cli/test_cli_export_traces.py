"""``probescope export`` of trace.dat files made by hand, in either byte order and width of longs."""

from __future__ import annotations

import json
from pathlib import Path

import formats_tracemaker as tm
import pytest

from probescope.cli.main import main
from probescope.formats.perfdata import open_perfdata
from probescope.formats.tracedat import open_tracedat

EVENTS = tm.events(200)
MACHINES = [(6, False, 8), (7, False, 8), (7, True, 8), (6, True, 4), (7, False, 4)]


@pytest.fixture(params=MACHINES, ids=str)
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    version, big, long_size = request.param
    compression = "zstd" if version == 7 and not big else "none"
    made = tm.Maker(version=version, big=big, long_size=long_size, compression=compression, lost={1: 7})
    path = tmp_path / "trace.dat"
    path.write_bytes(made.build(("", EVENTS), ("second", EVENTS[:20])))
    return path


def rows(path: Path) -> list[tuple[int, int, int, int]]:
    """(CPU, time, thread, n) of every event."""
    assert main(["export", str(path), "--to", "jsonl", "-q", "-o", f"{path}.jsonl"]) == 0
    found = map(json.loads, Path(f"{path}.jsonl").read_text().splitlines())
    return sorted((r["cpu"], r["time"], r["tid"], r["fields"]["n"]) for r in found)


def test_a_cut_holds_what_it_should(recording: Path, tmp_path: Path) -> None:
    """Events of both buffers, their bytes, losses, names of buffers, version and byte order."""
    assert rows(recording) == sorted((*EVENTS, *EVENTS[:20]))
    out = tmp_path / "cut.dat"
    assert main(["export", str(recording), "-q", "-o", str(out)]) == 0
    assert rows(out) == rows(recording)
    with open_tracedat(str(out)) as ours, open_tracedat(str(recording)) as theirs:
        for name in ("version", "big", "long_size", "page_size", "compression"):
            assert getattr(ours.contents, name) == getattr(theirs.contents, name)
        assert [b.name for b in ours.buffers] == [b.name for b in theirs.buffers]
        lost = [[r.count for b in x.batches() for _, r in b.between] for x in (ours, theirs)]
        assert lost[0] == lost[1]
        assert sum(lost[0]) > 0
        assert ours.damage == theirs.damage == ()


def test_a_choice(recording: Path, tmp_path: Path) -> None:
    cpu, _, tid, _ = EVENTS[7]
    out = tmp_path / "cut.dat"
    assert main(["export", str(recording), "-C", str(cpu), "--tid", str(tid), "-q", "-o", str(out)]) == 0
    assert rows(out) == sorted(e for e in (*EVENTS, *EVENTS[:20]) if e[0] == cpu and e[2] == tid)


def test_perf_data_of_it(recording: Path, tmp_path: Path) -> None:
    """The raw records byte for byte, and where and when they were; what was lost."""
    out = tmp_path / "a.data"
    assert main(["export", str(recording), "-q", "-o", str(out)]) == 0
    with open_perfdata(str(out)) as ours, open_tracedat(str(recording)) as theirs:
        assert ours.machine.big_endian == theirs.machine.big_endian
        found = [
            [
                (int(b.cpu[i]), int(b.time[i]), int(b.tid[i]), bytes(b.raw.piece(i))[:20])
                for b in x.batches()
                for i in range(b.count)
            ]
            for x in (ours, theirs)
        ]
        assert sorted(found[0]) == sorted(found[1])
        lost = [sum(r.count for b in x.batches() for _, r in b.between if hasattr(r, "count")) for x in (ours, theirs)]
        assert lost[0] == lost[1] > 0
        assert [e.name.partition(":")[2] for e in ours.events] == ["tick"]
