"""The timeline of recorded programs, and its report in one file: flame graphs by selection, and no request leaves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_timeline import MARK, NAME, ROUNDS, Timeline, built, made, missed_events, served
from cli_exports import export, profile

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MS = 1e6
CPU = "cpu:0:1"
WHOLE = "(document.querySelector('[data-testid=flame-detail]')?.textContent ?? '')"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built()
    folder = tmp_path_factory.mktemp("report")
    export("--html", "-q", made(folder), "-o", folder / "report.html")
    return folder / "report.html"


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Timeline]:
    """The report, in a browser without a network. Requests to anything but the file fail the test."""
    found = Timeline(browser, report.as_uri(), offline=True)
    found.open(report.as_uri())
    yield found
    found.close()
    assert found.wrong == []


def test_a_selection_has_its_own_flame_graph(browser: Browser, tmp_path: Path) -> None:
    """Half of the time has fewer samples than all of it, and both are told as what they add up to."""
    built()
    with served(tmp_path, profile(tmp_path)) as url:
        timeline = Timeline(browser, url.partition("?")[0])
        try:
            timeline.open(url)
            timeline.page.click("#tab-flame")
            whole = timeline.until(f"{WHOLE}.endsWith('in all') && {WHOLE}")
            start, end = timeline.view()
            third = (end - start) / 3
            timeline.page.evaluate(
                f"probescope.app.state.set({{selection: {{start: {start + third}, end: {end - third}, tracks: null}}}})"
            )
            part = timeline.until(f"{WHOLE} !== {whole!r} && {WHOLE}.endsWith('in all') && {WHOLE}")
            box = timeline.page.locator("[data-testid=flame]").bounding_box()
            assert box is not None
            timeline.page.mouse.move(box["x"] + 30, box["y"] + 5)
            share = timeline.until(f"{WHOLE}.includes('%') && {WHOLE}")
            timeline.page.mouse.click(box["x"] + 30, box["y"] + 5)
            timeline.page.wait_for_selector("text=Whole graph")
        finally:
            timeline.close()
    assert whole != part
    assert "own" in share
    assert timeline.wrong == []


def test_a_report_is_complete_by_itself(opened: Timeline) -> None:
    """Slices, the list, tables and the search work without a server; the graph's pixels say who ran when."""
    page = opened.page
    opened.until("document.querySelector('[data-testid=event-total]').textContent", f"{4 * ROUNDS} events")
    opened.look(0, 20 * MS)
    ran, idle = opened.colour(CPU, 2 * MS), opened.colour(CPU, 8.3 * MS)
    assert ran != idle
    assert [opened.colour(CPU, t * MS) for t in (12, 4, 9)] == [ran, idle, idle]
    page.evaluate("probescope.app.state.set({selection: {start: 0, end: 2e7, tracks: null}, tab: 'top'})")
    page.wait_for_selector(f".top tr:has-text('{NAME}'):has-text('4.00 ms')")
    page.click("#tab-latency")
    page.wait_for_selector(".figures:has-text('1.00 ms')")
    page.fill("#search", f"{MARK} 7")
    page.keyboard.press("Enter")
    opened.until("probescope.app.state.get().picked?.start", 71.5 * MS)
    page.click("#tab-sql")
    page.wait_for_selector("text=probescope query made.txt")


COUNTED = """async filter => (await probescope.app.source.ask('events', {filter, offset: 0, limit: 1})).head.total"""
FILTERS = (
    ("task == bash or event ~ '*mark*'", ROUNDS),
    (f"task == '{NAME}'", 2 * ROUNDS),
    ("not (pid == 200) and cpu in 1-5", ROUNDS),
    ("event != sched_switch", 2 * ROUNDS),
    ("event ~ 'sched:*' and common_flags ~ 'd*'", 3 * ROUNDS),
    ("common_preempt_count < 1", ROUNDS),
    ("prev_pid > 1 or target_cpu == 1", 2 * ROUNDS),
    ("sched_switch.next_comm ~ '*swap*'", ROUNDS),
)


def test_a_report_filters_as_the_server_does(opened: Timeline, browser: Browser, tmp_path: Path) -> None:
    """The list of both, and what is drawn of the report."""
    ours = {text: opened.page.evaluate(COUNTED, text) for text, _ in FILTERS}
    with served(tmp_path, made(tmp_path)) as url:
        timeline = Timeline(browser, url.partition("?")[0])
        try:
            timeline.open(url)
            theirs = {text: timeline.page.evaluate(COUNTED, text) for text, _ in FILTERS}
        finally:
            timeline.close()
    assert ours == theirs
    assert list(ours.items()) == [(text, pytest.approx(n, abs=2)) for text, n in FILTERS]
    opened.look(0, 20 * MS)
    ran = opened.colour(CPU, 2 * MS)
    opened.page.fill("#filter", "task == bash")
    opened.page.keyboard.press("Enter")
    opened.until("document.querySelector('[data-testid=event-total]').textContent", f"{ROUNDS} events")
    opened.settle()
    assert opened.colour(CPU, 2 * MS) != ran
    opened.page.fill("#filter", "task == ")
    opened.page.wait_for_selector("#filter-error:has-text('a value is expected here (character 8)')")


def test_a_report_marks_what_was_missed(opened: Timeline) -> None:
    missed_events(opened)


def test_a_report_shows_names_as_text(opened: Timeline) -> None:
    opened.unfold()
    opened.page.wait_for_selector(f".name .text:text-is('{NAME}')")
    opened.page.wait_for_selector(f".event-row .info:has-text('{MARK}')")
    assert opened.page.locator(".page img, .name b, .event-list b").count() == 0


def test_a_report_keeps_its_session_in_its_address(opened: Timeline, report: Path) -> None:
    opened.page.evaluate("probescope.app.state.set({a: 1e7, tab: 'latency'})")
    opened.until("location.hash.includes('a=')")
    opened.page.reload()
    opened.page.wait_for_selector("body[data-ready]")
    assert opened.state("a") == 1e7
    assert opened.state("tab") == "latency"


def test_the_page_says_what_is_recorded(browser: Browser, tmp_path: Path) -> None:
    """Mistakes are told in the form, those of the recorder, too; then there is a recording, which the page ends."""
    built()
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with served(tmp_path, "--record") as url, subprocess.Popen(["sh", "-c", "while sleep 0.05; do :; done"]) as work:
        timeline = Timeline(browser, url.partition("?")[0])
        page = timeline.page
        try:
            page.goto(url)
            for events, said in (("probe(x y)", "events are names"), ("nosuch:event", "nosuch")):
                page.fill("#record-events", events)
                page.click("button:text-is('Record')")
                page.wait_for_selector(f".record .problem:has-text('{said}')")
                assert page.input_value("#record-events") == events
            page.fill("#record-events", "sched:sched_switch, sched:sched_waking")
            page.click("button:text-is('Record')")
            page.wait_for_selector("body[data-ready]")
            assert timeline.page.evaluate("probescope.app.opened.kinds.map(k => k.name).join()").count("sched:") == 2
            assert "already" in page.evaluate(
                "probescope.app.source.ask('record', {events: 'sched:sched_switch'}).catch(e => e.message)"
            )
            page.click(".live button:text-is('stop')")
            timeline.until("probescope.app.ui.get().live", want=False)
        finally:
            timeline.close()
            work.kill()
    assert timeline.wrong == []
    assert not list(tmp_path.glob("*.data"))


def test_a_recording_grows_before_ones_eyes(browser: Browser, tmp_path: Path) -> None:
    """While a command runs, its end moves on and new tracks come; when it has ended, the page says so."""
    built()
    if os.geteuid() != 0:
        pytest.skip("needs root")
    work = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.2; ls / > /dev/null; done"
    with served(tmp_path, "--live", "-o", tmp_path / "live.data", "--", "sh", "-c", work) as url:
        timeline = Timeline(browser, url.partition("?")[0])
        try:
            timeline.page.goto(url)
            timeline.page.wait_for_selector("body[data-ready]")
            first = timeline.page.evaluate("probescope.app.ui.get().end")
            timeline.until(f"probescope.app.ui.get().end > {first}")
            timeline.until("probescope.app.ui.get().live", want=False)
            start, end = timeline.view()
            assert end - start >= timeline.page.evaluate("probescope.app.ui.get().end")
            timeline.until(
                "probescope.app.tiles.waiting === 0 && probescope.app.tree.node('group:0:cpus') !== undefined"
            )
        finally:
            timeline.close()
    assert timeline.wrong == []
