"""Time off the CPU. Times are chosen so that sums can be seen: 10, 200, 3000 ns."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from probescope.collect.recorded.symbols import Frame
from probescope.collect.recorded.told import ToldBatch
from probescope.errors import UsageError
from probescope.model.recording import EventBatch, EventType, RawField
from probescope.views.flame.stacks import folded
from probescope.views.flame.waits import Waits, switch_event

SWITCH = EventType(
    "sched:sched_switch", fields=(RawField("next_pid", "pid_t", 56, 4, True),), sampled=frozenset({"callchain"})
)
MAIN = Frame(2, "main", 0, "prog")
FRAMES = [(Frame(1, name, 0, "prog"), MAIN) for name in ("read", "poll", "idle")]


def told(*events: EventType) -> SimpleNamespace:
    return SimpleNamespace(
        recording=SimpleNamespace(events=events),
        tasks=SimpleNamespace(names=["swapper", "sh", "cat"]),
        stacks=SimpleNamespace(chains=[(0, (address,)) for address in range(len(FRAMES))]),
        along=lambda _, addresses: FRAMES[addresses[0]],
    )


def batch(*rows: tuple[int, int, int, int]) -> tuple[ToldBatch, np.ndarray]:
    """(time, thread that goes, its stack, thread that comes); thread n is called names[n]."""
    time, going, stack, coming = (np.array(c) for c in zip(*rows, strict=True))
    count = len(time)
    events = EventBatch(
        count, np.zeros(count, np.int32), time.astype(np.uint64), np.zeros(count, np.int32), going.astype(np.int32),
        going.astype(np.int32), np.ones(count, np.uint64),
    )  # fmt: skip
    return ToldBatch(events, going.astype(np.int32), np.zeros(count, np.int32), stack.astype(np.int32)), coming


def waited(*batches: tuple[ToldBatch, np.ndarray], keep: np.ndarray | None = None) -> list[str]:
    coming = {id(b): c for b, c in batches}
    waits = Waits(told(SWITCH), 0, (0, 0), lambda t, which: coming[id(t)][which])  # type: ignore[arg-type]
    for b, _ in batches:
        waits.add(b, keep)
    assert waits.samples.unit == "ns"
    return list(folded(waits.samples))


def test_waits_by_the_stack_they_began_with() -> None:
    """Thread 1 waits in read for 10 and in poll for 200, thread 2 in read for 90; what is idle is nobody's wait."""
    rows = [(100, 1, 0, 0), (110, 0, 2, 1), (120, 1, 1, 2), (230, 2, 0, 0), (320, 0, 2, 1), (320, 1, 1, 2)]
    assert waited(batch(*rows)) == ["cat;main;read 90", "sh;main;poll 200", "sh;main;read 10"]


def test_across_batches() -> None:
    first, second = [(100, 1, 0, 0)], [(3100, 0, 2, 1)]
    assert waited(batch(*first), batch(*second)) == ["sh;main;read 3000"]


def test_neither_begin_nor_end_is_guessed() -> None:
    """Thread 2 comes without having gone; thread 1 goes for good."""
    assert waited(batch((100, 0, 2, 2), (200, 1, 0, 0))) == []


def test_only_some_threads() -> None:
    """A filter is about who waits, not about who comes back."""
    rows = [(100, 1, 0, 2), (110, 2, 1, 1), (150, 1, 0, 2)]
    assert waited(batch(*rows), keep=np.array([1])) == ["cat;main;poll 40"]


def test_what_is_needed() -> None:
    assert switch_event(told(EventType("cycles"), SWITCH)) == 1  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no stacks"):
        switch_event(told(EventType(SWITCH.name, fields=SWITCH.fields)))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="leave the CPU"):
        switch_event(told(EventType("cycles")))  # type: ignore[arg-type]
