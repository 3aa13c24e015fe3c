"""Pieces of time of a recording, as options name them: perf's words for ``--time``.

    10.5,12         seconds; either may be left out          "1,2 5,"     several, parted by blanks
    10%/2           the second tenth                          10%/1,10%/3  several
    0%-10%,30%-40%  shares of the whole

Source: perf-report(1) and perf-script(1), --time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    Column = np.ndarray[Any, Any]

FOREVER = (1 << 64) - 1
HINTS = ("--time 10.5,12 (seconds)", "--time 10.5, (from there on)", "--time 10%/2 (the second tenth)", "--time 0%-25%")
_SECONDS = re.compile(r"(\d{0,11})(?:\.(\d{0,9})\d*)?")
_SLICE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%/(\d{1,6})")
_SHARES = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%-(\d{1,3}(?:\.\d{1,6})?)%")


@dataclass(frozen=True, slots=True)
class Spans:
    """``absolute``: ns, both ends included. ``shares`` (0 to 1) are of a recording's whole time."""

    absolute: tuple[tuple[int, int], ...] = ()
    shares: tuple[tuple[float, float], ...] = ()

    def resolved(self, first: int, last: int) -> tuple[tuple[int, int], ...]:
        """In ns. ``first``, ``last``: of the recording. As perf has it, a share ends 1 ns before the next begins."""
        out = list(self.absolute)
        for low, high in self.shares:
            start, end = first + round(low * (last - first)), first + round(high * (last - first))
            out.append((start, end - 1 if start < end < last else end))
        return tuple(out)


def spans(text: str) -> Spans:
    """Raises UsageError."""
    if "%" in text:
        return Spans(shares=tuple(_share(word.strip(), text) for word in text.split(",")))
    return Spans(absolute=tuple(_between(word, text) for word in text.split()))


def _share(word: str, text: str) -> tuple[float, float]:
    if found := _SLICE.fullmatch(word):
        part, number = float(found[1]) / 100, int(found[2])
        low, high = part * (number - 1), part * number
    elif found := _SHARES.fullmatch(word):
        low, high = float(found[1]) / 100, float(found[2]) / 100
    else:
        low, high = 1, 0
    if not 0 <= low < high <= 1 + 1e-9:
        raise _no_span(text)
    return low, min(high, 1.0)


def _between(word: str, text: str) -> tuple[int, int]:
    first, comma, last = word.partition(",")
    low, high = _ns(first, text) if first else 0, _ns(last, text) if last else FOREVER
    if not comma or low > high:
        raise _no_span(text)
    return low, high


def _ns(word: str, text: str) -> int:
    found = _SECONDS.fullmatch(word)
    if not found or not (found[1] or found[2]):
        raise _no_span(text)
    return int(found[1] or 0) * 10**9 + int((found[2] or "").ljust(9, "0"))


def _no_span(text: str) -> UsageError:
    return UsageError(f"'{text}' is not a span of time", hints=HINTS)


def within(times: Column, found: Sequence[tuple[int, int]]) -> Column:
    """A mask of the times (u8, ns) that lie in one of ``found``: (from, to), both included."""
    import numpy as np

    mask = np.zeros(len(times), np.bool_)
    for low, high in found:
        mask |= (times >= np.uint64(low)) & (times <= np.uint64(high))
    return mask
