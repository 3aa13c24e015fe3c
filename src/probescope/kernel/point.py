"""Marks in Python programs: spans that other processes trace as USDT probes.

    with probescope.point("parse", size): ...        probescope:parse__begin, with arg0; probescope:parse__end

The probes of a name are made when it is first used: a file in memory (memfd_create(2)), mapped, whose code is a nop for
each (``point_image``). Tracers find it among the mappings of the process. The kernel counts who listens in the mapping
itself, and code is called only if somebody does. Where there is no such thing (another machine, no ctypes, memory that
must not be executed), points are there and do nothing.

Programs that are traced import this module: it imports nothing that they would notice.
"""

from __future__ import annotations

import errno
import os
from _thread import RLock
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from types import TracebackType

    from probescope.kernel.point_image import Image

MOST_NAMES = 1024
"""Each has two mappings, of which a process may have 65,530 (vm.max_map_count). What comes after does nothing."""
MOST_CHARACTERS = 100
OFFERS = "PROBESCOPE_POINT_"
"""With a name behind it, a variable of the environment: see ``offer``."""
_MFD_EXEC = 0x10  # 6.3, "mm/memfd: add MFD_NOEXEC_SEAL and MFD_EXEC"
_CO_COROUTINE = 0x80  # of code objects; inspect takes long to import
_READ, _WRITE, _EXEC = 1, 2, 4
_WORD = (1 << 64) - 1

F = TypeVar("F", bound=Callable[..., Any])

_points: dict[str, Point] = {}
_making = RLock()
"""The kernel counts listeners in one mapping of a file in each process: of two made at once, one would never be told.
Reentrant, since a signal's handler may come in between."""


def _of_a_child() -> None:
    global _making  # noqa: PLW0603 - another thread of the parent may have held it
    _making = RLock()


os.register_at_fork(after_in_child=_of_a_child)


class Point:
    """The pair of one name: a context manager, which may be entered again before it is left and by any thread, and a
    decorator. ``listeners`` to its begin and its end, as the kernel counts them."""

    __slots__ = ("_begin", "end", "listeners", "name")

    def __init__(self, name: str, probes: tuple[Sequence[int], Callable[..., None], Callable[..., None]]) -> None:
        self.name = name
        self.listeners, self._begin, self.end = probes

    def __enter__(self) -> None:
        if self.listeners[0]:
            self._begin(0, 0, 0, 0, 0, 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.listeners[1]:
            self.end()

    def __call__(self, function: F) -> F:
        return _decorated(self, function)

    def begin(self, values: Sequence[object]) -> None:
        """At most six values are arguments of the probe."""
        words = [_word(v) for v in values[:6]]
        self._begin(*words, *(0,) * (6 - len(words)))


class PointWith:
    """A point and what it begins with."""

    __slots__ = ("_point", "_values")

    def __init__(self, point: Point, values: tuple[object, ...]) -> None:
        self._point = point
        self._values = values

    def __enter__(self) -> None:
        if self._point.listeners[0]:
            self._point.begin(self._values)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._point.listeners[1]:
            self._point.end()

    def __call__(self, function: F) -> F:
        return _decorated(self, function)


@overload
def point(name: str, /) -> Point: ...
@overload
def point(name: str, /, *values: object) -> Point | PointWith: ...
def point(name: str, /, *values: object) -> Point | PointWith:
    """A span of this program, for tracers: ``with probescope.point("parse", size):``, or ``@probescope.point("parse")``
    before a function. It begins at the USDT probe ``probescope:NAME__begin``, whose arguments are up to six ``values``
    (integers, or text that ``str(arg0)`` reads), and ends at ``probescope:NAME__end``, and costs next to nothing while
    nobody traces it: ``probescope span --mark NAME -p PID``. Raises UsageError if ``name`` is no identifier.

    >>> import probescope
    >>> with probescope.point("parse"):
    ...     pass
    """
    found = _points.get(name)
    if found is None:
        with _making:
            found = _points.get(name) or _points.setdefault(name, _made(name))
    return PointWith(found, values) if values else found


def _decorated(span: Point | PointWith, function: F) -> F:
    from functools import wraps

    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _CO_COROUTINE:

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with span:
                return await function(*args, **kwargs)

        return awaited  # type: ignore[return-value]

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with span:
            return function(*args, **kwargs)

    return called  # type: ignore[return-value]


def _word(value: object) -> int | bytes:
    """What fits a register: a number, or where a text is."""
    if isinstance(value, (int, bytes)):
        return value & _WORD if isinstance(value, int) else value
    if value is None:
        return 0
    if isinstance(value, float):
        return int(value) & _WORD if abs(value) < 1 << 63 else 0
    return str(value).encode("utf-8", "replace")


def _made(name: str) -> Point:
    if not (name.isascii() and name.isidentifier() and len(name) <= MOST_CHARACTERS):
        from probescope.errors import UsageError

        raise UsageError(f"{name!r} is no name of a point", hints=["letters, digits and underscores, as in 'parse'"])
    if len(_points) >= MOST_NAMES:
        return Point(name, _NOTHING)
    try:
        return Point(name, _mapped(name))
    except (ImportError, OSError, AttributeError, KeyError, ValueError, MemoryError):
        return Point(name, _NOTHING)


def _nothing(*words: object) -> None:
    """What is called where there are no probes."""


_NOTHING = ((0, 0), _nothing, _nothing)


def _mapped(name: str) -> tuple[Sequence[int], Callable[..., None], Callable[..., None]]:
    """Raises what says that it cannot be done here."""
    from probescope.kernel import libc
    from probescope.kernel.point_image import ARGUMENTS, MACHINES, image

    page = os.sysconf("SC_PAGE_SIZE")
    made = image(name, MACHINES[os.uname().machine], page)
    fd = _offered(name, made)
    if fd < 0:
        fd = _file(name, made)
    try:
        code = libc.mmap_for_good(fd, page, _READ | _EXEC, 0)
        counters = libc.mmap_for_good(fd, page, _READ | _WRITE, made.counters)
    finally:
        os.close(fd)
    begin, end = libc.callable_at(code + made.begin, ARGUMENTS), libc.callable_at(code + made.end, 0)
    return libc.halfwords(counters, 2), begin, end


def offer(name: str) -> str:
    """The path of a file with the probes of a name, which processes that are started from now on map instead of one of
    their own: it can be traced before they begin. It is there as long as this process. Raises OSError, and KeyError
    where there are no points."""
    from probescope.kernel.point_image import MACHINES, image

    made = image(name, MACHINES[os.uname().machine], os.sysconf("SC_PAGE_SIZE"))
    path = f"/proc/{os.getpid()}/fd/{_file(name, made)}"
    os.environ[OFFERS + name] = path
    return path


def _offered(name: str, made: Image) -> int:
    """A descriptor, or -1. What is mapped is code: not a byte may be another than ours."""
    path = os.environ.get(OFFERS + name)
    if not path:
        return -1
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return -1
    try:
        if os.pread(fd, len(made.data) + 1, 0) == made.data:
            return fd
    except OSError:  # a directory, a pipe
        pass
    os.close(fd)
    return -1


def _file(name: str, made: Image) -> int:
    for flags in (_MFD_EXEC, 0):
        try:
            fd = os.memfd_create(f"probescope:{name}", os.MFD_CLOEXEC | flags)
        except OSError as e:
            if e.errno == errno.EINVAL and flags:
                continue  # an older kernel
            raise
        try:
            os.write(fd, made.data)
        except OSError:
            os.close(fd)
            raise
        return fd
    raise AssertionError  # the loop ends by return or raise
