"""Pipes that have a path, as files: ``mkfifo``, ``/dev/stdin``, ``<(zstd -dc trace.dat.zst)`` of a shell.

What kind of recording a file is, is seen from its beginning before it is read, and most are read in several places: a
pipe gives its bytes once, and who opens a FIFO again waits for a writer for ever.
"""

from __future__ import annotations

import os
import stat
from typing import IO, BinaryIO

_kept: dict[tuple[int, int], IO[bytes]] = {}
_PIECE = 1 << 20


def open_again(path: str, buffering: int = -1) -> BinaryIO:
    """``open(path, "rb")`` that may be called again for a pipe too, which is read to its end into a temporary file the
    first time. ``-`` is standard input. Raises OSError."""
    path = "/proc/self/fd/0" if path == "-" else path
    found = os.stat(path)
    if stat.S_ISFIFO(found.st_mode):
        inode = found.st_dev, found.st_ino
        if inode not in _kept:
            _kept[inode] = _copied(path)
        path = f"/proc/self/fd/{_kept[inode].fileno()}"
    return open(path, "rb", buffering=buffering)


def is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _copied(path: str) -> IO[bytes]:
    import shutil
    import tempfile

    kept = tempfile.TemporaryFile(prefix="probescope-")  # noqa: SIM115 - as long as the process
    with open(path, "rb") as pipe:
        shutil.copyfileobj(pipe, kept, _PIECE)
    kept.flush()
    return kept
