"""The server: a page, its files, and a websocket, on the loopback.

    /?token=T      the page            /assets/NAME   its files            /ws?token=T   questions and answers

Recordings are opened while the server already runs, so that the page can show how far that is. Questions are answered
by a few threads; levels of detail are made by one more, in the order in which a page shows them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from probescope.errors import ProbescopeError, UsageError
from probescope.frozen import dataclass
from probescope.kernel.signals import on_endings
from probescope.store.lod.families import ORDER
from probescope.views.timeline import files, guard
from probescope.views.timeline.names import Told
from probescope.views.timeline.opened import Opened, Ticket
from probescope.views.timeline.protocol import MOST_QUESTION, Question, encode, push, refusal
from probescope.views.timeline.service import answer, needed
from probescope.views.timeline.talk import Talk, sent

if TYPE_CHECKING:
    from aiohttp import web

    from probescope.store.lod.opened import Levels
    from probescope.views.timeline.live import Live
    from probescope.views.timeline.opened import Shown
    from probescope.views.timeline.wishes import Wishes

    Step = Callable[[int, int, str], None]

INSTALL = "pip install 'probescope[ui]'"
ANSWERING = 3
PUSHED_EVERY_S = 0.1
LOOK_S = 0.1
HEARD_S = 10
"""How long a page may take to ask what there is, where there is nothing to be shown."""
FREE = ("sql", "plot")
"""Questions that may take long, whatever is asked: they have threads of their own, so that the picture goes on."""


class Stopped(BaseException):
    """The server ends: what is being made is given up."""


@dataclass(frozen=True, slots=True)
class Offer:
    """``opening``: opens the recordings, and tells how far it is. ``ready``: told the address; true if a browser is
    about to come. ``step``: how far things are, for the terminal. ``token``: empty for a new one. ``folder``: of the
    page. ``wishes``: the page says what is recorded, instead of ``opening``."""

    opening: Callable[[Step], Opened]
    ready: Callable[[guard.Address], object]
    step: Step = lambda *_: None
    port: int = 0
    token: str = ""
    folder: str = files.FOLDER
    live: Live | None = None
    wishes: Wishes | None = None


def serve(offer: Offer) -> None:
    """Until SIGINT, SIGTERM or SIGHUP. Raises UsageError, FormatError, LimitError for what cannot be opened."""
    if find_spec("aiohttp") is None:
        raise UsageError("the timeline's server is aiohttp, which is not installed", hints=[INSTALL])
    server = Server(offer)
    server.begin()
    try:
        asyncio.run(server.run())
    finally:
        server.give_up()


class Server:
    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._token = offer.token or guard.new_token()
        self._browser = guard.Ticket()
        self._page = files.page(offer.folder)
        self._assets = files.assets(offer.folder)
        self._port = 0
        self._answering = ThreadPoolExecutor(ANSWERING, "answers")
        self._querying = ThreadPoolExecutor(ANSWERING, "queries")
        self._making = ThreadPoolExecutor(1, "levels")
        self._made: dict[tuple[Levels, str], asyncio.Future[None]] = {}
        self._sockets: set[web.WebSocketResponse] = set()
        self._tickets: set[Ticket] = set()
        self._retired: list[Opened] = []
        self._over = self._expected = self._runs = False
        self._last_push = 0.0
        self._early: Future[Opened] | None = None

    def begin(self) -> None:
        """Opens what is to be shown, beside all else that a server needs to start."""
        if self._early is None:
            self._early = self._making.submit(self._first)

    def give_up(self) -> None:
        """What has begun ends soon. Once the server runs, it does so itself."""
        self._over = True

    async def run(self) -> None:
        from aiohttp import web

        self._loop = asyncio.get_running_loop()
        self._runs = True
        self.begin()
        self._end = asyncio.Event()
        app = web.Application(client_max_size=1 << 16)
        app.router.add_get("/", self._index)
        app.router.add_get("/assets/{name}", self._asset)
        app.router.add_get("/ws", self._socket)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1)
        await runner.setup()
        try:
            await self._listen(runner)
            on_endings(self._loop.add_signal_handler, self._end.set)
            assert self._early is not None
            self._opened: asyncio.Future[Opened] = asyncio.wrap_future(self._early)
            self._failure = asyncio.Event()
            self._expected = self._offer.ready(guard.Address.of(self._port, self._token, self._browser)) is True
            ended: asyncio.Future[Any] = asyncio.ensure_future(self._end.wait())
            await asyncio.wait({ended, self._opened}, return_when=asyncio.FIRST_COMPLETED)
            if self._opened.done():
                await self._until_failure_is_heard(ended)
                self._opened.result()  # raises what the recordings had wrong with them
                self._make_all(self._opened.result())
                growing = asyncio.ensure_future(self._grow()) if self._live is not None else None
                await ended
                if growing is not None:
                    growing.cancel()
        finally:
            await self._close(runner)

    async def _until_failure_is_heard(self, ended: asyncio.Future[Any]) -> None:
        """Pages that are there, or are about to come, are told what the recordings have wrong with them, too."""
        if self._opened.exception() is not None and (self._sockets or self._expected):
            heard = asyncio.ensure_future(self._failure.wait())
            await asyncio.wait({ended, heard}, timeout=HEARD_S, return_when=asyncio.FIRST_COMPLETED)
            heard.cancel()

    @property
    def opened(self) -> asyncio.Future[Opened]:
        return self._opened

    def heard(self) -> None:
        """A page has been answered: it knows, then, that there is nothing to be shown, and why."""
        if self._opened.done() and self._opened.exception() is not None:
            self._failure.set()

    async def _listen(self, runner: web.AppRunner) -> None:
        from aiohttp import web

        site = web.TCPSite(runner, "127.0.0.1", self._offer.port)
        try:
            await site.start()
        except OSError as e:
            hints = ["--port 0 takes one that is free"]
            raise UsageError(f"cannot listen on port {self._offer.port}: {e.strerror}", hints=hints) from e
        self._port = runner.addresses[0][1]

    def end(self) -> None:
        """From any thread."""
        self._loop.call_soon_threadsafe(self._end.set)

    async def _close(self, runner: web.AppRunner) -> None:
        self._over = True
        for ticket in tuple(self._tickets):
            ticket.cancel()
        for socket in tuple(self._sockets):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(socket.close(code=1001, message=b"the server ends"), 1)
        await runner.cleanup()
        opened = getattr(self, "_opened", None)
        if opened is None and self._early is not None:
            opened = asyncio.wrap_future(self._early)
        if opened is not None and opened.done() and not opened.cancelled() and opened.exception() is None:
            opened.result().asked.interrupt()
        await asyncio.to_thread(self._making.shutdown, wait=True, cancel_futures=True)
        for pool in (self._answering, self._querying):
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
        if opened is not None:
            with contextlib.suppress(BaseException):
                (await opened).close()
        for one in self._retired:
            one.close()

    # --- opening and making

    @property
    def _live(self) -> Live | None:
        wishes = self._offer.wishes
        return self._offer.live if wishes is None else wishes.live

    def _first(self) -> Opened:
        """By the thread that makes things."""
        wishes = self._offer.wishes
        if wishes is None:
            opened = self._offer.opening(self._step)
        else:
            opened = wishes.opening(self._quiet_step, self._wish_again)
        from probescope.views.timeline.answers.opening import tree

        tree(opened)  # the first thing that a page asks for
        return opened

    def _wish_again(self) -> None:
        self._loop.call_soon_threadsafe(self._push, self._form())

    def _form(self) -> bytes:
        """Tells a page that it may say what is recorded."""
        wishes = self._offer.wishes
        return push("form", error=wishes.said if wishes is not None else "")

    def _make_all(self, opened: Opened) -> None:
        for family in ORDER:
            for shown in opened.shown:
                self._wanted(shown, family)

    async def _grow(self) -> None:
        """Shows what has been recorded meanwhile, until there is no more."""
        live = self._live
        assert live is not None
        while True:
            going = live.going
            if live.grown or not going:
                await self._replace(live)
            if not going:
                break
            until = self._loop.time() + live.pause
            while live.going and self._loop.time() < until:  # noqa: ASYNC110 - another process ends, of which nobody tells
                await asyncio.sleep(LOOK_S)
        self._push(push("ended", end=self._opened.result().length))

    async def _replace(self, live: Live) -> None:
        before = self._opened.result()
        try:
            opened = await self._loop.run_in_executor(self._making, live.opened, self._quiet_step)
        except ProbescopeError:
            return  # the next look will tell
        done: asyncio.Future[Opened] = self._loop.create_future()
        done.set_result(opened)
        self._opened, self._made = done, {}
        self._retired.append(before)
        self._let_go()
        events = sum(n for _, _, n in opened.kinds)
        self._push(push("grown", end=opened.length, rows=events, live=opened.live))

    def _quiet_step(self, done: int, total: int, what: str) -> None:
        if self._over:
            raise Stopped

    def _let_go(self) -> None:
        """Closes what has been replaced, when its last question is answered."""
        for opened in [o for o in self._retired if not o.asking]:
            self._retired.remove(opened)
            opened.close()

    def _wanted(self, shown: Shown, family: str) -> asyncio.Future[None]:
        key = (shown.levels, family)
        if key not in self._made:
            made = self._loop.run_in_executor(self._making, shown.levels.make, family, self._step)
            made.add_done_callback(lambda f: f.cancelled() or f.exception())  # who waits for it hears of it
            self._made[key] = made
        return self._made[key]

    def _step(self, done: int, total: int, what: str) -> None:
        """Called by the thread that makes things."""
        if self._over:
            raise Stopped
        self._offer.step(done, total, what)
        if not self._runs:
            return
        now = self._loop.time()
        if now - self._last_push >= PUSHED_EVERY_S or done >= total:
            self._last_push = now
            told = push("progress", done=done / total if total else 1, what=what)
            self._loop.call_soon_threadsafe(self._push, told)

    def _push(self, data: bytes) -> None:
        for socket in tuple(self._sockets):
            if not socket.closed:
                task = asyncio.ensure_future(sent(socket, data))
                task.add_done_callback(lambda t: t.cancelled() or t.exception())

    # --- requests

    def _refused(self, request: web.Request, given: str | None) -> web.Response | None:
        from aiohttp import web

        headers = request.headers
        host, origin = headers.get("Host", ""), headers.get("Origin")
        why = guard.refused(self._token, self._port, given=given, host=host, origin=origin)
        return web.Response(status=403, text=f"403: {why}\n", headers=guard.HEADERS) if why else None

    async def _index(self, request: web.Request) -> web.Response:
        from aiohttp import web

        once = request.query.get("once")
        if once is not None:
            return self._refused(request, None) or self._let_in(once)
        refused = self._refused(request, request.query.get("token", ""))
        body = web.Response(body=self._page, content_type="text/html", charset="utf-8", headers=guard.HEADERS)
        return refused or body

    def _let_in(self, once: str) -> web.Response:
        from aiohttp import web

        if not self._browser.taken(once):
            return web.Response(status=403, text=guard.USED, headers=guard.HEADERS)
        return web.Response(status=303, headers={**guard.HEADERS, "Location": f"/?token={self._token}"})

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        refused = self._refused(request, None)
        if refused is not None:
            return refused
        found = self._assets.get(request.match_info["name"])
        if found is None:
            return web.Response(status=404, text="404: there is no such file\n", headers=guard.HEADERS)
        return web.FileResponse(found[0], headers={**guard.HEADERS, "Content-Type": found[1]})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import WSMsgType, web

        refused = self._refused(request, request.query.get("token", ""))
        if refused is not None:
            return refused
        socket = web.WebSocketResponse(max_msg_size=MOST_QUESTION, heartbeat=30, compress=False)
        await socket.prepare(request)
        self._sockets.add(socket)
        talk = Talk(self, socket)
        if self._offer.wishes is not None and self._offer.wishes.waiting:
            await sent(socket, self._form())
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    await talk.heard(message.data)
                elif message.type == WSMsgType.BINARY:
                    await sent(socket, refusal(0, "questions are text"))
        finally:
            self._sockets.discard(socket)
            talk.end()
        return socket

    async def answered(self, asked: Question, told: Told, holder: dict[int, Ticket]) -> bytes:
        if asked.op == "stop":
            return await self._stop_recording(asked)
        opened = await asyncio.shield(self._opened)
        ticket = Ticket(opened)
        opened.asking += 1
        holder[asked.id] = ticket
        self._tickets.add(ticket)
        try:
            for shown, family in needed(opened, asked):
                if not shown.levels.there(family):
                    await asyncio.shield(self._wanted(shown, family))
            pool = self._querying if asked.op in FREE else self._answering
            running = self._loop.run_in_executor(pool, answer, opened, asked, told, ticket)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                ticket.cancel()
                await asyncio.wait({running})  # it still asks through what is closed next
                raise
        finally:
            self._tickets.discard(ticket)
            ticket.close()
            opened.asking -= 1
            self._let_go()

    async def record(self, asked: Question) -> bytes:
        """Raises UsageError."""
        if self._offer.wishes is None:
            raise UsageError("nothing can be recorded from here", hints=["probescope timeline --record"])
        await asyncio.to_thread(self._offer.wishes.ask, asked.args)
        return encode({"id": asked.id, "ok": True})

    async def _stop_recording(self, asked: Question) -> bytes:
        live = self._live
        if live is None or not live.going:
            return refusal(asked.id, "nothing is being recorded")
        await asyncio.to_thread(live.stop)
        return encode({"id": asked.id, "ok": True})
