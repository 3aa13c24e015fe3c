"""A process of ours whose output is read by this one: interrupted, waited for, and never left behind."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Sequence
from typing import IO

PATIENCE_S = 10.0
"""That it has to end after SIGINT, before SIGKILL."""


class Piped:
    """``out``: what it prints, a pipe; should this process die, it has nobody to write to. What it says to people is
    kept (``said``). In a session of its own, so that keys of the terminal reach this process alone. Raises OSError."""

    def __init__(self, command: Sequence[str]) -> None:
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 - closed in the end
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._told,
                start_new_session=True,
            )
        except OSError:
            self._told.close()
            raise
        assert self._process.stdout is not None
        self.out: IO[bytes] = self._process.stdout

    def said(self, most: int) -> str:
        """The first ``most`` bytes of what it said."""
        self._told.seek(0)
        return self._told.read(most).decode("utf-8", "replace")

    def interrupt(self) -> None:
        """Asks it to end. From any thread."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """``out`` stays its reader's to close."""
        self.interrupt()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._told.close()
