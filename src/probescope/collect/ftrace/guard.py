"""Watches how much a tracer costs the machine, and backs off before it freezes.

Tracing begins with a short taste. When more events come than ``Limits`` allows, or our own looks come late because the
machine is busy, tracing is switched off for a while, longer each time; when it does not help, for good.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from probescope.frozen import dataclass

_TASTES = 5
_LEAST_S = 0.01


@dataclass(frozen=True, slots=True)
class Limits:
    """``events_per_second`` of all CPUs; ``late_s``: how much later than asked a look may come; ``behind_s``: how long
    more may come than is read, where that is minded; ``pause_s``: of the first pause; ``most_pauses``: after so many
    it ends."""

    events_per_second: int = 1_000_000
    late_s: float = 0.5
    behind_s: float = 1.0
    pause_s: float = 0.5
    most_pauses: int = 6


class Guard:
    """``look`` is called after each look at the buffers. ``switch(on)`` switches tracing, ``say`` tells people, once a
    pause."""

    def __init__(self, switch: Callable[[bool], None], say: Callable[[str], None], limits: Limits) -> None:
        self._switch, self._say, self.limits = switch, say, limits
        self._since = self._kept_up = time.monotonic()
        self._events = 0
        self._resume = 0.0
        self._looks = 0
        self.pauses = 0
        self.gave_up = False

    @property
    def tasted(self) -> bool:
        """Whether the first looks, which come soon after each other, are over."""
        return self._looks > _TASTES

    def look(self, events: int, late_s: float, *, behind: bool = False) -> None:
        """``events`` since the last look; ``late_s``: how much later than asked this one came; ``behind``: there was
        more than it took, and that is minded."""
        now = time.monotonic()
        self._looks += 1
        if self._resume:
            if now >= self._resume:
                self._resume, self._since, self._events, self._kept_up = 0.0, now, 0, now
                self._switch(True)
            return
        self._events += events
        if not behind:
            self._kept_up = now
        spent = max(now - self._since, _LEAST_S)
        why = self._why(self._events / spent, late_s, now - self._kept_up)
        if why:
            self._pause(now, why)
        elif spent > 1:
            self._since, self._events = now, 0

    def _why(self, rate: float, late_s: float, behind_s: float) -> str:
        """It is too much; empty if it is not."""
        if late_s > self.limits.late_s:
            return f"the machine answers {late_s:.1f} s late"
        if rate > self.limits.events_per_second:
            return f"{rate:,.0f} events a second"
        if behind_s > self.limits.behind_s:
            return "more events come than can be read"
        return ""

    def _pause(self, now: float, why: str) -> None:
        self._switch(False)
        self.pauses += 1
        if self.pauses > self.limits.most_pauses:
            self.gave_up = True
            self._say(f"{why}: tracing ends here, so as not to freeze the machine; name functions to trace fewer")
            return
        pause = self.limits.pause_s * 2 ** (self.pauses - 1)
        self._say(f"{why}: tracing pauses for {pause:g} s")
        self._resume = now + pause
