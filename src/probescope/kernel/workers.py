"""Work that several processes share, forked from this one, each on its own parts of the same: their results come back
through memory that both see. Source: fork(2), mmap(2), prctl(2), sched_getaffinity(2); cgroup-v2.rst of the kernel.

    this process     | part 0 |  part 2 | take 1 | ...           its own parts, and theirs when it wants them
    worker 1         |   part 1   |  part 3 ...
                            |
       shared memory   | slot | slot | slot | slot |             a result fills as many as it needs
       ready, a pipe   (slot, bytes, last) ───►                  worker to us
       free, a pipe    ◄─── slot                                 us to worker: it may be written again

A worker that is ahead waits until a slot is free, so memory is bounded. One that ends too early, however it does, is
seen by the end of its pipe. Workers end with this process, however it ends: the kernel sends them SIGKILL. They take no
notice of SIGINT, which a terminal sends to all: who started them decides.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn, Self

from probescope.errors import ProbescopeError, SessionError
from probescope.kernel.host import host
from probescope.kernel.syscalls import number

SLOTS, SLOT = 4, 1 << 21
MOST = 8
"""Processes, if nobody says how many: more would wait for what all of them do."""
PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
_MESSAGE = struct.Struct("<iBB")
_DATA, _FAILED = 0, 1

Send = Callable[[bytes], None]
Work = Callable[[int, Send], None]
"""What a worker does: its number, from 1 on, and where a result goes."""


def processors() -> int:
    """That this process may use, at most ``MOST``: those it is bound to, or less where its cgroup has a quota. One
    where more than twice as many tasks want to run as there are: workers would only wait for each other."""
    count = len(os.sched_getaffinity(0))
    busy = os.getloadavg()[0] > 2 * (os.cpu_count() or 1)
    return 1 if busy else max(1, min(count, _quota(), MOST))


def _quota() -> int:
    """Processors' worth of time that cgroups above this process allow."""
    found = MOST
    try:
        path = host().read_bytes("/proc/self/cgroup").decode().rpartition("0::")[2].strip()
    except (OSError, ValueError):
        return found
    while path.strip("/"):
        try:
            most, period = host().read_bytes(f"/sys/fs/cgroup{path}/cpu.max").split()
            found = min(found, -(-int(most) // int(period)))
        except (OSError, ValueError):  # "max", or no such controller here
            pass
        path = path.rpartition("/")[0]
    return found


def can_fork() -> bool:
    """Whether a copy of this process would be whole: other threads would be missing in it."""
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1


def reopened(file: BinaryIO) -> BinaryIO:
    """The same file with a place in it of its own: that of a descriptor is one for all processes that have it. Raises
    OSError."""
    return open(f"/proc/self/fd/{file.fileno()}", "rb", buffering=0)


class _Worker:
    """One of them, as seen from here."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, SLOTS * SLOT)
        self.ready, self.ready_end = os.pipe()
        self.free_end, self.free = os.pipe()
        self.pid = 0

    def ends(self) -> None:
        """Closes what is ours."""
        for fd in (self.ready, self.free):
            os.close(fd)

    def others(self) -> None:
        """Closes what is the worker's."""
        for fd in (self.ready_end, self.free_end):
            os.close(fd)

    def reaped(self) -> int:
        """Waits for its end; the status."""
        pid, self.pid = self.pid, 0
        return os.waitpid(pid, 0)[1] if pid else 0


class Workers:
    """``count`` processes that do ``work``. A context manager: at the end of it none is left."""

    def __init__(self, count: int, work: Work) -> None:
        """Raises OSError where there may be no more processes."""
        import gc

        self._workers: list[_Worker] = []
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # what waits there would be written by each
                stream.flush()
        gc.freeze()  # else looking for garbage would make copies of all pages
        try:
            for i in range(1, count + 1):
                self._start(i, work)
        except BaseException:
            self.close()
            raise
        finally:
            gc.unfreeze()

    def _start(self, which: int, work: Work) -> None:
        parent = os.getpid()
        worker = _Worker()
        try:
            worker.pid = _fork()
        except OSError:
            worker.ends()
            worker.others()
            worker.memory.close()
            raise
        if not worker.pid:
            _be(worker, self._workers, parent, lambda send: work(which, send))
        worker.others()
        self._workers.append(worker)

    def take(self, which: int) -> Iterator[memoryview]:
        """The next result of a worker, piece by piece; each is gone when the next is asked for. Raises what the worker
        raised, and SessionError where it ended before."""
        worker = self._workers[which - 1]
        failed = b""
        more = True
        while more:
            size, slot, flags = self._next(worker)
            more, kind = bool(flags & 2), flags & 1
            with memoryview(worker.memory) as whole, whole[slot * SLOT : slot * SLOT + size] as piece:
                if kind == _FAILED:
                    failed += piece
                elif size:
                    yield piece
            with suppress(BrokenPipeError):  # it has ended: that was its last
                os.write(worker.free, bytes((slot,)))
        if failed:
            raise _error_of(failed)

    def value(self, which: int) -> Any:
        """The next result of a worker, which was pickled."""
        return _unpickled(b"".join([bytes(piece) for piece in self.take(which)]))

    @staticmethod
    def _next(worker: _Worker) -> tuple[int, int, int]:
        data = os.read(worker.ready, _MESSAGE.size)
        if len(data) < _MESSAGE.size:
            code = os.waitstatus_to_exitcode(worker.reaped())
            how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
            about = f"a process that took part in the work {how}: what it had is missing"
            raise SessionError(about, hints=["--jobs 1 does all of it in one process, with less memory"])
        size, slot, flags = _MESSAGE.unpack(data)
        return size, slot, flags

    def close(self) -> None:
        """Ends all that still run."""
        workers, self._workers = self._workers, []
        for worker in workers:
            if worker.pid:
                os.kill(worker.pid, signal.SIGKILL)
        for worker in workers:
            worker.reaped()
            worker.ends()
            worker.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _fork() -> int:
    import warnings

    with warnings.catch_warnings():  # Python 3.12 warns of threads that libraries have: they know of forks
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


# --- inside a worker


def _be(worker: _Worker, earlier: list[_Worker], parent: int, work: Callable[[Send], None]) -> NoReturn:
    """Never returns: what waits for the end of a process is the other one's."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        host().syscall(number("prctl"), PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            for other in (*earlier, worker):
                other.ends()
            out = _Out(worker)
            try:
                work(out.send)
            except Exception as error:  # noqa: BLE001 - told to the other process, which raises it
                out.fail(error)
            code = 0
    finally:
        os._exit(code)


class _Out:
    def __init__(self, worker: _Worker) -> None:
        self._worker = worker
        self._free = list(range(SLOTS))

    def send(self, data: bytes, kind: int = _DATA) -> None:
        whole = memoryview(data)
        at = 0
        while True:
            piece = whole[at : at + SLOT]
            at += len(piece)
            slot = self._slot()
            self._worker.memory[slot * SLOT : slot * SLOT + len(piece)] = piece
            os.write(self._worker.ready_end, _MESSAGE.pack(len(piece), slot, kind | 2 * (at < len(whole))))
            if at >= len(whole):
                return

    def _slot(self) -> int:
        if not self._free:
            data = os.read(self._worker.free_end, SLOTS)
            if not data:  # nobody waits for us any more
                os._exit(1)
            self._free = list(data)
        return self._free.pop()

    def fail(self, error: Exception) -> None:
        import pickle

        try:
            data = pickle.dumps(_told(error))
        except (TypeError, AttributeError, ValueError, pickle.PickleError):
            data = pickle.dumps((type(error).__name__, str(error), {}))
        self.send(data, _FAILED)


def _told(error: Exception) -> tuple[str, str, dict[str, Any]]:
    """Name of its kind, its sentence, and what else it has."""
    if not isinstance(error, ProbescopeError):
        return type(error).__name__, str(error), {}
    rest = {k: v for k, v in vars(error).items() if k not in {"_hints", "what"}} | {"_hints": error.hints}
    return type(error).__name__, error.what, rest


def _error_of(data: bytes) -> Exception:
    """What a worker of ours has sent: the same error."""
    from probescope import errors

    name, what, rest = _unpickled(data)
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, ProbescopeError):
        found = kind.__new__(kind)
        Exception.__init__(found, what)
        found.what = what
        for key, value in rest.items():
            setattr(found, key, value)
        return found
    return MemoryError(what) if name == "MemoryError" else SessionError(f"{name}: {what}")


def _unpickled(data: bytes) -> Any:
    import pickle

    return pickle.loads(data)  # noqa: S301 - of our own process
