"""``latency`` and ``hist`` where the kernel has hist triggers and synthetic events: equal answers, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from probescope.kernel import tracefs
from probescope.kernel.features import have
from probescope.kernel.leftovers import PREFIX

pytestmark = pytest.mark.skipif(not have("ftrace:hist"), reason="this kernel has no hist triggers")

WORK = """
import os
fd = os.open("/dev/zero", os.O_RDONLY)
for i in range(120):
    os.read(fd, 54321 + i % 3)
"""
WORDS = ["syscalls:sys_enter_read", "/args.count >= 54321 && args.count < 54324/", "to", "syscalls:sys_exit_read"]
LONG = ["sched:sched_waking", "to", "sched:sched_switch", "--match", "pid=next_pid", "--seconds", "60"]


def probescope(*args: str, timeout: float = 120) -> tuple[list[dict], str]:
    done = subprocess.run(
        [sys.executable, "-m", "probescope", *args], capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    path = tmp_path_factory.mktemp("work") / "work.py"
    path.write_text(WORK)
    return ["--", sys.executable, "-I", "-S", str(path)]


def ours() -> list[str]:
    found = [n for n in os.listdir(f"{tracefs.find_root()}/instances") if n.startswith(PREFIX)]
    return found + [line for line in tracefs.read("dynamic_events").splitlines() if PREFIX in line]


@pytest.mark.parametrize("via", ["synthetic", "bpf"])
def test_each_start_has_one_end(via, work):
    """120 reads of three sizes, 40 each, whoever measures."""
    found, said = probescope("latency", *WORDS, "--by", "start.count,ret", "--via", via, "-f", "json", *work)
    totals = {tuple(d["by"].values()): d["count"] for d in found if d["type"] == "total"}
    assert totals == {(54321 + i, 54321 + i): 40 for i in range(3)}
    assert all(0 < d["min_ns"] <= d["avg_ns"] <= d["max_ns"] for d in found if d["type"] == "total")
    assert ("synthetic events" in said) == (via == "synthetic")
    assert ours() == []


def test_stacks_and_names(work):
    """The longest ones, with the thread's own name and the kernel's stack at the end."""
    found, _ = probescope("latency", *WORDS, "--by", "comm", "--stack", "--worst", "2", "-f", "json", *work)
    cases = [d for d in found if d["type"] == "case"]
    assert len(cases) == 2
    assert all(c["by"] == {"comm": c["comm"]} and c["comm"].startswith("python") for c in cases)
    assert all("do_syscall_64" in " ".join(c["stack"]) for c in cases)


def test_by_hand():
    """The lines that --synth prints set it up and take it away."""
    done = subprocess.run(
        [sys.executable, "-m", "probescope", "latency", *LONG[:5], "--by", "start.prio", "--synth", "byhand"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    script = done.stdout.replace("cat trace_pipe        # until Ctrl-C", "sleep 1; grep -c byhand: trace")
    shown = subprocess.run(["sh", "-e"], input=script, capture_output=True, text=True, timeout=60, check=False)
    assert shown.returncode == 0, shown.stderr
    assert int(shown.stdout.split()[-1]) > 0
    assert "byhand" not in tracefs.read("dynamic_events")


def test_killed():
    """A process beside it takes triggers, instance and synthetic event away, in that order."""
    running = subprocess.Popen(
        [sys.executable, "-m", "probescope", "latency", *LONG], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not any("synthetic/" in line for line in ours()) and time.monotonic() < until:
        time.sleep(0.1)
    assert any("synthetic/" in line for line in ours())
    running.send_signal(signal.SIGKILL)
    running.wait(10)
    until = time.monotonic() + 60
    while ours() and time.monotonic() < until:
        time.sleep(0.1)
    assert ours() == []


def test_hist(work):
    """Each read is counted once; a wrong field is told with the near ones."""
    filters = ["--keys", "count.buckets=1000", "--filter", "count >= 54321 && count < 54324"]
    (found,), _ = probescope("hist", "syscalls:sys_enter_read", *filters, "-f", "json", *work)
    (entry,) = found["entries"]
    assert entry == {"keys": {"count.buckets=1000": {"low": 54000, "high": 54999}}, "values": {"hitcount": 120}}
    assert (found["hits"], found["dropped"]) == (120, 0)
    wrong = [sys.executable, "-m", "probescope", "hist", "sched:sched_switch", "--keys", "next_pdi", "--", "true"]
    done = subprocess.run(wrong, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "next_pid" in done.stderr
    assert ours() == []
