"""When tracing pauses, and when it ends: by a clock of our own."""

from __future__ import annotations

import pytest

from probescope.collect.ftrace import guard as module
from probescope.collect.ftrace.guard import Guard, Limits


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    def goes(seconds):
        now[0] += seconds

    return goes


def guarded(**limits):
    switched: list[bool] = []
    said: list[str] = []
    return Guard(switched.append, said.append, Limits(**limits)), switched, said


def test_a_rate_that_is_borne_goes_on(clock):
    guard, switched, said = guarded(events_per_second=1000)
    for _ in range(100):
        clock(0.1)
        guard.look(90, 0.0)
    assert (switched, said, guard.gave_up) == ([], [], False)


def test_too_many_events_are_a_pause_and_longer_each_time(clock):
    guard, switched, said = guarded(events_per_second=1000, pause_s=1, most_pauses=2)
    clock(0.1)
    guard.look(200, 0.0)
    assert switched == [False]
    assert said == ["2,000 events a second: tracing pauses for 1 s"]
    clock(0.9)
    guard.look(500, 0.0)  # what was in the buffers
    assert switched == [False]
    clock(0.2)
    guard.look(0, 0.0)
    assert switched == [False, True]
    clock(0.1)
    guard.look(200, 0.0)
    assert said[-1].endswith("pauses for 2 s")
    clock(2.1)
    guard.look(0, 0.0)
    clock(0.1)
    guard.look(200, 0.0)
    assert (guard.gave_up, switched[-1]) == (True, False)
    assert "ends here" in said[-1]


def test_a_machine_that_answers_late(clock):
    guard, switched, said = guarded(late_s=0.5)
    clock(0.1)
    guard.look(1, 0.6)
    assert switched == [False]
    assert said == ["the machine answers 0.6 s late: tracing pauses for 0.5 s"]


def test_more_than_can_be_read_for_long(clock):
    guard, switched, _ = guarded(behind_s=1.0)
    for _ in range(9):
        clock(0.1)
        guard.look(10, 0.0, behind=True)
    clock(0.1)
    guard.look(10, 0.0)  # it caught up
    for _ in range(9):
        clock(0.1)
        guard.look(10, 0.0, behind=True)
    assert switched == []
    for _ in range(2):
        clock(0.1)
        guard.look(10, 0.0, behind=True)
    assert switched == [False]


def test_the_first_looks_are_a_taste(clock):
    guard, _, _ = guarded()
    tastes = []
    for _ in range(8):
        clock(0.01)
        guard.look(0, 0.0)
        tastes.append(guard.tasted)
    assert tastes == [False] * 5 + [True] * 3
