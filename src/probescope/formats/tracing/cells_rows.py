"""Lines put together row by row, by compiled code: see ``rows``, which has the operations of a plan.

Numbers and times are given as they are, and become digits where they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.compiled import compiled

if TYPE_CHECKING:
    from probescope.formats.tracing.cells import Cells

    Column = np.ndarray[Any, Any]

_ROWS = compiled("tracing.rows")
WRITTEN: Callable[..., tuple[bytes, bytes]] | None = getattr(_ROWS, "written", None)
CONST, SIZED, FIXED, HEX, UNSIGNED, SIGNED, SECONDS = range(7)
MOST_PARTS = 256
_TOP = np.uint64(1 << 63)


class Numbers:
    """``values``: of eight bytes each. ``kind``: HEX, UNSIGNED, SIGNED or SECONDS, with characters before and behind
    the point."""

    __slots__ = ("before", "behind", "kind", "values")

    def __init__(self, kind: int, values: Column, before: int = 0, behind: int = 0) -> None:
        self.kind, self.values, self.before, self.behind = kind, values, before, behind


def times(values: Column, before: int, behind: int) -> Numbers | None:
    """Nanoseconds; None where there are such as no clock has."""
    if len(values) and values.max() >= _TOP:
        return None
    return Numbers(SECONDS, values, before, behind)


def written(
    parts: Sequence[tuple[Column | None, Sequence[Cells]]], count: int, *, ended: bool = True
) -> tuple[bytes, Column]:
    """As ``cells`` has it; not more than ``MOST_PARTS``. Where lines end is told where it is asked for."""
    assert WRITTEN is not None
    plans = _Plans()
    found = [np.array(plans.plan(some), np.int64).tobytes() for _, some in parts]
    kinds = b""
    if len(parts) > 1:
        of = np.zeros(count, np.uint8)
        for i, (rows, _) in enumerate(parts):
            of[slice(None) if rows is None else rows] = i
        kinds = of.tobytes()
    text, ends = WRITTEN(kinds, found, b"".join(plans.texts), b"".join(plans.words), ended, count)
    return text, np.frombuffer(ends, np.int64)


class _Plans:
    """``texts`` and ``words``: what plans speak of, to be put together."""

    def __init__(self) -> None:
        self.texts: list[Any] = []
        self.words: list[Any] = []
        self._text = self._word = 0

    def _add_text(self, data: Any) -> int:
        self.texts.append(data)
        at, self._text = self._text, self._text + memoryview(data).nbytes
        return at

    def _add_words(self, values: Column, kind: Any) -> int:
        data = np.ascontiguousarray(values, kind)
        self.words.append(data.data)
        at, self._word = self._word, self._word + data.nbytes
        return at

    def plan(self, cells: Sequence[Cells]) -> list[int]:
        plan: list[int] = []
        before = b""  # neighbours as one
        for c in (*cells, None):
            if isinstance(c, bytes):
                before += c
                continue
            if before:
                plan += (CONST, self._add_text(before), len(before), 0)
                before = b""
            if isinstance(c, Numbers):
                plan += (c.kind, self._add_words(c.values, c.values.dtype), c.before, c.behind)
            elif c is not None and not isinstance(c, list):
                at = self._add_text(np.ascontiguousarray(c.values).view(np.uint8).data)
                if isinstance(c.sizes, int):
                    plan += (FIXED, at, c.width, 0)
                else:
                    plan += (SIZED, at, c.width, self._add_words(c.sizes, np.int64))
        return plan
