"""Events that are alike in several columns, found by one sort.

The columns of an event are mixed into one 64-bit number, which takes the place of the row: two different rows among a
billion get the same one with a probability of one in forty. What that would do is add two counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]


def alike(columns: Sequence[Column]) -> tuple[Column, Column]:
    """(the first event of each kind, the kind of each event); kinds are numbered in no particular order."""
    import numpy as np

    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed ^= column.astype(np.int64, copy=False).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    order = mixed.argsort()  # not np.unique's, which is stable and ten times slower
    ordered = mixed[order]
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    starts = new.nonzero()[0]
    kinds = np.empty(len(ordered), np.int64)
    kinds[order] = new.cumsum() - 1
    return np.minimum.reduceat(order, starts) if len(starts) else starts, kinds


class Remembered:
    """Numbers of keys that are met again and again: most are found in a table, by bits of the key, without a step of
    Python for each. A key whose place another one has is asked for anew."""

    def __init__(self, bits: int = 17) -> None:
        self._bits = bits
        self._keys: Column | None = None
        self._numbers: Column | None = None

    def numbers(self, keys: Column, ask: Callable[[Column], Sequence[int]]) -> Column:
        """Of u8 keys, as i8. ``ask``: the numbers of some of them, which all differ, by their indices."""
        import numpy as np

        if self._keys is None or self._numbers is None:
            self._keys, self._numbers = np.zeros(1 << self._bits, np.uint64), np.full(1 << self._bits, -1, np.int64)
        mixed = keys * np.uint64(0x9E3779B97F4A7C15)
        slots = (mixed >> np.uint64(64 - self._bits)).view(np.int64)
        found = self._numbers.take(slots)
        new = np.flatnonzero((self._keys.take(slots) != keys) | (found < 0))
        if len(new):
            first, kinds = alike([keys[new]])
            found[new] = np.array(ask(new[first]), np.int64)[kinds]
            self._keys[slots[new]], self._numbers[slots[new]] = keys[new], found[new]
        return found
