"""SIGKILL at any moment, while attached to kernel functions, programs and tracepoints: the kernel is as it was before.

PROBESCOPE_KILL_ROUNDS says how many moments are tried. The sessions are forks of the tests' process: that is a tenth of
the time of a command, and the moments fall between loading and attaching, not into Python's own start.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import leftovers
import pytest
from collect_programs import symbol, work
from collect_run import Waiting, until

import probescope

ROUNDS = int(os.environ.get("PROBESCOPE_KILL_ROUNDS", "5"))
TRACEFS = Path("/sys/kernel/tracing")
STATE = (
    Path("/sys/kernel/debug/kprobes/list"),
    TRACEFS / "enabled_functions",
    TRACEFS / "kprobe_events",
    TRACEFS / "uprobe_events",
    TRACEFS / "dynamic_events",
    TRACEFS / "set_event",
    TRACEFS / "set_ftrace_filter",
    TRACEFS / "current_tracer",
    TRACEFS / "tracing_on",
)
PLACES = ("innermost", "middle", "outermost", "numbers", "plain")


def program(path: str) -> str:
    """Every mechanism that these kernels have."""
    return f"""
        kprobe:vfs_read, kprobe:vfs_write {{ @k[func] = count(); }}
        kprobe:vfs_s* {{ @many[func] = count(); }}
        kretprobe:vfs_open {{ @r = retval; }}
        fentry:vfs_read {{ @f[args.count] = count(); }}
        fexit:vfs_write {{ @x[retval] = count(); }}
        uprobe:{path}:innermost, uprobe:{path}:middle, uprobe:{path}:outermost {{ @u[func] = count(); }}
        uretprobe:{path}:numbers {{ @v = retval; }}
        usdt:{path}:work:gated {{ @g = count(); }}
        tracepoint:syscalls:sys_enter_getppid {{ printf("%d\\n", pid); }}
        tracepoint:sched:sched_switch {{ @s[kstack(3)] = count(); }}
        rawtracepoint:sched_process_exit {{ @e = count(); }}
        profile:hz:50 {{ @p[ustack(3)] = count(); }}
        watchpoint:{symbol(path, "watched"):#x}:8:w {{ @w = count(); }}"""


class Victim:
    """A session in a fork of this process. ``attached`` tells how many seconds it took."""

    def __init__(self, text: str) -> None:
        self._began = time.monotonic()
        self._news, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(text, tell)
        os.close(tell)

    @staticmethod
    def _run(text: str, tell: int) -> None:
        try:
            with probescope.run(text) as session:
                os.write(tell, b"a")
                while session.running:
                    session.poll(0.05)
        finally:
            os._exit(1)

    def attached(self) -> float:
        assert os.read(self._news, 1) == b"a", "it did not attach"
        return time.monotonic() - self._began

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.close(self._news)
        assert os.waitpid(self.pid, 0)[1] == signal.SIGKILL


def state() -> dict[str, list[str]]:
    """What the kernel itself says is probed and traced, without addresses that move."""
    return {p.name: sorted(p.read_text().splitlines()) for p in STATE if p.exists()}


def code_at(pid: int, address: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(address)
        return memory.read(16)


@pytest.fixture
def target() -> Iterator[Waiting]:
    """A process that runs the probed program all the while."""
    with Waiting(work(), "deep", "1") as process:
        yield process


def test_sigkill_leaves_nothing(target: Waiting) -> None:
    path = work()
    addresses = [symbol(path, name) for name in PLACES]
    semaphore = symbol(path, "work_gated_semaphore")
    code = [code_at(target.pid, a) for a in addresses]
    before, kernel = leftovers.snapshot(), state()

    first = Victim(program(path))
    whole = first.attached()
    assert state() != kernel, "what is compared does not change when probes are attached"
    assert [code_at(target.pid, a) for a in addresses] != code
    first.kill()

    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        victim = Victim(program(path))
        time.sleep(rng.uniform(0, 1.3 * whole))  # the moment is the point of the test
        victim.kill()

    found = leftovers.remaining(before, alone=True)
    assert not found, f"seed {seed}: {found}"
    until(lambda: state() == kernel, f"seed {seed}: the kernel still traces something")
    until(lambda: [code_at(target.pid, a) for a in addresses] == code, f"seed {seed}: breakpoints stayed")
    until(lambda: code_at(target.pid, semaphore)[:2] == b"\0\0", f"seed {seed}: the semaphore stayed up")
