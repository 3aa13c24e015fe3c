"""Waiting for the end of a process that is not our child."""

from __future__ import annotations

import os

from probescope.errors import UsageError
from probescope.kernel.host import host


class Watch:
    """``fileno`` is readable when the process has ended (pidfd_open, Linux 5.3). Raises UsageError if there is no such
    process now."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._fd = os.pidfd_open(pid)
        except (OSError, OverflowError) as e:
            hint = "pgrep -a NAME finds processes"
            raise UsageError(f"there is no process {pid} ({getattr(e, 'strerror', e)})", hints=[hint]) from None

    def fileno(self) -> int:
        return self._fd

    def ended(self) -> bool:
        return bool(host().poll([self._fd], 0))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
