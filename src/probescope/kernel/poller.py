"""Waiting on many descriptors again and again, without telling the kernel each time which."""

from __future__ import annotations

import select
from contextlib import suppress

from probescope.kernel.host import FdLike

GONE = select.EPOLLHUP | select.EPOLLERR


class Poller:
    """An epoll(7) set. A perf event hangs up when the task that it belongs to has ended with all its children; ours
    is told then once, and not watched any more. Raises OSError where there are no more descriptors."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self.watched: set[int] = set()

    def add(self, fd: FdLike) -> None:
        self._epoll.register(fd.__index__(), select.EPOLLIN)
        self.watched.add(fd.__index__())

    def remove(self, fd: int) -> None:
        self.watched.discard(fd)
        with suppress(OSError, ValueError):
            self._epoll.unregister(fd)

    def wait(self, timeout_ms: int) -> list[tuple[int, bool]]:
        """(descriptor, whether it hung up); empty after ``timeout_ms`` (-1: no limit)."""
        found = self._epoll.poll(timeout_ms / 1000 if timeout_ms >= 0 else -1, max(len(self.watched), 1))
        out = [(fd, bool(events & GONE)) for fd, events in found]
        for fd, gone in out:
            if gone:
                self.remove(fd)
        return out

    def close(self) -> None:
        self._epoll.close()
        self.watched.clear()
