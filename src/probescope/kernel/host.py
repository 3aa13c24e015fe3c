"""The one replaceable executor: every touch of Linux in this room goes through ``host()``.

A test puts another one in its place::

    with use_host(FakeHost(files={"/proc/loadavg": b"0 0 0"})):
        ...

Primitives raise ``OSError`` with the kernel's errno; the modules above turn it into a typed error with advice. What is
remembered about a machine (feature answers, the place of tracefs) lives in ``Host.cache``, so that it changes hands
with the host.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

from probescope.errors import LimitError

if TYPE_CHECKING:
    import mmap as _mmap

Buffer = bytes | bytearray | memoryview
FdLike = SupportsIndex
"""A descriptor's number, or an ``Fd`` that owns it."""

READ_LIMIT = 1 << 28
"""Bytes that a file may have before ``read_bytes`` refuses it; /proc/kallsyms with 300,000 symbols has 15 MB."""

_CHUNK = 1 << 20


class Mapping:
    """Memory shared with the kernel. ``view`` reads it (and writes, if asked for); ``close()`` unmaps it, or, where
    somebody still holds a slice of ``view``, leaves that to the last slice."""

    __slots__ = ("_undo", "view")

    def __init__(self, view: memoryview, undo: Callable[[], None]) -> None:
        self.view = view
        self._undo: Callable[[], None] | None = undo

    def close(self) -> None:
        undo, self._undo = self._undo, None
        if undo:
            with contextlib.suppress(BufferError):
                self.view.release()
                undo()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Host:
    """What Linux offers to this room. The methods of this class are the real machine; a fake overrides them."""

    def __init__(self) -> None:
        self.cache: dict[str, Any] = {}

    # --- the machine
    # ---------------------------------------------------------------------------------------------------

    @property
    def machine(self) -> str:
        """As ``uname -m`` says it: ``x86_64``, ``aarch64``."""
        return os.uname().machine

    @property
    def release(self) -> str:
        """As ``uname -r`` says it. For display and for file names, never to decide what the kernel can do."""
        return os.uname().release

    @property
    def page_size(self) -> int:
        size: int = self.cache.get("page_size", 0)
        if not size:
            size = self.cache["page_size"] = os.sysconf("SC_PAGE_SIZE")
        return size

    def getpid(self) -> int:
        return os.getpid()

    # --- system calls
    # --------------------------------------------------------------------------------------------------

    def syscall(self, number: int, *args: int) -> int:
        """The raw system call with up to six integers (addresses come from ``address``). Raises OSError."""
        from probescope.kernel import libc

        return libc.syscall(number, args)

    def address(self, buffer: Buffer) -> int:
        """Where the bytes lie in memory, 0 for none. The caller keeps ``buffer`` alive, and a bytearray at its
        length."""
        from probescope.kernel import libc

        return libc.address(buffer) if len(buffer) else 0

    def own_memory(self, address: int, length: int) -> bytes:
        """Bytes of this process, at an address that /proc/self/maps gave: anything else ends the process."""
        from probescope.kernel import libc

        return libc.peek(address, length)

    def ioctl(self, fd: FdLike, request: int, arg: int | Buffer = 0) -> int:
        """A bytearray is read and written in place, at any length; bytes are read only (at most 1,024 of them)."""
        import fcntl

        if isinstance(arg, int):
            return fcntl.ioctl(fd.__index__(), request, arg)
        if isinstance(arg, bytes):
            arg = bytearray(arg)
        return int(fcntl.ioctl(fd.__index__(), request, arg, True))  # True: writes back into it

    def mmap(self, fd: FdLike, length: int, *, write: bool = False, offset: int = 0) -> Mapping:
        """Maps ``length`` bytes of ``fd``, shared. Raises OSError."""
        import mmap

        prot = mmap.PROT_READ | (mmap.PROT_WRITE if write else 0)
        try:
            m = mmap.mmap(fd.__index__(), length, mmap.MAP_SHARED, prot, offset=offset)
        except ValueError:
            # Python trusts st_size, which is 0 for the regular files of tracefs
            from probescope.kernel import libc

            return libc.mmap(fd.__index__(), length, prot, offset)
        return Mapping(memoryview(m), _closer(m))

    def poll(self, fds: list[int], timeout_ms: int) -> list[int]:
        """Those of ``fds`` that have something to read (or hung up), after at most ``timeout_ms`` (-1: no limit)."""
        import select

        p = select.poll()
        for fd in fds:
            p.register(fd, select.POLLIN)
        return [fd for fd, _ in p.poll(timeout_ms)]

    def wait_for_room(self, fd: int) -> None:
        """Returns when ``fd`` takes more bytes, or will never do again."""
        import select

        p = select.poll()
        p.register(fd, select.POLLOUT)
        p.poll()

    # --- descriptors
    # ---------------------------------------------------------------------------------------------------

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        return os.open(path, flags | os.O_CLOEXEC)

    def close(self, fd: int) -> None:
        os.close(fd)

    def read(self, fd: FdLike, length: int) -> bytes:
        return os.read(fd.__index__(), length)

    # --- files
    # ---------------------------------------------------------------------------------------------------------

    def read_bytes(self, path: str, limit: int = READ_LIMIT) -> bytes:
        """The whole file. Raises OSError, and LimitError past ``limit`` bytes. Sizes that stat() gives are not
        trusted."""
        fd = self.open(path)
        try:
            parts = []
            total = 0
            while part := os.read(fd, _CHUNK):
                parts.append(part)
                total += len(part)
                if total > limit:
                    raise LimitError(f"{path} has more than {limit} bytes")
            return parts[0] if len(parts) == 1 else b"".join(parts)
        finally:
            self.close(fd)

    def read_head(self, path: str, size: int) -> bytes:
        """The first ``size`` bytes of a file, or fewer, whatever follows. Raises OSError."""
        fd = self.open(path)
        try:
            parts, left = [], size
            while left > 0 and (part := os.read(fd, left)):
                parts.append(part)
                left -= len(part)
            return b"".join(parts)
        finally:
            self.close(fd)

    def read_text(self, path: str, limit: int = READ_LIMIT) -> str:
        """As text; bytes that are not UTF-8 become U+FFFD. Nothing is stripped."""
        return self.read_bytes(path, limit).decode("utf-8", "replace")

    def write(self, path: str, data: bytes | str, *, truncate: bool = False) -> None:
        """One write(2) to a kernel file, opened with O_APPEND: files of tracefs lose their older content otherwise, and
        Python's own mode "a" seeks, which they refuse. ``truncate`` empties the file first. A word of the command line
        is written as the bytes that it is. Raises OSError."""
        fd = self.open(path, os.O_WRONLY | (os.O_TRUNC if truncate else os.O_APPEND))
        try:
            os.write(fd, data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
        finally:
            self.close(fd)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def folders(self, path: str) -> list[tuple[str, int]]:
        """(name, inode number) of the folders in a folder, links not followed."""
        with os.scandir(path) as entries:
            return [(e.name, e.inode()) for e in entries if e.is_dir(follow_symlinks=False)]

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def readlink(self, path: str) -> str:
        return os.readlink(path)

    def inode(self, path: str) -> tuple[int, int]:
        """(device, inode) of what ``path`` leads to."""
        s = os.stat(path)
        return s.st_dev, s.st_ino

    def mkdir(self, path: str) -> None:
        os.mkdir(path)

    def make_private_folder(self, path: str) -> None:
        """Of this user alone; one that is there already must be so. Raises OSError."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        found = os.lstat(path)
        if found.st_uid != os.geteuid() or found.st_mode & 0o022 or not stat.S_ISDIR(found.st_mode):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)

    def write_whole(self, path: str, text: str) -> None:
        """Makes or replaces a file: whoever reads it finds the old or the new text. Raises OSError."""
        with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape", opener=_private) as file:
            file.write(text)
        os.replace(path + ".new", path)

    def lock(self, path: str, *, wait: bool = True) -> AbstractContextManager[object]:
        """Processes that share a file: see ``FileLock``."""
        from probescope.kernel.filelock import FileLock

        return FileLock(path, wait=wait)

    def unlink(self, path: str) -> None:
        """Removes a file, if it is there."""
        with contextlib.suppress(OSError):
            os.unlink(path)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _closer(m: _mmap.mmap) -> Callable[[], None]:
    """Closing an mmap that is still exported raises BufferError: then the last slice unmaps it when it goes."""
    return m.close


class _Current:
    host: Host | None = None


def host() -> Host:
    """The host in use: this machine, unless ``use_host`` says otherwise."""
    if _Current.host is None:
        if sys.platform != "linux":
            raise LimitError("probescope observes Linux; this is " + sys.platform)
        _Current.host = Host()
    return _Current.host


@contextlib.contextmanager
def use_host(other: Host) -> Generator[Host]:
    """Puts ``other`` in the place of this machine, for the whole process, until the block ends."""
    before, _Current.host = _Current.host, other
    try:
        yield other
    finally:
        _Current.host = before
