"""A limit of time for code of others that runs in this process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class TooLong(Exception):
    """It was given up."""


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """Raises ``TooLong`` inside of the block after so many seconds of CPU time: setitimer(2), ITIMER_VIRTUAL. Without
    effect in another thread than the main one, which alone gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(_number: int, _frame: FrameType | None) -> None:
        raise TooLong(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
