"""Where records begin: each one's size is in its header, so the next one's place follows from the one before.

A record's first word, as read here whatever the file's byte order:

     63        48 47     32 31                0
    | size       | misc    | type              |      size in bytes, the header's 8 included; a multiple of 8

A step from record to record in Python costs 100 ns and more. Most recordings are runs of samples of one size: from a
record on, every word that many words further is compared with its head at once, and the run ends before the first that
differs. Where sizes change all the time, words are walked in lanes: at the start of each lane the first word that looks
like the header of a record, and whose next two do, is guessed to be one; then all lanes step on together, as numpy
arrays. A lane's walk is exact if its start was one, and the first lane's was. A lane that ended where the next one
began proves that guess right; where it does not, the next lane is walked anew from the proven place. A guess that fails
costs time, never correctness.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.perfdata.records import FINISHED_ROUND, STOPS

if TYPE_CHECKING:
    from typing import Any

    Words = np.ndarray[Any, np.dtype[np.uint64]]
    Places = np.ndarray[Any, np.dtype[np.int64]]
    Found = tuple[Places, Words]
    """Records, and their heads."""

#: Below, or where records are larger than that on average, one by one is as fast.
LEAST_WORDS = 1 << 13
LANE_WORDS = 424  # no power of two: their lines would all want the same places of a cache
WINDOW = 32  # words of a lane in which its first record is looked for
FEW_LANES = 24
STEPS = 8  # taken at once, before looking which lanes are at their end

#: A run is looked at in pieces that grow, so that its end costs no more than its records did.
FIRST_LOOK = 256
ENOUGH = 64
FAR = 64  # words
SPARSE = 1024  # records between two rounds
PATIENCE = 8  # runs shorter than that in a row, after which lanes are better
BETWEEN = 40  # words that are walked one by one where a run ended

#: Which of the four u16 of a word holds the size.
_TOP = 3 if sys.byteorder == "little" else 0


def heads_of(words: Words, big: bool) -> Words:
    """Every word as if it were a header. ``words`` are native numbers."""
    if not big:
        return words
    low = np.uint64(0xFFFF)
    heads: Words = (
        (words >> np.uint64(32)) | ((words >> np.uint64(16) & low) << np.uint64(32)) | ((words & low) << np.uint64(48))
    )
    return heads


def walk(heads: Words) -> tuple[Places, Words, int]:
    """Indices of the records from word 0 on, their heads, and the index of the first that is none: one of ``STOPS``,
    one whose size is impossible, one that goes on behind the last word, or ``len(heads)``."""
    pieces, at, stopped = _in_runs(heads)
    if not stopped:
        rest, at = _without_runs(heads, at)
        pieces.append((rest, heads.take(rest)))
    if len(pieces) == 1:
        return *pieces[0], at
    places, found = zip(*pieces, strict=True) if pieces else ([np.zeros(0, np.int64)], [heads[:0]])
    return np.concatenate(places), np.concatenate(found), at


def _in_runs(heads: Words) -> tuple[list[Found], int, bool]:
    """Records as far as they come in runs; whether the walk is over."""
    pieces: list[Found] = []
    at, end, patience = 0, len(heads), PATIENCE
    run = _Runs(heads)
    while at < end and patience > 0:
        count = run.at(at, pieces)
        at = run.end
        if count >= ENOUGH:
            patience = PATIENCE
            continue
        patience -= 1
        until = min(at + BETWEEN, end)
        some, at = _one_by_one(heads, at, until)
        pieces.append((some, heads.take(some)))
        if at < until:
            return pieces, at, True
    return pieces, at, at >= end


_SAME = np.uint64(0xFFFF_0000_FFFF_FFFF)  # size and type
_ROUND = np.uint64(FINISHED_ROUND | 8 << 48)


class _Runs:
    """Records of one size and type that lie one after the other, with ends of rounds between them. ``end``: of the last
    run that was found."""

    def __init__(self, heads: Words) -> None:
        self.heads = heads
        self.end = 0
        self._sparse = True  # few rounds, as far as is known
        self._rounds: Places | None = None  # words that look like one, wherever they are

    def at(self, at: int, pieces: list[Found]) -> int:
        """Adds the run that begins here to ``pieces``; of how many records. None if it would be short."""
        heads, look, count = self.heads, FIRST_LOOK, 0
        self.end = at
        while at + 1 < len(heads):
            head = int(heads[at])
            if head == _ROUND:
                head = int(heads[at + 1])
            size = head >> 48
            if size & 7 or not size or head & 0xFFFFFFFF in STOPS or not self._goes_on(at, head):
                break
            until = min(at + look * (size >> 3), len(heads))
            some = self._equal(at, until, head, size >> 3)
            pieces.append(some)
            at = self.end
            count += len(some[0])
            if at + (size >> 3) <= until or not len(some[0]):
                break
            look <<= 6
        return count

    def _goes_on(self, at: int, head: int) -> bool:
        """Whether the next few are the same, without numpy's fixed costs."""
        heads, end, same = self.heads, len(self.heads), head & 0xFFFF_0000_FFFF_FFFF
        for _ in range(4):
            found = int(heads[at])
            if found & 0xFFFF_0000_FFFF_FFFF != same and found != int(_ROUND):
                return False
            at += found >> 51
            if at >= end:
                return False
        return True

    def _equal(self, at: int, until: int, head: int, step: int) -> Found:
        """Between two ends of rounds, that is between two words that look like one, records of ``step`` words have
        known places, and so has the round behind them; what is not there ends the run."""
        if step > FAR or self._sparse:
            run = self._far_apart(at, until, head, step)
            ended = self.end < len(self.heads) and self.heads[self.end] == _ROUND
            if step > FAR or not ended or len(run[0]) > SPARSE:
                return run
            self._sparse = False  # rounds end all the time: from here on look for them
            if len(run[0]):
                return run
        rounds = self._between(at, until)
        ends = np.empty(len(rounds) + 1, np.int64)
        ends[:-1], ends[-1] = rounds, until
        starts = np.empty(len(ends), np.int64)
        starts[0], starts[1:] = at, rounds + 1
        length = ends - starts
        whole = length // step
        odd = (length[:-1] != whole[:-1] * step).nonzero()[0]
        if len(odd):  # this is no round, or the records before it are others
            last = int(odd[0])
            starts, whole = starts[: last + 1], whole[: last + 1]
        count = whole + 1  # with the round
        count[-1] -= 1
        ends = count.cumsum()
        places: Places = (starts - (ends - count) * step).repeat(count)
        places += np.arange(0, int(ends[-1]) * step, step)
        found = self.heads.take(places)
        if np.count_nonzero(found == np.uint64(head)) != len(found) - (len(starts) - 1):  # all but the rounds
            good = (found & _SAME == np.uint64(head) & _SAME) | (found == _ROUND)
            if not good.all():
                wrong = int(good.argmin())
                places, found = places[:wrong], found[:wrong]
        if len(places):
            self.end = int(places[-1]) + (1 if found[-1] == _ROUND else step)
        return places, found

    def _far_apart(self, at: int, until: int, head: int, step: int) -> Found:
        """Without rounds between: to look for them at every word would cost more than what they interrupt."""
        first = at + 1 if self.heads[at] == _ROUND else at
        places = np.arange(first, until - step + 1, step)
        if first > at:
            places = np.concatenate((np.array([at], np.int64), places))
        found = self.heads.take(places)
        good = found == np.uint64(head)
        if np.count_nonzero(good) + first - at < len(good):  # what may differ is where they were taken
            good = found & _SAME == np.uint64(head) & _SAME
        good[: first - at] = True
        count = len(good) if good.all() else int(good.argmin())
        if count:
            self.end = int(places[count - 1]) + (1 if found[count - 1] == _ROUND else step)
        return places[:count], found[:count]

    def _between(self, at: int, until: int) -> Places:
        if self._rounds is None:
            if until - at < 1 << 12 and not (self.heads[at:until] == _ROUND).any():
                return np.zeros(0, np.int64)
            self._rounds = np.flatnonzero(self.heads == _ROUND)
        rounds = self._rounds
        first, last = rounds.searchsorted((at, until)).tolist()
        return rounds[first:last]


def _without_runs(heads: Words, at: int) -> tuple[Places, int]:
    if len(heads) - at < LEAST_WORDS:
        return _one_by_one(heads, at, len(heads))
    start = at
    first, at = _one_by_one(heads, at, start + 512)
    if at < start + 512 or at > start + 512 + (1 << 10) or len(first) < 8:  # a stop, or few and large records
        rest, at = _one_by_one(heads, at, len(heads))
        return np.concatenate((first, rest)), at
    rest, at = _in_lanes(heads, at)
    return _checked(heads, np.concatenate((first, rest)), at)


def _checked(heads: Words, places: Places, at: int) -> tuple[Places, int]:
    """What the lanes found, up to the first that is no record."""
    head = heads[places]
    size = head >> np.uint64(48)
    good = (size & np.uint64(7) == 0) & (size >= 8)
    kind = head & np.uint64(0xFFFFFFFF)
    if (kind >= 64).any():
        for stop in STOPS:
            good &= kind != stop
    if good.all():
        return places, at
    bad = int(good.argmin())
    return places[:bad], int(places[bad])


def _one_by_one(heads: Words, at: int, until: int) -> tuple[Places, int]:
    """Records that begin before ``until``."""
    view = heads[at:until].data
    places: list[int] = []
    add = places.append
    stops = STOPS
    end = len(heads)
    start = at
    while at < until:
        head = view[at - start]
        size = head >> 48
        after = at + (size >> 3)
        if size & 7 or not size or after > end or head & 0xFFFFFFFF in stops:
            break
        add(at)
        at = after
    return np.array(places, np.int64), at


def _in_lanes(heads: Words, at: int) -> tuple[Places, int]:
    """From ``at`` on, to what may be no record. Behind a wrong step everything may be wrong: see ``_checked``."""
    starts = _guess(heads, at)
    limits = np.append(starts[1:], len(heads) - 1)
    marks, ends = _lockstep(heads, starts, limits)
    wrong = np.append(np.flatnonzero(ends[:-1] != starts[1:]), len(starts) - 1)
    pieces: list[Places] = []
    while at < len(heads):
        lane = int(np.searchsorted(starts, at))
        if lane < len(starts) and at == starts[lane]:  # proven; and so are all after it up to the next wrong guess
            last = int(wrong[np.searchsorted(wrong, lane)])
            pieces.append(np.flatnonzero(marks[at : limits[last]]) + at)
            at = int(ends[last])
            if at < limits[last]:
                break  # it stopped inside
        else:
            until = int(starts[lane]) if lane < len(starts) else len(heads)
            more, at = _one_by_one(heads, at, until)
            pieces.append(more)
            if at < until:
                break
    if at > len(heads):  # the last one goes on
        at = int(pieces[-1][-1])
        pieces[-1] = pieces[-1][:-1]
    return np.concatenate(pieces), at


# type bits 7 to 31, misc bits 3 to 11, size bits 0 to 2: no record of today sets them
_NEVER = np.uint64(0x0007_0FF8_FFFF_FF80)
_LEAST = np.uint64(8 << 48)


def _plausible(head: Words) -> np.ndarray[Any, np.dtype[np.bool_]]:
    fine: np.ndarray[Any, np.dtype[np.bool_]] = (head & _NEVER == 0) & (head >= _LEAST) & (head & np.uint64(0x7F) != 0)
    return fine


def _guess(heads: Words, at: int) -> Places:
    """``at``, and a likely record near the start of each further lane."""
    lanes = (len(heads) - at) // LANE_WORDS - 1
    begins = heads[at + LANE_WORDS : at + LANE_WORDS * (lanes + 1)].reshape(lanes, LANE_WORDS)[:, :WINDOW]
    lane, word = np.nonzero(_plausible(begins))
    places = at + LANE_WORDS + lane * LANE_WORDS + word
    here = places
    likely = np.ones(len(places), np.bool_)
    for _ in range(2):
        here = np.minimum(here + (heads[here] >> np.uint64(51)).astype(np.int64), len(heads) - 1)
        likely &= _plausible(heads[here])
    lane, places = lane[likely], places[likely]
    return np.concatenate((np.array([at], np.int64), places[np.flatnonzero(np.diff(lane, prepend=-1))]))


def _lockstep(heads: Words, starts: Places, limits: Places) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], Places]:
    """All lanes at once. Which words are records of the lane that they are in; and where each lane went behind its
    limit: at the first word of the next one, or behind it. Places are counted in u16 here, so that a step is the
    record's size halved; a lane at a record of no size stays there, and ends there."""
    sizes = heads.view(np.uint16)
    marks = np.zeros(len(heads), np.bool_)
    ends = starts.copy()
    active, where, limit = np.arange(len(starts)), starts * 4 + _TOP, limits * 4
    while len(active) > FEW_LANES:
        steps = np.empty((STEPS + 1, len(active)), np.int64)
        steps[0] = where
        for i in range(STEPS):
            np.add(steps[i], sizes.take(steps[i], mode="clip") >> 1, out=steps[i + 1])
        inside = steps[:-1] < limit
        marks[steps[:-1][inside] >> 2] = True
        where = steps[-1]
        over = (where >= limit) | (where == steps[-2])
        if over.any():
            first = np.minimum(inside[:, over].sum(axis=0), STEPS)  # the first that is behind
            ends[active[over]] = steps[:, over][first, np.arange(len(first))] >> 2
            on = ~over
            active, where, limit = active[on], where[on], limit[on]
    for lane, at in zip(active.tolist(), (where >> 2).tolist(), strict=True):
        places, ends[lane] = _one_by_one(heads, at, int(limits[lane]))
        marks[places] = True
    return marks, ends
