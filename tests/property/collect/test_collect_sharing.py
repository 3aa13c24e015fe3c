"""Several processes that read one recording say what one says: byte for byte, wherever the pieces are cut."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from random import Random
from typing import Any

import formats_perfmaker as pm
import pytest

from probescope.cli import flame, report, script
from probescope.cli.recordings import opened
from probescope.cli.reports import Report
from probescope.formats.perfdata import order, stream

MOST = 1 << 19
FOLDER = Path(os.environ.get("PROBESCOPE_SAMPLES", "/nonexistent"))
SAMPLES = sorted(p for p in FOLDER.glob("perfdata/*.data") if p.stat().st_size < MOST)
NONE = pytest.mark.skipif(not SAMPLES, reason="PROBESCOPE_SAMPLES names no folder of recordings")
RECORDED = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD | pm.CALLCHAIN


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else there would be one piece of each recording."""
    monkeypatch.setattr(order, "MOST_ROWS", 37)
    monkeypatch.setattr(stream, "PIECE", 1 << 14)


def lines(path: Path, jobs: int, *words: str) -> tuple[bytes, Any]:
    args = script.parser().parse_args(["-i", str(path), *words])
    with opened(str(path)) as recording:
        made = script._Lines(recording, args)
        text = b"".join([bytes(part) for part in recording.parts(made.of, jobs)])
        return text, recording.recording.damage


def graph(path: Path, jobs: int) -> tuple[Any, Any, Any]:
    args = flame.parse_arguments([str(path)])
    with opened(str(path)) as recording:
        sampled = flame._sampled(recording, args)
        samples = sampled.samples
        recording.sums(sampled.add, samples.part, samples.join, jobs)
        samples.ordered()
        return samples.part(), recording.recording.damage, recording.missing()


def table(path: Path, jobs: int, *words: str) -> tuple[str, Any, Any]:
    args = report.parser().parse_args(["-i", str(path), "-j", str(jobs), *words])
    out: list[str] = []
    with opened(str(path)) as recording:
        found = Report(recording, args)
        found.read()
        found.write(out.append)
        return "".join(out), recording.recording.damage, recording.missing()


def recording(path: Path, seed: int) -> Path:
    """Threads that are started, named and end; libraries that move; two CPUs whose rounds overlap; what is unknown,
    cut, and too short."""
    random = Random(seed)
    events = [pm.Event(RECORDED, (10,)), pm.Event(RECORDED, (20,), flags=pm.SAMPLE_ID_ALL | 1 << 10)]
    made = pm.PerfMaker(events, pipe=False)
    time = 1000
    for _ in range(random.randrange(4, 40)):
        for cpu in (0, 1):
            now = time
            for _ in range(random.randrange(0, 60)):
                now += random.randrange(0, 40)
                one(made, events, random, now, cpu)
        time += 700
        made.round()
    if random.random() < 0.3:
        made.data += bytes(random.randrange(1, 7)) + b"\xff"
    path.write_bytes(made.build())
    return path


def one(made: pm.PerfMaker, events: list[pm.Event], random: Random, now: int, cpu: int) -> None:
    event = random.choice(events)
    tid = random.choice((7, 8, 9, 900))
    ip = 0x400000 + random.randrange(0, 40) * 16
    stack = [(1 << 64) - 512, ip, *(0x400000 + random.randrange(0, 9) * 64 for _ in range(random.randrange(0, 4)))]
    known = event.ids[0] if random.random() < 0.97 else 999
    sample = pm.Sample(ip, tid, tid, now, id=known, cpu=cpu, period=random.randrange(1, 9), stack=stack)
    kind = random.random()
    trail = pm.trailer(made, event, pm.Sample(pid=tid, tid=tid, time=now, id=event.ids[0], cpu=cpu))
    if kind < 0.9:
        pm.add_sample(made, event, sample)
    elif kind < 0.93:
        name = pm.padded(random.choice(("alpha", "beta", "gamma\u00e9")))
        made.add(3, made.pack("ii", tid, tid) + name + trail)
    elif kind < 0.95:
        path = pm.padded(random.choice(("/usr/lib/a.so", "/usr/lib/b.so")))
        body = made.pack(
            "iiQQQ", tid, tid, 0x400000 + random.randrange(0, 3) * 64, 0x1000, random.randrange(0, 4) * 4096
        )
        made.add(1, body + path + trail)
    elif kind < 0.97:
        made.add(7, made.pack("iiiiQ", 900, tid, 900, tid, now) + trail)
    elif kind < 0.98:
        made.add(2, made.pack("QQ", event.ids[0], random.randrange(1, 50)) + trail)
    else:
        made.add(9, b"\0" * random.randrange(8, 40))


@pytest.mark.parametrize("seed", range(5))
def test_made_recordings_are_the_same_for_any_number_of_processes(tmp_path: Path, seed: int) -> None:
    """Names, address spaces, late and damaged records: what is true at an event does not depend on who tells it."""
    path = recording(tmp_path / "x.data", seed)
    jobs = 2 + seed % 3
    for words in ((), ("--show-task-events", "--show-mmap-events", "--show-lost-events"), ("-F", "+pid", "--tid", "8")):
        assert lines(path, jobs, *words) == lines(path, 1, *words), words
    assert graph(path, jobs) == graph(path, 1)
    for words in ((), ("--no-children", "-n"), ("-s", "comm,cpu,pid")):
        assert table(path, jobs, *words) == table(path, 1, *words), words


@NONE
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_samples_are_the_same_for_two_processes(path: Path) -> None:
    """Text, losses and damage of recordings of many kernels, in pieces of 37 events."""
    assert lines(path, 2) == lines(path, 1)


def test_the_option_and_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-j wins over PROBESCOPE_JOBS; without either it is left to the size of the file."""
    from probescope.cli.parsing import jobs_of

    assert jobs_of(argparse.Namespace(jobs=None)) == 0
    monkeypatch.setenv("PROBESCOPE_JOBS", "3")
    assert jobs_of(argparse.Namespace(jobs=None)) == 3
    assert jobs_of(argparse.Namespace(jobs=1)) == 1
