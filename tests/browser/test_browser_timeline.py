"""The timeline in a browser: what is drawn, how it is moved, marked, searched and filtered; and hostile names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_timeline import MARK, NAME, ROUNDS, Timeline, built, made, missed_events, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MS = 1e6
CPU = "cpu:0:1"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    built()
    folder = tmp_path_factory.mktemp("timeline")
    with served(folder, made(folder)) as found:
        yield found


@pytest.fixture
def timeline(browser: Browser, url: str) -> Iterator[Timeline]:
    found = Timeline(browser, url.partition("?")[0])
    found.open(url)
    yield found
    found.close()
    assert found.wrong == []


def test_slices_are_drawn_where_they_are(timeline: Timeline) -> None:
    """CPU 1 ran the thread from 1 to 3 ms of every ten, and was idle between."""
    timeline.look(0, 20 * MS)
    ground = timeline.colour(CPU, 8.3 * MS)
    ran = [timeline.colour(CPU, t * MS) for t in (1.5, 2.5, 11.5, 12.5)]
    idle = [timeline.colour(CPU, t * MS) for t in (0.5, 4, 9, 10.5, 13.7)]
    assert all(c == ran[0] for c in ran)
    assert all(c == ground for c in idle)
    assert ran[0] != ground


def test_zoom_and_pan(timeline: Timeline) -> None:
    """The wheel zooms where the pointer is, drags pan, keys do both, and nobody gets lost beside the recording."""
    page = timeline.page
    whole = timeline.view()
    x, y = timeline.place(CPU, 500 * MS)
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -600)
    page.keyboard.up("Control")
    timeline.until("probescope.app.state.get().view.end - probescope.app.state.get().view.start < 4e8")
    start, end = timeline.view()
    assert start < 500 * MS < end
    assert abs((500 * MS - start) / (end - start) - (500 * MS - whole[0]) / (whole[1] - whole[0])) < 0.01
    page.mouse.down()
    page.mouse.move(x + 200, y, steps=4)
    page.mouse.up()
    timeline.settle()
    assert timeline.view()[0] < start
    assert timeline.view()[1] - timeline.view()[0] == pytest.approx(end - start)
    page.keyboard.press("0")
    timeline.settle()
    assert timeline.view() == pytest.approx(whole)
    page.keyboard.down("w")
    timeline.until("probescope.app.state.get().view.end - probescope.app.state.get().view.start < 5e8")
    page.keyboard.up("w")
    before = timeline.view()
    page.keyboard.down("d")
    timeline.until(f"probescope.app.state.get().view.start > {before[0]}")
    page.keyboard.up("d")


def test_markers_and_their_distance(timeline: Timeline) -> None:
    timeline.look(0, 20 * MS)
    for key, at in (("[", 2 * MS), ("]", 7 * MS)):
        timeline.page.mouse.move(*timeline.place(CPU, at))
        timeline.page.keyboard.press(key)
    assert timeline.state("a") == pytest.approx(2 * MS, abs=0.02 * MS)
    assert timeline.state("b") == pytest.approx(7 * MS, abs=0.02 * MS)
    assert timeline.page.inner_text("[data-testid=markers] b").endswith("A 5.00 ms")
    timeline.page.keyboard.press("m")
    assert timeline.state("selection")["tracks"] is None
    assert timeline.state("selection")["end"] == timeline.state("b")


def test_search_goes_on_and_back(timeline: Timeline) -> None:
    """Found things follow each other in time, and are picked, shown and told."""
    page = timeline.page
    page.keyboard.press("/")
    page.keyboard.type("tracing_mark_write" if page.locator("text=tracing_mark_write").count() else "print")
    page.select_option("select[aria-label='What to search']", "event")
    page.keyboard.press("Escape")
    times = []
    page.locator("body").click(position={"x": 5, "y": 790})
    for key in ("n", "n", "n", "N"):
        before = timeline.state("picked?.start")
        page.keyboard.press(key)
        timeline.until(f"(probescope.app.state.get().picked?.start ?? null) !== {json.dumps(before)}")
        times.append(round(timeline.state("picked.start") / MS, 1))
    assert times == [1.5, 11.5, 21.5, 11.5]
    assert timeline.state("tab") == "details"


def test_filters_for_the_list_and_the_graph(timeline: Timeline) -> None:
    page = timeline.page
    timeline.until("document.querySelector('[data-testid=event-total]').textContent", f"{4 * ROUNDS} events")
    timeline.look(0, 20 * MS)
    ran = timeline.colour(CPU, 2 * MS)
    page.keyboard.press("Shift+F")
    page.keyboard.type('task == "bash"')
    page.keyboard.press("Enter")
    timeline.until("document.querySelector('[data-testid=event-total]').textContent", f"{ROUNDS} events")
    timeline.settle()
    assert timeline.colour(CPU, 2 * MS) != ran
    page.uncheck("text=graph")
    timeline.settle()
    timeline.until("probescope.app.tiles.filter", "")
    timeline.settle()
    assert timeline.colour(CPU, 2 * MS) == ran
    page.fill("#filter", "task ==")
    page.wait_for_selector("#filter-error.shown")


def test_the_list_and_the_graph_are_in_step(timeline: Timeline) -> None:
    page = timeline.page
    timeline.look(500 * MS, 520 * MS)
    page.wait_for_selector(".event-row:has-text('0.500000000')")
    page.click(".event-row:has-text('0.501000000')")
    assert timeline.state("picked.start") == pytest.approx(501 * MS)
    page.click("#tab-details")
    page.wait_for_selector("[data-testid=detail-title]:has-text('sched_switch')")
    page.mouse.click(*timeline.place(CPU, 512 * MS))
    assert timeline.state("picked.start") == pytest.approx(511 * MS)
    page.click("#tab-events")
    page.wait_for_selector(".event-row:has-text('0.511000000')")


def test_events_that_were_missed_are_marked(timeline: Timeline) -> None:
    missed_events(timeline)


def test_selection_by_drag_updates_the_tables(timeline: Timeline) -> None:
    """Shift and a drag select rows and a time: 20 ms hold two slices of 2 ms."""
    page = timeline.page
    timeline.look(0, 40 * MS)
    page.click("#tab-top")
    page.mouse.move(*timeline.place(CPU, 0.1 * MS))
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(*timeline.place(CPU, 20.1 * MS), steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert timeline.state("selection.tracks") == [CPU]
    page.wait_for_selector(".top td:has-text('4.00 ms')")
    page.click("#tab-latency")
    page.wait_for_selector(".figures:has-text('1.00 ms')")
    page.keyboard.press("Escape")
    assert timeline.state("selection") is None


def test_sql_with_the_selection_and_its_mistakes(timeline: Timeline) -> None:
    page = timeline.page
    page.click("#tab-sql")
    page.fill("textarea", "select count(*) as n from event")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(f".sql td:text-is('{4 * ROUNDS}')")
    page.fill("textarea", "select nonsense from event")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".problem:has-text('nonsense')")


def test_sessions_by_address_and_by_file(timeline: Timeline, browser: Browser, url: str, tmp_path: Path) -> None:
    """What was chosen is there again in another window, from the address alone or from a file."""
    page = timeline.page
    timeline.look(100 * MS, 200 * MS)
    kept = {"a": 1.5e8, "pins": [CPU], "tab": "sql", "sql": 'select 1 as "ü&#"', "filter": "cpu in 1"}
    page.evaluate("kept => probescope.app.state.set(kept)", kept)
    timeline.until("location.hash.includes('sql=')")
    address = page.evaluate("location.href")
    with page.expect_download() as download:
        page.keyboard.press("Control+s")
    download.value.save_as(tmp_path / "session.json")
    other = Timeline(browser, url.partition("?")[0])
    try:
        other.open(address)
        assert {n: other.state(n) for n in kept} == kept
        assert other.view() == timeline.view()
        other.until("probescope.app.ui.get().pinned.length", 1)
        other.page.evaluate("probescope.app.state.set({a: null, pins: [], sql: '', filter: ''})")
        other.page.keyboard.press("o")
        other.page.set_input_files("#session-file", tmp_path / "session.json")
        other.until("probescope.app.state.get().a", 1.5e8)
        assert {n: other.state(n) for n in kept} == kept
        assert other.wrong == []
    finally:
        other.close()


def test_names_and_texts_are_never_html(timeline: Timeline) -> None:
    """A thread's name and a marker's text that look like elements are shown as what they are; no script runs."""
    page = timeline.page
    timeline.unfold()
    page.wait_for_selector(f".name .text:text-is('{NAME}')")
    page.wait_for_selector(f".event-row .info:has-text('{MARK}')")
    timeline.look(0, 20 * MS)
    page.mouse.move(*timeline.place(CPU, 2 * MS))
    page.wait_for_selector(f".tip:has-text('{NAME}')")
    page.mouse.click(*timeline.place(CPU, 2 * MS))
    page.wait_for_selector(f"[data-testid=detail-title]:has-text('{NAME}')")
    page.click("#tab-top")
    page.wait_for_selector(f".top td:has-text('{NAME}')")
    assert page.locator(".page img, .name b, .event-list b, td b").count() == 0


def test_keyboard_and_labels(timeline: Timeline) -> None:
    """Rows, tabs, palette and help by keys alone; whatever can be pressed has a name; what happens is told."""
    page = timeline.page
    page.focus(".names")
    page.keyboard.press("ArrowDown")
    row = page.get_attribute(".names", "aria-activedescendant")
    assert row
    assert page.get_attribute(f"[id='{row}']", "role") == "row"
    page.keyboard.press("p")
    timeline.until("probescope.app.state.get().pins.length", 1)
    assert "pinned" in timeline.said()
    before = page.get_attribute("html", "data-theme")
    timeline.command("light", "Dark or light")
    timeline.until("document.documentElement.dataset.theme !== " + json.dumps(before))
    page.keyboard.press("?")
    page.wait_for_selector("dialog.help")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input, select, textarea, [role=tab], [role=slider], [tabindex="0"]')]
        .filter(e => !(e.textContent.trim() || e.ariaLabel || e.title || e.closest('label'))).map(e => e.outerHTML)"""
    )
    assert nameless == []


def test_frames_are_counted_only_when_something_moves(timeline: Timeline) -> None:
    """The page's own clock: still pages draw nothing, and a held key draws frame after frame."""
    timeline.look(0, 20 * MS)
    timeline.page.keyboard.down("d")
    first = timeline.page.evaluate("probescope.frames().count")
    timeline.until(f"probescope.frames().count > {first + 5}")
    timeline.page.keyboard.up("d")
    assert timeline.page.evaluate("probescope.frames().fps") > 0


def test_a_wrong_token_shows_nothing(browser: Browser, url: str) -> None:
    page = browser.new_page()
    try:
        for wrong in (url[:-1] + ("a" if url[-1] != "a" else "b"), url.partition("?")[0]):
            reply = page.goto(wrong)
            assert reply is not None
            assert reply.status == 403
    finally:
        page.close()


def test_queries_become_tracks(timeline: Timeline, browser: Browser, url: str) -> None:
    """The form for latencies writes SQL, whose rows are slices of a track: 1 ms from each wake-up to the thread's
    turn. It is part of the session."""
    page = timeline.page
    timeline.command("plot a latency", "Plot a latency")
    for label, value in (("from", "sched:sched_waking"), ("whose", "pid"), ("to the next", "sched:sched_switch")):
        page.locator(f".plot label:has(span:text-is('{label}')) select").select_option(value)
    page.locator(".plot label:has(span:text-is('with the same')) select").select_option("next_pid")
    page.click(".plot button:text-is('Plot')")
    timeline.until("probescope.app.state.get().plots.length", 1)
    name = timeline.state("plots[0].title")
    page.wait_for_selector(f".name .text:text-is('{name}')")
    track = timeline.until(
        f"probescope.app.ui.get().rows.find(r => r.track?.name === {json.dumps(name)} && r.track.id)?.track.id"
    )
    timeline.look(0, 20 * MS)
    colours = [timeline.colour(track, t * MS, 5) for t in (0.5, 0.9, 10.5, 1.2, 4.3, 11.2)]
    assert colours == [colours[0]] * 3 + [colours[-1]] * 3
    assert colours[0] != colours[-1]
    timeline.until("location.hash.includes('pl=')")
    other = Timeline(browser, url.partition("?")[0])
    try:
        other.open(page.evaluate("location.href"))
        other.page.wait_for_selector(f".name .text:text-is('{name}')")
    finally:
        other.close()
    assert other.wrong == []
