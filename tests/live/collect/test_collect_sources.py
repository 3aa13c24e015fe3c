"""Every source that this kernel has, and what it delivers: fields, texts, arrays; and how much of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from collect_programs import symbol, work
from collect_run import Running, Waiting, run


def test_collect_tracepoint_signed_fields() -> None:
    """A field that the kernel keeps in a 64-bit slot has the width and sign of its C type: pid_t is a signed int."""
    done = run(
        "tracepoint:syscalls:sys_enter_getsid /pid == cpid/ { @[args.pid] = args.pid < 0; }",
        "-q",
        "-c",
        f"{work()} getsid 3",
    )
    assert sorted(line for line in done.lines if line) == ["@[-1]: true", "@[-2]: true", "@[0]: false"]


def test_collect_tracepoint_data_loc_string(tmp_path: Path) -> None:
    """__data_loc strings: the path of an exec, as long as it is; and an inline char array beside it."""
    path = tmp_path / ("long-name-" * 8)
    path.symlink_to(work())
    done = run(
        "tracepoint:sched:sched_process_exec /pid == cpid/ "
        '{ printf("%s %d\\n", str(args.filename), args.pid == pid); } '
        'tracepoint:sched:sched_process_exit /pid == cpid/ { printf("%s\\n", args.comm); }',
        "-q",
        "-c",
        f"{path} getppid 1",
    )
    assert done.lines == [f"{path} 1", path.name[:15]]


def test_collect_tracepoint_count_is_exact() -> None:
    """So many calls, so many hits, from two CPUs at once: counts and sums lose nothing to races."""
    calls = 50_000
    program = (
        'tracepoint:syscalls:sys_enter_getppid /comm == "work"/ { @n = count(); @byp[pid] = count(); @h = hist(5); }'
    )
    with (
        Waiting(work(), "getppid", str(calls)) as a,
        Waiting(work(), "getppid", str(calls)) as b,
        Running(program) as session,
    ):
        for w in (a, b):
            assert w.process.stdin is not None
            w.process.stdin.write(b"go\n")
            w.process.stdin.flush()
        for w in (a, b):
            w.process.wait(300)
        done = session.stop()
    assert f"@n: {2 * calls}" in done.lines
    assert {f"@byp[{w.pid}]: {calls}" for w in (a, b)} <= set(done.lines)
    assert re.search(rf"\[4, 8\)\s+{2 * calls} ", done.out)


def test_collect_all_system_calls_by_name() -> None:
    """One glob over all system calls, served by one raw tracepoint: each probe's name and count as they are."""
    done = run(
        "tracepoint:syscalls:sys_enter_getp* /pid == cpid/ { @[probe] = count(); }", "-q", "-c", f"{work()} getppid 7"
    )
    assert "@[tracepoint:syscalls:sys_enter_getppid]: 7" in done.lines


def test_collect_syscall_return_and_duration() -> None:
    """Entry and exit of a system call belong together by thread; the return value of getsid(-1) is -ESRCH."""
    done = run(
        "tracepoint:syscalls:sys_enter_getsid /pid == cpid/ { @s[tid] = nsecs; @arg[tid] = args.pid; } "
        "tracepoint:syscalls:sys_exit_getsid /pid == cpid && @s[tid]/ "
        '{ printf("%d %d %d\\n", @arg[tid], args.ret, nsecs - @s[tid] < 1000000000); '
        "delete(@s[tid]); delete(@arg[tid]); }",
        "-q",
        "-c",
        f"{work()} getsid 2",
    )
    sid = os.getsid(0)
    assert done.lines == [f"0 {sid} 1", "-1 -3 1"]


def test_collect_rawtracepoint_arguments() -> None:
    """rawtracepoint:sys_enter: arg1 is the number of the system call (getppid: 110 on x86-64, 173 on AArch64)."""
    number = {"x86_64": 110, "aarch64": 173}[os.uname().machine]
    program = f"rawtracepoint:sys_enter /pid == cpid && arg1 == {number}/ {{ @ = count(); }}"
    done = run(program, "-q", "-c", f"{work()} getppid 9")
    assert "@: 9" in done.lines


def test_collect_profile_samples_a_busy_process() -> None:
    """99 Hz for half a second of CPU time: about 50 samples, nearly all in the busy function."""
    program = "profile:hz:99 /pid == cpid/ { @n = count(); @[ustack(1)] = count(); }"
    burn = "import time\nwhile time.process_time() < 1.0: pass"
    done = run(program, "-q", "-c", f"{sys.executable} -S -c '{burn}'")
    samples = next(int(line.split()[1]) for line in done.lines if line.startswith("@n"))
    assert 60 <= samples <= 160


def test_collect_software_event() -> None:
    """Page faults of a program that touches 1,000 new pages."""
    touch = "import mmap; m = mmap.mmap(-1, 4096 * 1000); [m.__setitem__(i * 4096, 1) for i in range(1000)]"
    done = run("software:page-faults:1 /pid == cpid/ { @ = count(); }", "-q", "-c", f"{sys.executable} -S -c '{touch}'")
    faults = next(int(line.split()[1]) for line in done.lines if line.startswith("@"))
    assert 1000 <= faults <= 20000


def test_collect_watchpoint() -> None:
    """A hardware breakpoint on a variable: one hit a write, by the code that writes it."""
    at = f"0x{symbol(work(), 'watched'):x}"
    program = f'watchpoint:{at}:8:w {{ @[usym(reg("ip"))] = count(); }}'
    with Waiting(work(), "watch", "5", stay=True) as target, Running(program, "-p", str(target.pid)) as session:
        target.go()
        done = session.stop()
    assert "@[do_watch]: 5" in done.lines


def test_collect_iterator_over_tasks() -> None:
    """iter:task walks all threads once, at once: ours is among them, with its name and ids."""
    me = os.getpid()
    done = run(f'iter:task /ctx->task->tgid == {me}/ {{ printf("%s %d\\n", ctx->task->comm, ctx->task->pid); }}', "-q")
    comm = Path(f"/proc/{me}/comm").read_text().strip()
    assert f"{comm} {me}" in done.lines
    assert len(done.lines) == len(os.listdir(f"/proc/{me}/task"))


def test_collect_iterator_ends_the_session() -> None:
    """A program of iterators alone is over when they have been walked."""
    done = run('iter:task { @ = count(); } END { printf("end\\n"); }', "-q")
    assert done.lines[0] == "end"
    assert int(done.lines[-1].split()[1]) >= 3


def test_collect_iterator_that_is_to_be_pinned_is_refused() -> None:
    """It would print into a session that may be gone: an error that says what to do instead."""
    done = run("iter:task:/sys/fs/bpf/probescope_test { @ = count(); }")
    assert done.code == 1
    assert "cannot be pinned" in done.err
    assert not Path("/sys/fs/bpf/probescope_test").exists()


def test_collect_intervals_keep_time() -> None:
    """Ten intervals of 20 ms take 200 ms, on a busy machine more; two intervals at once keep their own time."""
    done = run(
        'interval:ms:20 { @n++; if (@n == 10) { printf("%d\\n", elapsed / 1000000); exit(); } } '
        "interval:ms:50 { @m++; }",
        "-q",
    )
    took = int(done.lines[0])
    assert took >= 190
    m = next(int(line.split()[1]) for line in done.lines if line.startswith("@m"))
    assert 3 <= m <= took / 50 + 1


def test_collect_environment_of_an_event() -> None:
    """pid, tid, uid, comm, cpu, cgroup, ppid of the traced process are those that it has itself."""
    program = (
        "tracepoint:syscalls:sys_enter_getppid /pid == cpid/ "
        '{ printf("%d %d %d %d %s %d %s\\n", pid, tid, uid, gid, comm, cpu < ncpus, cgroup_path(cgroup)); }'
    )
    done = run(program, "-q", "-c", f"{work()} getppid 1")
    fields = done.out.split()
    assert fields[0] == fields[1]
    assert fields[2:6] == [str(os.getuid()), str(os.getgid()), "work", "1"]
    assert ":/" in fields[6]


def test_collect_two_sessions_at_once() -> None:
    """Sessions do not see or disturb each other."""
    program = "tracepoint:syscalls:sys_enter_getppid /pid == $1/ { @ = count(); }"
    with (
        Waiting(work(), "getppid", "10", stay=True) as target,
        Running(program, str(target.pid)) as first,
        Running(program, str(target.pid)) as second,
    ):
        target.go()
        assert first.stop().lines[-1] == "@: 10"
        assert second.stop().lines[-1] == "@: 10"


def test_collect_bash_readline() -> None:
    """What is typed into bash, from the return of its readline(): the classic."""
    if not Path("/bin/bash").exists():
        pytest.skip("needs bash")
    with Running('uretprobe:/bin/bash:readline { printf("%s|\\n", str(retval)); }') as session:
        subprocess.run(
            ["bash", "--norc", "--noprofile", "-i"],
            input="echo hello\nexit\n",
            text=True,
            capture_output=True,
            timeout=300,
            check=False,
            start_new_session=True,
        )
        done = session.stop()
    assert done.lines[:2] == ["echo hello|", "exit|"]
