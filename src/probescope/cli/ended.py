"""SIGINT, SIGTERM and SIGHUP end a command as errors do: what it began is cleared away, temporary files with it.

A session of tracing minds them by itself, for as long as it runs (``kernel.signals``).
"""

from __future__ import annotations

import signal
from types import FrameType

asked: list[int] = []
"""Those that came. C code that imports something for itself (numpy does) takes any exception for an ImportError and
forgets what it was: who sees an error looks here whether it is one."""


def mind() -> None:
    """In the main thread. What is ignored stays so: nohup, and shells that start something in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _interrupt(number: int, frame: FrameType | None) -> None:
    asked.append(number)
    raise KeyboardInterrupt


def _end(number: int, frame: FrameType | None) -> None:
    """Once: a second one does not wait for anything."""
    asked.append(number)
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)
