"""Tracepoints, raw tracepoints, counters, clocks, watchpoints and iterators of other kernels, over known work."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kernels_run import COMM, finished, traced


def getppids(count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(count):
            os.getppid()

    return work


def forks(count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)

    return work


def test_system_calls_by_pattern() -> None:
    """Many tracepoints of system calls are one raw tracepoint; each call still knows its name and its arguments."""

    def work() -> None:
        for n in range(1, 12):
            os.getpgid(0)
            os.getsid(0)
            if n % 2:
                os.getppid()

    seen = traced("tracepoint:syscalls:sys_enter_get* /pid == PID/ { @[probe] = count(); }", work)
    assert seen.maps["@"] == {
        "tracepoint:syscalls:sys_enter_getpgid": 11,
        "tracepoint:syscalls:sys_enter_getsid": 11,
        "tracepoint:syscalls:sys_enter_getppid": 6,
    }


def test_system_call_arguments_and_results(tmp_path: Path) -> None:
    """Entry and exit of one call: a path out of user memory, and what came back."""

    def work() -> None:
        for n in range(5):
            with pytest.raises(FileNotFoundError):
                os.open(f"/no/such/{n}", os.O_RDONLY)

    seen = traced(
        r"""tracepoint:syscalls:sys_enter_openat /pid == PID/ { printf("%s\n", str(args.filename)); }
        tracepoint:syscalls:sys_exit_openat /pid == PID/ { @[args.ret] = count(); }""",
        work,
    )
    assert seen.lines == [f"/no/such/{n}" for n in range(5)]
    assert seen.maps["@"] == {-2: 5}


def test_tracepoint_fields() -> None:
    """Fields of a record: numbers, and a text whose place is in the record itself."""
    seen = traced(
        """tracepoint:sched:sched_process_fork /args.parent_pid == PID/ { @[args.parent_comm] = count(); }
        tracepoint:sched:sched_process_exit /curtask.real_parent.tgid == PID/ { @exits = count(); }""",
        forks(6),
    )
    assert seen.maps == {"@": {COMM: 6}, "@exits": 6}


def test_raw_tracepoints() -> None:
    """Arguments with types where BTF knows them, and by position."""
    seen = traced(
        """rawtracepoint:sched_process_fork /args.parent.tgid == PID/ { @named[args.child.comm] = count(); }
        rawtracepoint:sys_enter /pid == PID && arg1 == 110/ { @getppid = count(); }""",
        lambda: (forks(3)(), getppids(9)()),
    )
    assert seen.maps == {"@named": {COMM: 3}, "@getppid": 9}
    assert seen.mechanisms == ["tp_btf", "tp_btf"]


def test_many_raw_tracepoints(matrix: dict[str, str]) -> None:
    """Which of them fired is told by a cookie (6.10), or else by a program for each."""
    seen = traced("rawtracepoint:sched_* /pid == PID/ { @[probe] = count(); }", forks(4))
    assert seen.attached > 16
    assert seen.maps["@"]["rawtracepoint:vmlinux:sched_process_fork"] == 4
    programs = len(seen.mechanisms)
    assert programs == (1 if matrix["attach:raw_tracepoint_cookie"] == "yes" else seen.attached)


def test_page_faults() -> None:
    """A counter of the kernel with period 1: a fault for each fresh page, and not many more."""

    def work() -> None:
        with mmap.mmap(-1, 300 * mmap.PAGESIZE) as fresh:
            fresh.madvise(mmap.MADV_NOHUGEPAGE)
            for n in range(300):
                fresh[n * mmap.PAGESIZE] = 1

    seen = traced("software:page-faults:1 /pid == PID/ { @[comm] = count(); }", work)
    assert 300 <= seen.maps["@"][COMM] < 450


def spin() -> None:
    until = time.process_time() + 0.5
    while time.process_time() < until:
        pass


def test_profile() -> None:
    """A clock that samples: where time goes, in the kernel and in the program; about as often as asked for."""
    seen = traced("profile:hz:99 /pid == PID/ { @[ustack(6)] = count(); @n = count(); @cpu[cpu] = count(); }", spin)
    assert 15 < seen.maps["@n"] < 120
    assert any(any(f.symbol for f in stack.frames) for stack in seen.maps["@"])
    assert set(seen.maps["@cpu"]) <= set(range(os.cpu_count() or 1))


def test_cpu_clock() -> None:
    seen = traced("software:cpu-clock:10000000 /pid == PID/ { @ = count(); }", spin)
    assert 15 < seen.maps["@"] < 120


# --- watchpoints ------------------------------------------------------------------------------------------------------

cell = ctypes.c_uint64(0)


def test_watchpoint_on_memory_of_a_program() -> None:
    """Each write of the worker's own copy of a variable, with the value that it then has; the parent's is another."""

    def work() -> None:
        for n in range(12):
            cell.value = n

    at = ctypes.addressof(cell)
    seen = traced(f"watchpoint:{at:#x}:8:w {{ @[pid == PID, *(uint64*)uptr({at:#x})] = count(); }}", work, pid=True)
    assert seen.maps["@"] == {(1, n): 1 for n in range(12)}


def test_watchpoint_on_a_variable_of_the_kernel() -> None:
    """kernel.panic is an int that a sysctl writes."""
    line = re.search(r"^([0-9a-f]+) \w panic_timeout$", Path("/proc/kallsyms").read_text(), re.MULTILINE)
    assert line

    def work() -> None:
        for n in range(5):
            Path("/proc/sys/kernel/panic").write_text(str(-1 - n))

    seen = traced(f'watchpoint:0x{line[1]}:4:w /pid == PID/ {{ @[*(int32*)kaddr("panic_timeout")] = count(); }}', work)
    assert seen.maps["@"] == {-1 - n: 1 for n in range(5)}


# --- iterators --------------------------------------------------------------------------------------------------------


def test_tasks() -> None:
    """Every task once: the same pids as in /proc, and ourselves by name."""
    pids = {int(p) for p in os.listdir("/proc") if p.isdigit()}
    seen = finished(
        r'iter:task { if (ctx.task.pid == ctx.task.tgid) { printf("%d %s\n", ctx.task.pid, ctx.task.comm); } }'
    )
    found = dict(line.split(" ", 1) for line in seen.lines)
    assert len(found) == len(seen.lines)
    assert len(pids ^ {int(p) for p in found}) < 10
    assert found[str(os.getpid())] == Path("/proc/self/comm").read_text().strip()


def test_open_files() -> None:
    """Every descriptor of this process, as /proc lists them; two that reading /proc and the session itself need are
    apart."""
    seen = finished(f"iter:task_file /ctx.task.tgid == {os.getpid()}/ {{ @[ctx.fd] = count(); }}")
    mine = {int(fd) for fd in os.listdir("/proc/self/fd")}
    assert {0, 1, 2} <= set(seen.maps["@"])
    assert len(mine - set(seen.maps["@"])) <= 2
