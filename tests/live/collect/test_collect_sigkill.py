"""SIGKILL at any moment leaves nothing: no program, map or link, nothing in tracefs, no breakpoint in a traced process.

PROBESCOPE_KILL_ROUNDS says how many moments are tried.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import leftovers
from collect_programs import symbol, work
from collect_run import ATTACHED, COMMAND, Running, Waiting, environment, until

ROUNDS = int(os.environ.get("PROBESCOPE_KILL_ROUNDS", "6"))
TRACEFS = Path("/sys/kernel/tracing")
SETTINGS = "set_event set_event_pid tracing_on current_tracer trace_clock uprobe_events dynamic_events".split()


def program(path: str) -> str:
    """Every kind of attachment that this kernel has."""
    return f"""
        uprobe:{path}:innermost, uprobe:{path}:middle, uprobe:{path}:outermost {{ @[func] = count(); }}
        uretprobe:{path}:numbers {{ @r = retval; }}
        usdt:{path}:work:gated {{ @g = count(); }}
        usdt:{path}:work:plain {{ @s[str(arg1)] = count(); }}
        tracepoint:syscalls:sys_enter_getppid {{ printf("%d\\n", pid); }}
        tracepoint:sched:sched_switch {{ @k[kstack(3)] = count(); }}
        rawtracepoint:sched_process_exit {{ @x = count(); }}
        profile:hz:50 {{ @p[ustack(3)] = count(); }}
        software:faults:100 {{ @f = count(); }}
        watchpoint:{symbol(path, "watched"):#x}:8:w {{ @w = count(); }}
        iter:task {{ @t = count(); }}
        interval:ms:50 {{ print(@); }}"""


def tracefs_settings() -> dict[str, str]:
    return {name: (TRACEFS / name).read_text() for name in SETTINGS if (TRACEFS / name).exists()}


def code_at(pid: int, address: int, size: int) -> bytes:
    """Memory of a process, as a debugger sees it."""
    with open(f"/proc/{pid}/mem", "rb") as f:
        f.seek(address)
        return f.read(size)


def kill_at(moment: float | None, path: str) -> None:
    """Starts a session and kills it so many seconds later; ``None``: when its probes are attached."""
    process = subprocess.Popen(
        [*COMMAND, "-e", program(path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stderr is not None
    if moment is None:
        for line in process.stderr:
            if ATTACHED.match(line.decode().strip()):
                break
        else:
            raise AssertionError("it did not attach")
    else:
        time.sleep(moment)  # the moment is the point of the test
    process.send_signal(signal.SIGKILL)
    process.stderr.close()
    assert process.wait(300) == -signal.SIGKILL


def test_collect_sigkill_leaves_nothing() -> None:
    """At random moments of start-up and run, while a traced process runs: afterwards all is as it was before."""
    path = work()
    before, settings = leftovers.snapshot(), tracefs_settings()
    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    with Waiting(path, "deep", "1") as target:
        functions = [symbol(path, name) for name in ("innermost", "middle", "outermost", "numbers", "plain")]
        original = [code_at(target.pid, address, 16) for address in functions]
        semaphore = symbol(path, "work_gated_semaphore")
        assert code_at(target.pid, semaphore, 2) == b"\0\0"
        for n in range(ROUNDS):
            kill_at(None if n % 3 == 0 else rng.uniform(0.0, 0.6), path)
        found = leftovers.remaining(before, alone=leftovers_are_ours())
        assert not found, f"seed {seed}: {found}"
        assert tracefs_settings() == settings, f"seed {seed}"
        until(lambda: [code_at(target.pid, a, 16) for a in functions] == original, f"seed {seed}: breakpoints stayed")
        until(lambda: code_at(target.pid, semaphore, 2) == b"\0\0", f"seed {seed}: the semaphore stayed up")


def leftovers_are_ours() -> bool:
    """Whether whatever appears in the kernel meanwhile is of this test: in CI nobody else traces."""
    return bool(os.environ.get("CI"))


def test_collect_sigkill_frees_breakpoints() -> None:
    """The four hardware breakpoints of each CPU can be used again after sessions with them were killed."""
    address = symbol(work(), "watched")
    clauses = "".join(f"watchpoint:{address + 8 * n:#x}:8:w {{ @[{n}] = count(); }} " for n in range(4))
    for _ in range(2):
        with Running(clauses) as session:
            session.process.send_signal(signal.SIGKILL)
            session.process.wait(300)
    with Running(clauses) as session, Waiting(work(), "watch", "3") as target:
        target.go()
        done = session.stop()
    assert done.code == 0
    assert re.search(r"@\[0\]: [3-9]", done.out)


def test_collect_sigkill_ends_the_command() -> None:
    """The command of -c does not live on without its tracer."""
    program = 'tracepoint:syscalls:sys_enter_getppid { @ = count(); } interval:ms:10 { printf("%d\\n", cpid); }'
    with Running(program, "-c", "sleep 1000") as session:
        found = session.out.until(re.compile(r"(\d+)\n"))
        assert found
        session.process.send_signal(signal.SIGKILL)
        session.process.wait(300)
        until(lambda: not Path(f"/proc/{found[1]}").exists(), "the command lives on")
