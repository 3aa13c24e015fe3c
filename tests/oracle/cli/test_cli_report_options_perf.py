"""``report`` beside perf report: widths of columns, what sorts a group, raw traces, the machine in the header."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
WORK = ("sh", "-c", "ls -lR /usr/lib/python3 /etc > /dev/null; sleep 0.01; ls / > /dev/null")


def record(path: Path, events: str) -> str:
    command = ["perf", "record", "-q", "-o", str(path), "-e", events, "--", *WORK]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    return str(path)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> str:
    return record(tmp_path_factory.mktemp("group") / "perf.data", "{cpu-clock,page-faults}")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return record(tmp_path_factory.mktemp("mixed") / "perf.data", "cpu-clock,sched:sched_switch")


def both(path: str, *args: str) -> tuple[list[str], list[str]]:
    """Lines without blanks at their ends and without perf's tip of the day."""
    ours = [sys.executable, "-m", "probescope", "report", "-i", path, *args]
    theirs = ["perf", "report", "--stdio", "-i", path, *args]
    out = []
    for command in (ours, theirs):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        lines = [x.rstrip() for x in done.stdout.splitlines() if "# (Tip" not in x]
        out.append([x for x in lines if x not in {"", "#"}])
    return out[0], out[1]


@pytest.mark.parametrize(
    "options",
    [
        ("-s", "comm,dso", "-w", "5,8"),
        ("-s", "comm,dso", "-w", "12,0,11"),
        ("-s", "comm", "-n", "--show-total-period", "-w", "9,9,12,6"),
        ("-s", "comm,dso", "--switch-on", "sched:sched_switch"),
        ("-s", "trace", "--raw-trace"),
        ("-s", "trace"),
        ("-s", "comm", "--disable-order", "--samples", "5", "--asm-raw", "-M", "intel"),
    ],
    ids=" ".join,
)
def test_the_same_tables(mixed: str, options: tuple[str, ...]) -> None:
    ours, theirs = both(mixed, *options)
    assert len(theirs) > 8
    assert ours == theirs


@pytest.mark.parametrize("options", [("--group-sort-idx", "1"), ("-w", "9,11")], ids=" ".join)
def test_the_same_groups(group: str, options: tuple[str, ...]) -> None:
    ours, theirs = both(group, "-s", "comm,dso", *options)
    assert len(theirs) > 5
    assert ours == theirs


def test_the_machine_in_the_header(mixed: str) -> None:
    """With -I: where CPUs sit, nodes, caches and memory; the lines of events and BPF programs are other ones."""
    of_the_machine = re.compile(r"# (sibling|CPU|node|memory| +L\d| +\d+ \[)")
    ours, theirs = ([x for x in text if of_the_machine.match(x)] for text in both(mixed, "-I", "--header-only"))
    assert any(x.startswith("# CPU 0: Core ID") for x in theirs)
    assert ours == theirs


def test_a_socket(mixed: str) -> None:
    """Samples of its CPUs; one that is not there is said."""
    ours = [sys.executable, "-m", "probescope", "report", "-i", mixed, "-s", "comm"]
    none = subprocess.run([*ours, "--socket-filter", "4242"], capture_output=True, text=True, check=False, timeout=300)
    assert none.returncode == 2
    assert "no CPU of socket 4242" in none.stderr
