"""Intervals keep their time: no drift, and what was missed is not made up for."""

from __future__ import annotations

import pytest

from probescope.collect import timers
from probescope.collect.timers import Timers
from probescope.model.plan import UserRun

MS = 1_000_000


class Clock:
    """CLOCK_MONOTONIC, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 5 * MS
        monkeypatch.setattr(timers.time, "monotonic_ns", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def started(*periods_ms: int) -> Timers:
    made = Timers([UserRun(i, i, "interval", p * MS) for i, p in enumerate(periods_ms)])
    made.start()
    return made


def due(t: Timers) -> list[int]:
    return [s.clause for s in t.due()]


def test_collect_timers_fire_on_their_deadlines(clock: Clock) -> None:
    t = started(10, 25)
    assert due(t) == []
    assert t.wait_ms(1000) == 10
    fired = []
    for _ in range(50):
        clock.now += MS
        fired += [(clock.now // MS - 5, c) for c in due(t)]
    assert fired == [(10, 0), (20, 0), (25, 1), (30, 0), (40, 0), (50, 0), (50, 1)]


def test_collect_timers_do_not_drift_when_looked_at_late(clock: Clock) -> None:
    """Looked at 3 ms late, the next deadline is still a multiple of the period."""
    t = started(10)
    clock.now += 13 * MS
    assert due(t) == [0]
    assert t.wait_ms(1000) == 7


def test_collect_missed_intervals_are_not_made_up_for(clock: Clock) -> None:
    """A machine that slept for ten periods: one firing, then the usual rhythm."""
    t = started(10)
    clock.now += 105 * MS
    assert due(t) == [0]
    assert due(t) == []
    assert t.wait_ms(1000) == 5


def test_collect_timers_are_waited_for_no_longer_than_asked(clock: Clock) -> None:
    """Rounded up to whole milliseconds, so that nobody looks a little too early again and again."""
    t = started(10)
    assert t.wait_ms(3) == 3
    clock.now += 9 * MS + 1
    assert t.wait_ms(1000) == 1
    clock.now += 5 * MS
    assert t.wait_ms(1000) == 0
    assert Timers([]).wait_ms(77) == 77
