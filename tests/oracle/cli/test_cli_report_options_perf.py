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


def record(path: Path, events: str, *options: str) -> str:
    command = ["perf", "record", "-q", *options, "-o", str(path), "-e", events, "--", *WORK]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    return str(path)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> str:
    return record(tmp_path_factory.mktemp("group") / "perf.data", "{cpu-clock,page-faults}")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Without a sample in a slot of a jump table: some have names here and none in perf, or the other way round."""
    path = tmp_path_factory.mktemp("mixed") / "perf.data"
    for _ in range(20):
        record(path, "cpu-clock,sched:sched_switch")
        command = [sys.executable, "-m", "probescope", "script", "-i", str(path), "-F", "sym"]
        told = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)
        if "@plt" not in told.stdout:
            return str(path)
    pytest.fail("twenty recordings, each with a sample in a jump table")


@pytest.fixture(scope="module")
def stacked(tmp_path_factory: pytest.TempPathFactory) -> str:
    return record(tmp_path_factory.mktemp("stacked") / "perf.data", "{cpu-clock,page-faults}", "-g")


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
        ("-s", "comm", "-F", "+period"),
        ("-s", "dso", "-F", "+comm,sample", "-n"),
        ("-s", "comm", "-F", "dso,sample"),
        ("-s", "comm", "-F", "overhead"),
        ("-s", "comm,overhead,dso"),
        ("-s", "dso,overhead_us,comm"),
        ("-F", "comm,overhead"),
        ("-F", "sample,comm,dso"),
        ("-U", "-s", "dso"),
        ("--hierarchy", "-s", "comm,dso,sym", "-n", "--percent-limit", "8"),
        ("--hierarchy", "-s", "comm,sym", "--percent-limit", "30"),
        ("-U", "-s", "comm", "--comm", "sh,ls", "--percentage", "relative", "-n"),
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


def test_callees_of_all_events_of_a_group(stacked: str) -> None:
    """What functions weigh with what they called, for each event: of those that both have one name for."""
    ours, theirs = (
        {x.split()[-1]: x.split()[:4] for x in text if "  [k] " in x}
        for text in both(stacked, "--children", "-g", "none", "-s", "sym")
    )
    same = ours.keys() & theirs.keys()
    assert sum(theirs[name][2] != "0.00%" for name in same) > 10
    assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}


def test_a_hierarchy_has_no_callees(stacked: str) -> None:
    ours, theirs = both(stacked, "--hierarchy", "-s", "comm,dso", "-g", "none")
    assert any("Overhead  Command / Shared Object" in x for x in theirs)
    assert ours == theirs


def test_parents_that_are_asked_for_have_a_column(stacked: str) -> None:
    ours, theirs = both(stacked, "--no-children", "-g", "none", "-p", "do_syscall_64", "-s", "comm", "-x")
    assert any("Parent symbol" in x for x in theirs)
    assert ours == theirs


def test_all_fields_of_a_tracepoint(mixed: str) -> None:
    """In their order, and none of those that all tracepoints have."""
    ours, theirs = ([x.split() for x in text if "Overhead" in x] for text in both(mixed, "-s", "trace_fields"))
    assert "prev_comm" in theirs[-1]
    assert ours[-1] == theirs[-1]


def test_files_in_memory_by_address(mixed: str) -> None:
    """A task further in than the one that started it, with its memory in order (perf: also its parent's). perf has
    tasks in the order of its 256 hash buckets."""
    ours, theirs = both(mixed, "--tasks")
    assert len(theirs) > 4
    assert sorted(ours) == sorted(theirs)
    ours, theirs = both(mixed, "--mmaps")
    told = tasks(theirs)
    assert {head: [x for x in told.get(head, ()) if x in set(maps)] for head, maps in tasks(ours).items()} == tasks(
        ours
    )
    assert sum("r-xp" in x for x in ours) > 5


def tasks(lines: list[str]) -> dict[str, list[str]]:
    """The lines below that of each task."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if re.match(r" +\d+ +\d+ +-?\d+ \|", line):
            found[line] = []
        elif found:
            found[next(reversed(found))].append(line)
    return found


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
