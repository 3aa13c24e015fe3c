"""Descriptors with an owner: closed once, in a ``with`` block or by ``close()``, and traceable when they leak.

With PROBESCOPE_TRACE_FDS=1, and always under pytest, every open ``Fd`` remembers the calls that made it; ``open_fds()``
lists them.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from probescope.errors import InternalError
from probescope.frozen import dataclass
from probescope.kernel.host import Host, host

if TYPE_CHECKING:
    from types import FrameType

_DEPTH = 12


@dataclass(frozen=True, slots=True)
class OpenFd:
    number: int
    what: str
    stack: tuple[str, ...]  # innermost call first

    def __str__(self) -> str:
        return f"fd {self.number} ({self.what}) made at {' < '.join(self.stack)}"


_open: dict[int, OpenFd] = {}
_tokens = itertools.count()


def _tracing() -> bool:
    return os.environ.get("PROBESCOPE_TRACE_FDS") == "1" or "pytest" in sys.modules


_trace = _tracing()


def _stack() -> tuple[str, ...]:
    out: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame and len(out) < _DEPTH:
        code = frame.f_code
        out.append(f"{code.co_filename}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return tuple(out)


class Fd:
    """Owns one descriptor. ``what`` says what it is, for leak reports (``map:counts``). Usable wherever its number
    is."""

    __slots__ = ("_host", "_number", "_token", "what")

    def __init__(self, number: int, what: str = "fd") -> None:
        self._number = number
        self._host: Host = host()  # the one that opened it must close it
        self.what = what
        if _trace:
            self._token = next(_tokens)
            _open[self._token] = OpenFd(number, what, _stack())

    @property
    def closed(self) -> bool:
        return self._number < 0

    def fileno(self) -> int:
        if self._number < 0:
            raise InternalError(f"{self.what} is used after it was closed")
        return self._number

    __index__ = fileno

    def close(self) -> None:
        """Closes it; a second time does nothing. Errors of close(2) are ignored: the number is free either way."""
        number = self.detach() if self._number >= 0 else -1
        if number >= 0:
            try:
                self._host.close(number)
            except OSError:
                return

    def detach(self) -> int:
        """Gives the number away: the caller closes it from now on."""
        number, self._number = self.fileno(), -1
        if _trace:
            _open.pop(self._token, None)
        return number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # no descriptor outlives its last reference; a traced one stays on the list of leaks, because this is a bug
        number, self._number = getattr(self, "_number", -1), -1
        if number >= 0:
            try:
                self._host.close(number)
            except (OSError, AttributeError, TypeError):
                return

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.what} {'closed' if self.closed else self._number}>"


def open_fds() -> list[OpenFd]:
    """Every ``Fd`` that was not closed by its owner, oldest first. Empty unless tracing is on."""
    return list(_open.values())


def forget_fds() -> None:
    """Empties the list of leaks: a test begins."""
    _open.clear()


def close_all(fds: Sequence[Fd], *, threads: int = 1) -> None:
    """Closes many, last opened first. Perf events wait for RCU as they go (73 ms each): with ``threads`` they wait
    together."""
    order = list(reversed(fds))
    if threads <= 1 or len(order) < 2 * threads:
        for fd in order:
            fd.close()
        return
    import threading

    workers = []
    for i in range(threads):
        worker = threading.Thread(target=close_all, args=(order[i::threads],))
        try:
            worker.start()
        except RuntimeError:  # no more threads can be made: then it takes longer
            close_all(order[i::threads])
        else:
            workers.append(worker)
    for w in workers:
        w.join()
