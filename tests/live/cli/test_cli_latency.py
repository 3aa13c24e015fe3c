"""``latency`` and ``hist`` as commands, on this host: equal answers whoever measures, and what is said where the kernel
has no triggers or tracers of the kind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from probescope.kernel import tracefs
from probescope.kernel.features import have

WORK = """
import os
fd = os.open("/dev/zero", os.O_RDONLY)
for i in range(150):
    os.read(fd, 54321 + i % 3)
"""
READ = ["syscalls:sys_enter_read", "/args.count >= 54321 && args.count < 54324/", "to", "syscalls:sys_exit_read"]
SWITCH = ["sched:sched_waking", "to", "sched:sched_switch", "--match"]


def probescope(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "probescope", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    path = tmp_path_factory.mktemp("work") / "work.py"
    path.write_text(WORK)
    return ["--", sys.executable, "-I", "-S", str(path)]


@pytest.mark.parametrize("via", ["auto", "bpf", "perf", "ftrace"])
def test_each_start_has_one_end(via, work):
    """150 reads of three sizes, 50 each; lines for each size, and the longest of all."""
    done = probescope("latency", *READ, "--by", "start.count,ret", "--via", via, "-f", "json", "--worst", "4", *work)
    assert done.returncode == 0, done.stderr
    assert "measured" in done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    totals = {tuple(d["by"].values()): d["count"] for d in found if d["type"] == "total"}
    assert totals == {(54321 + i, 54321 + i): 50 for i in range(3)}
    cases = [d["latency_ns"] for d in found if d["type"] == "case"]
    assert cases == sorted(cases, reverse=True)
    assert len(cases) == 4
    assert cases[0] == max(d["max_ns"] for d in found if d["type"] == "total")


def test_what_takes_longer_is_told(work):
    """Everything takes longer than a nanosecond; with the stack at the end."""
    done = probescope("latency", *READ, "--over", "1ns", "--worst", "0", "--stack", *work)
    lines = done.stdout.splitlines()
    assert sum(" us  " in line or " ns  " in line for line in lines if "[0" in line) == 150
    assert sum("do_syscall_64" in line for line in lines) == 150
    assert any(line.startswith("150 pairs") for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sched:sched_wakin", "to", "sched:sched_switch"], "sched:sched_waking"),
        (["sched_waking", "to", "sched_switch"], "did you mean sched:sched_waking?"),
        ([*SWITCH, "pid=nextpid"], "next_pid"),
        (["sched:sched_switch"], "from which event to which"),
        (["wakup"], "wakeup"),
        ([*SWITCH, "pid=next_pid", "--over", "fast"], "is no time"),
        ([*SWITCH, "pid=next_pid", "-i", "/nonexistent"], "nonexistent"),
        ([*SWITCH, "pid=next_pid", "-i", "x", "--", "true"], "-i reads what has happened"),
        ([*SWITCH, "pid=next_pid", "--stop", "1ms"], "--stop is of the kernel's tracers"),
        (["osnoise", "--by", "comm"], "--by is of latencies from A to B"),
        (["wakeup", "--period", "1ms"], "--period is of hwlat, osnoise and timerlat"),
    ],
)
def test_mistakes(words, said):
    """One message, with what was meant."""
    done = probescope("latency", *words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(("match", "told"), [((), True), (("--match", "tid=next_pid"), False)])
def test_a_wakeup_is_of_another_thread(match, told):
    """Without --match the pairs are the waker's, which is hardly what was meant."""
    done = probescope("latency", *SWITCH[:3], *match, "--", "true")
    assert done.returncode == 0, done.stderr
    assert ("--match pid=next_pid has those of the woken" in done.stderr) == told


SEEKS = "import os\nfd = os.open('/dev/zero', os.O_RDONLY)\nfor i in range(70_000): os.lseek(fd, 10**9 + i, 0)"


def test_starts_without_an_end_are_told_when_there_is_no_room_for_more():
    """65,536 of the 70,000 fit: the others are counted, with what it is that was full."""
    words = ["syscalls:sys_enter_lseek", "/args.offset >= 1000000000/", "to", "syscalls:sys_enter_pread64"]
    done = probescope(
        "latency", *words, "--match", "offset=pos", "--via", "bpf", "--", sys.executable, "-I", "-S", "-c", SEEKS
    )
    assert done.returncode == 0, done.stderr
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("LOST: ")]
    assert int(told.split()[1].replace(",", "")) >= 70_000 - 65_536
    assert "was full" in told
    assert "is about fewer of them" in done.stderr.partition(told)[2]


@pytest.mark.skipif("wakeup_rt" in tracefs.tracers(), reason="this kernel has latency tracers")
def test_a_tracer_that_is_not_there():
    """What else answers is told, if this kernel has that."""
    done = probescope("latency", "wakeup_rt")
    assert done.returncode == 1
    assert "this kernel has no tracer wakeup_rt" in done.stderr
    assert "'sched:sched_waking /args.prio < 100/ to sched:sched_switch' --match pid=next_pid" in done.stderr
    assert "nothing else sees" in probescope("latency", "hwlat").stderr


@pytest.mark.skipif(have("ftrace:hist") is not False, reason="this kernel has hist triggers")
def test_no_hist_triggers():
    """The program that counts the same is told, and runs."""
    done = probescope("hist", "sched:sched_switch", "--keys", "next_comm,common_cpu", "--", "true")
    assert done.returncode == 1
    program = done.stderr.partition("run -e '")[2].partition("'")[0]
    assert program == "tracepoint:sched:sched_switch { @[args.next_comm, cpu] = count(); }"
    assert probescope("run", "--dry-run", "-e", program).returncode == 0
    sizes = probescope("hist", "syscalls:sys_enter_read", "--keys", "count.log2,common_pid").stderr
    assert "sys_enter_read { @[tid] = hist(args.count); }'" in sizes
    sizes = probescope("hist", "syscalls:sys_enter_read", "--keys", "count.log2").stderr
    assert "sys_enter_read { @ = hist(args.count); }'" in sizes
    assert "it has no synthetic events" in probescope("latency", *SWITCH, "pid=next_pid", "--synth").stderr
