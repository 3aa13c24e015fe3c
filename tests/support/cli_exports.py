"""Recordings to export, and the command run as users run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from formats_perf import recorded


def export(*args: object, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "probescope", "export", *map(str, args)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == code, done.stderr.decode()
    return done


def profile(folder: Path) -> Path:
    """Some hundred samples of cpu-clock and of page faults, with stacks, of several processes; by copies, however few
    files the machine has."""
    copies = "dd if=/dev/zero of=/dev/null bs=1 count=400000 status=none"
    work = ["sh", "-c", f"ls -lR /usr/lib/python3 /etc > /dev/null; du -s /usr/share > /dev/null; {copies}"]
    return recorded(folder / "profile.data", ["-e", "cpu-clock,page-faults", "-F", "997", "-g"], work)


def switches(folder: Path) -> Path:
    """Tracepoints of the whole machine: switches, wake-ups, process starts."""
    events = "sched:sched_switch,sched:sched_wakeup,sched:sched_process_exec"
    work = ["sh", "-c", "for i in 1 2 3 4 5; do ls / > /dev/null; done"]
    return recorded(folder / "switches.data", ["-a", "-c", "1", "-e", events], work)


def viewer(*parts: str) -> Path:
    """A file of what scripts/viewers.sh fetches."""
    path = Path(__file__).resolve().parents[2].joinpath("build", "viewers", "node_modules", *parts)
    if not path.exists() and path.parents[len(parts)].joinpath("out-of-reach").exists():
        pytest.skip(f"npm's registry was out of reach: no {parts[0]}")
    return path if path.exists() else pytest.skip(f"no {parts[0]}: sh scripts/viewers.sh fetches it")
