"""Watches how much a tracer costs the machine, and backs off before it freezes.

Tracing begins with a short taste. When more events come than ``Limits`` allows, or our own looks come late because the
machine is busy, tracing is switched off for a while, longer each time; when it does not help, for good.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """``events_per_second`` of all CPUs; ``late_s``: how much later than asked a look may come; ``pause_s``: of the
    first pause; ``most_pauses``: after so many it ends."""

    events_per_second: int = 1_000_000
    late_s: float = 0.5
    pause_s: float = 0.5
    most_pauses: int = 6


class Guard:
    """``look`` is called after each look at the buffers. ``switch(on)`` switches tracing, ``say`` tells people, once a
    pause."""

    def __init__(self, switch: Callable[[bool], None], say: Callable[[str], None], limits: Limits) -> None:
        self._switch, self._say, self.limits = switch, say, limits
        self._since = time.monotonic()
        self._events = 0
        self._resume = 0.0
        self.pauses = 0
        self.gave_up = False

    def look(self, events: int, late_s: float) -> None:
        """``events`` since the last look; ``late_s``: how much later than asked this one came."""
        now = time.monotonic()
        if self._resume:
            if now >= self._resume:
                self._resume, self._since, self._events = 0.0, now, 0
                self._switch(True)
            return
        self._events += events
        spent = max(now - self._since, 0.05)
        rate = self._events / spent
        if rate > self.limits.events_per_second or late_s > self.limits.late_s:
            self._pause(now, rate, late_s)
        elif spent > 1:
            self._since, self._events = now, 0

    def _pause(self, now: float, rate: float, late_s: float) -> None:
        self._switch(False)
        self.pauses += 1
        why = (
            f"{rate:,.0f} events a second"
            if late_s <= self.limits.late_s
            else f"the machine answers {late_s:.1f} s late"
        )
        if self.pauses > self.limits.most_pauses:
            self.gave_up = True
            self._say(f"{why}: tracing ends here, so as not to freeze the machine; name functions to trace fewer")
            return
        pause = self.limits.pause_s * 2 ** (self.pauses - 1)
        self._say(f"{why}: tracing pauses for {pause:g} s")
        self._resume = now + pause
