"""Screens (textual) that are stopped and go on: the shell and the screen share the settings of one terminal.

Ctrl-Z comes to the screen's driver as SIGTSTP: it leaves the terminal first, and enters it again at SIGCONT. SIGSTOP
comes to nobody, so at the SIGCONT after it the terminal was never left: to enter it once more would start a second
reader of the keyboard, and of two readers one waits for ever when the other one has taken the key that ends both.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


def survives_stops(repaint: Callable[[], object]) -> None:
    """To be called in the main thread once the driver has set its handlers. ``repaint`` is called after SIGSTOP and
    SIGCONT, as a signal handler is."""
    leave, enter = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if not callable(leave) or not callable(enter):
        return
    left = False

    def stops(number: int, frame: FrameType | None) -> None:
        nonlocal left
        left = True
        leave(number, frame)

    def goes_on(number: int, frame: FrameType | None) -> None:
        nonlocal left
        if left:
            left = False
            enter(number, frame)
        else:
            repaint()

    signal.signal(signal.SIGTSTP, stops)
    signal.signal(signal.SIGCONT, goes_on)
