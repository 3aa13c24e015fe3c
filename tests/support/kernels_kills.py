"""Commands of probescope that trace functions, killed at any moment.

They are forks of the tests' process, the leaders of groups of their own: inside a virtual machine Python's own start
takes longer than all that comes after it, and moments before the command has begun show nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from probescope.errors import KernelError
from probescope.kernel import tracefs
from probescope.kernel.leftovers import PREFIX

MOST_SECONDS = 120


class Command:
    """``main`` with ``argv``, whose output nobody reads."""

    def __init__(self, main: Callable[[list[str]], int], argv: list[str]) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                nowhere = os.open(os.devnull, os.O_RDWR)
                for fd in range(3):
                    os.dup2(nowhere, fd)
                sys.stdout = sys.stderr = os.fdopen(nowhere, "w")
                main(argv)
            finally:
                os._exit(1)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.gone()

    def gone(self) -> None:
        """After it was killed. Raises AssertionError where it had ended by itself."""
        assert os.WIFSIGNALED(os.waitpid(self.pid, 0)[1]), "the command has ended"


def recording() -> bool:
    """Whether functions are recorded by now, in a buffer of ours or in the top one."""
    root = tracefs.find_root()
    for base in (root, *map(str, Path(root, "instances").glob(f"{PREFIX}*"))):
        with suppress(KernelError):  # it goes meanwhile
            if tracefs.read("current_tracer", base).strip() == "function_graph":
                return tracefs.read("tracing_on", base).strip() == "1"
    return False


def moments(start: Callable[[], Command], rounds: int) -> Iterator[tuple[int, Command]]:
    """Of each round its number, and its command, later each time, for who takes it to kill it: from nothing done to
    half as long again as it takes until functions are recorded. In the last round they are."""
    start_of_all = time.monotonic()
    first = start()
    _wait(recording)
    whole = time.monotonic() - start_of_all
    yield 0, first
    for turn in range(1, rounds):
        command = start()
        time.sleep(1.5 * whole * turn / rounds)  # the moment is the point of the test
        if turn == rounds - 1:
            _wait(recording)
        yield turn, command


def _wait(what: Callable[[], bool]) -> None:
    until = time.monotonic() + MOST_SECONDS
    while not what():
        assert time.monotonic() < until, "nothing is recorded"
        time.sleep(0.01)
