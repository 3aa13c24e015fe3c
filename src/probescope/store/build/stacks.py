"""Stacks and places of events as rows of ``callsite`` and ``frame``, each different one once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import LimitError
from probescope.formats.stacktable import CodeFrame, StackTable
from probescope.model.alike import alike
from probescope.store.build.interning import clean
from probescope.store.schema import CALLSITE, FRAME

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Frame
    from probescope.store.build.sink import Sink

    Array = np.ndarray[Any, Any]


class Sites:
    """``frames``: of a stack by its number, innermost first; ``frame``: of a place by (space, address, kernel).
    ``cut``: stacks that found no room."""

    def __init__(
        self, frames: Callable[[int], tuple[Frame, ...]], frame: Callable[[int, int, bool], Frame] | None = None
    ) -> None:
        self._frames, self._frame = frames, frame
        self._table = StackTable()
        self._nodes: dict[int, int] = {}
        self._places: dict[tuple[int, int, int], int] = {}
        self.cut = 0

    def of_stacks(self, stacks: Array) -> Array:
        """-1 where there is none."""
        numbers, inverse = np.unique(stacks, return_inverse=True)
        return np.array([self._node(s) for s in numbers.tolist()], np.int64)[inverse]

    def of_places(self, spaces: Array, addresses: Array, modes: Array) -> Array:
        if not len(spaces):
            return np.zeros(0, np.int64)
        columns = [spaces, addresses, modes]
        first, kinds = alike(columns)
        rows = zip(*(c[first].tolist() for c in columns), strict=True)
        return np.array([self._place(*row) for row in rows], np.int64)[kinds]

    def _node(self, stack: int) -> int:
        if stack < 0:
            return -1
        found = self._nodes.get(stack)
        if found is None:
            found = self._nodes[stack] = self._entered(reversed(self._frames(stack)))
        return found

    def _place(self, space: int, address: int, mode: int) -> int:
        if self._frame is None or not address:
            return -1
        key = (space, address, mode)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = self._entered([self._frame(space, address, mode in (1, 4))])
        return found

    def _entered(self, frames: Iterable[Frame]) -> int:
        try:
            return self._table.node(_code(f) for f in frames) or -1
        except LimitError:
            self.cut += 1
            return -1

    def write(self, sink: Sink) -> None:
        sink.make(CALLSITE)
        sink.make(FRAME)
        t = self._table
        parent = np.array(t.parent[1:], np.int64)
        count = len(parent)
        sink.add(
            CALLSITE,
            {
                "id": np.arange(1, count + 1),
                "parent": np.where(parent > 0, parent, -1),
                "frame": np.array(t.frame[1:], np.int64),
                "depth": np.array(t.depth[1:], np.int64) - 1,
            },
        )
        sink.add(
            FRAME,
            {
                "id": np.arange(len(t.frames)),
                "function": _texts(f.name for f in t.frames),
                "module": _texts(f.module for f in t.frames),
                "file": _texts(f.file for f in t.frames),
                "line": np.array([f.line for f in t.frames], np.int64),
                "kernel": np.array([f.kernel for f in t.frames], np.int8),
                "inlined": np.array([f.inlined for f in t.frames], np.int8),
            },
        )


def _code(f: Frame) -> CodeFrame:
    name = f.name or f"[{f.module.rpartition('/')[2].strip('[]') or 'unknown'}]"
    return CodeFrame(name, f.module, f.kernel, 0, f.file, f.line, f.inlined)


def _texts(found: Iterable[str]) -> Array:
    texts = [clean(t) or None for t in found]
    out: Array = np.empty(len(texts), object)
    out[:] = texts
    return out
