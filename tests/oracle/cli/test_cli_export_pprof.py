"""pprof's own tool reads what we export, and comes to the same sums as perf's text of the same recording."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import formats_perf as fp
import pytest
from cli_exports import export, profile

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed: apt install golang-go")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return profile(tmp_path_factory.mktemp("pprof"))


def pprof(path: Path, *options: str) -> str:
    done = subprocess.run(["go", "tool", "pprof", *options, str(path)], capture_output=True, text=True, check=True)
    return done.stdout


def raw(path: Path) -> list[tuple[list[int], list[int], str]]:
    """(values, location ids, labels) of each sample, as ``pprof -raw`` prints them."""
    text = pprof(path, "-raw").partition("Samples:\n")[2].partition("Locations")[0]
    out: list[tuple[list[int], list[int], str]] = []
    for line in text.splitlines()[1:]:
        if found := re.match(r"\s*([\d ]+): ([\d ]+)", line):
            out.append(([*map(int, found[1].split())], [*map(int, found[2].split())], ""))
        elif out:
            out[-1] = (*out[-1][:2], out[-1][2] + line)
    return out


def test_sums_are_those_of_perf_script(recording: Path, tmp_path: Path) -> None:
    """Number of samples, weight and depth of stacks by thread, against perf script."""
    export(recording, "-o", tmp_path / "a.pb.gz")
    ours: Counter[tuple[int, int, str]] = Counter()
    for values, locations, labels in raw(tmp_path / "a.pb.gz"):
        tid = int(re.search(r"tid:\[?(-?\d+)", labels)[1])
        ours[tid, len(locations), "n"] += values[0]
        ours[tid, len(locations), "w"] += values[1] + values[2]
    theirs: Counter[tuple[int, int, str]] = Counter()
    for line in fp.samples(recording, cpu=False):
        theirs[line.tid, len(line.stack), "n"] += 1
        theirs[line.tid, len(line.stack), "w"] += line.period
    assert ours == theirs
    assert sum(n for (_, _, what), n in ours.items() if what == "n") > 100


def test_top_is_report(recording: Path, tmp_path: Path) -> None:
    """The function with the greatest weight of its own, and the whole, are those of perf report."""
    export(recording, "-e", "cpu-clock", "-o", tmp_path / "a.pb.gz")
    top = pprof(tmp_path / "a.pb.gz", "-top", "-unit=ns")
    total = int(re.search(r"of (\d+)ns total", top)[1])
    assert total == sum(s.period for s in fp.samples(recording, cpu=False) if s.event.startswith("cpu-clock"))
    first = re.search(r"^\s*(\d+)ns.*%\s+(\S.*)$", top.partition("cum%\n")[2], re.MULTILINE)
    command = [
        "perf",
        "report",
        "-i",
        str(recording),
        "--stdio",
        "--no-children",
        "-g",
        "none",
        "-s",
        "sym",
        "--percent-limit",
        "1",
    ]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cpu = text[text.index("'cpu-clock") :]
    share, name = re.search(r"^\s*([\d.]+)%\s+\[.\]\s+(\S+)", cpu, re.MULTILINE).groups()
    assert name == first[2].split()[0]
    assert float(share) == pytest.approx(100 * int(first[1]) / total, abs=0.01)


def test_names_of_strangers(tmp_path: Path) -> None:
    """Quotes, escapes and bytes that are no text arrive as pprof can print them."""
    (tmp_path / "a.folded").write_bytes(b'main;a"b\\c;\x1b[31m;\xff 3\nmain 2\n')
    export(tmp_path / "a.folded", "-o", tmp_path / "a.pb.gz")
    top = pprof(tmp_path / "a.pb.gz", "-top")
    assert "of 5 total" in top
    assert 'a"b\\c' in pprof(tmp_path / "a.pb.gz", "-peek", "a.b")


def test_comments_tell_of_losses(tmp_path: Path, recording: Path) -> None:
    cut = tmp_path / "cut.data"
    cut.write_bytes(recording.read_bytes()[: recording.stat().st_size * 3 // 4])
    export(cut, "-o", tmp_path / "a.pb.gz")
    assert "times: " in pprof(tmp_path / "a.pb.gz", "-comments")
