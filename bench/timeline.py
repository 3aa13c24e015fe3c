"""Frames a second of the timeline's page, by its own clock, in Chromium without a GPU: python -m bench.timeline FILE"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from typing import Any

SECONDS = 3
MOVES = {"d": "pan right", "a": "pan left", "w": "zoom in", "s": "zoom out"}
PICTURE = (
    "(() => { const [mark] = performance.getEntriesByName('picture');"
    " return mark ? performance.timeOrigin + mark.startTime : 0; })()"
)
"""When all of the screen was drawn first, in ms since 1970, by the page's own clock; 0 before that."""


def measured(page: Any, key: str) -> tuple[float, float, float]:
    """Frames a second, the longest gap between two, and the longest that drawing one took, in ms, of some seconds."""
    page.keyboard.down(key)
    found = []
    for _ in range(SECONDS):
        page.wait_for_timeout(1000)
        found.append(page.evaluate("probescope.frames()"))
    page.keyboard.up(key)
    return sum(f["fps"] for f in found) / SECONDS, max(f["longest"] for f in found), max(f["work"] for f in found)


def memory(pid: int) -> str:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        return next((line.split(":")[1].strip() for line in status if line.startswith("VmHWM")), "?")


def shown(page: Any, url: str, begun: float) -> None:
    page.goto(url)
    while not (drawn := page.evaluate(PICTURE)):
        page.wait_for_timeout(20)
    print(f"first picture {drawn / 1000 - begun:.2f} s after the command's start")
    page.evaluate(
        "(() => { const a = probescope.app, w = (a.all.end - a.all.start) / 50;"
        " a.look({start: a.all.start + 5 * w, end: a.all.start + 6 * w}); })()"
    )
    for key, name in MOVES.items():
        fps, gap, work = measured(page, key)
        print(f"{name:10} {fps:5.1f} frames/s   longest gap {gap:5.1f} ms   longest drawing {work:5.1f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.timeline", description=__doc__)
    parser.add_argument("file")
    command = [sys.executable, "-m", "probescope", "timeline", "--no-open", "-q", parser.parse_args().file]
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        begun = time.time()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                shown(page, server.stdout.readline().strip(), begun)
                print(f"server's memory at most {memory(server.pid)}")
            finally:
                server.terminate()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
