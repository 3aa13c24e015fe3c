"""Files by build-id from servers that speak debuginfod: only ever when the user asked for it.

    GET URL/buildid/BUILDID/executable | debuginfo       200 and the file, or 404
    CACHE/BUILDID/executable | debuginfo                 what was fetched before, by whatever program of this name

Source: debuginfod(8), "WEBAPI". Servers are strangers: they get a build-id and nothing else, their files are bounded in
size and time, and whoever uses one compares its build-id.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from probescope.errors import UsageError

TIMEOUT = 10.0
"""Seconds until a server has to answer, and between pieces of an answer."""
LONGEST = 300.0
"""Seconds that one file may take."""
MOST_BYTES = 1 << 31
MOST_FAILURES = 3
"""A server that could not be asked so often is not asked again."""
_PIECE = 1 << 18
_DIGITS = frozenset("0123456789abcdef")


def servers(option: str, environment: str) -> tuple[str, ...]:
    """Of an option's value or, where that is empty, of DEBUGINFOD_URLS. Raises UsageError."""
    urls = tuple((option or environment).split())
    if not urls:
        raise UsageError("no server to fetch debug files from", hints=["--debuginfod=URL", "or set DEBUGINFOD_URLS"])
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(
                f"'{url}' is no address of a server", hints=["--debuginfod=https://debuginfod.example.org"]
            )
    return tuple(u.rstrip("/") for u in urls)


class Client:
    """``cache``: a folder, made when needed. ``told`` is called with the name of each file that is asked for."""

    def __init__(self, urls: Sequence[str], cache: str, told: Callable[[str], None] = lambda _: None) -> None:
        self._urls, self._cache, self._told = urls, cache, told
        self._known: dict[tuple[str, str], str] = {}
        self._failures = dict.fromkeys(urls, 0)
        self.fetched = 0

    def fetch(self, build_id: str, kind: str) -> str:
        """The file's path; empty where no server has it, or it cannot be had. Raises nothing."""
        if not 4 <= len(build_id) <= 128 or not _DIGITS.issuperset(build_id) or kind not in {"executable", "debuginfo"}:
            return ""
        key = (build_id, kind)
        if key not in self._known:
            self._known[key] = self._found(build_id, kind)
        return self._known[key]

    def _found(self, build_id: str, kind: str) -> str:
        path = os.path.join(self._cache, build_id, kind)
        if os.path.isfile(path):
            return path
        for url in self._urls:
            if self._failures[url] < MOST_FAILURES and self._download(url, build_id, kind, path):
                self.fetched += 1
                return path
        return ""

    def _download(self, url: str, build_id: str, kind: str, path: str) -> bool:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request, build_opener

        self._told(f"{kind} {build_id} of {urlsplit(url).hostname}")
        address = f"{url}/buildid/{build_id}/{kind}"
        request = Request(address, headers={"User-Agent": "probescope"})  # noqa: S310 - http or https: see servers()
        part = f"{path}.part{os.getpid()}"
        try:
            with build_opener().open(request, timeout=TIMEOUT) as answer:
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                with open(part, "xb") as out:
                    complete = _copied(answer, out.write)
            if complete:
                os.replace(part, path)
                return True
        except HTTPError as e:
            self._failures[url] += e.code != 404
        except (OSError, ValueError, HTTPException) as e:
            self._failures[url] += not isinstance(e, FileExistsError)
        with contextlib.suppress(OSError):
            os.unlink(part)
        return False


def _copied(answer: Any, write: Callable[[bytes], object]) -> bool:
    """False where the file is too large, too slow, or shorter than announced."""
    announced = answer.headers.get("Content-Length", "")
    size = int(announced) if announced.isascii() and announced.isdigit() else -1
    if size > MOST_BYTES:
        return False
    end, total = time.monotonic() + LONGEST, 0
    while piece := answer.read(_PIECE):
        total += len(piece)
        if total > MOST_BYTES or time.monotonic() > end:
            return False
        write(piece)
    return total > 0 and size in (-1, total)


def cache_folder(environment: dict[str, str] | os._Environ[str]) -> str:
    """Below XDG_CACHE_HOME (XDG Base Directory Specification)."""
    base = environment.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "probescope", "debuginfod")
