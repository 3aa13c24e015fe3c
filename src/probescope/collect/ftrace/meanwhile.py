"""How long something is watched: while a command runs, for some seconds, or until a signal asks for the end."""

from __future__ import annotations

import time
from typing import Self

from probescope.kernel.child import Child
from probescope.kernel.host import host
from probescope.kernel.signals import Signals


class Meanwhile:
    """The command is made at once and waits for ``go``. Without a command and seconds only a signal ends it. Raises
    what ``Child`` raises."""

    def __init__(self, command: tuple[str, ...] = (), seconds: float = 0) -> None:
        self._child = Child(command) if command else None
        self._seconds = seconds
        self._until = float("inf")
        self._signals: Signals | None = None

    def go(self) -> None:
        self._signals = Signals()
        if self._seconds:
            self._until = time.monotonic() + self._seconds
        if self._child is not None:
            self._child.start()

    def wait(self, most_ms: int = 1000) -> bool:
        """Waits so long at most; whether it goes on. A signal, and the command's end, wake it."""
        assert self._signals is not None
        if self._over():
            return False
        left = (self._until - time.monotonic()) * 1000
        wakers = [self._signals.fileno()]
        if self._child is not None and self._child.fileno() >= 0:
            wakers.append(self._child.fileno())
        host().poll(wakers, int(max(0, min(most_ms, left))))
        return not self._over()

    def _over(self) -> bool:
        assert self._signals is not None
        ended = self._child is not None and self._child.ended()
        return bool(self._signals.stop_asked) or ended or time.monotonic() >= self._until

    @property
    def exit_code(self) -> int:
        return self._child.exit_code() if self._child is not None else 0

    def close(self) -> None:
        for held in (self._signals, self._child):
            if held is not None:
                held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
