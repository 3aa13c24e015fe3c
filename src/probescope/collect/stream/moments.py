"""The time of a recording, for clauses that probescope fires: ``begin`` is at its first event, ``end`` at its last, and
intervals are in between, as often as they would have been."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from probescope.collect.event import OwnEvent
from probescope.model.plan import UserRun

MOST_IN_ROW = 10_000
"""Intervals between two events that are run; what goes beyond is left out and counted: events may be years apart."""


class RecordedMoment(OwnEvent):
    """Probescope's own event, at a time of the recording."""

    def __init__(self, site: int, now_ns: int, start_ns: int) -> None:
        super().__init__(site, 0, 0)
        self._now, self._start = now_ns, start_ns

    def context(self, name: str, arg: str) -> Any:
        if name == "nsecs":
            return self._now
        if name == "elapsed":
            return max(0, self._now - self._start)
        return super().context(name, arg)


class Deadlines:
    """``left_out``: intervals that were not run."""

    def __init__(self, steps: Sequence[UserRun]) -> None:
        self._steps = steps
        self._next: list[int] = []
        self._in_row = 0
        self.left_out = 0

    def start(self, now_ns: int) -> None:
        self._next = [now_ns + s.period_ns for s in self._steps]

    def next_ns(self) -> int:
        """When the next interval is due; beyond all times if there is none."""
        return min(self._next, default=1 << 64)

    def events(self) -> None:
        """There were events since the last interval."""
        self._in_row = 0

    def due(self, now_ns: int) -> Iterator[tuple[UserRun, int]]:
        """Intervals due until ``now_ns`` at the earliest deadline, each with its time, in order of the script."""
        at = self.next_ns()
        if at > now_ns:
            return
        hits = [i for i, one in enumerate(self._next) if one == at]
        for i in hits:
            self._next[i] += self._steps[i].period_ns
        self._in_row += 1
        if self._in_row > MOST_IN_ROW:
            self._skip(now_ns)
            return
        for i in hits:
            yield self._steps[i], at

    def _skip(self, now_ns: int) -> None:
        self.left_out += 1
        for i, step in enumerate(self._steps):
            behind = max(0, now_ns - self._next[i] + step.period_ns) // step.period_ns
            self.left_out += behind
            self._next[i] += behind * step.period_ns
