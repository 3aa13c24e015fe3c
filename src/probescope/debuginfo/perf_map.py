"""perf-PID.map: the functions that a just-in-time compiler made, as it tells them.

    7f2a4c021000 1c0 LazyCompile:~add /srv/app.js:12          start and size in hexadecimal, then the name

Source: tools/perf/Documentation/jit-interface.txt of Linux. The files lie in /tmp, where anybody may write: only
regular files are read, without following links, and only so much of them.
"""

from __future__ import annotations

import os
import stat
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

MAX_BYTES = 1 << 26
MAX_NAME = 4096
"""Bytes of a name that are shown."""


class PerfMap:
    """Functions by address. Of two lines with the same start the later one wins: code is thrown away and made anew.

    Millions of lines may come from anybody: the text is kept as it is, and three numbers for each line."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        starts, sizes, names = array("Q"), array("Q"), array("Q")
        for start, size, name in _lines(text):
            starts.append(start)
            sizes.append(size)
            names.append(name)
        order = sorted(range(len(starts)), key=starts.__getitem__)  # stable: the later ones come later
        last = [i for i, j in pairwise([*order, -1]) if j < 0 or starts[i] != starts[j]]
        self._starts, self._sizes, self._names = (array("Q", map(a.__getitem__, last)) for a in (starts, sizes, names))

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return len(self._text) + 24 * len(self._starts)

    def at(self, address: int) -> tuple[str, int] | None:
        """(name, offset in bytes)."""
        k = bisect_right(self._starts, address) - 1
        if k < 0 or address >= self._starts[k] + self._sizes[k]:
            return None
        begin = self._names[k]
        end = self._text.find(b"\n", begin, begin + MAX_NAME)
        name = self._text[begin : end if end >= 0 else begin + MAX_NAME]
        return name.decode("utf-8", "replace"), address - self._starts[k]


def _lines(text: bytes) -> Iterator[tuple[int, int, int]]:
    """Start and size of each well-formed line, and where its name begins in the text."""
    at = 0
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        head = text[at : min(end, at + _HEAD)].split(b" ", 2)
        if len(head) == 3 and b"_" not in head[0] + head[1]:  # Python's own way to write numbers
            try:
                start, size = int(head[0], 16), int(head[1], 16)
            except ValueError:
                start = size = -1
            if 0 <= start < 1 << 64 and 0 <= size < 1 << 64:
                yield start, size, at + len(head[0]) + len(head[1]) + 2
        at = end + 1


_HEAD = 80  # bytes in which both numbers stand


def open_own(path: str, *, force: bool = True) -> tuple[int, int] | None:
    """Descriptor and size of a regular file, no links followed; unless forced only of one that belongs to us or root:
    as perf has it, since everybody may write where JIT compilers do."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        st = os.fstat(fd)
        if stat.S_ISREG(st.st_mode) and (force or st.st_uid in (0, os.geteuid())):
            return fd, st.st_size
    except OSError:
        pass
    os.close(fd)
    return None


def load(path: str, *, force: bool = True) -> tuple[PerfMap, int] | None:
    """The map, and the size of its file: another size later means that it grew. ``None`` if there is none."""
    opened = open_own(path, force=force)
    if opened is None:
        return None
    fd, size = opened
    try:
        with os.fdopen(fd, "rb", closefd=False) as f:
            text = f.read(MAX_BYTES)
        if len(text) == MAX_BYTES:  # the last line may be cut
            text = text[: text.rfind(b"\n") + 1]
        return PerfMap(text), size
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
