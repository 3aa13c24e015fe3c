"""speedscope opens what we export: its own program, in a browser, shows the profiles and names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_exports import export, viewer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def page(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1200, "height": 700}, offline=True)
    page = context.new_page()
    page.goto(viewer("speedscope", "dist", "release", "index.html").as_uri())
    return page


def test_speedscope_shows_the_stacks(page: Page, tmp_path: Path) -> None:
    """Total and name of a file made by hand, and no message of an error."""
    (tmp_path / "a.folded").write_text("main;parse;read 300\nmain;write 100\n")
    export(tmp_path / "a.folded", "-o", tmp_path / "a.speedscope.json")
    wrong: list[str] = []
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("dialog", lambda d: (wrong.append(d.message), d.dismiss()))
    page.set_input_files("input[type=file]", tmp_path / "a.speedscope.json")
    page.get_by_text("Sandwich").click()
    rows = page.locator("tr", has_text="parse")
    rows.first.wait_for()
    assert "300" in rows.first.inner_text()
    assert "75" in rows.first.inner_text()
    assert wrong == []
    assert "a.folded" in page.title()


def test_names_of_strangers_are_text(page: Page, tmp_path: Path) -> None:
    """Markup is shown as it is."""
    names = ["a", 'b"<img src=x>', "\x1b[2J"]
    (tmp_path / "a.folded").write_text("".join(f"{n};main {i + 1}\n" for i, n in enumerate(names)))
    export(tmp_path / "a.folded", "-o", tmp_path / "a.speedscope.json")
    page.set_input_files("input[type=file]", tmp_path / "a.speedscope.json")
    page.get_by_text("Sandwich").click()
    page.locator("tr", has_text="<img").first.wait_for()
    assert page.locator("img[src=x]").count() == 0
