"""Files by build-id from a server of our own, on the loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from probescope.errors import UsageError
from probescope.kernel import debuginfod
from probescope.kernel.debuginfod import Client, cache_folder, servers

ID = "ab" * 20
Answer = Callable[[BaseHTTPRequestHandler], object]


class Server:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Answer = self.send(200, b"ELF")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    @staticmethod
    def send(code: int, body: bytes, announced: int | None = None) -> Answer:
        def answer(h: BaseHTTPRequestHandler) -> None:
            h.send_response(code)
            h.send_header("Content-Length", str(len(body) if announced is None else announced))
            h.end_headers()
            h.wfile.write(body)

        return answer


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    thread = threading.Thread(target=found.http.serve_forever, daemon=True)
    thread.start()
    yield found
    found.http.shutdown()
    found.http.server_close()
    thread.join()


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    """And kept for the next time, by build-id."""
    client = Client([server.url], str(tmp_path))
    path = client.fetch(ID, "debuginfo")
    assert Path(path).read_bytes() == b"ELF"
    assert client.fetch(ID, "debuginfo") == path
    assert Client([server.url], str(tmp_path)).fetch(ID, "debuginfo") == path
    assert server.asked == [f"/buildid/{ID}/debuginfo"]


def test_what_no_server_has(server: Server, tmp_path: Path) -> None:
    """Asked for once; nothing is left behind. Another server is asked next."""
    server.answer = server.send(404, b"not found")
    client = Client([server.url], str(tmp_path))
    assert [client.fetch(ID, "executable") for _ in range(2)] == ["", ""]
    assert len(server.asked) == 1
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    other = Server()
    threading.Thread(target=other.http.serve_forever, daemon=True).start()
    assert Path(Client([server.url, other.url], str(tmp_path)).fetch(ID, "executable")).read_bytes() == b"ELF"
    other.http.shutdown()
    other.http.server_close()


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("error", Server.send(500, b"")),
        ("empty", Server.send(200, b"")),
        ("short", Server.send(200, b"ELF", announced=100)),
        ("huge", Server.send(200, b"", announced=1 << 40)),
        ("nonsense", lambda h: h.wfile.write(b"\xff\xfe\0\0\r\n\r\n") and None),
        (
            "elsewhere",
            lambda h: (h.send_response(302), h.send_header("Location", "file:///etc/passwd"), h.end_headers()),
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_servers(server: Server, tmp_path: Path, name: str, answer: Answer) -> None:
    """No exception, no file, and in the end no more questions."""
    server.answer = answer
    client = Client([server.url], str(tmp_path))
    found = [client.fetch(f"{i:040x}", "debuginfo") for i in range(6)]
    assert found == [""] * 6
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    if name in {"error", "nonsense"}:
        assert len(server.asked) == debuginfod.MOST_FAILURES


def test_a_server_that_does_not_answer(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debuginfod, "TIMEOUT", 0.1)
    done = threading.Event()
    server.answer = lambda _: done.wait(20)
    client = Client([server.url], str(tmp_path))
    assert client.fetch(ID, "debuginfo") == ""
    done.set()


def test_only_build_ids_are_asked_for(server: Server, tmp_path: Path) -> None:
    """A recording may claim anything to be one."""
    client = Client([server.url], str(tmp_path))
    for bad in ("", "ab", "../../etc/passwd", "AB" * 20, "ab" * 200, "ab/cd"):
        assert client.fetch(bad, "debuginfo") == ""
    assert server.asked == []


def test_where_servers_and_caches_are_named() -> None:
    assert servers("", "http://a/ https://b.c/d/") == ("http://a", "https://b.c/d")
    assert servers("http://x", "http://a") == ("http://x",)
    for bad in ("", "file:///etc", "example.org"):
        with pytest.raises(UsageError):
            servers(bad, "")
    assert cache_folder({"XDG_CACHE_HOME": "/c"}) == "/c/probescope/debuginfod"
    assert cache_folder({"XDG_CACHE_HOME": "relative"}).endswith("/.cache/probescope/debuginfod")
