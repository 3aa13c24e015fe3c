"""SIGINT, SIGTERM and SIGHUP (the terminal is gone) ask a session to stop, once, where the session is to mind them;
SIGUSR1 fires ``self:signal`` probes, SIGUSR2 asks a recording for another file. A second SIGINT ends the process at
once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any


class Signals:
    """Installs handlers for the time of a session, and puts back what was there. ``fileno`` is readable after any of
    them. Outside the main thread nothing is installed: the caller stops the session itself."""

    def __init__(self, *, stop: bool = True, usr1: bool = False, usr2: bool = False) -> None:
        import threading

        self.stop_asked = 0
        self.fired: list[str] = []
        self._old: dict[int, Any] = {}
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._old_fd = -1
        self._lock = threading.RLock()
        if threading.current_thread() is not threading.main_thread() or not (stop or usr1 or usr2):
            return
        self._old_fd = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for s in (signal.SIGINT, signal.SIGTERM) if stop else ():
            # also where it is ignored: a shell starts every `probescope run ... &` of a script so, and what that script
            # sends later, `kill -INT $!`, is how one ends a tracer
            self._old[s] = signal.signal(s, self._stop)
        if stop and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup wants it ignored
            self._old[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._stop)
        if usr1:
            self._old[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, self._usr)
        if usr2:
            self._old[signal.SIGUSR2] = signal.signal(signal.SIGUSR2, self._usr)

    def fileno(self) -> int:
        return self._read

    def wake(self) -> None:
        """Makes ``fileno`` readable. From any thread, and from signal handlers."""
        with self._lock:  # ``close`` gives the number away, and it may be somebody's file by then
            if self._write >= 0:
                with suppress(BlockingIOError):
                    os.write(self._write, b"w")

    def drain(self) -> None:
        try:
            while os.read(self._read, 512):
                pass
        except BlockingIOError:
            return

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stop_asked = number
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_DFL)

    def _usr(self, number: int, frame: FrameType | None) -> None:
        self.fired.append(name_of(number))

    def close(self) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        if self._old:
            signal.set_wakeup_fd(self._old_fd)
        self._old = {}
        with self._lock:
            if self._read >= 0:
                os.close(self._read)
                os.close(self._write)
                self._read = self._write = -1


def on_endings(add: Callable[[int, Callable[[], object]], object], ended: Callable[[], object]) -> None:
    """``add`` is an event loop's ``add_signal_handler``: SIGINT, SIGTERM, and SIGHUP call ``ended``, but for those that
    are ignored. Outside the main thread nothing is installed: who started the loop ends it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(RuntimeError, ValueError):
                add(number, ended)


def name_of(number: int) -> str:
    """``SIGKILL`` for 9; the number itself where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
