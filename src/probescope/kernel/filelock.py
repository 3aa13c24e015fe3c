"""A lock that processes share by a file, and that the kernel takes back from whoever ends, however that is.

Source: flock(2).
"""

from __future__ import annotations

import os
from typing import Self


class FileLock:
    """Waits for the lock, or with ``wait`` false raises BlockingIOError where somebody has it; raises OSError where the
    file cannot be made. The file stays when the lock is given back: others may wait at it."""

    def __init__(self, path: str, *, wait: bool = True) -> None:
        self._path, self._wait = path, wait
        self._fd = -1

    def __enter__(self) -> Self:
        import fcntl

        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX if self._wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
