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

from probescope.formats.perfdata.buffers import Buffer, Pool
from probescope.formats.perfdata.damage import Tally
from probescope.formats.perfdata.walk import heads_of
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.formats.perfdata.walk import Places, Words

    Column = np.ndarray[Any, Any]

WINDOW = 32 << 20
MOST_ROWS = 1 << 16
"""Given at once: what is made of them should fit a processor's caches, and little memory."""


class Rows:
    """Records with their times (0: none): parts of a block, or of several joined. ``other``: those that are no samples.
    ``base``: where the buffer begins in the file, or what it came out of."""

    __slots__ = ("at", "base", "buffer", "other", "time")

    def __init__(self, buffer: Buffer, at: Places, time: Column, other: Column, base: int) -> None:
        self.buffer, self.at, self.time, self.other, self.base = buffer, at, time, other, base

    def picked(self, which: Column | slice) -> Rows:
        """``which``: places, or from where to where."""
        if isinstance(which, slice):
            return Rows(self.buffer, self.at[which], self.time[which], self.other[which], self.base)
        return Rows(self.buffer, self.at.take(which), self.time.take(which), self.other.take(which), self.base)

    @property
    def heads(self) -> Words:
        return heads_of(self.buffer.words.take(self.at), self.buffer.big)

    def place(self, row: int) -> int:
        """In the file, about: rows of several blocks count from the largest of them."""
        return max(self.base + int(self.at[row]) * 8, 0)

    @property
    def size(self) -> Places:
        """Of each record, in words."""
        return (self.heads >> np.uint64(51)).view(np.int64)


@dataclass(slots=True)
class Held:
    """``words``: of all its records; where they lie in a mapped file, about."""

    rows: Rows
    key: Column
    words: int


class Order:
    """``add`` blocks in the order of the file; each gives what may go."""

    def __init__(self, tally: Tally, pool: Pool, rounds: bool) -> None:
        self.tally = tally
        self.pool = pool
        self.rounds = rounds
        self.held: list[Held] = []
        self.words = 0  # of all that is held
        self.newest = 0  # of all so far
        self.at_round = 0  # newest when the last round finished
        self.limit = 0  # newest when the round before that one finished: up to here may go
        self.gone = 0

    def add(self, rows: Rows, rounds: Places) -> Iterator[Rows]:
        """``rounds``: places where one was finished."""
        before = self.limit
        key = self.keys(rows, rounds if self.rounds else rounds[:0])
        if len(key):
            self.held.append(Held(rows, key, words_of(rows)))
            self.words += self.held[-1].words
        limit = self.limit
        if self.words * 8 > WINDOW and self.newest:
            keys = np.concatenate([held.key for held in self.held])
            limit = max(limit, int(np.partition(keys, len(keys) // 2)[len(keys) // 2]))
        if self.held and (limit > before or not self.newest):
            yield from self.let_go(limit)
            self.words = sum(held.words for held in self.held)

    def keys(self, rows: Rows, rounds: Places) -> Column:
        """Times; for records without one the limit at their place. Moves the limits on."""
        time = rows.time
        key = self.timed(rows, rounds) if len(time) and not time.min() else time
        done = 0
        for mark in rows.at.searchsorted(rounds[-2:]).tolist():
            self.newest = max(self.newest, int(time[done:mark].max(initial=0)))
            self.limit, self.at_round, done = self.at_round, self.newest, mark
        self.newest = max(self.newest, int(time[done:].max(initial=0)))
        return key

    def timed(self, rows: Rows, rounds: Places) -> Column:
        """With a time for those that have none."""
        time, marks = rows.time, rows.at.searchsorted(rounds)
        limits = np.array([self.limit], np.uint64)
        if len(marks):
            so_far = newest_before(time, marks, self.newest)
            limits = np.concatenate((limits, np.array([self.at_round], np.uint64), so_far[:-1]))
        none = np.flatnonzero(time == 0)
        key = time.copy()
        key[none] = limits[np.searchsorted(marks, none, "right")]
        return key

    def let_go(self, limit: int) -> Iterator[Rows]:
        """What is not newer than ``limit``, in order."""
        buffer = self.held[-1].rows.buffer
        alien = sum(held.words for held in self.held if held.rows.buffer is not buffer)
        if (len(self.held) <= 2 and self.held[0].words <= buffer.room) or not alien:  # what was left, and a block
            rows, key, cut = in_order(joined(self.held, self.pool), [held.key for held in self.held], limit)
            self.held = [rest(rows, key, cut)] if cut < len(key) else []
            if cut:
                yield from self.checked(rows.picked(slice(0, cut)), key[:cut])
            return
        going: list[Held] = []
        staying: list[Held] = []
        for held in self.held:
            old = held.key <= limit
            count = int(np.count_nonzero(old))
            if count == len(old):
                going.append(held)
            elif not count:
                staying.append(held)
            else:
                going.append(part(held, np.flatnonzero(old)))
                staying.append(compact(part(held, np.flatnonzero(~old))))
        self.held = staying
        if going:
            yield from self.checked(*in_order(joined(going, self.pool), [held.key for held in going])[:2])

    def needed(self, rows: Rows) -> int:
        """The first word of these rows' buffer that waits; that of their end where none does."""
        firsts = [int(held.rows.at.min()) for held in self.held if held.rows.buffer is rows.buffer]
        return min(firsts) if firsts else int(rows.at[-1]) if len(rows.at) else 0

    def end(self) -> Iterator[Rows]:
        if self.held:
            going, self.held = self.held, []
            yield from self.checked(*in_order(joined(going, self.pool), [held.key for held in going])[:2])

    def checked(self, rows: Rows, key: Column) -> Iterator[Rows]:
        """In pieces. Counts what comes late."""
        late = 0 if key[0] >= self.gone else int(key.searchsorted(np.uint64(self.gone)))
        late = late and int((rows.time[:late] != 0).sum())
        if late:
            self.tally.add("order", "records come later than the order of the file allows", rows.place(0), late)
        self.gone = max(self.gone, int(key[-1]))
        if len(key) <= MOST_ROWS:
            yield rows
            return
        for at in range(0, len(key), MOST_ROWS):
            yield rows.picked(slice(at, at + MOST_ROWS))


def newest_before(time: Column, marks: Places, newest: int) -> Column:
    """The newest of all times before each mark."""
    if not len(time):
        return np.full(len(marks), newest, np.uint64)
    found = np.maximum.accumulate(time)[np.maximum(marks - 1, 0)]
    found[marks == 0] = 0
    return np.maximum(found, np.uint64(newest), out=found)


def in_order(rows: Rows, keys: list[Column], limit: int = (1 << 64) - 1) -> tuple[Rows, Column, int]:
    """Also how many of them are not newer than ``limit``."""
    key = np.concatenate(keys) if len(keys) > 1 else keys[0]
    if not (key[1:] >= key[:-1]).all():
        order = key.argsort(kind="stable")
        same = len(keys) == 1 and key is rows.time
        rows = rows.picked(order)
        key = rows.time if same else key.take(order)
    return rows, key, int(key.searchsorted(np.uint64(limit), "right"))


def words_of(rows: Rows) -> int:
    if rows.buffer.mapped is None:
        return int(rows.size.sum())
    return int(rows.at.max()) - int(rows.at.min()) + 1 if len(rows.at) else 0


def rest(rows: Rows, key: Column, cut: int) -> Held:
    left = rows.picked(slice(cut, None))
    return compact(Held(left, key[cut:], words_of(left)))


def part(held: Held, which: Column) -> Held:
    rows = held.rows.picked(which)
    return Held(rows, held.key[which], words_of(rows))


def joined(going: list[Held], pool: Pool) -> Rows:
    """One for all of them, in one buffer: in the room of the one that holds most, if it suffices."""
    parts = [held.rows for held in going]
    if len(parts) == 1:
        return parts[0]
    main = max(going, key=lambda held: held.words)
    target = main.rows.buffer
    alien = [held for held in going if held.rows.buffer is not target]
    place = target.take_room(sum(int(held.rows.size.sum()) for held in alien)) if alien else 0
    if place < 0:
        total = sum(int(held.rows.size.sum()) for held in going)
        target = Buffer(pool.bytes(total * 8), 0, False)
        target.big = main.rows.buffer.big
        if target.big:
            target.words = np.empty(total, np.uint64)
        place = 0
    at: list[Places] = []
    for held in going:
        if held.rows.buffer is not target:
            at.append(moved(held.rows, target, place))
            place += int(held.rows.size.sum())
        else:
            at.append(held.rows.at)
    return Rows(
        target,
        np.concatenate(at),
        np.concatenate([p.time for p in parts]),
        np.concatenate([p.other for p in parts]),
        main.rows.base,
    )


def moved(rows: Rows, target: Buffer, place: int) -> Places:
    """Copy the records to word ``place`` of ``target``, in the order in which they lie; where they are there. What lies
    together is copied together."""
    order = rows.at.argsort()
    sizes = rows.size
    at, size = rows.at[order], sizes[order]
    end = place + np.cumsum(size)
    breaks = np.flatnonzero(at[1:] != (at + size)[:-1]) + 1
    firsts = np.append(0, breaks)
    lasts = np.append(breaks, len(size)) - 1
    to = (end - size)[firsts].tolist()
    source, words = rows.buffer.data, rows.buffer.words
    for start, stop, here in zip(at[firsts].tolist(), (at + size)[lasts].tolist(), to, strict=True):
        target.data[here * 8 : (here + stop - start) * 8] = source[start * 8 : stop * 8]
        if target.big:
            target.words[here : here + stop - start] = words[start:stop]
    found = np.empty_like(rows.at)
    found[order] = end - size
    return found


def compact(held: Held) -> Held:
    """The same records in bytes of their own where they are few, so that the rest of their buffer can be given back."""
    rows = held.rows
    if held.words * 4 > len(rows.buffer.words) or rows.buffer.mapped is not None:
        return held
    target = Buffer(np.empty(held.words * 8, np.uint8), 0, False)
    if rows.buffer.big:
        target.big, target.words = True, np.empty(held.words, np.uint64)
    at = moved(rows, target, 0)
    return Held(Rows(target, at, rows.time, rows.other, rows.base), held.key, held.words)
