"""``probescope report`` beside ``perf report --stdio``: the same text.

Of a name's several symbols at one place perf may take another one: the program that is recorded has none, and what it
calls in the C library and in the kernel is compared by its rows' shares.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which("perf") is None or shutil.which("cc") is None, reason="perf or a C compiler is not installed"
)
SOURCE = """
volatile unsigned long sum;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sum += i * sum; }
__attribute__((noinline)) void middle(void) { leaf(3000); for (volatile int i = 0; i < 900; i++); }
__attribute__((noinline)) void other(void) { leaf(1500); middle(); sum++; }
__attribute__((noinline)) void again(int d) { if (d) again(d - 1); else leaf(5000); sum++; }
int main(void) { for (int i = 0; i < 9000; i++) { middle(); other(); again(i % 4); } return 0; }
"""
ROW = re.compile(r"^ +(\d+\.\d+)%(?: +(\d+\.\d+)%)?(?: +(\d+))?  (.*?) *$")
TIP = re.compile(r"\n*#\n# \(Tip: .*\)\n#\n\Z")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("program")
    (folder / "work.c").write_text(SOURCE)
    build = ["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "work", "work.c"]
    subprocess.run(build, check=True, cwd=folder, timeout=300)
    return str(folder / "work")


def record(path: Path, *args: str) -> str:
    subprocess.run(["perf", "record", "-q", "-o", str(path), *args], check=True, timeout=300, capture_output=True)
    return str(path)


@pytest.fixture(scope="module")
def stacks(program: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    return record(tmp_path_factory.mktemp("stacks") / "perf.data", "-e", "cpu-clock:u", "-F", "997", "-g", program)


@pytest.fixture(scope="module")
def group(program: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("group") / "perf.data"
    return record(path, "-e", "{cpu-clock:u,page-faults:u}", "-F", "997", program)


@pytest.fixture(scope="module")
def switches(tmp_path_factory: pytest.TempPathFactory) -> str:
    events = ["-e", "sched:sched_switch", "-e", "sched:sched_process_exec"]
    work = ["sh", "-c", "for i in 1 2 3 4 5 6; do ls / > /dev/null; done"]
    return record(tmp_path_factory.mktemp("switches") / "perf.data", "-a", *events, "--", *work)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    work = ["sh", "-c", "ls -lR /usr/lib/python3 /etc > /dev/null; du -s /usr/share > /dev/null"]
    path = tmp_path_factory.mktemp("mixed") / "perf.data"
    return record(path, "-e", "page-faults,cpu-clock", "-F", "997", "-g", "--", *work)


def both(path: str, *args: str) -> tuple[str, str]:
    ours = [sys.executable, "-m", "probescope", "report", "-i", path, *args]
    theirs = ["perf", "report", "--stdio", "-i", path, *args]
    done = [subprocess.run(x, capture_output=True, text=True, check=True, timeout=300) for x in (ours, theirs)]
    return done[0].stdout, done[1].stdout


def text(output: str) -> list[str]:
    """Without perf's tip of the day, and with blanks at ends as they come."""
    return TIP.sub("", output).rstrip().splitlines()


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--no-children",),
        ("--no-children", "-G"),
        ("--no-children", "-g", "fractal,0.5,callee"),
        ("--no-children", "-g", "graph,2,3,caller"),
        ("--no-children", "-g", "caller,count,0.5"),
        ("--no-children", "-g", "folded", "-s", "sym"),
        ("--no-children", "-g", "flat", "-s", "sym"),
        ("--children", "-g", "callee", "-s", "sym"),
        ("-g", "none", "-n", "--show-total-period"),
        ("--percent-limit", "5"),
        ("--no-children", "--max-stack", "3"),
        ("--no-children", "-g", "none", "--symbol-filter", "lea"),
    ],
    ids=" ".join,
)
def test_the_same_text_of_stacks(stacks: str, args: tuple[str, ...]) -> None:
    ours, theirs = both(stacks, "--dsos", "work", *args)
    assert text(ours) == text(theirs)
    assert len(text(ours)) > 12


def test_the_same_text_of_slices_of_time(stacks: str) -> None:
    """Of all objects: perf leaves a whole slice out whose first sample ``--dsos`` does not name."""
    ours, theirs = both(stacks, "--no-children", "-g", "none", "-s", "time", "--ns")
    assert text(ours) == text(theirs)
    assert len(text(ours)) > 12


def slots(line: str) -> str:
    """Without names of jump tables' slots, and the width of the column that they are in."""
    return re.sub(r"\S*@plt", "@plt", re.sub(r"\.{4,}", "...", line)).rstrip()


@pytest.mark.parametrize(
    "args",
    [
        ("-s", "dso,sym"),
        ("-s", "srcline"),
        ("--hierarchy",),
        ("-s", "comm", "--percentage", "relative", "--comms", "work,other"),
        ("-F", "overhead,sample,period,sym"),
        ("--time", "10%-30%"),
        ("--time", "20%/2"),
        ("--header-only",),
        ("--stats",),
        ("--tasks",),
    ],
    ids=" ".join,
)
def test_the_same_text_of_a_group(group: str, args: tuple[str, ...]) -> None:
    """A group's events beside each other. Of headers without attributes and BPF programs, which perf lists in full; of
    code without lines (the C library's start files) perf may know none, or line 0. perf names the slots of a jump table
    in the order of relocations, which is not theirs (objdump's names are ours)."""
    aside = re.compile(r"# event :|# .*(bpf_prog|btf info)|_start\+| :0$")
    ours, theirs = ([slots(line) for line in text(t) if not aside.search(line)] for t in both(group, *args))
    assert ours == theirs
    assert ours


@pytest.mark.parametrize(
    "args", [("-s", "next_comm"), ("-s", "trace"), (), ("-s", "comm,cpu")], ids=lambda a: " ".join(a) or "usual"
)
def test_the_same_text_of_tracepoints(switches: str, args: tuple[str, ...]) -> None:
    """Fields are columns of the events that have them."""
    ours, theirs = both(switches, *args)
    assert text(ours) == text(theirs)


def rows(output: str) -> list[tuple[str, ...]]:
    found = [ROW.match(line) for line in output.splitlines() if not line.startswith("#")]
    return sorted(tuple(re.sub(r" +", " ", x) if x else "" for x in m.groups()) for m in found if m)


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
def test_same_rows(mixed: str, args: tuple[str, ...]) -> None:
    """But for BPF programs of others that end: perf does not know theirs from /proc/kallsyms."""
    ours, theirs = ([r for r in rows(t) if r[3].split()[-1] not in {"[bpf]", "[unknown]"}] for t in both(mixed, *args))
    assert ours == theirs
    assert ours


def test_same_functions_of_the_kernel(mixed: str) -> None:
    ours, theirs = (
        {r for r in rows(t) if "[k]" in r[3]} for t in both(mixed, "--no-children", "-g", "none", "--sort", "comm,sym")
    )
    assert len(ours & theirs) > 0.9 * len(theirs) > 5


def test_children_of_functions(mixed: str) -> None:
    """What a system call's entry costs with all that it calls."""
    ours, theirs = both(mixed, "--children", "-g", "none", "--sort", "sym")
    wanted = [r for r in rows(theirs) if r[3] in {"[k] do_syscall_64", "[k] entry_SYSCALL_64_after_hwframe"}]
    assert wanted
    assert set(wanted) <= set(rows(ours))


def test_json_adds_up(mixed: str) -> None:
    ours, _ = both(mixed, "--no-children", "-g", "none", "--sort", "comm")
    args = ["report", "-i", mixed, "--sort", "comm,sym", "-f", "json"]
    done = subprocess.run([sys.executable, "-m", "probescope", *args], capture_output=True, text=True, check=True)
    shares: dict[str, float] = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if row.get("event") == "cpu-clock":
            shares[row["comm"]] = shares.get(row["comm"], 0) + row["percent"]
    table = {r[3]: float(r[0]) for r in rows(ours.split("event 'cpu-clock'")[1].split("# Samples")[0])}
    assert shares.keys() == table.keys()
    ends = 0.005 + 0.00005 * len(done.stdout.splitlines())  # the table rounds to hundredths, each row here to 0.0001
    for name, share in shares.items():
        assert share == pytest.approx(table[name], abs=ends)
