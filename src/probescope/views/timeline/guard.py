"""Who may ask the server: who knows the token, and asks by its own name, from its own page.

The server listens on the loopback, where other users and pages of other sites can reach it. The token keeps out users
(and is never an argument of a browser, which they could see: that is given an address that is good for one request);
the Host header keeps out pages whose name was made to mean the loopback (DNS rebinding); the Origin header keeps out
pages that open a websocket, which browsers let anyone do.
"""

from __future__ import annotations

import hmac
import secrets

#: Headers of every answer. Nothing runs, loads or connects but what the server itself gives.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    return secrets.token_urlsafe(24)


class Address(str):
    """Of the page, with the token. ``once``: for a browser, the same with a ticket."""

    __slots__ = ("once",)
    once: str

    @staticmethod
    def of(port: int, token: str, ticket: Ticket) -> Address:
        base = f"http://127.0.0.1:{port}/"
        made = Address(f"{base}?token={token}")
        made.once = f"{base}?once={ticket.word}"
        return made


class Ticket:
    """A word that opens the page for the first who has it."""

    def __init__(self) -> None:
        self.word = new_token()
        self._good = True

    def taken(self, given: str) -> bool:
        good = self._good and hmac.compare_digest(given.encode("utf-8", "replace"), self.word.encode())
        self._good = self._good and not good
        return good


USED = "403: this address was good for one request: open the one that probescope timeline has printed\n"


def refused(token: str, port: int, *, given: str | None, host: str, origin: str | None) -> str:
    """Why not; empty if it may. ``given``: the token of the request, None where none is needed; ``origin``: None where
    there is none, as programs that are no browsers have it."""
    names = {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
    if host.lower() not in names:
        return "this server is asked by another name than its own"
    if origin is not None and origin.lower() not in {f"http://{name}" for name in names}:
        return "this page is none of this server's"
    if given is not None and not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        return "the token is wrong: open the address that probescope timeline has printed"
    return ""
