"""How long to wait before the rings are looked at again.

Few events: until the kernel wakes us, when enough is in a ring. Very many: for the time in which an eighth of a ring
comes, by the clock, so that there is room should the disk keep us waiting. Being woken costs the traced program: the
kernel does it from there, and on a busy machine it puts us on the CPU that the program runs on. A clock wakes us where
we were.
"""

from __future__ import annotations

import time

from probescope.collect.recorder.rings import Rings

_FASTEST = 1 << 31
"""Bytes a second that a CPU could put into its ring at most. Where a pause would be longer than a ring lasts then, we
wait for the kernel: it may become more at any moment."""


class Pace:
    """``size`` of a ring in bytes."""

    def __init__(self, size: int) -> None:
        self._size, self._share = size, size / 8
        self._longest = size / _FASTEST
        self._visit = time.monotonic()
        self._due = 0.0  # 0: when the kernel says so

    def visited(self, at: float, most: int) -> bool:
        """At that time the fullest ring had ``most`` bytes. What has come since, while they were written, counts as
        waited for. Whether it came so fast that the ring would be full within a second."""
        rate = most / max(at - self._visit, 1e-6)
        self._visit = at
        pause = self._share / rate if rate else self._longest
        self._due = at + pause if pause < self._longest else 0.0
        return rate > self._size

    def wait(self, rings: Rings, most: float) -> None:
        """At most ``most`` s."""
        if not self._due:
            rings.wait(int(most * 1000) + 1)
            return
        left = min(self._due - time.monotonic(), most)
        if left > 0:
            time.sleep(left)
