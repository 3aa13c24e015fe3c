"""Screens (textual) that are stopped and go on: the shell and the screen share the settings of one terminal.

Ctrl-Z comes to the screen's driver as SIGTSTP: it leaves the terminal first, and enters it again at SIGCONT. SIGSTOP
comes to nobody, so at the SIGCONT after it the terminal was never left: to enter it once more would start a second
reader of the keyboard, and of two readers one waits for ever when the other one has taken the key that ends both.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

Handler = Callable[[int, FrameType | None], Any]


def survives_stops(screen: App[Any]) -> None:
    """To be called when the screen is mounted: the driver has set its handlers by then."""
    import asyncio

    loop = asyncio.get_running_loop()
    leave, enter = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if screen.is_headless or not callable(leave) or not callable(enter):
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
            loop.call_soon_threadsafe(lambda: screen.refresh(layout=True))

    signal.signal(signal.SIGTSTP, stops)
    signal.signal(signal.SIGCONT, goes_on)
