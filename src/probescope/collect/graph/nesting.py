"""Depth and time of calls that were probed one by one: entries and returns of threads, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MOST_DEPTH = 256
MOST_OPEN = 1 << 16


class Nesting:
    """``kernel(function)``: it is one of the kernel's. With ``below``, calls of the kernel count only where a function
    of the program is open. ``most``: levels of calls that count, of the kernel's alone with ``below``; 0: all."""

    def __init__(self, kernel: Callable[[int], bool], *, below: bool, most: int = 0) -> None:
        self._kernel, self._below, self._most = kernel, below, most
        self._open: dict[int, list[tuple[int, int]]] = {}

    def nested(self, rows: Sequence[tuple[Any, ...]], funcs: Sequence[int]) -> tuple[list[int], list[int]]:
        """Depth of each of ``(kind, cpu, tid, time, ...)``, -1 for what is left out, and ns of each return. A return
        closes the innermost call of its function; those inside of that never returned (longjmp, an exception)."""
        depth: list[int] = []
        duration: list[int] = []
        for (kind, _, tid, time, *_), func in zip(rows, funcs, strict=True):
            open_ = self._open.setdefault(tid, [])
            if not kind:
                counts = self._counts(func, open_) and len(open_) < MOST_OPEN
                depth.append(min(len(open_), MOST_DEPTH) if counts else -1)
                duration.append(0)
                if counts:
                    open_.append((func, time))
                continue
            at = next((i for i in range(len(open_) - 1, -1, -1) if open_[i][0] == func), -1)
            strange = at < 0 and (self._most > 0 or (self._below and self._kernel(func)))
            depth.append(-1 if strange else min(max(at, 0), MOST_DEPTH))
            duration.append(time - open_[at][1] if at >= 0 else 0)
            if at >= 0:
                del open_[at:]
        return depth, duration

    def _counts(self, func: int, open_: list[tuple[int, int]]) -> bool:
        if not self._below:
            return not self._most or len(open_) < self._most
        if not self._kernel(func):
            return True
        levels = sum(self._kernel(f) for f, _ in open_)
        return levels < len(open_) and (not self._most or levels < self._most)
