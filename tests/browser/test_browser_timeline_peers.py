"""What KernelShark and Perfetto show of recordings, too: events of CPUs and threads where nothing else is known of
them, numbers of events, values below 0, and of a thread that gets a CPU no more than what is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_timeline import Timeline, built, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MS = 1e6


def shown(browser: Browser, folder: Path, lines: list[str], check) -> None:  # type: ignore[no-untyped-def]
    """``check`` gets the page of a text of ftrace's."""
    built()
    path = folder / "made.txt"
    path.write_text("\n".join(["# tracer: nop", *lines]) + "\n")
    with served(folder, path) as url:
        timeline = Timeline(browser, url.partition("?")[0])
        try:
            timeline.open(url)
            check(timeline)
        finally:
            timeline.close()
    assert timeline.wrong == []


def test_without_scheduling_cpus_and_threads_have_their_events(browser: Browser, tmp_path: Path) -> None:
    """In turns, at 0 and then each 10 ms from 13 on: bash on CPU 0, cat on CPU 3. Their strips are open at once, hold
    their own events only, and are gone through event by event."""
    who = ("bash-100 [000]", "cat-200 [003]")
    times = [100, *(100.003 + i / 100 for i in range(1, 10))]
    lines = [f" {who[i % 2]} ..... {t:.6f}: clk_enable: a={i}" for i, t in enumerate(times)]

    def check(timeline: Timeline) -> None:
        timeline.look(0, 90 * MS)
        rows = timeline.page.evaluate("probescope.app.ui.get().rows.map(r => r.track?.id)")
        assert [r for r in rows if r.startswith(("cpu:", "event:0:c"))] == [
            "cpu:0:0",
            "event:0:c0",
            "cpu:0:3",
            "event:0:c3",
        ]
        threads = [r for r in rows if r.startswith("event:0:t")]
        assert len(threads) == 2
        near = [k * 0.05 * MS for k in range(-4, 5)]  # a pixel is 0.1 ms, an event as wide as one

        def there(track: str) -> list[int]:
            ground = timeline.colour(track, 85 * MS, 0)
            at = {i: (i * 10 + 3) * MS for i in range(1, 8)}
            return [i for i, t in at.items() if any(timeline.colour(track, t + n, 0) != ground for n in near)]

        assert [there(t) for t in ("event:0:c0", "event:0:c3", *threads)] == [[2, 4, 6], [1, 3, 5, 7]] * 2
        fits = 'text ~ "a=[3-6]"'
        timeline.page.evaluate("f => probescope.app.state.set({filter: f})", fits)
        timeline.until("probescope.app.tiles.filter", fits)
        timeline.settle()
        assert [there(t) for t in ("event:0:c0", "event:0:c3", *threads)] == [[4, 6], [3, 5]] * 2
        timeline.page.evaluate("probescope.app.state.set({filter: ''})")
        timeline.page.mouse.click(*timeline.place("event:0:c3", 5 * MS))
        times = []
        for _ in range(3):
            before = timeline.state("picked?.start")
            timeline.page.keyboard.press(".")
            timeline.until(f"(probescope.app.state.get().picked?.start ?? null) !== {before or 'null'}")
            times.append(timeline.state("picked.start"))
        assert times == pytest.approx([13 * MS, 33 * MS, 53 * MS])
        timeline.page.click("#tab-details")
        timeline.page.wait_for_selector("[data-testid=detail-title]:has-text('clk_enable')")

    shown(browser, tmp_path, lines, check)


def test_events_have_their_numbers_with_a_filter_too(browser: Browser, tmp_path: Path) -> None:
    """From 0 on, as in KernelShark's first column and in SQL; and a long name of an event is readable."""
    name = "thermal_power_actor_cpu_get_dyn_power"
    lines = [f" bash-100 [000] ..... 100.0000{i}0: {('clk_enable', name)[i % 2]}: a={i}" for i in range(6)]

    def check(timeline: Timeline) -> None:
        rows = timeline.page.locator(".event-list .event-row")
        numbers = "[...document.querySelectorAll('.event-list .event-row')].map(r => r.children[0].textContent).join()"
        timeline.until(numbers, "0,1,2,3,4,5")
        kind = rows.nth(1).locator("> span").nth(5)
        assert kind.inner_text().endswith(name)
        assert kind.evaluate("e => e.scrollWidth <= e.clientWidth")
        timeline.page.evaluate("probescope.app.state.set({filter: 'event ~ \"*clk_enable\"'})")
        timeline.until(numbers, "0,2,4")

    shown(browser, tmp_path, lines, check)


def test_values_below_zero_stay_in_their_row(browser: Browser, tmp_path: Path) -> None:
    """CPU 0 leaves idling (-1) at 20 ms, CPU 1 idles in state 0 then: its row shows nothing, the one of CPU 0 an area
    below its zero."""
    lines = [
        f" <idle>-0 [{cpu:03}] d.... {100 + ms / 1000:.6f}: cpu_idle: state={state} cpu_id={cpu}"
        for ms, cpu, state in (
            (0, 0, 1),
            (0, 1, 1),
            (20, 0, 4294967295),
            (20, 1, 0),
            (60, 0, 1),
            (60, 1, 1),
            (80, 0, 0),
        )
    ]

    def check(timeline: Timeline) -> None:
        timeline.look(0, 80 * MS)
        first, second = (f"counter:0:{i}" for i in (0, 1))
        beyond = [timeline.colour(second, 40 * MS, y) for y in range(-14, 15)]
        assert len({tuple(c) for c in beyond}) == 1
        upper, lower = (timeline.colour(first, 40 * MS, y) for y in (-8, 8))
        assert upper == beyond[0] != lower
        assert timeline.colour(first, 10 * MS, -8) != upper
        assert timeline.colour(second, 10 * MS, 8) != beyond[0]

    shown(browser, tmp_path, lines, check)


def test_since_when_a_thread_could_run_is_not_made_up(browser: Browser, tmp_path: Path) -> None:
    """cat gets the CPU at 50 ms, and nothing of it was recorded before: it may have slept, or not yet been there. There
    is a thin line, no bar as after a wake-up that was recorded."""
    idle, cat = (
        " prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==>",
        " next_comm=cat next_pid=200 next_prio=120",
    )
    off = " prev_comm=cat prev_pid=200 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120"
    lines = [
        " bash-100 [001] ..... 100.000000: clk_enable: a=1",
        f" <idle>-0 [000] d..2. 100.050000: sched_switch:{idle}{cat}",
        f" cat-200 [000] d..2. 100.060000: sched_switch:{off}",
        " bash-100 [001] d..2. 100.070000: sched_waking: comm=cat pid=200 prio=120 target_cpu=000",
        f" <idle>-0 [000] d..2. 100.090000: sched_switch:{idle}{cat}",
        f" cat-200 [000] d..2. 100.095000: sched_switch:{off}",
    ]

    def check(timeline: Timeline) -> None:
        timeline.unfold()
        timeline.look(0, 95 * MS)
        track = timeline.until(
            "probescope.app.ui.get().rows.find(r => r.track?.kind === 'thread' && r.track.name === 'cat')?.track.id"
        )
        ground = timeline.colour(track, 30 * MS)
        assert timeline.colour(track, 30 * MS, 0) != ground
        assert timeline.colour(track, 55 * MS) != ground
        assert timeline.colour(track, 65 * MS) == ground
        assert timeline.colour(track, 80 * MS) != ground
        timeline.page.mouse.move(*timeline.place(track, 30 * MS))
        timeline.page.wait_for_selector(".tip:has-text('not known since when')")

    shown(browser, tmp_path, lines, check)
