"""Flame graphs in a browser: what is drawn, zoom, search, sandwich, selections; and that nothing leaves the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from probescope.views.flame import page as html
from probescope.views.flame import svg
from probescope.views.flame.stacks import Group, StackSamples, read_folded

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = ["main;parse;read 3", "main;parse 1", "main;write;read 4", "other 2"]
Show = Callable[[str, str], "Page"]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens a text as a file. Requests to anything else, and errors of scripts, fail the test."""
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": 1000, "height": 600})
    page = context.new_page()
    page.on("request", lambda r: None if r.url.startswith("file://") else wrong.append(r.url))
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("dialog", lambda d: d.accept("read"))

    def opened(text: str, name: str) -> Page:
        (tmp_path / name).write_text(text, "utf-8")
        page.goto((tmp_path / name).as_uri())
        if name.endswith("html"):
            page.wait_for_selector("body[data-ready]")
        return page

    yield opened
    context.close()
    assert wrong == []


def detail(page: Page, x: float, y: float) -> str:
    page.mouse.move(x, y)
    return page.inner_text("#detail").strip()


def row(page: Page, from_bottom: int) -> float:
    """The y of a row of frames, counted from the root of a flame graph."""
    place: Any = page.locator("#scroll").bounding_box()
    return float(place["y"]) + float(place["height"]) - 4 - 18 * from_bottom - 9


def test_page_shows_frames_where_they_are(show: Show) -> None:
    page = show(html.render(read_folded(TEXT), "t"), "a.html")
    assert page.inner_text("#total") == "10 samples"
    assert detail(page, 500, row(page, 0)) == "all: 10 samples, 100.00% (own 0 samples)"
    assert detail(page, 100, row(page, 1)) == "main: 8 samples, 80.00% (own 0 samples)"
    assert detail(page, 350, row(page, 2)) == "parse: 4 samples, 40.00% (own 1 samples)"
    assert detail(page, 350, row(page, 3)) == ""  # parse itself: nothing above it
    assert detail(page, 950, row(page, 1)) == "other: 2 samples, 20.00% (own 2 samples)"


def test_page_zooms_and_comes_back(show: Show) -> None:
    page = show(html.render(read_folded(TEXT)), "a.html")
    page.mouse.click(600, row(page, 2))  # write
    assert detail(page, 20, row(page, 3)).startswith("read: 4 samples")
    assert page.inner_text("#crumbs").split() == ["all", "main", "write"]
    page.keyboard.press("Escape")
    assert detail(page, 20, row(page, 3)).startswith("read: 3 samples")


def test_page_searches(show: Show) -> None:
    page = show(html.render(read_folded(TEXT)), "a.html")
    page.keyboard.press("/")
    page.keyboard.type("^re")
    assert page.inner_text("#matched") == "matched 70.00%"
    page.fill("#search", "(")
    assert page.inner_text("#matched") == "not a regular expression"


def test_page_inverts_and_sandwiches(show: Show) -> None:
    page = show(html.render(read_folded(TEXT)), "a.html")
    page.check("#invert")
    assert detail(page, 500, row(page, 1)).startswith("read: 7 samples")
    page.uncheck("#invert")
    page.select_option("#view", "table")
    rows = page.locator("#table tbody tr").all_inner_texts()
    assert [r.split("\t")[-1] for r in rows] == ["read", "other", "parse", "main", "write"]
    page.locator("#table tbody tr").first.click()
    assert page.input_value("#view") == "sandwich"
    place: Any = page.locator("#scroll").bounding_box()
    top = float(place["y"])
    assert detail(page, 100, top + 18 * 1 + 9).startswith("parse: 3 samples")  # callers, nearest below
    assert detail(page, 100, top + 18 * 2 + 9).startswith("read: 7 samples")
    assert detail(page, 100, top + 18 * 3.5 + 9).startswith("read: 7 samples")  # itself, callees below


def grouped() -> StackSamples:
    samples = StackSamples(slots=4, times=(0, 4_000_000_000))
    for at, (process, name) in enumerate([("a", "f"), ("b", "g"), ("a", "g"), ("b", "f")]):
        group = samples.group(Group(process, 10 + (process == "b"), 20, at % 2))
        samples.add(samples.node([process, name]), at + 1, group, at)
    return samples


def test_page_selects_processes_and_time(show: Show) -> None:
    page = show(html.render(grouped()), "a.html")
    assert page.inner_text("#total") == "10 samples"
    page.select_option("#by", "process")
    assert page.locator("#which option").all_inner_texts() == ["b 11 (6 samples)", "a 10 (4 samples)"]
    assert page.inner_text("#total") == "6 samples"
    place: Any = page.locator("#strip").bounding_box()
    y, quarter = float(place["y"]) + 20, float(place["width"]) / 4
    page.mouse.move(quarter * 2.5, y)
    page.mouse.down()
    page.mouse.move(quarter * 3.5, y)
    page.mouse.up()
    assert page.inner_text("#total") == "4 samples"  # of b, in the last two seconds
    page.select_option("#by", "")
    assert page.inner_text("#total") == "7 samples"
    page.mouse.click(quarter, y)
    assert page.inner_text("#total") == "10 samples"


def test_page_compares(show: Show) -> None:
    samples = read_folded(["a 30", "b 10"])
    read_folded(["a 10", "b 10"], into=samples)
    page = show(html.render(samples), "a.html")
    assert detail(page, 100, row(page, 1)) == "a: 30 samples, 75.00% (own 30 samples, +25.00% against before)"


def test_page_takes_names_as_text(show: Show) -> None:
    name = "<img src=x onerror=document.title='owned'></script>"
    page = show(html.render(read_folded([f"main;{name} 3"]), name), "a.html")
    page.keyboard.press("4")
    assert name in page.inner_text("#table")
    assert page.inner_text("h1") == name
    assert page.title() == name


def test_page_draws_many_frames(show: Show) -> None:
    """100,000 stacks; the budget is that it comes up at all."""
    lines = [f"main;f{i % 317};g{i % 1009};h{i} 1" for i in range(100_000)]
    page = show(html.render(read_folded(lines)), "a.html")
    assert page.inner_text("#total") == "100,000 samples"


def test_svg_zooms_and_searches(show: Show) -> None:
    page = show(svg.render(read_folded(TEXT), svg.Look(width=1000)), "a.svg")
    told = page.locator("g.f", has_text="write (4 samples")
    told.click()
    assert told.locator("rect").get_attribute("width") == "980"
    assert page.locator("g.f.h").count() == 3  # other, parse and its read
    page.locator("#reset").click()
    assert page.locator("g.f.h").count() == 0
    page.locator("#search").click()  # the dialog is answered with "read"
    assert page.locator("#matched").text_content() == "Matched: 70.0%"
    assert page.locator("g.f.m").count() == 2
