"""Where the bytes of an ELF file come from: a buffer, or a file read piece by piece.

Files are read with pread and never mapped: a file that is cut while it is mapped would end the reader with SIGBUS.
"""

from __future__ import annotations

import os
import stat
from typing import Protocol

from probescope.errors import ElfError

MAX_READ = 1 << 30
"""Bytes that one section or table may have. Larger ones (whole-program DWARF) are for readers that stream."""


class ByteSource(Protocol):
    """``size`` bytes, readable in pieces. ``name`` is for messages."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    def read(self, offset: int, size: int) -> bytes:
        """Exactly ``size`` bytes. Raises ElfError where the file ends before that."""
        ...

    def close(self) -> None: ...


class BufferSource:
    """Bytes that are in memory already (the vDSO, a decompressed .gnu_debugdata)."""

    __slots__ = ("_data", "name", "size")

    def __init__(self, data: bytes, name: str = "<memory>") -> None:
        self._data = data
        self.name = name
        self.size = len(data)

    def read(self, offset: int, size: int) -> bytes:
        check_range(self, offset, size)
        return self._data[offset : offset + size]

    def close(self) -> None:
        return None


class FileSource:
    """A regular file. Raises ElfError if it cannot be opened or is something else (a FIFO would block for ever)."""

    __slots__ = ("_fd", "_stat", "name", "size")

    def __init__(self, path: str) -> None:
        self.name = path
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            self._stat = os.fstat(self._fd)
        except (OSError, ValueError) as e:
            self.close()
            raise ElfError(f"cannot open the file: {getattr(e, 'strerror', None) or e}", file=path) from e
        self.size = self._stat.st_size
        if not stat.S_ISREG(self._stat.st_mode):
            self.close()
            raise ElfError("not a regular file", file=path)

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """Device, inode, time of last change in ns, size: equal as long as the content is."""
        s = self._stat
        return (s.st_dev, s.st_ino, s.st_mtime_ns, s.st_size)

    def read(self, offset: int, size: int) -> bytes:
        check_range(self, offset, size)
        try:
            data = os.pread(self._fd, size, offset)
            while len(data) < size:  # the kernel may stop early at 2 GiB or on a signal
                more = os.pread(self._fd, size - len(data), offset + len(data))
                if not more:
                    raise ElfError("the file shrank while it was read", file=self.name, offset=offset + len(data))
                data += more
        except OSError as e:
            raise ElfError(f"cannot read the file: {e.strerror}", file=self.name, offset=offset) from e
        return data

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


_MOST_OPEN = 128
_open_now: dict[int, ReopenedSource] = {}


class ReopenedSource:
    """A regular file of which the descriptor is given back when many others are read: recordings name hundreds. Raises
    ElfError as ``FileSource``, and where the file has been replaced since."""

    __slots__ = ("_identity", "_source", "name", "size")

    def __init__(self, path: str) -> None:
        self.name = path
        self._source: FileSource | None = None
        self._identity: tuple[int, int, int, int] | None = None
        self.size = self._opened().size

    def _opened(self) -> FileSource:
        _open_now.pop(id(self), None)
        if self._source is None:
            found = FileSource(self.name)
            if self._identity not in (None, found.identity):
                found.close()
                raise ElfError("the file was replaced while it was read", file=self.name)
            self._source, self._identity = found, found.identity
            while len(_open_now) >= _MOST_OPEN:
                _open_now[next(iter(_open_now))].close()
        _open_now[id(self)] = self  # now the most recently used one
        return self._source

    def read(self, offset: int, size: int) -> bytes:
        return self._opened().read(offset, size)

    def close(self) -> None:
        _open_now.pop(id(self), None)
        source, self._source = self._source, None
        if source is not None:
            source.close()


def check_range(source: ByteSource, offset: int, size: int) -> None:
    if offset < 0 or size < 0 or offset + size > source.size:
        raise ElfError(f"the file ends before {size} bytes at {offset:#x}", file=source.name, offset=source.size)
    if size > MAX_READ:
        raise ElfError(f"{size} bytes in one piece are more than the {MAX_READ} that are read", file=source.name)
