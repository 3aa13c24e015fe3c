"""The only place that imports ctypes: syscall(2), addresses of buffers, and the mmap that Python's own module
refuses."""

from __future__ import annotations

import ctypes
import mmap as mmap_module
import os
import sys
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

_madvise = _libc.madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

_MAP_FAILED = ctypes.c_void_p(-1).value
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED, _MAP_ANONYMOUS = 1, 2, 0x10, 0x20  # the same on x86-64 and AArch64
_PROT_READ, _PROT_WRITE = 1, 2
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


class _BytesHead(ctypes.Structure):
    """What lies before the bytes of a ``bytes`` object (Include/cpython/bytesobject.h, PyBytesObject)."""

    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("size", ctypes.c_ssize_t),
        ("hash", ctypes.c_ssize_t),  # -1: not computed yet
    )


#: References that a made object has besides those that Python counts: it is never freed.
_HELD = 1 << 28


def _lies_as_drawn(sample: bytes) -> bool:
    """Whether this Python's ``bytes`` are made like that."""
    if sys.implementation.name != "cpython" or bytes.__basicsize__ != ctypes.sizeof(_BytesHead) + 1:
        return False
    known, count = hash(sample), sys.getrefcount(sample)
    head = _BytesHead.from_address(id(sample))
    found = (head.type, head.size, head.hash, ctypes.string_at(id(sample) + ctypes.sizeof(_BytesHead), len(sample)))
    return found == (id(bytes), len(sample), known, sample) and 0 < head.references <= count


class FileBytes:
    """A file, mapped, that Python also takes for a ``bytes`` object: machine code that reads words of ``bytes`` reads
    the file's pages, and nothing is copied.

        | ......................  head | the file's bytes ................... | 0 .......... |
          a page, and in it what          mapped, read only                     a page of zeros, as a
          Python has before bytes                                               NUL ends all bytes

    ``view``: the bytes, as long as anybody looks at them. Where somebody has kept what ``whole`` gave for longer than
    that, the memory is left to it for good."""

    def __init__(self, fd: int, length: int) -> None:
        """Raises OSError, and ValueError where this Python's ``bytes`` are made otherwise."""
        if not _lies_as_drawn(os.urandom(24)):
            raise ValueError("bytes objects are of another make")
        page = mmap_module.PAGESIZE
        room = page + -(-length // page) * page + page
        base = _mmap(None, room, _PROT_READ | _PROT_WRITE, _MAP_PRIVATE | _MAP_ANONYMOUS, -1, 0)
        if base == _MAP_FAILED:
            raise _last_error()
        self._start = int(base) + page
        if _mmap(self._start, length, _PROT_READ, _MAP_SHARED | _MAP_FIXED, fd, 0) != self._start:
            error = _last_error()
            _munmap(base, room)
            raise error
        self._object = ctypes.c_void_p(self._start - ctypes.sizeof(_BytesHead))
        head = _BytesHead.from_address(self._start - ctypes.sizeof(_BytesHead))
        head.references, head.type, head.size, head.hash = _HELD, id(bytes), length, -1

        def unmap(_: Any) -> None:
            if head.references == _HELD:
                _munmap(base, room)

        kind: Any = type("FileCells", (ctypes.c_char * length,), {"__del__": unmap})
        self.view = memoryview(kind.from_address(self._start)).cast("B").toreadonly()

    def whole(self) -> bytes:
        """All of it. To be let go of before ``view``."""
        one: Any = ctypes.py_object.from_buffer(self._object)
        found: bytes = one.value
        return found

    def forget(self, start: int, end: int) -> None:
        """Pages, multiples of their size, are given back; who looks there again finds them as they were."""
        if _madvise(self._start + start, end - start, mmap_module.MADV_DONTNEED):
            raise _last_error()


def _nothing() -> None:
    """Releasing the view was all that had to be done."""


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
