"""What begins and what ends it: rows of one lane (a CPU, a thread) after each other, over batches.

lane 3    B1 ──── E1   B2   B3 ─── E3   E4        B2 was not ended, E4 was not begun
                       │ batch │
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.frozen import dataclass

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """``begin`` and ``end``: indices into ``columns``, -1 for none."""

    begin: Array
    end: Array
    columns: dict[str, Array]

    def __len__(self) -> int:
        return len(self.begin)

    def of_begin(self, name: str, null: int = -1) -> Array:
        return self._of(self.begin, name, null)

    def of_end(self, name: str, null: int = -1) -> Array:
        return self._of(self.end, name, null)

    def of_either(self, name: str) -> Array:
        """As the begin has it; without one, as the end has."""
        found: Array = self.columns[name][np.where(self.begin >= 0, self.begin, self.end)]
        return found

    def _of(self, at: Array, name: str, null: int) -> Array:
        column = self.columns[name]
        if not len(column):
            return np.full(len(at), null, np.int64)
        return np.where(at >= 0, column[np.maximum(at, 0)], null)


class Pairing:
    """Each lane has at most one thing that has begun and not ended; it waits for the batches to come. ``columns`` of
    ``feed`` are always the same ones."""

    def __init__(self) -> None:
        self._lane: Array = np.zeros(0, np.int64)
        self._match: Array = np.zeros(0, np.int64)
        self._columns: dict[str, Array] = {}

    def feed(self, lane: Array, begins: Array, match: Array, columns: Mapping[str, Array]) -> Pairs:
        """Rows in order of time. An end belongs to what began last in its lane, if ``match`` is the same. Negative
        lanes are nobody's: nothing there belongs together."""
        if not len(lane):
            none = np.zeros(0, np.int64)
            return Pairs(none, none, dict(columns))
        held = np.isin(self._lane, lane) if len(self._lane) else np.zeros(0, np.bool_)
        waiting = int(held.sum())
        if waiting:
            lane = np.concatenate((self._lane[held], lane))
            match = np.concatenate((self._match[held], match))
            begins = np.concatenate((np.ones(waiting, np.bool_), begins))
            columns = {n: np.concatenate((self._columns[n][held], c)) for n, c in columns.items()}
        pairs, left = _paired(lane, begins, match, dict(columns))
        kept = ~held
        if not self._columns:
            self._columns = {n: c[:0] for n, c in columns.items()}
        self._lane = np.concatenate((self._lane[kept], lane[left]))
        self._match = np.concatenate((self._match[kept], match[left]))
        self._columns = {n: np.concatenate((self._columns[n][kept], c[left])) for n, c in columns.items()}
        return pairs

    def rest(self) -> Pairs:
        """What has not ended, at the end of everything."""
        count = len(self._lane)
        return Pairs(np.arange(count), np.full(count, -1), self._columns)


def _paired(lane: Array, begins: Array, match: Array, columns: dict[str, Array]) -> tuple[Pairs, Array]:
    """Also the rows that wait on."""
    order = by_lane(lane)
    lanes, opens, matches = lane[order], begins[order], match[order]
    same = (lanes[1:] == lanes[:-1]) & (lanes[1:] >= 0)
    fits = same & opens[:-1] & ~opens[1:] & (matches[1:] == matches[:-1])
    closed = np.append(fits, False)  # begins that the next row ends
    closing = np.append(False, fits)
    last = np.append(~same, True) & (lanes >= 0)
    waits = opens & ~closed & last
    unended = order[opens & ~closed & ~waits]
    unbegun = order[~opens & ~closing]
    begin = np.concatenate((order[closed], unended, np.full(len(unbegun), -1)))
    end = np.concatenate((order[closing], np.full(len(unended), -1), unbegun))
    when = np.where(end >= 0, end, begin).argsort(kind="stable")  # as things end
    return Pairs(begin[when], end[when], columns), order[waits]


def by_lane(lane: Array) -> Array:
    """The order of lanes, and in each that of the rows; small numbers are sorted in linear time."""
    least, most = (int(lane.min()), int(lane.max())) if len(lane) else (0, 0)
    if least >= 0 and most < 1 << 16:
        return lane.astype(np.uint16).argsort(kind="stable")
    return lane.argsort(kind="stable")
