"""Summaries for terminals: sparklines, histograms, and tables of a store made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from store_fakes import ENTER, IRQ_ENTRY, IRQ_EXIT, LEAVE, Event, Fake, switch, wake

from probescope.model.recording import LostEvents, SideRecord
from probescope.store.build.builder import Builder
from probescope.store.parts import Part
from probescope.store.session import Stores
from probescope.views.summaries.drawing import bar, histogram, spark, spread
from probescope.views.summaries.kinds import KINDS
from probescope.views.summaries.said import Window, lacking, losses, whole

MS = 1_000_000


def test_sparklines() -> None:
    """The highest is full, zero is blank, and what is not zero can be seen."""
    assert spark([0, 1, 4, 8]) == " ▁▄█"
    assert spark([0.001, 1000]) == "▁█"
    assert spark([0, 0]) == "  "
    assert spark([]) == ""
    assert spread({1: 5, 9: 7}, 3) == [0, 5, 0]


def test_bars() -> None:
    assert bar(1, 2, 4) == "██  "
    assert bar(1, 1000, 4) == "▏   "
    assert bar(0, 5, 4) == "    "
    assert bar(5, 5, 4) == "████"


def test_histograms_show_empty_buckets_between() -> None:
    lines = list(histogram({10: 4, 12: 2}))
    assert [line.split("|")[0].split() for line in lines] == [
        ["1.02", "us", "-", "2.05", "us", "4"],
        ["2.05", "us", "-", "4.10", "us", "0"],
        ["4.10", "us", "-", "8.19", "us", "2"],
    ]
    assert list(histogram({})) == []


#  cpu 0:  1 [7 .. 2 asleep] idle [woken at 2.5; 7 from 3 .. 4 preempted] 8 [.. 6] 7 [.. 7 asleep]
EVENTS: list[Event | SideRecord] = [
    switch(1 * MS, 0, 0, 0, 7),
    switch(2 * MS, 0, 7, 1, 0),
    wake(2 * MS + 500_000, 1, 9, 7),
    switch(3 * MS, 0, 0, 0, 7),
    Event(3 * MS + 100, 0, 7, ENTER, {"id": 0, "args": [0] * 6}),
    Event(3 * MS + 300, 0, 7, LEAVE, {"id": 0, "ret": -2}),
    Event(3 * MS + 400, 0, 7, IRQ_ENTRY, {"irq": 5, "name": "eth0"}),
    Event(3 * MS + 900, 0, 7, IRQ_EXIT, {"irq": 5, "ret": 1}),
    switch(4 * MS, 0, 7, 0x100, 8),
    LostEvents(time=5 * MS, cpu=1, count=3),
    switch(6 * MS, 0, 8, 1, 7),
    switch(7 * MS, 0, 7, 1, 0),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Stores]:
    path = tmp_path / "made.duckdb"
    with duckdb.connect(str(path)) as db:
        Builder(Fake([EVENTS]), db, lambda *_: None).build()  # type: ignore[arg-type]
    with Stores([Part(str(path), 0)]) as found:
        yield found


def data(store: Stores, kind: str, window: Window | None = None, most: int = 40) -> list[dict[str, object]]:
    return [s.data for s in KINDS[kind].say(store, window or whole(store), most) if s.data is not None]


def test_sched(store: Stores) -> None:
    """Waits after wake-ups stand apart from those after preemptions. As for perf, that 7 runs first, nobody knows since
    when it waited, is a wait of no length."""
    row = next(r for r in data(store, "sched") if r["type"] == "task" and r["tid"] == 7)
    assert (row["switches"], row["avg_delay_ms"], row["max_delay_ms"]) == (2, 0.25, 0.5)
    assert (row["preempted"], row["preempted_ms"], row["runtime_ms"]) == (1, 2.0, 3.0)
    assert row["max_start_ns"] == 2 * MS + 500_000


def test_timehist(store: Stores) -> None:
    rows = [(r["tid"], r["ts"], r["wait_ns"], r["delay_ns"], r["run_ns"]) for r in data(store, "timehist", most=0)]
    assert rows == [
        (7, 2 * MS, None, None, MS),
        (7, 4 * MS, MS, 500_000, MS),
        (8, 6 * MS, None, None, 2 * MS),
        (7, 7 * MS, 2 * MS, None, MS),
    ]
    assert len(data(store, "timehist", most=2)) == 2


def test_syscalls_and_interrupts(store: Stores) -> None:
    row = data(store, "syscalls")[0]
    assert (row["name"], row["calls"], row["errors"], row["total_ms"]) == ("read", 1, 1, 200 / MS)
    row = data(store, "irq")[0]
    assert (row["name"], row["number"], row["cpu"], row["count"], row["max_ms"]) == ("eth0", 5, 0, 1, 500 / MS)


def test_latency(store: Stores) -> None:
    """0.5 ms lies in [2**18, 2**19) ns, 2 ms in [2**20, 2**21)."""
    found = data(store, "latency")
    assert found[0]["waits"] == 2
    assert found[0]["buckets"] == [
        {"low_ns": 1 << 18, "high_ns": 1 << 19, "waits": 1},
        {"low_ns": 1 << 20, "high_ns": 1 << 21, "waits": 1},
    ]
    assert (found[1]["tid"], found[1]["max_ns"]) == (7, 2 * MS)


def test_a_piece_of_time(store: Stores) -> None:
    """What ended in it counts."""
    assert [r["ts"] for r in data(store, "timehist", Window(4 * MS, 6 * MS), 0)] == [4 * MS, 6 * MS]
    assert data(store, "syscalls", Window(4 * MS, 7 * MS)) == []


def test_losses_and_needs(store: Stores) -> None:
    assert next(s.text for s in losses(store)).startswith("ERROR: 3 times: events were lost")
    assert lacking(["a:x|b:*"], ["b:y"]) == []
    assert lacking(["a:x|b:*", "c:z"], ["a:y"]) == ["a:x|b:*", "c:z"]
