"""The program given by ``-c``: created at once, so that its process id is known, and let go when the probes are in
place."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from probescope.errors import LimitError, UsageError
from probescope.kernel.host import host
from probescope.kernel.syscalls import number

PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h


class Child:
    """A process that waits before its exec. ``start`` lets it go; ``fileno`` is readable when it has ended."""

    def __init__(self, command: tuple[str, ...]) -> None:
        path = find_program(command[0])
        self._path = path
        wait_read, self._go = os.pipe()
        self._failed, tell = os.pipe()  # exec closes it; what is written is the number of the error
        self.pid = os.fork()
        if self.pid == 0:
            self._become(path, command, wait_read, tell)
        os.close(wait_read)
        os.close(tell)
        self._pidfd = os.pidfd_open(self.pid)
        self._status: int | None = None

    def _become(self, path: str, command: tuple[str, ...], wait_read: int, tell: int) -> None:
        try:
            os.close(self._go)
            os.close(self._failed)
            for s in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
                signal.signal(s, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            _end_with_parent()
            if os.read(wait_read, 1):
                os.execv(path, command)  # noqa: S606 - the user's own command, split by us
        except OSError as e:
            os.write(tell, str(e.errno).encode())
        finally:
            os._exit(127)

    def fileno(self) -> int:
        return self._pidfd

    def start(self) -> None:
        """Raises UsageError if the kernel cannot run the file."""
        with suppress(BrokenPipeError):  # it was killed while it waited
            os.write(self._go, b"x")
        os.close(self._go)
        self._go = -1
        failure = os.read(self._failed, 16)
        if failure:
            why = os.strerror(int(failure))
            raise UsageError(f"cannot start {self._path}: {why}", hints=["is it a program, or a script with #! ?"])

    def ended(self) -> bool:
        """Whether it is over; it is reaped then."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = status
        return self._status is not None

    def exit_code(self) -> int:
        """As a shell tells it: 128 + n for a signal; 0 while it runs."""
        if self._status is None:
            return 0
        code = os.waitstatus_to_exitcode(self._status)
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        """Ends it if it never started or is still running, and forgets it."""
        if self._go >= 0:
            os.close(self._go)  # it reads the end of the pipe and leaves
            self._go = -1
        if not self.ended():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            _, self._status = os.waitpid(self.pid, 0)
        if self._pidfd >= 0:
            os.close(self._pidfd)
            os.close(self._failed)
            self._pidfd = -1


def _end_with_parent() -> None:
    """SIGTERM for us when the tracer is gone, however it went. The kernel means the thread that forked: only of the
    main one it is known that it lives as long as the session."""
    import threading

    if threading.current_thread() is threading.main_thread():
        with suppress(OSError, LimitError):
            host().syscall(number("prctl"), PR_SET_PDEATHSIG, signal.SIGTERM)


def split_command(text: str) -> tuple[str, ...]:
    """Words of a command line, quoted as in a shell. Raises UsageError."""
    import shlex

    try:
        words = tuple(shlex.split(text))
    except ValueError as e:
        raise UsageError(f"cannot split the command {text!r}: {e}") from None
    if not words:
        raise UsageError("the command is empty", hints=["-c 'program arg ...'"])
    return words


def find_program(name: str) -> str:
    """The path that exec would take. Raises UsageError."""
    import shutil

    path = shutil.which(name)
    if path is None and "/" in name and os.path.exists(name):
        what = "a directory" if os.path.isdir(name) else "not executable"
        raise UsageError(f"cannot start {name!r}: it is {what}")
    if path is None:
        raise UsageError(f"there is no program {name!r} to start", hints=["give its whole path, or check PATH"])
    return path
