"""The program given by ``-c``: created at once, so that its process id is known, and let go when the probes are in
place."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from probescope.errors import LimitError, SessionError, UsageError
from probescope.kernel.host import host
from probescope.kernel.syscalls import number
from probescope.kernel.watch import open_pidfd

PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
PATIENCE_MS = 1000
"""That a command has to end after SIGTERM, before SIGKILL."""
_LOOK_S = 0.01


class Child:
    """A process that waits before its exec. ``start`` lets it go; ``fileno`` is readable when it has ended. It is -1
    where the kernel has no such descriptors: then ``ended`` has to be asked. ``aside``: what it prints goes to standard
    error, because standard output is ours. ``user``: whose process it becomes. Raises SessionError if no process can be
    made, UsageError if there is no such program or user."""

    def __init__(self, command: tuple[str, ...], *, aside: bool = False, user: str = "") -> None:
        path = find_program(command[0])
        self._user = _user(user) if user else None
        self._path = path
        wait_read, self._go = os.pipe()
        self._failed, tell = os.pipe()  # exec closes it; what is written is the number of the error
        try:
            self.pid = os.fork()
        except OSError as e:
            for fd in (wait_read, self._go, self._failed, tell):
                os.close(fd)
            hints = ["the limit of processes is reached: ulimit -u, or the pids.max of the cgroup"]
            raise SessionError(f"cannot start {command[0]}: fork failed: {e.strerror}", hints=hints) from None
        if self.pid == 0:
            if aside:
                os.dup2(2, 1)
            self._become(path, command, wait_read, tell)
        os.close(wait_read)
        os.close(tell)
        self._pidfd = open_pidfd(self.pid)
        self._status: int | None = None

    def _become(self, path: str, command: tuple[str, ...], wait_read: int, tell: int) -> None:
        try:
            os.close(self._go)
            os.close(self._failed)
            signal.set_wakeup_fd(-1)
            for s in _CHANGED:
                if s in _PYTHONS or signal.getsignal(s) is not signal.SIG_IGN:  # nohup ignores for its commands too
                    signal.signal(s, signal.SIG_DFL)
            _end_with_parent()
            if self._user is not None:
                self._change_user(*self._user)
                _end_with_parent()  # forgotten with who one was; everything that it imports is there already
            if os.read(wait_read, 1):
                os.execv(path, command)  # noqa: S606 - the user's own command, split by us
        except OSError as e:
            os.write(tell, str(e.errno).encode())
        finally:
            os._exit(127)

    @staticmethod
    def _change_user(name: str, uid: int, gid: int, home: str) -> None:
        os.initgroups(name, gid)
        os.setgid(gid)
        os.setuid(uid)
        os.environ.update(USER=name, LOGNAME=name, HOME=home)

    def fileno(self) -> int:
        return self._pidfd

    def start(self, at_entry: Callable[[], None] | None = None) -> None:
        """Raises UsageError if the kernel cannot run the file. ``at_entry`` is called when its loader has mapped all
        libraries, and the program itself has not begun, where that can be done (hold.py)."""
        if at_entry is None:
            self._let_exec()
        else:
            from probescope.kernel.hold import run_to_entry

            self._status = run_to_entry(self.pid, self._let_exec, at_entry)
        failure = os.read(self._failed, 16)
        if failure:
            why = os.strerror(int(failure))
            raise UsageError(f"cannot start {self._path}: {why}", hints=["is it a program, or a script with #! ?"])

    def _let_exec(self) -> None:
        with suppress(BrokenPipeError):  # it was killed while it waited
            os.write(self._go, b"x")
        os.close(self._go)
        self._go = -1

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
        """Ends it if it never started or is still running, and forgets it: one that minds SIGTERM no more than a
        second, and one that may not be killed (it became another user's) not at all."""
        if self._go >= 0:
            os.close(self._go)  # it reads the end of the pipe and leaves
            self._go = -1
        # one that is stopped takes SIGTERM when it goes on
        if not self.ended() and self._kill(signal.SIGTERM) and self._kill(signal.SIGCONT):
            self._await()
            if not self.ended() and self._kill(signal.SIGKILL):
                _, self._status = os.waitpid(self.pid, 0)
        if self._failed >= 0:
            os.close(self._failed)
            self._failed = -1
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def _kill(self, number: int) -> bool:
        """Whether it took the signal."""
        try:
            os.kill(self.pid, number)
        except OSError:
            return False
        return True

    def _await(self) -> None:
        """Its end, or the end of our patience."""
        if self._pidfd >= 0:
            host().poll([self._pidfd], PATIENCE_MS)
            return
        until = time.monotonic() + PATIENCE_MS / 1000
        while not self.ended() and time.monotonic() < until:
            time.sleep(_LOOK_S)


def _user(name: str) -> tuple[str, int, int, str]:
    """(name, uid, gid, home). Raises UsageError."""
    import pwd

    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"there is no user {name!r}", hints=["getent passwd lists them"]) from None
    return found.pw_name, found.pw_uid, found.pw_gid, found.pw_dir


_PYTHONS = (signal.SIGPIPE, signal.SIGXFSZ)
_CHANGED = (*_PYTHONS, signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that Python ignores, and that we handle: a program expects to find them as they are by default."""


def _end_with_parent() -> None:
    """SIGTERM for us when the tracer is gone, however it went. The kernel means the thread that forked: only of the
    main one it is known that it lives as long as the session."""
    import threading

    if threading.current_thread() is threading.main_thread():
        with suppress(OSError, LimitError):
            host().syscall(number("prctl"), PR_SET_PDEATHSIG, signal.SIGTERM)


def children_seconds() -> tuple[float, float]:
    """User and system time of all children that have been waited for, with their own children's."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


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
