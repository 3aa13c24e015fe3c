"""``report`` of branches beside perf report --branch-stack, of a file made by hand: this machine records none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.formats_perfmaker import (
    BRANCH,
    CALLCHAIN,
    CPU,
    IP,
    PERIOD,
    SAMPLE_ID_ALL,
    TID,
    TIME,
    Event,
    PerfMaker,
    Sample,
    add_name,
    add_sample,
    padded,
    trailer,
)  # fmt: skip
from tests.support.perf_lines import report_table

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")

BRANCH_STACK = 15
"""Number of the header's feature that says so."""
KINDS = IP | TID | TIME | CPU | PERIOD | CALLCHAIN | BRANCH
EVENT = Event(KINDS, [1], SAMPLE_ID_ALL | 1 << 6, type=0, branch=9, size=128)
PLACES = {100: ("worker", 0x400000, "/nowhere/first"), 200: ("other", 0x700000, "/nowhere/second")}
#: Of each thread in turn: from, to (in its file), mispredicted, predicted, in a transaction, aborted; cycles.
TAKEN = (
    (0x1000, 0x1040, 2, 0), (0x1000, 0x1040, 2, 0), (0x1044, 0x1000, 1, 7), (0x2000, 0x1040, 6, 9),
    (0x2004, 0x2010, 2, 0), (0x1000, 0x2000, 1 | 8, 3),
)  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    maker = PerfMaker([EVENT], features={BRANCH_STACK: b""})
    for pid, (name, start, file) in PLACES.items():
        of = trailer(maker, EVENT, Sample(pid=pid, tid=pid, time=1))
        add_name(maker, EVENT, pid, name)
        maker.add(1, maker.pack("iiQQQ", pid, pid, start, 0x10000, 0) + padded(file) + of, 2)
    for i in range(24):
        pid = 100 if i % 3 else 200
        base = PLACES[pid][1]
        rows = [(base + a, base + b, flags | cycles << 4) for a, b, flags, cycles in TAKEN[: i % (len(TAKEN) + 1)]]
        add_sample(
            maker,
            EVENT,
            Sample(base + 0x1000, pid, pid, 1000 * i + 5000, cpu=i % 2, period=50, branches=rows, stack=[base]),
        )
    made = tmp_path_factory.mktemp("branches") / "perf.data"
    made.write_bytes(maker.build())
    return str(made)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["-b"],
        ["--no-branch-stack", "--no-children", "-g", "none"],
        ["-s", "dso_from,dso_to,cycles"],
        ["-s", "mispredict,cycles"],
        ["-s", "in_tx,abort,cycles"],
        ["-s", "comm,dso_from,cycles", "-n", "--show-total-period"],
        ["--comms", "worker"],
    ],
    ids=" ".join,
)
def test_as_perf_sums_them_up(path: str, options: list[str]) -> None:
    """By themselves, by each of the keys, less what is filtered; samples where these are asked for."""
    ours = [sys.executable, "-m", "probescope", "report", "--stdio", "-i", path]
    theirs = ["perf", "report", "--stdio", "-i", path]
    assert report_table(*ours, *options) == report_table(*theirs, *options)


def test_without_branches(path: str, tmp_path: Path) -> None:
    """What was not recorded is refused, as perf does; the keys are told where they belong."""
    (tmp_path / "plain.data").write_bytes(PerfMaker([Event(IP | TID | TIME)]).build())
    ours = [sys.executable, "-m", "probescope", "report", "-i", str(tmp_path / "plain.data")]
    for options, said in ((["-b"], "no branch data"), (["-s", "dso_from"], "report -b")):
        done = subprocess.run([*ours, *options], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 2
        assert said in done.stderr
