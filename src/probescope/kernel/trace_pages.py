"""The ring buffer of one CPU, page by page, as the kernel keeps it: per_cpu/cpuN/trace_pipe_raw.

Whole pages come by splice, which moves them without a copy inside the kernel; what the last page holds so far comes by
read. Reading takes them out of the buffer. Source: Documentation/trace/ftrace.rst, tracing_buffers_splice_read and
tracing_buffers_read of kernel/trace/trace.c.
"""

from __future__ import annotations

import errno
import os

from probescope.kernel.advice import kernel_error

_PIPE = 1 << 16
_MOVE, _NONBLOCK = 1, 2  # SPLICE_F_MOVE, SPLICE_F_NONBLOCK
_NOTHING = {errno.EAGAIN, errno.EINTR}


class CpuPages:
    """``base``: the buffer's folder in tracefs. Raises KernelError."""

    def __init__(self, base: str, cpu: int, page_size: int) -> None:
        self.cpu = cpu
        self.page_size = page_size
        self._path = f"{base}/per_cpu/cpu{cpu}/trace_pipe_raw"
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as e:
            raise kernel_error(f"open {self._path}", e.errno or 0, path=self._path) from None
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def whole(self) -> bytes:
        """The whole pages that fit into a pipe, 16 of 4 KiB; empty if none is full."""
        try:
            moved = os.splice(self._fd, self._write, _PIPE, flags=_MOVE | _NONBLOCK)
        except OSError as e:
            if e.errno in _NOTHING:
                return b""
            raise kernel_error(f"splice {self._path}", e.errno or 0, path=self._path) from None
        return self._drained(moved)

    def _drained(self, count: int) -> bytes:
        pieces: list[bytes] = []
        while count:
            piece = os.read(self._read, count)
            count -= len(piece)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def rest(self) -> bytes:
        """A page that is not full, or a whole one; empty when there is nothing more."""
        try:
            return os.read(self._fd, self.page_size)
        except OSError as e:
            if e.errno in _NOTHING:
                return b""
            raise kernel_error(f"read {self._path}", e.errno or 0, path=self._path) from None

    def close(self) -> None:
        for fd in (self._fd, self._read, self._write):
            if fd >= 0:
                os.close(fd)
        self._fd = self._read = self._write = -1
