"""Recordings by their names, to be asked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from probescope.errors import UsageError
from probescope.store.cache import Kept, store_of
from probescope.store.parts import Part, is_parquet, parquet_part
from probescope.store.session import MEMORY, Stores

if TYPE_CHECKING:
    from probescope.collect.recorded.search import Search

    Step = Callable[[int, int, str], None]

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
FARTHEST = 1 << 61
"""Times and what is added to them stay 64-bit numbers. In ns: 73 years."""
_OFFSET = re.compile(r"([+-]?(?:\d{1,19}(?:\.\d{0,19})?|\.\d{1,19}))\s*(ns|us|ms|s|m|h|d)?", re.ASCII)


class Asked(Stores):
    """Stores of recordings. ``paths``: files, directories of perf, folders of Parquet, or ``-``; each with what is
    added to its times, in ns. ``fresh``: they are built anew. ``step``: called while one is built. ``search``: how
    names are looked for, ``names`` the same as a text. Raises UsageError, FormatError, LimitError."""

    def __init__(
        self,
        paths: Sequence[tuple[str, int]],
        *,
        fresh: bool = False,
        step: Step = lambda *_: None,
        search: Callable[[str], Search | None] = lambda _: None,
        names: str = "",
        memory: str = MEMORY,
        threads: int = 0,
    ) -> None:
        self._kept: list[Kept] = []
        parts: list[Part] = []
        try:
            for path, offset in paths:
                if is_parquet(path):
                    parts.append(parquet_part(path, offset))
                    continue
                kept = store_of(path, fresh=fresh, step=step, search=partial(search, path), names=names)
                self._kept.append(kept)
                parts.append(Part(kept.path, offset))
            super().__init__(parts, memory=memory, threads=threads)
        except BaseException:
            self._let_go()
            raise

    def close(self) -> None:
        super().close()
        self._let_go()

    def _let_go(self) -> None:
        for kept in self._kept:
            kept.close()


def named(word: str) -> tuple[str, int]:
    """``FILE``, or ``FILE@TIME`` with what is to be added to its times, in seconds or with a unit. Raises
    UsageError."""
    path, at, time = word.rpartition("@")
    if not at or not path or os.path.exists(word):
        return word, 0
    found = _OFFSET.fullmatch(time.strip())
    moved = round(Fraction(found[1]) * UNITS[found[2] or "s"]) if found else FARTHEST + 1
    if abs(moved) > FARTHEST:
        hints = ["host.dat guest.dat@-1.25 moves the second one back by 1.25 s", "units: ns, us, ms, s, m, h, d"]
        raise UsageError(f"'{time[:40]}' is no time to move {path} by", hints=hints)
    return path, moved
