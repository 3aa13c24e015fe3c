"""``probescope report`` beside ``perf report --stdio``: the same rows with the same shares."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
ROW = re.compile(r"^ +(\d+\.\d+)%(?: +(\d+\.\d+)%)?(?: +(\d+))?  (.*?) *$")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("report") / "perf.data")
    work = ["sh", "-c", "ls -lR /usr/lib/python3 /etc > /dev/null; du -s /usr/share > /dev/null"]
    record = ["perf", "record", "-q", "-e", "page-faults,cpu-clock", "-F", "997", "-g", "-o", path, "--", *work]
    subprocess.run(record, check=True, timeout=60, capture_output=True)
    return path


def rows(text: str) -> list[tuple[str, ...]]:
    found = [ROW.match(line) for line in text.splitlines() if not line.startswith("#")]
    return sorted(tuple(re.sub(r" +", " ", x) if x else "" for x in m.groups()) for m in found if m)


def both(path: str, *args: str) -> tuple[str, str]:
    ours = [sys.executable, "-m", "probescope", "report", "-i", path, *args]
    theirs = ["perf", "report", "--stdio", "-i", path, *args]
    done = [subprocess.run(x, capture_output=True, text=True, check=True, timeout=60) for x in (ours, theirs)]
    return done[0].stdout, done[1].stdout


@pytest.mark.parametrize(
    "args",
    [
        ("--no-children", "-g", "none", "--sort", "comm"),
        ("--no-children", "-g", "none", "--sort", "comm,dso", "-n"),
        ("--no-children", "-g", "none", "--sort", "dso", "--percent-limit", "5"),
        ("--children", "-g", "none", "--sort", "comm"),
    ],
    ids=" ".join,
)
def test_same_rows(recorded: str, args: tuple[str, ...]) -> None:
    ours, theirs = both(recorded, *args)
    assert rows(ours) == rows(theirs)
    assert rows(ours)


def test_same_functions_of_the_kernel(recorded: str) -> None:
    """Shares of functions: where a place has several names, perf may take another one."""
    ours, theirs = (
        {r for r in rows(text) if "[k]" in r[3]}
        for text in both(recorded, "--no-children", "-g", "none", "--sort", "comm,sym")
    )
    assert len(ours & theirs) > 0.9 * len(theirs) > 5


def test_children_of_functions(recorded: str) -> None:
    """What a system call's entry costs with all that it calls."""
    ours, theirs = both(recorded, "--children", "-g", "none", "--sort", "sym")
    wanted = [r for r in rows(theirs) if r[3] in {"[k] do_syscall_64", "[k] entry_SYSCALL_64_after_hwframe"}]
    assert wanted
    assert set(wanted) <= set(rows(ours))


def test_json_adds_up(recorded: str) -> None:
    ours, _ = both(recorded, "--no-children", "-g", "none", "--sort", "comm")
    args = ["report", "-i", recorded, "--sort", "comm,sym", "-f", "json"]
    done = subprocess.run([sys.executable, "-m", "probescope", *args], capture_output=True, text=True, check=True)
    shares: dict[str, float] = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if row["event"] == "cpu-clock":
            shares[row["comm"]] = shares.get(row["comm"], 0) + row["percent"]
    table = {r[3]: float(r[0]) for r in rows(ours.split("event 'cpu-clock'")[1].split("# Samples")[0])}
    assert {k: round(v) for k, v in shares.items()} == {k: round(v) for k, v in table.items()}
