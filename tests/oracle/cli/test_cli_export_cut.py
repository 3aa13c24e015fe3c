"""perf.data cut down: perf reads it, and prints of it what it prints of the whole with the same choice."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import formats_perf as fp
import pytest
from cli_exports import export, profile, switches


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("cut")
    work = ["sh", "-c", "ls -lR /usr/lib/python3 > /dev/null; du -s /usr/share > /dev/null"]
    return {
        "plain": profile(folder),
        "zstd": fp.recorded(folder / "z.data", ["-z", "-e", "cpu-clock", "-F", "4999", "-g", "-d"], work),
        "traced": switches(folder),
    }


def script(path: Path, *options: str) -> list[str]:
    return fp.script(path, "--ns", *options).split("\n")


def middle(path: Path) -> str:
    times = [x.time for x in fp.samples(path, cpu=False)]
    first, last = times[len(times) // 4], times[len(times) // 2]
    return f"{first // 10**9}.{first % 10**9:09},{last // 10**9}.{last % 10**9:09}"


@pytest.mark.parametrize("kind", ["plain", "zstd", "traced"])
def test_by_time(recordings: dict[str, Path], tmp_path: Path, kind: str) -> None:
    span = middle(recordings[kind])
    export(recordings[kind], "--time", span, "-o", tmp_path / "a.data")
    theirs = script(recordings[kind], "--time", span)
    assert script(tmp_path / "a.data") == theirs
    assert 10 < len(theirs) < len(script(recordings[kind]))


def test_by_thread_and_name(recordings: dict[str, Path], tmp_path: Path) -> None:
    path = recordings["plain"]
    tids = {x.tid for x in fp.samples(path, cpu=False)}
    for options, theirs in (
        (("--tid", str(min(tids))), ("--tid", str(min(tids)))),
        (("--pid", str(max(tids))), ("--pid", str(max(tids)))),
        (("--comm", "ls"), ("--comms", "ls")),
    ):
        export(path, *options, "-o", tmp_path / "a.data")
        assert script(tmp_path / "a.data") == script(path, *theirs)


def test_by_cpu(recordings: dict[str, Path], tmp_path: Path) -> None:
    export(recordings["traced"], "-C", "1", "-o", tmp_path / "a.data")
    assert script(tmp_path / "a.data") == script(recordings["traced"], "-C", "1")


def test_by_event(recordings: dict[str, Path], tmp_path: Path) -> None:
    export(recordings["traced"], "-e", "sched_wakeup", "-o", tmp_path / "a.data")
    whole = [line for line in script(recordings["traced"]) if "sched_wakeup:" in line]
    assert [line for line in script(tmp_path / "a.data") if line] == whole
    assert len(whole) > 5


def test_report_and_header(recordings: dict[str, Path], tmp_path: Path) -> None:
    """perf report of the cut sums up what is in it, and its header knows the new times."""
    span = middle(recordings["zstd"])
    export(recordings["zstd"], "--time", span, "-o", tmp_path / "a.data")
    command = ["perf", "report", "-i", str(tmp_path / "a.data"), "--stdio", "--header"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    total = sum(x.period for x in fp.samples(tmp_path / "a.data", cpu=False))
    assert int(re.search(r"Event count \(approx\.\): (\d+)", text)[1]) == total
    first, _, _ = span.partition(",")
    assert float(re.search(r"time of first sample : ([\d.]+)", text)[1]) == pytest.approx(float(first), abs=1e-5)


SAMPLES = os.environ.get("PROBESCOPE_SAMPLES", "")
FILES = sorted(Path(SAMPLES, "perfdata").glob("*.data")) if SAMPLES else []


@pytest.mark.skipif(not FILES, reason="PROBESCOPE_SAMPLES names no folder of recordings")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_everything_stays_everything(path: Path, tmp_path: Path) -> None:
    """A cut that leaves nothing out, of recordings of many kernels: perf prints the same of both."""
    from probescope.formats.perfdata import open_perfdata

    with open_perfdata(str(path)) as recording:
        counts = sum(b.count for b in recording.batches())
    if not counts:
        export(path, "-o", tmp_path / "a.data", code=1)
        return
    export(path, "-e", "*", "-o", tmp_path / "a.data")
    with open_perfdata(str(tmp_path / "a.data")) as recording:
        assert sum(b.count for b in recording.batches()) == counts
        assert not [d for d in recording.damage if d.kind != "unknown-record"]
    theirs = subprocess.run(["perf", "script", "-f", "-i", str(path)], capture_output=True, check=False)
    if theirs.returncode == 0:
        ours = subprocess.run(["perf", "script", "-f", "-i", str(tmp_path / "a.data")], capture_output=True, check=True)
        assert ours.stdout == theirs.stdout
