"""Recordings made by hand, opened as the timeline opens them; and its server, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import queue
import random
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import duckdb
from store_fakes import ENTER, FREQUENCY, LEAVE, PRINT, Event, Fake, switch, wake

from probescope.store.build.builder import Builder
from probescope.store.parts import Part
from probescope.store.session import Stores
from probescope.views.timeline.names import Told
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import decode, question
from probescope.views.timeline.server import Offer, Server
from probescope.views.timeline.service import answer

US = 1000


def made(path: Path, *batches: list[Any], offset: int = 0, **more: Any) -> Part:
    """A store in a file."""
    db = duckdb.connect(str(path))
    Builder(Fake(list(batches), **more), db, lambda *_: None).build()  # type: ignore[arg-type]
    db.close()
    return Part(str(path), offset)


def opened(*parts: Part) -> Opened:
    return Opened(Stores(parts, memory="300MB"))  # type: ignore[arg-type]


def busy(count: int = 3000, seed: int = 1) -> list[Any]:
    """Two CPUs on which five threads take turns, each time after a wake-up, with a system call in between."""
    rng = random.Random(seed)
    out: list[Any] = []
    now, on = 1000, [0, 0]
    for _ in range(count):
        cpu = rng.randrange(2)
        now += rng.randrange(1, 40) * US
        other = rng.choice([t for t in (0, 11, 12, 13, 14, 15) if t not in (on[1 - cpu], on[cpu]) or t == 0])
        if other:
            out.append(wake(now, 1 - cpu, on[1 - cpu], other))
        out.append(switch(now + rng.randrange(1, US), cpu, on[cpu], rng.choice((0, 1, 2)), other))
        on[cpu] = other
        if other:
            at = now + 2 * US
            out.append(Event(at, cpu, other, ENTER, {"id": 0, "args": [3, 0, 0, 0, 0, 0]}))
            out.append(Event(at + rng.randrange(10, US), cpu, other, LEAVE, {"id": 0, "ret": rng.choice((1, -2))}))
            now = at + US
    out.append(Event(now + US, 0, on[0], PRINT, {"buf": "<b>half way</b>\x1b[31m"}))
    out.append(Event(now + 2 * US, 0, on[0], FREQUENCY, {"state": 800000, "cpu_id": 0}))
    out.append(Event(now + 9 * US, 0, on[0], FREQUENCY, {"state": 1200000, "cpu_id": 0}))
    return out


def asked(found: Opened, op: str, told: Told | None = None, **args: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Head and arrays of a reply."""
    ticket = Ticket(found)
    try:
        text = json.dumps({"id": 7, "op": op, "args": args})
        return decode(answer(found, question(text), told or Told(found.names), ticket))
    finally:
        ticket.close()


def page_of(folder: Path) -> str:
    """A page that is as good as built."""
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "assets" / "app.js").write_text("export {}")
    return str(folder)


@contextmanager
def serving(found: Opened, folder: Path) -> Generator[str]:
    """The address."""
    ready: queue.Queue[Any] = queue.Queue()
    server = Server(Offer(lambda _: found, ready.put, folder=page_of(folder)))
    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(server.run())
        except BaseException as e:
            failed.append(e)
            ready.put(e)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        url = ready.get(timeout=300)
        assert isinstance(url, str), url
        yield url
    finally:
        if not failed:
            server.end()
        thread.join(20)
    assert not failed, failed
    assert not thread.is_alive()


class Socket:
    """A page that asks."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.pushed: list[dict[str, Any]] = []
        self._next = 0

    async def send(self, op: str, **args: Any) -> int:
        self._next += 1
        await self.ws.send_str(json.dumps({"id": self._next, "op": op, "args": args}))
        return self._next

    async def reply(self, number: int) -> tuple[dict[str, Any], Mapping[str, Any]]:
        while True:
            head, arrays = decode(await self.ws.receive_bytes(timeout=300))
            if head["id"] == number:
                return head, arrays
            self.pushed.append(head)

    async def ask(self, op: str, **args: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
        return await self.reply(await self.send(op, **args))


def ws_of(url: str) -> str:
    return url.replace("http:", "ws:").replace("/?", "/ws?")
