"""The timeline's server as users start it, and its page in a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import probescope.views.timeline

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROUNDS = 100
NAME = "<b>x</b>"
MARK = "<img src=x onerror=alert(1)>"
SECONDS = 30
BUILT = Path(probescope.views.timeline.__file__).parent / "page"


def built() -> None:
    """Skips where there is no page."""
    if (BUILT / "index.html").exists():
        return
    web = Path(__file__).resolve().parents[2] / "web"
    if not (web / "node_modules" / "vite").exists():
        pytest.skip("npm's registry was out of reach: the timeline's page is not built")
    pytest.skip("the timeline's page is not built: python web/build.py says why")


def made(folder: Path) -> Path:
    """A recording of one second, by hand. Every 10 ms, counted from 0: bash on CPU 0 wakes ``NAME``; 1 ms later that
    gets CPU 1, writes a marker after 0.5 ms more, and sleeps again 3 ms after the wake-up. At 500 ms, before the
    wake-up, five events of CPU 1 were lost."""
    lines = ["# tracer: nop"]
    idle, sleeps = (f"{w}_comm=swapper/1 {w}_pid=0 {w}_prio=120" for w in ("prev", "next"))
    leaves, woken = (f"{w}_comm={NAME} {w}_pid=200 {w}_prio=120" for w in ("prev", "next"))
    for i in range(ROUNDS):
        t = 100 + i / 100
        lines += ["CPU:1 [LOST 5 EVENTS]"] if i == ROUNDS // 2 else []
        lines += [
            f" bash-100 [000] d..2. {t:.6f}: sched_waking: comm={NAME} pid=200 prio=120 target_cpu=001",
            f" <idle>-0 [001] d..2. {t + 0.001:.6f}: sched_switch: {idle} prev_state=R ==> {woken}",
            f" {NAME}-200 [001] ..... {t + 0.0015:.6f}: tracing_mark_write: {MARK} {i}",
            f" {NAME}-200 [001] d..2. {t + 0.003:.6f}: sched_switch: {leaves} prev_state=S ==> {sleeps}",
        ]
    path = folder / "made.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@contextmanager
def served(folder: Path, *words: object) -> Iterator[str]:
    """The address of ``probescope timeline``, which ends with the block. Stores are kept in the folder."""
    command = [sys.executable, "-m", "probescope", "timeline", "--no-open", "-q", *map(str, words)]
    env = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)


class Timeline:
    """A page, and what its tests want to know of it. Errors of scripts, dialogs, and requests to anywhere else than
    ``allowed`` are kept in ``wrong``."""

    def __init__(self, browser: Browser, allowed: str, **context: Any) -> None:
        self.wrong: list[str] = []
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **context})
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        self.page.on("dialog", lambda d: (self.wrong.append(d.message), d.dismiss()))
        self.page.on("request", lambda r: None if r.url.startswith((allowed, "data:")) else self.wrong.append(r.url))

    def open(self, url: str) -> None:
        self.page.goto(url)
        self.page.wait_for_selector("body[data-ready]")
        self.until("probescope.app.ui.get().rows.length > 2 && probescope.app.tiles.waiting === 0")

    def until(self, expression: str, want: Any = True) -> Any:
        """What an expression of JavaScript gives, as soon as that is as wanted: the page lets nobody evaluate texts,
        so it is asked from outside."""
        end = time.monotonic() + SECONDS
        found = None
        while time.monotonic() < end:
            found = self.page.evaluate(expression)
            if found == want or (want is True and found):
                return found
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{expression} is {found!r}, not {want!r}; {self.wrong}")

    def state(self, name: str) -> Any:
        return self.page.evaluate(f"probescope.app.state.get().{name}")

    def view(self) -> tuple[float, float]:
        found: dict[str, float] = self.state("view")
        return found["start"], found["end"]

    def look(self, start: float, end: float) -> None:
        self.page.evaluate(f"probescope.app.look({{start: {start}, end: {end}}})")
        self.settle()

    def settle(self) -> None:
        """Everything that is to be drawn is here, and drawn. What a frame lacks is asked for when that is drawn."""
        still = "!probescope.app.motion.glide && probescope.app.tiles.waiting === 0"
        frames = f"new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done({still}))))"
        while not (self.page.evaluate(frames) and self.page.evaluate(frames)):
            self.until(still)

    def place(self, track: str, time: float) -> tuple[float, float]:
        """Where a time of a track is on the screen, once the track has a row there."""
        self.until(f"probescope.app.ui.get().rows.some(r => r.track?.id === {json.dumps(track)})")
        box: Any = self.page.locator("[data-testid=graph]").bounding_box()
        y = self.page.evaluate(
            """id => { const u = probescope.app.ui.get(); const r = u.rows.find(r => r.track?.id === id);
                       return r.y - u.scroll + probescope.app.pinnedHeight + r.height / 2; }""",
            track,
        )
        start, end = self.view()
        return box["x"] + (time - start) / (end - start) * box["width"], box["y"] + y

    def colour(self, track: str, time: float, below: int = 8, canvas: str = "base") -> list[int]:
        """Of a pixel there, so many pixels below the middle of the row, where there is no text."""
        x, y = self.place(track, time)
        box: Any = self.page.locator(f"canvas.{canvas}").bounding_box()
        at = [round(x - box["x"]), round(y - box["y"]) + below]
        found: list[int] = self.page.evaluate(
            "([c, x, y]) => [...document.querySelector(c).getContext('2d').getImageData(x, y, 1, 1).data]",
            [f"canvas.{canvas}", *at],
        )
        return found[:3]

    def unfold(self) -> None:
        """Opens the groups that are on the screen, once those that are open already have their tracks."""
        self.until(
            "probescope.app.ui.get().rows.every(r => r.track && !(r.open && r.track.children && !r.node?.children))"
        )
        self.page.evaluate(
            """() => { const { rows } = probescope.app.ui.get();
            const open = Object.fromEntries(rows.filter(r => r.track?.children).map(r => [r.track.id, true]));
            probescope.app.state.set({ open }); }"""
        )
        self.settle()

    def command(self, typed: str, title: str) -> None:
        """By the palette: some of its letters, until the one that is meant is chosen."""
        self.page.keyboard.press("Control+k")
        self.page.wait_for_selector("dialog.palette input:focus")
        self.page.keyboard.type(typed)
        self.page.wait_for_selector(f"dialog.palette [aria-selected=true]:has-text('{title}')")
        self.page.keyboard.press("Enter")

    def said(self) -> str:
        return self.page.inner_text("[data-testid=status]")

    def close(self) -> None:
        self.context.close()


def missed_events(timeline: Timeline) -> None:
    """Of a page, or a report: red on the row of its CPU, a word at the event that followed; and flags."""
    page = timeline.page
    timeline.look(4.9e8, 5.1e8)
    timeline.until("probescope.app.losses.times().length", 1)
    timeline.settle()
    red, _, blue = timeline.colour("cpu:0:1", 5e8, canvas="over")
    assert red > 120 > blue
    assert timeline.colour("cpu:0:1", 5.005e8, canvas="over") == timeline.colour("cpu:0:1", 4.95e8, canvas="over")
    page.mouse.move(*timeline.place("cpu:0:1", 5e8))
    page.wait_for_selector(".tip:has-text('5 events lost here')")
    page.evaluate("probescope.app.state.set({tab: 'events', follow: true, cursor: 5e8})")
    row = page.locator(".event-row.after-loss")
    row.wait_for()
    assert "5 events of CPU 1 lost before this" in row.inner_text()
    assert row.count() == 1
    assert row.locator("> .info").inner_text().endswith(f"comm={NAME} pid=200 prio=120 target_cpu=001")
    assert row.locator("> span").nth(3).inner_text() == "d..2."
