"""Records of all CPUs in order of time, holding as few as can be.

perf writes what it finds in the rings of the CPUs one after the other, and a FINISHED_ROUND after each visit to all of
them. While it reads ring 1, ring 0 goes on filling; but what ring 0 held when the *next* round finishes is all written.
So, at the end of a round, nothing can come any more that is older than the newest record of the round before:

    ring 0:  1 4 6 | 9      | ...          max after round A: 7
    ring 1:  2 3 7 | 8 12   | ...          max after round B: 12
                   A        B  -> all up to 7 may go; 8, 9 and 12 wait for C

- Records of one time stay in the order of the file. A record without a time (0) goes where perf delivers it: at once,
  that is after what the rounds before it had let go.
- Without rounds (one round that does not end, files of `perf record --threads`), ``WINDOW`` bytes are held; when they
  are full the older half goes. What comes later than that allows is told as ``order``, and comes late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.damage import Tally
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.formats.perfdata.stream import Block, Bytes
    from probescope.formats.perfdata.walk import Places, Words

    Column = np.ndarray[Any, Any]

WINDOW = 32 << 20
_KIND = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Records with their times and events (index, -1: not told): parts of a block, or of several joined."""

    data: Bytes
    words: Words
    heads: Words
    at: Places
    time: Column
    event: Column
    base: int

    def picked(self, which: Column) -> Rows:
        return Rows(
            self.data, self.words, self.heads[which], self.at[which], self.time[which], self.event[which], self.base
        )


@dataclass(slots=True)
class Held:
    rows: Rows
    key: Column


class Order:
    """``add`` blocks in the order of the file; each gives what may go."""

    def __init__(self, tally: Tally, big: bool, rounds: bool) -> None:
        self.tally = tally
        self.big = big
        self.rounds = rounds
        self.held: list[Held] = []
        self.newest = 0  # of all so far
        self.at_round = 0  # newest when the last round finished
        self.limit = 0  # newest when the round before that one finished: up to here may go
        self.gone = 0

    def add(self, rows: Rows, block: Block) -> Iterator[Rows]:
        key = self.keys(rows, block)
        self.held.append(Held(rows, key))
        limit = self.limit
        if not self.newest:
            limit = 0
        elif sum(len(held.rows.data) for held in self.held) > WINDOW:
            keys = np.concatenate([held.key for held in self.held])
            limit = max(limit, int(np.partition(keys, len(keys) // 2)[len(keys) // 2]) if len(keys) else 0)
        yield from self.let_go(limit)

    def keys(self, rows: Rows, block: Block) -> Column:
        """Times; for records without one the limit at their place. Moves the limits on."""
        time = rows.time
        marks = self.marks(rows, block)
        limits = np.array([self.limit], np.uint64)
        if len(marks):
            so_far = np.maximum(np.maximum.accumulate(np.append(np.uint64(0), time))[marks], np.uint64(self.newest))
            limits = np.concatenate((limits, np.array([self.at_round], np.uint64), so_far[:-1]))
            self.limit, self.at_round = int(limits[-1]), int(so_far[-1])
        self.newest = max(self.newest, int(time.max(initial=0)))
        none = np.flatnonzero(time == 0)
        if not len(none):
            return time
        key = time.copy()
        key[none] = limits[np.searchsorted(marks, none, "right")]
        return key

    def marks(self, rows: Rows, block: Block) -> Places:
        """Numbers of records before the end of each round."""
        if not self.rounds:
            return np.zeros(0, np.int64)
        if block.rounds:
            return np.array(block.rounds, np.int64)
        return np.flatnonzero(rows.heads & _KIND == r.FINISHED_ROUND)

    def let_go(self, limit: int) -> Iterator[Rows]:
        """What is not newer than ``limit``, in order."""
        going: list[Held] = []
        staying: list[Held] = []
        for held in self.held:
            old = held.key <= limit
            if old.all():
                going.append(held)
            elif not old.any():
                staying.append(held)
            else:
                going.append(Held(held.rows.picked(old), held.key[old]))
                staying.append(compact(Held(held.rows.picked(~old), held.key[~old])))
        self.held = staying
        if going:
            yield self.sorted(going)

    def end(self) -> Iterator[Rows]:
        if self.held:
            going, self.held = self.held, []
            yield self.sorted(going)

    def sorted(self, going: list[Held]) -> Rows:
        rows = joined([held.rows for held in going], self.big)
        key = np.concatenate([held.key for held in going]) if len(going) > 1 else going[0].key
        if len(key) > 1 and not (key[1:] >= key[:-1]).all():
            order = np.argsort(key, kind="stable")
            rows, key = rows.picked(order), key[order]
        late = int(np.searchsorted(key, self.gone))
        late = late and int((rows.time[:late] != 0).sum())
        if late:
            self.tally.add("order", "records come later than the order of the file allows", rows.base, late)
        self.gone = max(self.gone, int(key[-1]) if len(key) else 0)
        return rows


def joined(parts: list[Rows], big: bool) -> Rows:
    """One for all of them: their bytes one after the other."""
    if len(parts) == 1:
        return parts[0]
    shifts = np.cumsum([0, *(len(p.words) for p in parts[:-1])])
    data = np.concatenate([p.data[: len(p.words) * 8] for p in parts])
    words = np.concatenate([p.words for p in parts]) if big else data.view("<u8")
    return Rows(
        data,
        words,
        np.concatenate([p.heads for p in parts]),
        np.concatenate([p.at + shift for p, shift in zip(parts, shifts, strict=True)]),
        np.concatenate([p.time for p in parts]),
        np.concatenate([p.event for p in parts]),
        parts[0].base,
    )


def compact(held: Held) -> Held:
    """The same records in bytes of their own, so that those of the block can be given back."""
    rows = held.rows
    size = (rows.heads >> np.uint64(51)).astype(np.int64)
    end = np.cumsum(size)
    taken = np.repeat(rows.at - (end - size), size) + np.arange(int(end[-1]))
    words = rows.words[taken]
    data = rows.data.view(np.uint64)[taken].view(np.uint8)
    return Held(Rows(data, words, rows.heads, end - size, rows.time, rows.event, rows.base), held.key)
