"""A process of our own to measure on: pinned to one CPU, it calls a tiny function as often as it is told, and waits.

    with Treadmill(cpu=1) as t:
        t.run("syscall", 10_000)          # nanoseconds of CPU time that 10,000 calls of getppid(2) took

Its program exists only in memory (memfd_create(2)), so nothing is left if we are killed: it reads the end of its input
and leaves. Uprobes reach its functions through ``path`` and ``offset(NAME)``.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from typing import Self

from probescope.errors import KernelError, Unsupported
from probescope.kernel.host import host
from probescope.kernel.treadmill_code import BASE, CODES, SEMAPHORE, STORE, elf

MOST_TIMES = 1 << 20
"""Calls in one go: a bound on how long the process can keep a CPU busy, 10 s at 10 us each."""

_MFD_EXEC = 0x10  # 6.3, "mm/memfd: add MFD_NOEXEC_SEAL and MFD_EXEC"


class Treadmill:
    """Raises Unsupported on a machine that there is no code for, KernelError where programs in memory are forbidden."""

    def __init__(self, cpu: int) -> None:
        code = CODES.get(host().machine)
        if code is None:
            raise Unsupported(f"measuring on {host().machine}", errno.ENOSYS, hints=["x86_64 and aarch64 are known"])
        self._code = code
        self._fd = _program(elf(code))
        self.path = f"/proc/{os.getpid()}/fd/{self._fd}"
        self._in, self._out, self.pid = _start(self._fd)
        # CLOCK_PROCESS_CPUTIME_ID of another process: include/linux/posix-timers.h, make_process_cpuclock()
        self._clock = ~self.pid << 3 | 2
        try:
            os.sched_setaffinity(self.pid, {cpu})
        except OSError as e:
            self.close()
            raise KernelError("sched_setaffinity", e.errno or 0, where=f"CPU {cpu}") from None

    def offset(self, function: str) -> int:
        """Where the function lies in the file."""
        return self._code.offset(function)

    @property
    def semaphore(self) -> int:
        """Place in the file of a counter that the kernel may raise: a USDT semaphore."""
        return 2 * self._code.page + SEMAPHORE

    @property
    def store(self) -> int:
        """Address of the 8 bytes that the function ``store`` writes."""
        return BASE + 2 * self._code.page + STORE

    def run(self, function: str, times: int) -> int:
        """Nanoseconds of CPU time for so many calls (and once some microseconds for the going to and fro)."""
        if not 0 < times <= MOST_TIMES:
            raise ValueError(f"{times} calls: from 1 to {MOST_TIMES}")
        before = time.clock_gettime_ns(self._clock)
        try:
            os.write(self._in, struct.pack("=QQ", BASE + self.offset(function), times))
            alive = os.read(self._out, 1)
        except BrokenPipeError:
            alive = b""
        if not alive:
            raise KernelError("read from the process that is measured", errno.EPIPE, where=function)
        return time.clock_gettime_ns(self._clock) - before

    def close(self) -> None:
        """Ends the process, and waits for it."""
        import signal

        for fd in (self._in, self._out, self._fd):
            os.close(fd)
        os.kill(self.pid, signal.SIGKILL)  # it may be running for us, if we were interrupted
        os.waitpid(self.pid, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _program(data: bytes) -> int:
    """A descriptor of a file in memory that may be executed."""
    for flags in (_MFD_EXEC, 0):
        try:
            fd = os.memfd_create("probescope", os.MFD_CLOEXEC | flags)
        except OSError as e:
            if e.errno == errno.EINVAL and flags:
                continue  # an older kernel
            raise KernelError("memfd_create", e.errno or 0, hints=["sysctl vm.memfd_noexec=0 allows it"]) from None
        os.write(fd, data)
        return fd
    raise AssertionError  # the loop ends by return or raise


def _start(fd: int) -> tuple[int, int, int]:
    """Our ends of the process's standard input and output, and its id."""
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    actions = ((os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1))
    try:
        # a process group of its own: Ctrl-C is for us, who close its input
        pid = os.posix_spawn(f"/proc/self/fd/{fd}", ["probescope"], {}, file_actions=actions, setpgroup=0)
    except OSError as e:
        for each in (ours_in, ours_out, fd):
            os.close(each)
        raise KernelError("execve of a program in memory", e.errno or 0) from None
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return ours_in, ours_out, pid
