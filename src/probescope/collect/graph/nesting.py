"""Depth and time of calls that were probed one by one: entries and returns of threads, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MOST_DEPTH = 256
MOST_OPEN = 1 << 16


class Nesting:
    """``kernel(function)``: it is one of the kernel's. With ``below``, calls of the kernel count only where a function
    of the program is open."""

    def __init__(self, kernel: Callable[[int], bool], *, below: bool) -> None:
        self._kernel, self._below = kernel, below
        self._open: dict[int, list[tuple[int, int]]] = {}

    def nested(self, rows: Sequence[tuple[Any, ...]], funcs: Sequence[int]) -> tuple[list[int], list[int]]:
        """Depth of each of ``(kind, cpu, tid, time, ...)``, -1 for what is left out, and ns of each return. A return
        closes the innermost call of its function; those inside of that never returned (longjmp, an exception)."""
        depth: list[int] = []
        duration: list[int] = []
        for (kind, _, tid, time, *_), func in zip(rows, funcs, strict=True):
            open_ = self._open.setdefault(tid, [])
            if not kind:
                out = self._below and self._kernel(func) and not any(not self._kernel(f) for f, _ in open_)
                depth.append(-1 if out else min(len(open_), MOST_DEPTH))
                duration.append(0)
                if not out and len(open_) < MOST_OPEN:
                    open_.append((func, time))
                continue
            at = next((i for i in range(len(open_) - 1, -1, -1) if open_[i][0] == func), -1)
            out = at < 0 and self._below and self._kernel(func)
            depth.append(-1 if out else min(max(at, 0), MOST_DEPTH))
            duration.append(time - open_[at][1] if at >= 0 else 0)
            if at >= 0:
                del open_[at:]
        return depth, duration
