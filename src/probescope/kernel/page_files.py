"""Ring buffers of CPUs moved into files, whole pages at a time and without a copy in user space:

    per_cpu/cpuN/trace_pipe_raw ── splice ──► pipe ── splice ──► FILE.cpuN

Source: Documentation/trace/ftrace.rst; tracing_buffers_splice_read of kernel/trace/trace.c, which gives whole pages
only, and tells between them what was lost.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from probescope.kernel.advice import kernel_error
from probescope.kernel.host import host

PIPE = 1 << 20
"""Bytes that one look may take from a CPU at once. Where users may have no pipes so large, 64 KiB."""
_SMALL = 1 << 16
_MOVE, _NONBLOCK = 1, 2  # SPLICE_F_MOVE, SPLICE_F_NONBLOCK
_NOTHING = {errno.EAGAIN, errno.EINTR}


class Funnel:
    """The pipe that all CPUs' pages go through, one CPU after the other."""

    def __init__(self) -> None:
        import fcntl

        self.read, self.write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.size = _SMALL
        with suppress(OSError):
            self.size = fcntl.fcntl(self.write, fcntl.F_SETPIPE_SZ, PIPE)

    def close(self) -> None:
        for fd in (self.read, self.write):
            if fd >= 0:
                os.close(fd)
        self.read = self.write = -1


class PageFile:
    """``source``: a CPU's trace_pipe_raw or snapshot_raw. ``path``: the file, made anew. ``most``: bytes that are
    kept of the latest, in halves: a second file ``path.old`` has what came before; 0: all. Raises KernelError for the
    kernel's side, OSError for the file's."""

    def __init__(self, source: str, cpu: int, path: str, funnel: Funnel, most: int = 0) -> None:
        self.cpu, self.path, self._funnel = cpu, path, funnel
        self.size = 0
        self.dropped = 0
        self._page = host().page_size
        self._half = max(most // 2 // self._page, 1) * self._page if most else 0
        self._step = min(funnel.size, self._half or funnel.size)
        self._told = source
        self._out = _made(path)
        try:
            self._fd = os.open(self._told, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as e:
            os.close(self._out)
            os.unlink(path)
            raise kernel_error(f"open {self._told}", e.errno or 0, path=self._told) from None

    def fileno(self) -> int:
        """Readable when the buffer is as full as buffer_percent says."""
        return self._fd

    @property
    def files(self) -> list[str]:
        """Those that hold the pages, oldest first."""
        return [p for p in (f"{self.path}.old", self.path) if os.path.exists(p)] if self._half else [self.path]

    def move(self) -> int:
        """Takes the whole pages that fit into the pipe; how many bytes those were."""
        try:
            moved = os.splice(self._fd, self._funnel.write, self._step, flags=_MOVE | _NONBLOCK)
        except OSError as e:
            if e.errno in _NOTHING:
                return 0
            raise kernel_error(f"splice {self._told}", e.errno or 0, path=self._told) from None
        left = moved
        while left:
            left -= self._out_of_pipe(left)
        self._count(moved)
        return moved

    def _out_of_pipe(self, count: int) -> int:
        try:
            return os.splice(self._funnel.read, self._out, count, flags=_MOVE)
        except OSError as e:
            if e.errno != errno.EINVAL:  # some file systems cannot
                raise
            return os.write(self._out, os.read(self._funnel.read, count))

    def _count(self, size: int) -> None:
        self.size += size
        if self._half and self.size >= self._half:
            old = f"{self.path}.old"
            if os.path.exists(old):
                self.dropped += os.path.getsize(old)
            os.replace(self.path, old)
            os.close(self._out)
            self._out = _made(self.path)
            self.size = 0

    def finish(self) -> None:
        """The pages that are not full too: for when tracing is off."""
        while self.move():
            pass
        while True:
            try:
                data = os.read(self._fd, self._page)
            except OSError as e:
                if e.errno in _NOTHING:
                    return
                raise kernel_error(f"read {self._told}", e.errno or 0, path=self._told) from None
            if not data:
                return
            whole = data.ljust(self._page, b"\0")
            while whole:
                whole = whole[os.write(self._out, whole) :]
            self._count(self._page)

    def close(self) -> None:
        for fd in (self._fd, self._out):
            if fd >= 0:
                os.close(fd)
        self._fd = self._out = -1


def _made(path: str) -> int:
    """Empty, and ours until it is closed: two who record into one file would take each other's pages. Raises
    OSError."""
    import fcntl

    # beside the file that was asked for: a link there is somebody's who wants another file emptied
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise OSError(errno.EBUSY, "another process records into it", path) from None
    except OSError:  # a file system without locks
        pass
    os.ftruncate(fd, 0)
    return fd
