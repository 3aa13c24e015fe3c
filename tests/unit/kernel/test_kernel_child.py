"""The command of ``-c``: however it behaves, a session can leave it; it finds signals as a shell would give them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probescope.errors import SessionError, UsageError
from probescope.kernel import child as child_module
from probescope.kernel.child import Child
from probescope.kernel.watch import Watch

LIMIT_S = 20.0


@contextmanager
def started(*command: str) -> Iterator[Child]:
    c = Child(command)
    try:
        c.start()
        yield c
    finally:
        began = time.monotonic()
        c.close()
        assert time.monotonic() - began < LIMIT_S
        assert c.ended()


def wait_for(path: Path) -> None:
    until = time.monotonic() + LIMIT_S
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.005)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_command_that_minds_no_sigterm_is_killed(tmp_path: Path) -> None:
    """It has a second to end; then the session does not wait for it any longer."""
    ready = tmp_path / "ready"
    with started("/bin/sh", "-c", f"trap '' TERM; : > {ready}; while :; do sleep 0.1; done") as c:
        wait_for(ready)
    assert c.exit_code() == 128 + signal.SIGKILL


def test_a_command_that_is_stopped_ends_by_sigterm() -> None:
    """SIGTERM is not taken by a stopped process until it goes on."""
    with started("/bin/sleep", "1000") as c:
        os.kill(c.pid, signal.SIGSTOP)
        until = time.monotonic() + LIMIT_S
        while state(c.pid) != "T":
            assert time.monotonic() < until
            time.sleep(0.005)
    assert c.exit_code() == 128 + signal.SIGTERM


def test_a_command_that_may_not_be_killed_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that changed its user is not ours to kill: no error, no waiting."""
    c = Child(("/bin/sleep", "1000"))
    c.start()

    def refused(pid: int, number: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as m:
        m.setattr(child_module.os, "kill", refused)
        m.setattr(Child, "_await", lambda _: pytest.fail("it waits for one that was not asked to end"))
        c.close()
    assert not c.ended()
    os.kill(c.pid, signal.SIGKILL)
    os.waitpid(c.pid, 0)


def test_no_process_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """``ulimit -u``: an error that names the limit, and no descriptor is left."""

    def full() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(child_module.os, "fork", full)
    with pytest.raises(SessionError, match="fork failed") as e:
        Child(("/bin/true",))
    assert "ulimit -u" in e.value.hints[0]
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_without_pidfds(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Linux before 5.3, and containers that filter system calls: the end of a command, and of another process, is seen
    by asking."""

    def none(pid: int, flags: int = 0) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "pidfd_open", none)
    with started("/bin/sleep", "1000") as c:
        assert c.fileno() == -1
        w = Watch(c.pid)
        assert w.fileno() == -1
        assert not w.ended()
    assert c.exit_code() == 128 + signal.SIGTERM
    assert w.ended()
    with pytest.raises(UsageError, match="there is no process 4194304"):
        Watch(1 << 22)


_RUN = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
{before}
from probescope.kernel.child import Child
c = Child(("/bin/grep", "SigIgn", "/proc/self/status"))
c.start()
os.waitpid(c.pid, 0)
"""


@pytest.mark.parametrize(
    ("before", "ignored"),
    [
        ("", 0),
        ("signal.signal(signal.SIGHUP, signal.SIG_IGN)", 1 << (signal.SIGHUP - 1)),
        ("signal.signal(signal.SIGHUP, lambda *_: None)", 0),
    ],
)
def test_signals_are_as_a_program_expects_them(before: str, ignored: int) -> None:
    """Python ignores SIGPIPE and SIGXFSZ, and a program that inherits that does not end when it should; what nohup
    ignores stays ignored. The kernel's own word for what the program finds: bit n - 1 of SigIgn is signal n. What else
    is ignored by whoever runs the tests (a shell does, for background jobs) is no matter."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN.format(before=before)], capture_output=True, text=True, check=True
    )
    ours = sum(1 << (n - 1) for n in (signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ))
    assert int(done.stdout.split()[1], 16) & ours == ignored
