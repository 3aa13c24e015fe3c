"""``probescope stat`` beside ``perf stat``: the same lines but for numbers, and the same numbers of known work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}
OURS = (sys.executable, "-m", "probescope")


def said(*words: str) -> str:
    done = subprocess.run([*words], capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def both(*args: str) -> tuple[str, str]:
    return said(*OURS, "stat", *args), said("perf", "stat", *args)


def shape(text: str) -> list[str]:
    """Numbers as N, with their places kept as far as columns go; scales of rates and trailing blanks do not matter."""
    lines = [re.sub(r" *-?\b\d[\d.]*%?", " N", line.rstrip()) for line in text.splitlines()]
    return [re.sub(r"N [KMG]?/sec", "N /sec", re.sub(r" +", " ", line)) for line in lines]


@pytest.mark.parametrize(
    "args",
    [
        ("-e", "task-clock,page-faults,context-switches", "true"),
        ("-e", "cycles,instructions", "true"),
        ("-a", "-A", "-e", "task-clock,cs", "sleep", "0.05"),
        ("-a", "--per-core", "-e", "task-clock,cs", "sleep", "0.05"),
        ("-a", "--per-socket", "-e", "task-clock", "sleep", "0.05"),
        ("-a", "--per-node", "-e", "task-clock", "sleep", "0.05"),
        ("-x", ",", "-e", "task-clock,cycles,faults", "true"),
        ("-x", ";", "-a", "-A", "-e", "task-clock", "sleep", "0.05"),
        ("-a", "-e", "raw_syscalls:sys_enter,{task-clock,faults}", "sleep", "0.05"),
        ("-e", "raw_syscalls:sys_enter", "--filter", "id == 1", "sleep", "0.05"),
        ("-a", "--per-die", "-e", "task-clock", "sleep", "0.05"),
        ("-g", "-e", "task-clock,faults", "true"),
        ("--metric-only", "-e", "task-clock,faults", "true"),
        ("-a", "-A", "--metric-only", "-e", "task-clock", "sleep", "0.05"),
        ("--hybrid-merge", "--metric-no-group", "--metric-no-merge", "-e", "faults", "true"),
        ("-B", "-S", "--all-user", "-e", "faults", "true"),
    ],
    ids=" ".join,
)
def test_same_lines(args: tuple[str, ...]) -> None:
    ours, theirs = both(*args)
    assert shape(ours) == shape(theirs)


def test_a_table_of_runs() -> None:
    """Each run's time, how much it differs from the mean, and a bar for that: a character for each 5 %."""
    ours, theirs = both("-r", "3", "--table", "-e", "task-clock", "true")
    plain = [[re.sub(r"[(+) #-]+", " ", x) for x in shape(text)] for text in (ours, theirs)]
    assert plain[0] == plain[1]
    runs = re.findall(r"^ +([\d.]+) \(([+-][\d.]+)\) (#+)$", ours, re.MULTILINE)
    assert len(runs) == 3
    for run, off, bar in runs:
        wanted, digit = 1 + 100 * abs(float(off)) / float(run) / 5, 0.0001  # what is printed is rounded
        unsure = wanted * (digit / float(run) + digit / max(abs(float(off)), digit))
        assert abs(len(bar) - wanted) <= 2 + unsure


def test_filters() -> None:
    """The writes of a command are as many as dd says; of two filters after one -e both have to hold."""
    dd = ("dd", "status=none", "if=/dev/zero", "of=/dev/null", "bs=1", "count=50")
    counts = [
        [line.split() for line in said(*tool, "-x,", *events, *dd).splitlines()]
        for tool in ((*OURS, "stat"), ("perf", "stat"))
        for events in (
            ("-e", "syscalls:sys_enter_write", "--filter", "count == 1", "-e", "faults"),
            ("-e", "syscalls:sys_enter_write", "--filter", "count == 1", "--filter", "fd == 99"),
        )
    ]
    assert [c[0][0].partition(",")[0] for c in counts] == ["50", "0", "50", "0"]


def test_repeated_runs() -> None:
    """How many digits of the elapsed time are shown depends on how much it varies; of what does not vary, as faults may
    not, that is not told."""
    ours, theirs = both("-r", "3", "-e", "task-clock,faults", "true")
    assert shape(ours)[3].endswith("( +- N )")
    ours, theirs = (re.sub(r"(faults .*/sec) +\( \+-.*\)", r"\1", text) for text in (ours, theirs))
    assert shape(ours)[:5] == shape(theirs)[:5]
    assert "+- N seconds time elapsed ( +- N )" in shape(ours)[6]


def counted(text: str) -> dict[str, float]:
    rows = [line.split(",") for line in text.splitlines() if line]
    return {r[2]: float(r[0]) for r in rows}


def test_same_counts() -> None:
    """10,000 writes are 10,000 writes, whoever counts."""
    work = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=10000", "status=none")
    ours, theirs = both("-x", ",", "-e", "syscalls:sys_enter_write,syscalls:sys_enter_openat", *work)
    assert counted(ours) == counted(theirs)
    assert counted(ours)["syscalls:sys_enter_write"] == 10000


def test_children_are_counted_unless_told_otherwise() -> None:
    work = ("sh", "-c", "dd if=/dev/zero of=/dev/null bs=1 count=500 status=none; :")
    ours, theirs = both("-x", ",", "-e", "syscalls:sys_enter_write", *work)
    assert counted(ours) == counted(theirs) == {"syscalls:sys_enter_write": 500}
    ours, theirs = both("-i", "-x", ",", "-e", "syscalls:sys_enter_write", *work)
    assert counted(ours) == counted(theirs) == {"syscalls:sys_enter_write": 0}


def test_json_is_json_with_the_same_keys() -> None:
    ours, theirs = both("-j", "-e", "task-clock", "true")
    mine = json.loads(ours)
    assert list(mine) == re.findall(r'"([\w-]+)" :', theirs)


def test_exit_status_is_the_commands() -> None:
    """That of perf for a command that ends by itself; for one that is killed, what a shell says (perf says 0)."""

    def code(tool: tuple[str, ...], command: str) -> int:
        return subprocess.run([*tool, "stat", "sh", "-c", command], capture_output=True, check=False).returncode

    # perf forgets the status of one that ended before it waits (builtin-stat.c, skip_signal: child_pid = -1)
    assert next(filter(None, (code(("perf",), "exit 3") for _ in range(50)))) == 3
    assert code(OURS, "exit 3") == 3
    assert code(OURS, "kill -9 $$") == 128 + 9


def test_commands_around_each_run() -> None:
    args = ("-e", "faults", "-r", "2", "--pre", "echo before >&2", "--post", "echo after >&2", "--", "true")
    ours, theirs = both(*args)
    assert shape(ours)[:4] == shape(theirs)[:4] == ["before", "after"] * 2
    done = subprocess.run([*OURS, "stat", "--pre", "false", "-e", "faults", "true"], capture_output=True, check=False)
    assert (done.returncode, b"'false' ended with 1" in done.stderr) == (2, True)


def test_intervals_and_their_sum() -> None:
    ours, _ = both("-I", "50", "--interval-count", "3", "--summary", "-e", "cs", "-a", "sleep", "1")
    counts = [int(line.split()[1]) for line in ours.splitlines() if line.endswith("cs") and "." in line]
    whole = next(int(line.split()[0]) for line in ours.splitlines() if line.endswith("cs") and "." not in line)
    assert len(counts) == 3
    assert sum(counts) == whole


@pytest.mark.parametrize(
    "args",
    [
        ("--per-core",),
        ("--per-die",),
        ("--per-socket",),
        ("--per-node",),
        ("-A",),
        ("--summary", "-x", ","),
        ("--summary", "-x", ",", "--per-core"),
        ("--summary", "-x", ",", "--no-csv-summary"),
    ],
    ids=" ".join,
)
def test_intervals_look_the_same(args: tuple[str, ...]) -> None:
    """The heading says what rows are apart by; sums of intervals are told from these in CSV."""
    ours, theirs = both("-a", "-I", "20", "--interval-count", "1", "-e", "cpu-clock", *args, "sleep", "1")
    assert len(shape(theirs)) > 1
    assert shape(ours) == shape(theirs)


def test_another_place_to_print_to() -> None:
    for option, expected in (("--log-fd=1", True), ("-q", False)):
        done = subprocess.run(
            [*OURS, "stat", option, "-e", "faults", "true"], capture_output=True, text=True, check=True
        )
        assert ("faults" in done.stdout, done.stderr) == (expected, "")


def test_commands_while_it_counts(tmp_path: Path) -> None:
    """Nothing is counted before ``enable`` and after ``disable``, whatever the command does then."""
    os.mkfifo(tmp_path / "ctl")
    os.mkfifo(tmp_path / "ack")
    ctl, ack = (os.open(tmp_path / name, os.O_RDWR) for name in ("ctl", "ack"))
    work = "import os, sys\nfor _ in sys.stdin:\n  for _ in range(500): os.getppid()\n  print(flush=True)"
    control = ("-D", "-1", "--control", f"fifo:{tmp_path}/ctl,{tmp_path}/ack")
    events = ("-x,", "-e", "syscalls:sys_enter_getppid")
    with subprocess.Popen(
        [*OURS, "stat", *control, *events, sys.executable, "-c", work],
        stdin=-1, stdout=-1, stderr=-1, text=True, bufsize=1,
    ) as one:  # fmt: skip
        assert one.stdin is not None
        assert one.stdout is not None
        for command in ("ping", "enable", "disable", "ping"):
            os.write(ctl, f"{command}\n".encode())
            assert os.read(ack, 100) == b"ack\n"
            one.stdin.write("go\n")
            one.stdout.readline()
        _, said = one.communicate(timeout=300)
    assert counted(said) == {"syscalls:sys_enter_getppid": 500}
    os.close(ctl)
    os.close(ack)


@pytest.mark.parametrize("args", [("--topdown",), ("-M", "IPC"), ("-M", "Foo")], ids=" ".join)
def test_metrics_without_counters(args: tuple[str, ...]) -> None:
    """Said in one line with the reason (perf prints its usage, or a table of what is not supported)."""
    done = subprocess.run([*OURS, "stat", *args, "true"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        pytest.skip("this machine has hardware counters")
    assert re.match(r"ERROR: [^\n]*(no hardware counters|does not count|no such metric)", done.stderr)
