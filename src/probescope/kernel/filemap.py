"""Bytes of a regular file where the kernel keeps them, given back as they are not needed any more. Source: mmap(2),
madvise(2)."""

from __future__ import annotations

import mmap
import os
import stat


class FileMap:
    """``bytes``: the first ``end`` bytes of a file that stays open elsewhere as long as this lives. Pages come in when
    they are looked at. To look behind the end of a file that has become shorter ends the process (SIGBUS): ask
    ``there`` before."""

    def __init__(self, fd: int, end: int) -> None:
        """Raises OSError or ValueError where it cannot be had: of what is no regular file, or not that long."""
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("only regular files are mapped")
        self._fd = fd
        self.bytes = mmap.mmap(fd, end, prot=mmap.PROT_READ)

    def there(self, end: int) -> bool:
        """Whether the file is that long still."""
        return os.fstat(self._fd).st_size >= end

    def forget(self, start: int, end: int) -> None:
        """Pages of the map, multiples of their size, are given back; who looks there again finds them as they were."""
        self.bytes.madvise(mmap.MADV_DONTNEED, start, end - start)


class BytesMap:
    """The same, where ``whole`` gives all of it as one ``bytes`` object, for compiled loops, which read nothing else.
    That has to be let go of before ``bytes``."""

    def __init__(self, fd: int, end: int) -> None:
        """Raises ValueError also where this Python cannot take a file for such an object."""
        from probescope.kernel.libc import FileBytes

        if not stat.S_ISREG(os.fstat(fd).st_mode) or os.fstat(fd).st_size < end:
            raise ValueError("only regular files are mapped")
        self._fd = fd
        self._held = FileBytes(fd, end)
        self.bytes = self._held.view
        self.whole = self._held.whole

    def there(self, end: int) -> bool:
        return os.fstat(self._fd).st_size >= end

    def forget(self, start: int, end: int) -> None:
        self._held.forget(start, end)
