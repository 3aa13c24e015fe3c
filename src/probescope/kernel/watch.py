"""Waiting for the end of a process that is not our child."""

from __future__ import annotations

import errno
import os

from probescope.errors import UsageError
from probescope.kernel.host import host

_NOT_OFFERED = {errno.ENOSYS, errno.EPERM}
"""What pidfd_open(2) answers before Linux 5.3, and in containers whose filter of system calls does not know it."""


def open_pidfd(pid: int) -> int:
    """A descriptor that is readable when the process has ended; -1 where there are none. Raises OSError if there is no
    such process."""
    try:
        return os.pidfd_open(pid)
    except OSError as e:
        if e.errno in _NOT_OFFERED:
            return -1
        raise


class Watch:
    """``fileno`` is readable when the process has ended; it is -1 where ``ended`` has to be asked. Raises UsageError if
    there is no such process now."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._fd = open_pidfd(pid)
        except (OSError, OverflowError) as e:
            raise _no_process(pid, getattr(e, "strerror", None) or "no number of a process") from None
        self._started = _started(pid) if self._fd < 0 else 0
        if self._fd < 0 and not self._started:
            raise _no_process(pid, "it is not in /proc")

    def fileno(self) -> int:
        return self._fd

    def ended(self) -> bool:
        if self._fd < 0:
            return _started(self.pid) != self._started
        return bool(host().poll([self._fd], 0))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _no_process(pid: int, why: str) -> UsageError:
    return UsageError(f"there is no process {pid} ({why})", hints=["pgrep -a NAME finds processes"])


def _started(pid: int) -> int:
    """When the process began, which tells it from a later one of the same number; 0 if there is none."""
    from probescope.kernel import procfs

    return procfs.start_ticks(pid)
