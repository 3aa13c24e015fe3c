"""One page that asks: questions that wait for their answers, and the names that it has been told."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from probescope.errors import ProbescopeError
from probescope.views.timeline.names import Told
from probescope.views.timeline.protocol import MOST_IN_FLIGHT, Question, RefusedQuestionError, question, refusal
from probescope.views.timeline.service import failed

if TYPE_CHECKING:
    from aiohttp import web

    from probescope.views.timeline.opened import Ticket
    from probescope.views.timeline.server import Server


class Talk:
    """One page: what it has asked and not heard yet, and which names it has been told."""

    def __init__(self, server: Server, socket: web.WebSocketResponse) -> None:
        self._server, self._socket = server, socket
        self._told: Told | None = None
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._tickets: dict[int, Ticket] = {}

    async def heard(self, text: str) -> None:
        try:
            asked = question(text)
        except RefusedQuestionError as e:
            await sent(self._socket, refusal(e.id, e.what))
            return
        if asked.cancels:
            self._cancel(asked.cancels)
        elif len(self._asked) >= MOST_IN_FLIGHT:
            await sent(self._socket, refusal(asked.id, f"more than {MOST_IN_FLIGHT} questions at once"))
        elif asked.id in self._asked:
            await sent(self._socket, refusal(asked.id, "this number is still being answered"))
        else:
            self._asked[asked.id] = asyncio.ensure_future(self._answer(asked))

    def _cancel(self, number: int) -> None:
        if number in self._tickets:
            self._tickets[number].cancel()

    async def _answer(self, asked: Question) -> None:
        try:
            data = await self._reply(asked)
        except ProbescopeError as e:
            data = failed(asked.id, e)
        except Exception as e:  # noqa: BLE001 - the page is told, and goes on
            data = refusal(asked.id, f"this went wrong here: {type(e).__name__}: {e}", "please report it")
        finally:
            self._asked.pop(asked.id, None)
            self._tickets.pop(asked.id, None)
        await sent(self._socket, data)
        self._server.heard()

    async def _reply(self, asked: Question) -> bytes:
        if asked.op == "record":
            return await self._server.record(asked)
        opened = await asyncio.shield(self._server.opened)
        if self._told is None:
            self._told = Told(opened.names)
        return await self._server.answered(asked, self._told, self._tickets)

    def end(self) -> None:
        for ticket in self._tickets.values():
            ticket.cancel()
        for task in tuple(self._asked.values()):
            task.cancel()


async def sent(socket: web.WebSocketResponse, data: bytes) -> None:
    with contextlib.suppress(ConnectionError, RuntimeError):
        await socket.send_bytes(data)
