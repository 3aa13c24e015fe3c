"""A small process that tidies up when ours is killed: it waits for the end of a pipe whose other end only we hold."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress


class Watchdog:
    """``tidy`` is run in another process if this one ends without ``dismiss``, however it ends. It is made before
    threads and descriptors that must not outlive us."""

    def __init__(self, tidy: Callable[[], None]) -> None:
        read, self._write = os.pipe2(os.O_CLOEXEC)
        self.pid = os.fork()
        if self.pid == 0:
            self._wait(read, tidy)
        os.close(read)

    def _wait(self, read: int, tidy: Callable[[], None]) -> None:
        try:
            _close_all_but(read)
            os.setsid()  # what is typed at the terminal, and what its end sends, is not for us
            for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(s, signal.SIG_IGN)
            _nowhere()
            if not os.read(read, 1):
                tidy()
        finally:
            os._exit(0)

    def dismiss(self) -> None:
        if self._write >= 0:
            with suppress(OSError):
                os.write(self._write, b"x")
            os.close(self._write)
            self._write = -1
            with suppress(ChildProcessError):
                os.waitpid(self.pid, 0)


def _close_all_but(kept: int) -> None:
    """Others wait for the ends of pipes that we have inherited."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            with suppress(OSError):
                os.close(int(name))


def _nowhere() -> None:
    """Whoever waits for the end of our output must not wait for the watchdog."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
