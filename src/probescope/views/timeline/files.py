"""The page's files, as the build of ``web/`` leaves them in ``page/``."""

from __future__ import annotations

import os

from probescope.errors import UsageError

FOLDER = os.path.join(os.path.dirname(__file__), "page")
HINTS = ["wheels have it; in a checkout: cd web && npm ci && npm run build"]
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
}


def page(folder: str = FOLDER) -> bytes:
    """Raises UsageError where it is not built."""
    return _read(os.path.join(folder, "index.html"))


def one_file_page(folder: str = FOLDER) -> bytes:
    """The page with everything inside but the data. Raises UsageError where it is not built."""
    return _read(os.path.join(folder, "one-file.html"))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        raise UsageError("the page of the timeline is not built", hints=HINTS) from None


def assets(folder: str = FOLDER) -> dict[str, tuple[str, str]]:
    """Name to path and type: only these can be asked for."""
    out: dict[str, tuple[str, str]] = {}
    try:
        names = os.listdir(os.path.join(folder, "assets"))
    except OSError:
        return out
    for name in sorted(names):
        kind = TYPES.get(os.path.splitext(name)[1])
        if kind is not None:
            out[name] = os.path.join(folder, "assets", name), kind
    return out
