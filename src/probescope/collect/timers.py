"""Clauses that fire by time in user space: deadlines on CLOCK_MONOTONIC, kept without drift; missed ones are not made
up for."""

from __future__ import annotations

import time

from probescope.model.plan import UserRun


class Timers:
    def __init__(self, steps: list[UserRun]) -> None:
        self._steps = steps
        self._next: list[int] = []

    def start(self) -> None:
        now = time.monotonic_ns()
        self._next = [now + s.period_ns for s in self._steps]

    def wait_ms(self, most: int) -> int:
        """Milliseconds until the next deadline, rounded up, at most ``most``."""
        if not self._next:
            return most
        return max(0, min(most, (min(self._next) - time.monotonic_ns() + 999_999) // 1_000_000))

    def due(self) -> list[UserRun]:
        """Steps whose time has come, the earliest first."""
        now = time.monotonic_ns()
        hits = sorted((at, i) for i, at in enumerate(self._next) if at <= now)
        for at, i in hits:
            period = self._steps[i].period_ns
            self._next[i] = at + period * max(1, (now - at) // period + 1)
        return [self._steps[i] for _, i in hits]
