"""Runs the command as a user does: as a process of its own, looked at from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

COMMAND = [sys.executable, "-m", "probescope", "run"]
PATIENCE = 240.0
ATTACHED = re.compile(r"^Attached (\d+) probes?$", re.MULTILINE)


@dataclass(frozen=True)
class Done:
    out: str
    err: str
    code: int

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def said(self) -> str:
        """What is on stderr besides the line about attached probes."""
        return ATTACHED.sub("", self.err).strip()


def environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    return {**{k: v for k, v in os.environ.items() if not k.startswith("BPFTRACE_")}, "TZ": "UTC", **extra}


def run(program: str, *args: str, env: Mapping[str, str] = {}, stdin: str = "", timeout: float = PATIENCE) -> Done:
    """``probescope run ARGS -e PROGRAM``, to its end."""
    return command([*args, "-e", program], env=env, stdin=stdin, timeout=timeout)


def command(args: Sequence[str], *, env: Mapping[str, str] = {}, stdin: str = "", timeout: float = PATIENCE) -> Done:
    """``probescope run ARGS``, to its end."""
    done = subprocess.run(
        [*COMMAND, *args],
        capture_output=True,
        input=stdin,
        text=True,
        errors="surrogateescape",
        timeout=timeout,
        env=environment(env),
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.stdout, done.stderr, done.returncode)


class Stream:
    """Reads a pipe to its end in a thread, so that nothing is lost and nobody is blocked."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._data = b""
        self._ended = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while data := os.read(self._pipe.fileno(), 1 << 16):
            with self._news:
                self._data += data
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def until(self, pattern: re.Pattern[str], patience: float = PATIENCE) -> re.Match[str] | None:
        """Waits until the text so far matches; ``None`` if it ends before."""
        deadline = time.monotonic() + patience
        with self._news:
            while True:
                found = pattern.search(self.text)
                if found or self._ended:
                    return found
                if not self._news.wait(max(0.0, deadline - time.monotonic())):
                    raise AssertionError(f"waited in vain for {pattern.pattern!r}; there was {self.text!r}")

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "surrogateescape")

    def whole(self) -> str:
        """The text to its end, for which it waits."""
        self._thread.join(PATIENCE)
        self._pipe.close()
        return self.text


class Running:
    """A session in a process of its own. Entering waits until its probes are attached; leaving ends it."""

    def __init__(self, program: str, *args: str, env: Mapping[str, str] = {}) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *args, "-e", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(env),
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.out, self.err = Stream(self.process.stdout), Stream(self.process.stderr)

    def __enter__(self) -> Self:
        try:
            attached = self.err.until(ATTACHED)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        assert attached, f"it did not attach: {self.err.text}{self.out.text}"
        return self

    def stop(self, number: int = signal.SIGINT) -> Done:
        """Sends a signal and waits for the end."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self, timeout: float = PATIENCE) -> Done:
        self.process.wait(timeout)
        out, err = self.out.whole(), self.err.whole()
        assert "Traceback" not in err, err
        return Done(out, err, self.process.returncode)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.out.whole()
        self.err.whole()


class Waiting:
    """A program of ours that has started and waits for ``go`` before it does its work; with ``stay`` it lives on after
    that."""

    def __init__(self, path: str, *args: str, stay: bool = False) -> None:
        self.process = subprocess.Popen(
            [path, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "WAIT": "1", **({"STAY": "1"} if stay else {})},
        )
        self.pid = self.process.pid
        self._stay = stay
        assert self.process.stderr is not None
        self._err = Stream(self.process.stderr)
        assert self._err.until(re.compile(r"ready \d+\n"))

    def go(self) -> None:
        """Lets it do its work; returns when it has ended, or, if it is to stay, when the work is done."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        if self._stay:
            assert self._err.until(re.compile("done\n"))
        else:
            self.process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def until(condition: object, what: str, patience: float = 20.0) -> None:
    """Waits for a callable to become true; fails with ``what`` if it does not."""
    deadline = time.monotonic() + patience
    assert callable(condition)
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
