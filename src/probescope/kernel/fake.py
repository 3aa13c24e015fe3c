"""A host out of a dictionary: for tests of this room and of those above, with no root and no kernel.

    host = FakeHost(files={"/sys/devices/system/cpu/possible": b"0-3"})
    host.on("bpf", lambda call: 7)

A system call goes to the handler of its name, which gets a ``Call`` (its integers, and the way to the memory that they
point to) and returns the result or raises OSError. Files are read and written in the dictionary; every write is
remembered.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from probescope.frozen import dataclass
from probescope.kernel import host as _host
from probescope.kernel.host import Buffer, FdLike, Host


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    args: tuple[int, ...]

    def memory(self, address: int, length: int) -> bytes:
        """Bytes that the caller handed over by address."""
        from probescope.kernel import libc

        return libc.peek(address, length)

    def answer(self, address: int, data: bytes) -> None:
        """Writes into the caller's buffer, as the kernel would."""
        from probescope.kernel import libc

        libc.poke(address, data)


Handler = Callable[[Call], int]


def failing(number: int) -> Handler:
    """A handler that always answers with this errno."""

    def handler(_: Call) -> int:
        raise OSError(number, os.strerror(number))

    return handler


class FakeHost(Host):
    """``links``: path to target. Folders exist where a file's path says so, or in ``inodes`` (path to inode number)."""

    def __init__(
        self,
        files: Mapping[str, bytes | str] | None = None,
        *,
        links: Mapping[str, str] | None = None,
        inodes: Mapping[str, int] | None = None,
        machine: str = "x86_64",
        release: str = "6.0.0-fake",
        pid: int = 4242,
    ) -> None:
        super().__init__()
        self.files = {p: d.encode() if isinstance(d, str) else d for p, d in (files or {}).items()}
        self.links = dict(links or {})
        self.inodes = dict(inodes or {})
        self.denied: set[str] = set()
        self.written: list[tuple[str, bytes]] = []
        self.calls: list[Call] = []
        self.closed: list[int] = []
        self.handlers: dict[str, Handler] = {}
        self.mapped: dict[tuple[int, int], bytearray] = {}
        self.cache["page_size"] = 4096
        self._machine, self._release, self._pid = machine, release, pid

    def on(self, name: str, handler: Handler) -> None:
        """``name``: of a system call, or ``ioctl`` (its args: descriptor, request, integer or address)."""
        self.handlers[name] = handler

    @property
    def machine(self) -> str:
        return self._machine

    @property
    def release(self) -> str:
        return self._release

    def getpid(self) -> int:
        return self._pid

    def _call(self, name: str, *args: int) -> int:
        call = Call(name, args)
        self.calls.append(call)
        return self.handlers.get(name, failing(errno.ENOSYS))(call)

    def syscall(self, number: int, *args: int) -> int:
        from probescope.kernel.syscalls import NUMBERS

        table = NUMBERS.get(self._machine, {})
        return self._call(next((n for n, v in table.items() if v == number), str(number)), *args)

    def own_memory(self, address: int, length: int) -> bytes:
        return bytes(length)

    def ioctl(self, fd: FdLike, request: int, arg: int | Buffer = 0) -> int:
        return self._call("ioctl", fd.__index__(), request, arg if isinstance(arg, int) else self.address(arg))

    def mmap(self, fd: FdLike, length: int, *, write: bool = False, offset: int = 0) -> _host.Mapping:
        """The bytes of ``mapped[(fd, offset)]``: put a bytearray there before, or find the zeros that were handed
        out."""
        data = self.mapped.setdefault((fd.__index__(), offset), bytearray(length))
        return _host.Mapping(memoryview(data) if write else memoryview(data).toreadonly(), lambda: None)

    def poll(self, fds: list[int], timeout_ms: int) -> list[int]:
        return fds

    def wait_for_room(self, fd: int) -> None:
        """There is always room."""

    def close(self, fd: int) -> None:
        self.closed.append(fd)

    def read(self, fd: FdLike, length: int) -> bytes:
        return self.files.get(f"fd:{fd.__index__()}", b"")[:length]

    def read_bytes(self, path: str, limit: int = _host.READ_LIMIT) -> bytes:
        self._allow(path)
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.files[path]

    def read_head(self, path: str, size: int) -> bytes:
        return self.read_bytes(path)[:size]

    def write(self, path: str, data: bytes | str, *, truncate: bool = False) -> None:
        self._allow(path)
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self.written.append((path, data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data))

    def _allow(self, path: str) -> None:
        if path in self.denied:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    def listdir(self, path: str) -> list[str]:
        self._allow(path)
        prefix = path.rstrip("/") + "/"
        names = {
            p[len(prefix) :].split("/")[0] for p in (*self.files, *self.links, *self.inodes) if p.startswith(prefix)
        }
        if not names and path not in self.inodes:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return sorted(names)

    def folders(self, path: str) -> list[tuple[str, int]]:
        prefix = path.rstrip("/") + "/"
        return [
            (p[len(prefix) :], i)
            for p, i in self.inodes.items()
            if p.startswith(prefix) and "/" not in p[len(prefix) :]
        ]

    def exists(self, path: str) -> bool:
        prefix = path.rstrip("/") + "/"
        known = (*self.files, *self.links, *self.inodes)
        return path in known or any(p.startswith(prefix) for p in known)

    def readlink(self, path: str) -> str:
        if path not in self.links:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.links[path]

    def inode(self, path: str) -> tuple[int, int]:
        if path not in self.inodes:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return 1, self.inodes[path]

    def mkdir(self, path: str) -> None:
        self._allow(path)
        self.inodes[path] = len(self.inodes) + 1000

    def make_private_folder(self, path: str) -> None:
        self._allow(path)

    def write_whole(self, path: str, text: str) -> None:
        self._allow(path)
        self.files[path] = text.encode()

    def lock(self, path: str, *, wait: bool = True) -> AbstractContextManager[object]:
        """Nobody else is there."""
        return nullcontext()

    def unlink(self, path: str) -> None:
        self.files.pop(path, None)

    def rmdir(self, path: str) -> None:
        self._allow(path)
        if self.inodes.pop(path, None) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
