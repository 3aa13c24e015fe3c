"""The maps of a program that has nothing in the kernel."""

from __future__ import annotations

from typing import Any

from probescope.evaluate.store import MemoryStore


class MemoryMaps:
    """``actions.MapReader`` over dictionaries."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def snapshot(self, name: str) -> list[tuple[Any, Any]]:
        return list(self._store.state(name).items())

    def clear(self, name: str) -> None:
        self._store.clear(name)

    def zero(self, name: str) -> None:
        self._store.zero(name)
