"""Signs of life on stderr for what takes longer than a second: a line that rewrites itself, or one line for a log."""

from __future__ import annotations

import sys
import time

PATIENCE_S = 1.0
BETWEEN_S = 0.1


class Progress:
    """Call it as things get done. Nothing is shown in the first second; ``close`` wipes the line away."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = self._last = time.monotonic()
        self._shown = 0
        self._terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int, name: str) -> None:
        now = time.monotonic()
        if now - self._start < PATIENCE_S or (self._shown and now - self._last < BETWEEN_S):
            return
        self._last = now
        if self._terminal:
            line = f"{self._what}: {done} of {total}  {name}"[:79]
            sys.stderr.write("\r" + line.ljust(self._shown))
            self._shown = len(line)
        elif not self._shown and 2 * done < total:  # a log need not know what is as good as done
            sys.stderr.write(f"{self._what}: {done} of {total}...\n")
            self._shown = 1
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown and self._terminal:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
        self._shown = 0
