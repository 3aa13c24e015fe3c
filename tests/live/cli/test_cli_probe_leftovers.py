"""What a killed run leaves in tracefs is gone after the next run, whatever that one reads by."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.probe_program import build

EVENTS = Path("/sys/kernel/tracing/uprobe_events")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("probe_left"))["plain"]


def tell(line):
    file = os.open(EVENTS, os.O_WRONLY | os.O_APPEND)  # open("a") seeks, which tracefs refuses
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


@pytest.fixture
def left(program):
    """An event of a process that has ended, as ``kill -9`` leaves it: its number is in the name."""
    with subprocess.Popen(["true"]) as dead:
        pass
    name = f"probescope_{dead.pid}_{os.stat('/proc/self/ns/pid').st_ino:x}_probe/work_0"
    tell(f"p:{name} {program}:0x1000")
    assert name in EVENTS.read_text()
    yield name
    kept = EVENTS.read_text()
    for mine in (name, "probe_left/next"):
        if mine in kept:
            tell(f"-:{mine}")


@pytest.mark.parametrize("by", ["bpf", "add"])
def test_the_next_run_removes_what_a_dead_one_left(program, left, by):
    """Only runs that made events of their own did; one by BPF, and ``--add``, left it there for ever."""
    words = ["--add", "probe_left:next=work"] if by == "add" else ["--via", "bpf", "work", "--", program]
    command = [sys.executable, "-m", "probescope", "probe", "-q", "-x", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert left not in EVENTS.read_text()
