"""The only place that imports ctypes: syscall(2), addresses of buffers, and the mmap that Python's own module
refuses."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

from probescope.kernel.host import Buffer, Mapping

_libc = ctypes.CDLL(None, use_errno=True)

_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
# syscall(2) is variadic; integers of one register each travel alike either way on x86-64 and AArch64
_syscall.argtypes = [ctypes.c_long] * 7

_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_munmap = _libc.munmap
_munmap.restype = ctypes.c_int
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_MAP_FAILED = ctypes.c_void_p(-1).value
_MAP_SHARED = 1
_MAP_PRIVATE = 2
_PROT_WRITE = 2
_NONE: tuple[int, ...] = (0,) * 6


def syscall(number: int, args: Sequence[int]) -> int:
    result: int = _syscall(number, *args, *_NONE[len(args) :])
    if result == -1:
        raise _last_error()
    return result


def address(buffer: Buffer) -> int:
    if isinstance(buffer, bytes):
        found: int | None = ctypes.cast(ctypes.c_char_p(buffer), ctypes.c_void_p).value
        return found or 0
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def peek(address: int, length: int) -> bytes:
    """Bytes of our own memory. For fakes that answer a system call and must follow the pointers in its arguments."""
    return ctypes.string_at(address, length)


def poke(address: int, data: bytes) -> None:
    """Writes into our own memory, as a kernel would: for fakes only."""
    ctypes.memmove(address, data, len(data))


def mmap(fd: int, length: int, prot: int, offset: int) -> Mapping:
    where = _mmap(None, length, prot, _MAP_SHARED, fd, offset)
    if where == _MAP_FAILED:
        raise _last_error()

    cells = _cells_type(length).from_address(where)
    view = memoryview(cells).cast("B")
    return Mapping(view if prot & _PROT_WRITE else view.toreadonly(), _nothing)


def mmap_for_good(fd: int, length: int, prot: int, offset: int) -> int:
    """The address of a private mapping that stays as long as the process does. Raises OSError."""
    where = _mmap(None, length, prot, _MAP_PRIVATE, fd, offset)
    if where == _MAP_FAILED:
        raise _last_error()
    return int(where)


def halfwords(address: int, count: int) -> memoryview:
    """Numbers of 16 bits that somebody else writes, as they are at each look."""
    return memoryview((ctypes.c_uint16 * count).from_address(address)).cast("B").cast("H")


def callable_at(address: int, arguments: int) -> Callable[..., None]:
    """Machine code of ours, which takes integers or bytes. The interpreter's lock stays held, so that nothing else runs
    before it returns."""
    return ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


def _cells_type(length: int) -> Any:
    """A block of bytes that unmaps itself once nobody can read it: each slice of a view keeps it alive."""

    def unmap(self: Any) -> None:
        _munmap(ctypes.addressof(self), length)

    return type("Cells", (ctypes.c_char * length,), {"__del__": unmap})


def _nothing() -> None:
    """Releasing the view was all that had to be done."""


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
