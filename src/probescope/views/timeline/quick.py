"""The server of aiohttp in two thirds of the time: it reads all certificates of the machine when it is imported, for a
client that nobody has here."""

from __future__ import annotations

from typing import Any


def quick_web() -> Any:
    """``aiohttp.web``."""
    import ssl

    known = ssl.create_default_context
    setattr(ssl, "create_default_context", lambda *_: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))  # noqa: B010
    try:
        from aiohttp import web
    finally:
        setattr(ssl, "create_default_context", known)  # noqa: B010
    return web
