"""A real browser: Debian's chromium, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        pytest.skip("chromium is not installed: apt install chromium")
    api: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as p:
        running = p.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()
