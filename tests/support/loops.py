"""Coroutines beside the loop that a browser of other tests may have left running in the main thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run_here(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """In this thread: screens want the main one."""
    others = asyncio.events._get_running_loop()
    asyncio.events._set_running_loop(None)
    try:
        return asyncio.run(coroutine)
    finally:
        asyncio.events._set_running_loop(others)


def run_apart(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """In a thread of its own."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, coroutine).result()
