"""kill -9 at any moment leaves nothing in the kernel: no programs, maps or links, and tracefs as it was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from collect_programs import work
from collect_run import COMMAND, Running, environment

from probescope.kernel.bpf import object_fd, object_ids
from probescope.kernel.bpf_map import map_info

ROUNDS = int(os.environ.get("PROBESCOPE_KILL_ROUNDS", "6"))
TRACEFS = Path("/sys/kernel/tracing")
STATE = ("uprobe_events", "dynamic_events", "set_event", "current_tracer", "tracing_on", "set_event_pid")
MARK = "killed_by_test"  # names the map, so that the objects of other processes are told apart

PROGRAMS = (
    f"uprobe:{{work}}:* {{{{ @{MARK}[probe] = count(); }}}}",
    f"tracepoint:syscalls:sys_enter_openat, tracepoint:sched:sched_switch {{{{ @{MARK}[comm] = count(); }}}}",
    f"tracepoint:raw_syscalls:sys_enter {{{{ @{MARK}[kstack] = count(); }}}}",
    f"profile:hz:199 {{{{ @{MARK}[kstack, ustack] = count(); }}}} interval:ms:20 {{{{ print(@{MARK}); }}}}",
    f'software:page-faults:1 {{{{ @{MARK} = hist(pid); printf("%s\\n", comm); }}}}',
)


def marked() -> set[int]:
    """Maps with our mark. A link keeps its program, a program its maps: without a map there is none of them."""
    found: set[int] = set()
    for number in object_ids("map"):
        fd = object_fd("map", number)
        if fd is not None:
            with fd:
                if MARK[:9] in map_info(fd).name:
                    found.add(number)
    return found


def tracefs_state() -> dict[str, str]:
    files = {name: (TRACEFS / name).read_text() for name in STATE if (TRACEFS / name).exists()}
    return {**files, "instances": " ".join(sorted(os.listdir(TRACEFS / "instances")))}


def eventually(nothing: Callable[[], object], *, seconds: float = 20.0) -> object:
    """The kernel lets go of the objects of a dead process behind its back (RCU): asks until there are none."""
    deadline = time.monotonic() + seconds
    while (left := nothing()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def test_the_mark_is_seen_while_a_session_lives() -> None:
    """Else the other tests would pass without looking at anything."""
    with Running(PROGRAMS[1].format(work=work())):
        assert marked()
    assert not eventually(marked)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_nothing_is_left(number: int) -> None:
    chance = random.Random(number)
    before = tracefs_state()
    program = PROGRAMS[number % len(PROGRAMS)].format(work=work())
    tracer = subprocess.Popen(
        [*COMMAND, "-e", program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    try:
        # any moment from the start of Python to long after attaching: that is the point of the test
        tracer.wait(timeout=chance.uniform(0.01, 0.8))
        pytest.fail("it ended by itself")
    except subprocess.TimeoutExpired:
        os.kill(tracer.pid, signal.SIGKILL)
    tracer.wait()
    assert not eventually(marked)
    assert tracefs_state() == before
