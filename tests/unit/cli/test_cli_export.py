"""``probescope export``: formats by name, choices of events, output, mistakes."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import formats_perfmaker as pm
import pytest

from probescope.cli.main import main
from probescope.views.export.kinds import KINDS, kind_of

KIND = pm.Event(pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD, period=1)
SECOND = 10**9


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Ten samples, one each 100 ms from 1 s on: pids 10 and 11 by turns, CPUs 0 to 4, periods 1 to 10."""
    m = pm.PerfMaker([KIND])
    for pid, name in ((10, "a"), (11, "b\x1b")):
        m.add(3, m.pack("ii", pid, pid) + pm.padded(name) + pm.trailer(m, KIND, pm.Sample(pid=pid, tid=pid)))
    for i in range(10):
        pid = 10 + i % 2
        pm.add_sample(
            m, KIND, pm.Sample(ip=4096 * i, pid=pid, tid=pid, time=SECOND + i * SECOND // 10, cpu=i // 2, period=i + 1)
        )
    path = tmp_path / "perf.data"
    path.write_bytes(m.build())
    return path


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    path = tmp_path / "a.folded"
    path.write_text("main;parse 3\nmain;write 1\n")
    return path


def rows(path: Path, *options: str) -> list[dict]:
    assert main(["export", str(path), "--to", "jsonl", "-o", str(path) + ".jsonl", *options]) == 0
    return [json.loads(line) for line in Path(str(path) + ".jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("options", "periods"),
    [
        ((), range(1, 11)),
        (("--pid", "10"), (1, 3, 5, 7, 9)),
        (("--tid", "11"), (2, 4, 6, 8, 10)),
        (("-C", "0,3-4"), (1, 2, 7, 8, 9, 10)),
        (("--comm", "b*"), (2, 4, 6, 8, 10)),
        (("--time", "1.2,1.4"), (3, 4, 5)),
        (("--time", ",1.1 1.85,"), (1, 2, 10)),
        (("--time", "10%/2"), (2,)),  # 90 ms from 1.09 s on
        (("--time", "0%-50%"), (1, 2, 3, 4, 5)),
        (("--time", "0%-10%,90%-100%"), (1, 10)),
        (("--pid", "10", "--time", "1.5,"), (7, 9)),
        (("-e", "*"), range(1, 11)),
    ],
)
def test_choices(recording: Path, options: tuple[str, ...], periods: tuple[int, ...]) -> None:
    assert [r["period"] for r in rows(recording, *options)] == list(periods)


@pytest.mark.parametrize(("kind", "ending"), [(k, e) for k, v in KINDS.items() for e in v.endings])
def test_names_say_the_format(kind: str, ending: str) -> None:
    assert kind_of(f"a.b{ending}") == kind
    assert kind_of(f"A{ending.upper()}") == kind


def test_several_formats_of_folded_text(stacks: Path, tmp_path: Path) -> None:
    for ending, start in (
        (".csv", b"stack,weight\r\nmain;parse,3"),
        (".speedscope.json", b'{"$schema"'),
        (".pb.gz", b"\x1f\x8b"),
    ):
        assert main(["export", str(stacks), "-o", str(tmp_path / f"x{ending}")]) == 0
        assert (tmp_path / f"x{ending}").read_bytes().startswith(start)


def test_gz_at_the_end_compresses(stacks: Path, tmp_path: Path) -> None:
    assert main(["export", str(stacks), "-o", str(tmp_path / "x.folded.gz")]) == 0
    assert gzip.decompress((tmp_path / "x.folded.gz").read_bytes()) == b"main;parse 3\nmain;write 1\n"


def test_pipes(monkeypatch: pytest.MonkeyPatch, recording: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a;b 2\n"))))
    assert main(["export", "-", "--to", "folded"]) == 0
    assert capfdbinary.readouterr().out == b"a;b 2\n"
    assert main(["export", str(recording), "--to", "folded", "--by", "process"]) == 0
    out = capfdbinary.readouterr().out.decode()
    assert sum(int(line.rpartition(" ")[2]) for line in out.splitlines()) == 55
    assert out.startswith("a-10;")


def test_weights(recording: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(recording), "--to", "folded", "--weight", "samples", "--by", "none"]) == 0
    assert sum(int(line.rpartition(" ")[2]) for line in capfd.readouterr().out.splitlines()) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "x"), "the name x does not say which format is wanted"),
        (("--to", "speedscop", "-o", "x"), "did you mean speedscope?"),
        (("--to", "csv", "-e", "cycels", "-o", "x"), "there is no event 'cycels'"),
        (("--to", "csv", "--weight", "bytes", "-o", "x"), ""),
        (("--to", "folded", "--weight", "bytes", "-o", "x"), "no event has a field 'bytes'"),
        (("--to", "csv", "--pid", "x", "-o", "x"), "is not a list of numbers"),
        (("--to", "csv", "-o", "/nowhere/x"), "cannot write /nowhere/x"),
    ],
)
def test_mistakes(recording: Path, tmp_path: Path, options: tuple[str, ...], message: str, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(recording), *options]) == (2 if message else 0)
    assert message in capsys.readouterr().err
    assert (tmp_path / "x").exists() == (not message)
    assert not list(tmp_path.glob("x.part*"))


def test_nothing_left_is_an_error(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(recording), "--pid", "99", "-o", str(tmp_path / "x.csv")]) == 1
    assert "there are no such events in it" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


def test_the_recording_is_not_written_over(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = recording.read_bytes()
    assert main(["export", str(recording), "--to", "csv", "-o", str(recording)]) == 2
    assert "written over" in capsys.readouterr().err
    assert recording.read_bytes() == before


def test_folded_text_has_nothing_to_choose_from(stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(stacks), "--pid", "1", "--to", "csv"]) == 2
    assert "folded text has no events" in capsys.readouterr().err


def test_parquet_without_duckdb(stacks: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["export", str(stacks), "-o", str(tmp_path / "x.parquet")]) == 2
    assert "pip install 'probescope[tables]'" in capsys.readouterr().err
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.parametrize("way", ["file", "stdout", "gzip", "fifo"])
def test_perf_data_wherever_it_goes(recording: Path, tmp_path: Path, way: str) -> None:
    """Its writer goes back to the header at the end, which pipes and gzip cannot."""
    direct = tmp_path / "direct.data"
    assert main(["export", str(recording), "--pid", "10", "-q", "-o", str(direct)]) == 0
    out = tmp_path / ("out.data.gz" if way == "gzip" else "out.data")
    command = [sys.executable, "-m", "probescope", "export", str(recording), "--pid", "10", "-q", "--to", "perf.data"]
    if way == "fifo":
        os.mkfifo(out)
        with subprocess.Popen([*command, "-o", str(out)]) as running, out.open("rb") as f:
            got = f.read()
        assert running.returncode == 0
        assert out.is_fifo()
    elif way == "stdout":
        got = subprocess.run(command, check=True, capture_output=True).stdout
    else:
        subprocess.run([*command, "-o", str(out)], check=True)
        got = out.read_bytes()
    assert (gzip.decompress(got) if way == "gzip" else got) == direct.read_bytes()
    assert not list(tmp_path.glob("*.part*"))


def test_a_full_disk_is_told_and_nothing_is_left(stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(stacks), "--to", "speedscope", "-o", "/dev/full"]) == 1
    assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err


def test_an_old_file_stays_until_the_new_one_is_whole(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("old")
    assert main(["export", str(recording), "--pid", "99", "-o", str(tmp_path / "x.csv")]) == 1
    assert (tmp_path / "x.csv").read_text() == "old"
