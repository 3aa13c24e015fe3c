"""perf-PID.map: the functions that a just-in-time compiler made, as it tells them.

    7f2a4c021000 1c0 LazyCompile:~add /srv/app.js:12          start and size in hexadecimal, then the name

Source: tools/perf/Documentation/jit-interface.txt of Linux. The files lie in /tmp, where anybody may write: only
regular files are read, without following links, and only so much of them.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_right

MAX_BYTES = 1 << 26


class PerfMap:
    """Functions by address. Of two lines with the same start the later one wins: code is thrown away and made anew."""

    def __init__(self, text: bytes) -> None:
        table: dict[int, tuple[int, bytes]] = {}
        for line in text.split(b"\n"):
            parts = line.split(b" ", 2)
            try:
                start, size = int(parts[0], 16), int(parts[1], 16)
            except (ValueError, IndexError):
                continue
            if len(parts) == 3 and 0 <= start < 1 << 64 and 0 <= size < 1 << 64:
                table[start] = (size, parts[2])
        self._starts = sorted(table)
        self._table = table

    def __len__(self) -> int:
        return len(self._starts)

    def at(self, address: int) -> tuple[str, int] | None:
        """(name, offset in bytes)."""
        k = bisect_right(self._starts, address) - 1
        if k < 0:
            return None
        start = self._starts[k]
        size, name = self._table[start]
        return (name.decode("utf-8", "replace"), address - start) if address < start + size else None


def load(path: str) -> tuple[PerfMap, int] | None:
    """The map, and the size of its file: another size later means that it grew. ``None`` if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        st = os.fstat(fd)
        if not stat.S_ISREG(st.st_mode):
            return None
        with os.fdopen(fd, "rb", closefd=False) as f:
            text = f.read(MAX_BYTES)
        if len(text) == MAX_BYTES:  # the last line may be cut
            text = text[: text.rfind(b"\n") + 1]
        return PerfMap(text), st.st_size
    except OSError:
        return None
    finally:
        os.close(fd)


def size_of(path: str) -> int:
    """Of the file now, to see whether it grew; -1 if it is gone."""
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except (OSError, ValueError):
        return -1
