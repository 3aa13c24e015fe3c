"""Sums of samples by rows that were met before: without sorting, and without a step of Python for each row of a batch.

    sample     columns mixed     slot: some bits of it     number of the row that is known there     sums by number
    sh 0x1136  0x5a17..          0x2cf                    3                                         weights[3] += ...

A sample whose slot holds another row, or none yet, is found by sorting those that are like it. The mix takes the place
of the row, see ``model.alike``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probescope.model.alike import alike

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]
    Add = Callable[[tuple[int, ...], int, int], None]

BITS, MOST_BITS = 14, 18
"""Of slots: at first, and where rows are many."""
_MIX = 0x9E3779B97F4A7C15  # odd numbers without a pattern; a column's is a power of it
_SLOT = 0xBF58476D1CE4E5B9
_ALL = (1 << 64) - 1


class Table:
    """``add`` sums what it can; rows without a place of their own go to a function ``(event, values...), weight,
    count``, as do all sums with ``empty``."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._bits = BITS
        self._keys: Column | None = None
        self._numbers: Column | None = None
        self._weights: Column | None = None
        self._counts: Column | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self, event: int, columns: Sequence[Column], periods: Column, otherwise: Add, many: Column | None = None
    ) -> None:
        """``many``: samples that each stands for, if not one."""
        import numpy as np

        if self._keys is None:
            self._clear()
        assert self._keys is not None
        assert self._numbers is not None
        keys = mixed(event, columns)
        slots = _slots(keys, self._bits)
        known = self._keys.take(slots) == keys
        if not known.all() and len(self._rows) << 2 > len(self._keys) and self._bits < MOST_BITS:
            self._grow()
            slots = _slots(keys, self._bits)
            known = self._keys.take(slots) == keys
        if not known.all():
            self._learn(event, columns, keys, slots, (~known).nonzero()[0])
            known = self._keys.take(slots) == keys
        if known.all():
            self._sum(self._numbers.take(slots), periods, many)
            return
        mine, rest = known.nonzero()[0], (~known).nonzero()[0]
        self._sum(self._numbers.take(slots[mine]), periods[mine], None if many is None else many[mine])
        some = [c[rest] for c in columns]
        first, kinds = alike(some)
        weights = np.zeros(len(first), np.uint64)
        np.add.at(weights, kinds, periods[rest])
        each = np.ones(len(rest), np.int64) if many is None else many[rest]
        counts = np.bincount(kinds, each, len(first)).astype(np.int64).tolist()
        rows = zip(*(c[first].tolist() for c in some), strict=True)
        for row, weight, count in zip(rows, weights.tolist(), counts, strict=True):
            otherwise((event, *row), weight, count)

    def empty(self, add: Add) -> None:
        """Gives all sums away."""
        if self._weights is None or self._counts is None:
            return
        for row, weight, count in zip(self._rows, self._weights.tolist(), self._counts.tolist(), strict=False):
            add(row, weight, count)
        self._clear()

    def _clear(self) -> None:
        import numpy as np

        self._bits = BITS
        size = 1 << BITS
        self._rows = []
        self._keys = _free(size, BITS)
        self._numbers = np.full(size, -1, np.int64)
        self._weights, self._counts = np.zeros(size, np.uint64), np.zeros(size, np.int64)

    def _grow(self) -> None:
        """To four times as many slots: what had one of its own has one of its own there, too."""
        import numpy as np

        assert self._keys is not None
        assert self._numbers is not None
        assert self._weights is not None
        assert self._counts is not None
        taken = (self._numbers >= 0).nonzero()[0]
        keys, old = self._keys[taken], self._numbers[taken]
        self._bits += 2
        size = 1 << self._bits
        self._keys, self._numbers = _free(size, self._bits), np.full(size, -1, np.int64)
        slots = _slots(keys, self._bits)
        self._keys[slots], self._numbers[slots] = keys, old
        more = size - len(self._weights)
        self._weights = np.append(self._weights, np.zeros(more, np.uint64))
        self._counts = np.append(self._counts, np.zeros(more, np.int64))

    def _learn(self, event: int, columns: Sequence[Column], keys: Column, slots: Column, which: Column) -> None:
        """Gives free slots to rows."""
        import numpy as np

        assert self._keys is not None
        assert self._numbers is not None
        first = which[alike([slots[which]])[0]]  # np.unique would load numpy.ma
        first = first[slots[first].argsort()]
        free = slots[first]
        fresh = self._numbers[free] < 0
        free, first = free[fresh], first[fresh]
        self._keys[free] = keys[first]
        self._numbers[free] = np.arange(len(self._rows), len(self._rows) + len(free))
        self._rows += [(event, *row) for row in zip(*(c[first].tolist() for c in columns), strict=True)]

    def _sum(self, numbers: Column, periods: Column, many: Column | None) -> None:
        import numpy as np

        assert self._weights is not None
        assert self._counts is not None
        if not len(numbers):
            return
        if many is not None:
            np.add.at(self._counts, numbers, many)
            np.add.at(self._weights, numbers, periods)
            return
        counts = np.bincount(numbers, minlength=len(self._rows))
        self._counts[: len(counts)] += counts
        one = periods[0]
        if (periods == one).all():
            self._weights[: len(counts)] += counts.astype(np.uint64) * one
        else:
            np.add.at(self._weights, numbers, periods)


def mixed(event: int, columns: Sequence[Column]) -> Column:
    import numpy as np

    found: Column = np.full(len(columns[0]), (event + 1) * _SLOT & _ALL, np.uint64)
    factor = _MIX
    for column in columns:
        found += column.astype(np.int64, copy=False).view(np.uint64) * np.uint64(factor)
        factor = factor * _MIX & _ALL
    return found


def _free(size: int, bits: int) -> Column:
    """Keys of empty slots: such as belong elsewhere."""
    import numpy as np

    keys = np.ones(size, np.uint64)
    keys[_slots(np.ones(1, np.uint64), bits)] = 0
    return keys


def _slots(keys: Column, bits: int) -> Column:
    import numpy as np

    slots = keys ^ (keys >> np.uint64(32))
    slots *= np.uint64(_SLOT)
    slots >>= np.uint64(64 - bits)
    found: Column = slots.view(np.int64)
    return found
