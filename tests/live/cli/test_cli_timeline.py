"""``probescope timeline`` as a program: who may ask it, what it answers over the wire, and how it ends."""

from __future__ import annotations

import glob
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from loops import run_apart
from timeline_fakes import Socket, busy, made, opened, page_of, serving, ws_of

import probescope
from probescope.cli import timeline
from probescope.errors import FormatError, UsageError
from probescope.views.timeline import wishes
from probescope.views.timeline.guard import Address, Ticket
from probescope.views.timeline.opened import Opened
from probescope.views.timeline.protocol import decode
from probescope.views.timeline.server import Offer, serve

ENDLESS = "select count(*) from range(1e9::bigint) a, range(1e9::bigint) b"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("timeline")
    with serving(opened(made(folder / "a.duckdb", busy(2000))), folder / "page") as address:
        yield address


def talk(url: str, what: Callable[[Socket], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with aiohttp.ClientSession() as session, session.ws_connect(ws_of(url), max_msg_size=0) as ws:
            return await what(Socket(ws))

    return run_apart(run())


def status(url: str, **headers: str) -> tuple[int, str, Any]:
    async def run() -> tuple[int, str, Any]:
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as reply:
            return reply.status, await reply.text(), reply.headers

    return run_apart(run())


def test_the_page_needs_the_token(url: str) -> None:
    code, text, headers = status(url)
    assert (code, "<title>page" in text) == (200, True)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    base, _, token = url.partition("?token=")
    for wrong in (base, base + "?token=", base + "?token=" + token[:-1] + "_", base + "ws", base + "ws?token=x"):
        assert status(wrong)[0] == 403
    assert status(base + "assets/app.js")[1] == "export {}"
    for none in ("assets/none.js", "assets/..%2f..%2findex.html", "assets/%2e%2e%2findex.html", "etc/passwd"):
        assert status(base + none)[0] == 404


def test_a_browser_is_given_an_address_that_is_good_once(url: str) -> None:
    """Every user sees what it was started with: who comes second is refused, and so is a page of another site."""
    assert isinstance(url, Address)
    assert url.partition("?token=")[2] not in url.once
    assert status(url.once, Origin="http://evil.example")[0] == 403
    assert status(url.once + "x")[0] == 403
    code, text, _ = status(url.once)
    assert (code, "<title>page" in text) == (200, True)
    code, text, _ = status(url.once)
    assert code == 403
    assert "has printed" in text
    assert status(url)[0] == 200


def test_no_token_among_the_arguments_of_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: queue.Queue[str] = queue.Queue()
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", opened.put)
    monkeypatch.setattr(timeline, "_bounded", lambda _: None)
    url = Address.of(8000, "secret", Ticket())
    assert timeline._tell(timeline.parser().parse_args(["x"]), url)
    assert opened.get(timeout=300) == url.once


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_other_hosts_and_pages_are_refused(header: dict[str, str], url: str) -> None:
    """A name that was made to mean the loopback, and a page of another site that knows the token."""
    for place in (url, url.replace("/?", "/ws?"), url.replace("/?", "/assets/app.js?")):
        assert status(place, **header)[0] == 403


def test_many_questions_at_once(url: str) -> None:
    async def run(page: Socket) -> None:
        head, _ = await page.ask("open")
        view = {"start": 0, "end": head["end"], "width": 500}
        asked = [await page.send("slices", track=f"cpu:0:{i % 2}", **view) for i in range(40)]
        replies = [await page.reply(n) for n in asked[-1:]]
        assert replies[0][1]["count"].sum() > 100

    talk(url, run)


def test_more_questions_than_are_allowed_are_refused_and_the_rest_answered(url: str) -> None:
    async def run(page: Socket) -> list[bool]:
        asked = [await page.send("sql", sql=ENDLESS) for _ in range(70)]
        refused = [(await page.reply(n))[0] for n in asked[64:]]
        assert all("at once" in head["error"] for head in refused)
        for n in asked[:64]:
            await page.ws.send_str(json.dumps({"cancel": n}))
        return [(await page.reply(asked[0]))[0]["ok"]]

    assert talk(url, run) == [False]


def test_a_query_is_cancelled(url: str) -> None:
    async def run(page: Socket) -> None:
        number = await page.send("sql", sql=ENDLESS)
        assert (await page.ask("check", filter="cpu == 1"))[0]["ok"]  # meanwhile others are answered
        await page.ws.send_str(json.dumps({"cancel": number}))
        head, _ = await page.reply(number)
        assert "interrupted" in head["error"]

    talk(url, run)


def test_what_would_eat_memory_is_bounded(url: str) -> None:
    async def run(page: Socket) -> None:
        sql = "select list(a.i || '-' || b.i || repeat('x', 1000)) from range(100000) a(i), range(1000) b(i)"
        head, _ = await page.ask("sql", sql=sql)
        assert "memory" in head["error"]
        assert (await page.ask("open"))[0]["ok"]

    talk(url, run)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"id": 900}', '{"id": 900, "op": "x"}', "\x00" * 1000, '{"cancel": -1}']
)
def test_what_is_no_question_is_answered_and_the_talk_goes_on(text: str, url: str) -> None:
    async def run(page: Socket) -> None:
        await page.ws.send_str(text)
        await page.ws.send_bytes(b"\x00\x01")
        head, _ = await page.ask("check", filter="")
        assert head["ok"]
        assert len(page.pushed) >= 1

    talk(url, run)


def test_a_message_that_is_too_long_ends_the_talk(url: str) -> None:
    async def run(page: Socket) -> int | None:
        await page.ws.send_str("x" * ((1 << 20) + 1))
        await page.ws.receive(timeout=300)
        return page.ws.close_code

    assert talk(url, run) == 1009


# --- the program


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text of ftrace: what any reader takes, and needs no privileges to be made."""
    folder = tmp_path_factory.mktemp("recording")
    lines = ["# tracer: nop", "#"]
    for i in range(200):
        a, b = ("bash", 100), ("<img>", 101)
        (out, o), (into, n) = (a, b) if i % 2 else (b, a)
        fields = (
            f"prev_comm={out} prev_pid={o} prev_prio=120 prev_state=S ==> next_comm={into} next_pid={n} next_prio=120"
        )
        lines.append(f" {out:>15}-{o:<6} [000] d..2. {100 + i / 1000:.6f}: sched_switch: {fields}")
    path = folder / "trace.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def started(cache: Path, *args: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "TMPDIR": str(cache)}
    command = [sys.executable, "-m", "probescope", "timeline", "--no-open", *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def built() -> bool:
    from probescope.views.timeline import files

    return os.path.exists(os.path.join(files.FOLDER, "index.html"))


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_serves_a_recording_and_leaves_nothing(end: signal.Signals, recording: Path, tmp_path: Path) -> None:
    if not built():
        pytest.skip("the page is not built")

    async def run(page: Socket) -> None:
        head, _ = await page.ask("open")
        assert head["recordings"][0]["events"] == 200
        assert (await page.ask("slices", track="cpu:0:0", start=0, end=head["end"], width=100))[0]["ok"]

    with started(tmp_path, "-f", "json", str(recording)) as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["url"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", address)
        talk(address, run)
        server.send_signal(end)
        _, err = server.communicate(timeout=300)
    assert (server.returncode, err) == (0, "")
    assert glob.glob(f"{tmp_path}/probescope[-_]*") == []
    assert {p.suffix for p in (tmp_path / "probescope" / "store").iterdir()} == {".duckdb", ".lod", ".lock"}


def test_what_is_wrong_with_the_command_line_is_told(recording: Path, tmp_path: Path) -> None:
    for args, said in (
        (["/nonexistent/recording"], "cannot read /nonexistent/recording"),
        ([str(recording), "--port", "99999"], "no port"),
        (["-"], "from a file"),
        ([str(recording), "--memory", "lots"], "no size"),
    ):
        with started(tmp_path, *args) as server:
            out, err = server.communicate(timeout=300)
        assert (server.returncode, out) == (2, ""), args
        assert said in err
        assert "Traceback" not in err


def test_a_file_that_is_no_recording_ends_the_server(tmp_path: Path) -> None:
    if not built():
        pytest.skip("the page is not built")
    (tmp_path / "x.data").write_bytes(b"PERFILE2" + b"\xff" * 200)
    with started(tmp_path, str(tmp_path / "x.data")) as server:
        _, err = server.communicate(timeout=300)
    assert server.returncode == 1
    assert "ERROR" in err
    assert "Traceback" not in err


def test_a_page_is_told_why_there_is_nothing_to_be_shown(tmp_path: Path) -> None:
    """Where a browser is about to come, the server waits for it to ask, and ends then."""
    ready: queue.Queue[str] = queue.Queue()

    def broken(step: object) -> Opened:
        raise FormatError("this is no recording", hints=["record one"])

    def come(url: str) -> bool:
        ready.put(url)
        return True

    ended: list[BaseException] = []

    def run() -> None:
        try:
            serve(Offer(broken, come, folder=page_of(tmp_path / "page")))
        except FormatError as e:
            ended.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    head, _ = talk(ready.get(timeout=300), lambda socket: socket.ask("open"))
    thread.join(20)
    assert (head["error"], head["hint"]) == ("this is no recording", "record one")
    assert not thread.is_alive()
    assert [str(e) for e in ended] == ["this is no recording"]


def test_a_page_that_goes_leaves_no_query_behind(url: str) -> None:
    """What it had asked is ended, and others are answered meanwhile."""

    async def leave(socket: Socket) -> None:
        for _ in range(5):
            await socket.send("sql", sql=ENDLESS)
        assert (await socket.ask("tracks", parent=None))[0]["ok"]

    for _ in range(3):
        talk(url, leave)
    assert talk(url, lambda socket: socket.ask("sql", sql="select 7"))[0]["rows"] == [[7]]


def test_without_the_page_a_hint_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from probescope.errors import UsageError

    with pytest.raises(UsageError, match="not built") as caught:
        serve(Offer(lambda _: pytest.fail("opened"), lambda _: None, folder=str(tmp_path)))
    assert "npm" in caught.value.hints[0]


# --- live


def test_what_is_being_recorded_is_shown_and_stays(tmp_path: Path) -> None:
    """A command is recorded; the page sees it grow, and end; the file is a recording like any other."""
    if not built():
        pytest.skip("the page is not built")
    command = ["sh", "-c", "i=0; while [ $i -lt 40 ]; do sleep 0.03; i=$((i+1)); done"]

    async def run(page: Socket) -> tuple[Any, Any]:
        first, _ = await page.ask("open")
        while not any(p.get("push") == "ended" for p in page.pushed):
            head, _ = decode(await page.ws.receive_bytes(timeout=300))
            page.pushed.append(head)
        last, _ = await page.ask("open")
        assert not (await page.ask("stop"))[0]["ok"]
        return first, last

    kept = tmp_path / "live.data"
    with started(tmp_path, "--live", "-q", "-e", "sched:sched_switch", "-o", str(kept), "--", *command) as server:
        assert server.stdout is not None
        first, last = talk(server.stdout.readline().strip(), run)
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=300)
    assert (server.returncode, err) == (0, "")
    assert last["live"] is False
    assert last["recordings"][0]["events"] >= max(first["recordings"][0]["events"], 40)
    with probescope.open(str(kept)) as recording:
        assert recording.query("select count(*) from event").value() == last["recordings"][0]["events"]
    assert glob.glob(f"{tmp_path}/probescope[-_]*") == []
    assert kept.stat().st_mode & 0o777 == 0o600  # as any recording's


def test_a_killed_server_leaves_nothing_to_the_next_program(recording: Path, tmp_path: Path) -> None:
    if not built():
        pytest.skip("the page is not built")
    with started(tmp_path, "--live", "-q", "-e", "sched:sched_switch", "--", "sleep", "30") as server:
        assert server.stdout is not None
        server.stdout.readline()
        server.kill()
    assert glob.glob(f"{tmp_path}/probescope_{server.pid}_*_live_*")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "probescope", "query", "-q", str(recording), "select 1"]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    assert glob.glob(f"{tmp_path}/probescope[-_]*") == []


@pytest.mark.parametrize(
    "args",
    [
        {"events": "-o/etc/x"},
        {"events": "sched:*;rm"},
        {"events": "probe(x)"},
        {"events": "a\nb"},
        {"events": ""},
        {"events": "sched:*", "pid": -1},
        {"events": "sched:*", "seconds": 1e9},
        {"events": "sched:*", "seconds": -1},
    ],
)
def test_what_pages_may_not_have_recorded(args: dict[str, Any], url: str) -> None:
    """And nothing at all, where the server was not told that they may."""
    with pytest.raises(UsageError):
        wishes.options(args), wishes.seconds(args)
    assert wishes.options({"events": "sched:*, cpu-clock", "pid": 7, "stacks": True}) == (
        *("-e", "sched:*,cpu-clock", "-g", "-p", "7"),
    )
    head, _ = talk(url, lambda page: page.ask("record", events="sched:sched_switch"))
    assert "nothing can be recorded from here" in head["error"]


def test_a_recorder_that_cannot_start_is_told(tmp_path: Path) -> None:
    if not built():
        pytest.skip("the page is not built")
    with started(tmp_path, "--live", "-q", "-e", "nosuch:event") as server:
        _, err = server.communicate(timeout=300)
    assert server.returncode == 1
    assert "nosuch" in err
    assert "Traceback" not in err
