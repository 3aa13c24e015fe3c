"""Where records begin: each one's size is in its header, so the next one's place follows from the one before.

A record's first word, as read here whatever the file's byte order:

     63        48 47     32 31                0
    | size       | misc    | type              |      size in bytes, the header's 8 included; a multiple of 8

A step from record to record in Python costs 100 ns and more. So a long run of words is walked in lanes: at the start of
each lane the first word that looks like the header of a record, and whose next two do, is guessed to be one; then all
lanes step on together, as numpy arrays. A lane's walk is exact if its start was one, and the first lane's was. A lane
that ended where the next one began proves that guess right; where it does not, the next lane is walked anew from the
proven place. A guess that fails costs time, never correctness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.perfdata.records import STOPS

if TYPE_CHECKING:
    from typing import Any

    Words = np.ndarray[Any, np.dtype[np.uint64]]
    Places = np.ndarray[Any, np.dtype[np.int64]]

#: Below, or where records are larger than that on average, one by one is as fast.
LEAST_WORDS = 1 << 13
LANE_WORDS = 1 << 9  # 4 KiB; at most 65,536 lanes
WINDOW = 64  # words of a lane in which its first record is looked for
FEW_LANES = 24


def heads_of(words: Words, big: bool) -> Words:
    """Every word as if it were a header. ``words`` are native numbers."""
    if not big:
        return words
    low = np.uint64(0xFFFF)
    heads: Words = (
        (words >> np.uint64(32)) | ((words >> np.uint64(16) & low) << np.uint64(32)) | ((words & low) << np.uint64(48))
    )
    return heads


def walk(heads: Words) -> tuple[Places, int]:
    """Indices of the records from word 0 on, and the index of the first that is none of them: one of ``STOPS``, one
    whose size is impossible, one that goes on behind the last word, or ``len(heads)``."""
    if len(heads) < LEAST_WORDS:
        return _one_by_one(heads, 0, len(heads))
    first, at = _one_by_one(heads, 0, 512)
    if at < 512 or at > 512 + (1 << 10) or len(first) < 16:  # a stop, or few and large records
        rest, at = _one_by_one(heads, at, len(heads))
        return np.concatenate((first, rest)), at
    rest, at = _in_lanes(heads, at)
    return np.concatenate((first, rest)), at


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
    starts = _guess(heads, at)
    taken, begin, ends = _lockstep(heads, starts)
    pieces: list[Places] = []
    end = len(heads)
    lane, lanes = 0, len(starts)
    wrong = np.append(np.flatnonzero(ends[:-1] != starts[1:]), lanes - 1)
    while at < end:
        if lane < lanes and at == starts[lane]:  # proven; and so are all after it up to the next wrong guess
            last = int(wrong[np.searchsorted(wrong, lane)])
            pieces.append(taken[begin[lane] : begin[last + 1]])
            at = int(ends[last])
        else:
            lane = int(np.searchsorted(starts, at, "right"))
            until = int(starts[lane]) if lane < lanes else end
            more, at = _one_by_one(heads, at, until)
            pieces.append(more)
            if at < until:
                break
            continue
        lane = last + 1
        if at < (int(starts[lane]) if lane < lanes else end):
            break  # it stopped inside
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int64), at


# type bits 7 to 31, misc bits 3 to 11, size bits 0 to 2: no record of today sets them
_NEVER = np.uint64(0x0007_0FF8_FFFF_FF80)
_LEAST = np.uint64(8 << 48)


def _plausible(head: Words) -> np.ndarray[Any, np.dtype[np.bool_]]:
    fine: np.ndarray[Any, np.dtype[np.bool_]] = (head & _NEVER == 0) & (head >= _LEAST) & (head & np.uint64(0x7F) != 0)
    return fine


def _guess(heads: Words, at: int) -> Places:
    """``at``, and a likely record near the start of each further lane."""
    lanes = np.arange(at + LANE_WORDS, len(heads) - WINDOW, LANE_WORDS, dtype=np.int64)
    places = (lanes[:, None] + np.arange(WINDOW, dtype=np.int64)).ravel()
    places = places[_plausible(heads[places])]
    here = places
    likely = np.ones(len(places), np.bool_)
    for _ in range(2):
        here = np.minimum(here + (heads[here] >> np.uint64(51)).astype(np.int64), len(heads) - 1)
        likely &= _plausible(heads[here])
    places = places[likely]
    lane = (places - at) // LANE_WORDS
    return np.concatenate((np.array([at], np.int64), places[np.flatnonzero(np.diff(lane, prepend=0))]))


def _lockstep(heads: Words, starts: Places) -> tuple[Places, Places, Places]:
    """All lanes at once. The places of their records, lane by lane; where each lane's begin in that; and where each
    lane ended."""
    limits = np.append(starts[1:], len(heads))
    end = len(heads)
    at = starts.copy()
    active = np.arange(len(starts))
    steps: list[tuple[Places, Places]] = []
    where, limit = starts, limits
    while len(active) > FEW_LANES:
        head = heads[where]
        after = where + (head >> np.uint64(51)).astype(np.int64)
        fine = (head >= _LEAST) & (head & np.uint64(7 << 48) == 0) & (after <= end)
        kind = head & np.uint64(0xFFFFFFFF)
        if (kind >= 64).any():
            for stop in STOPS:
                fine &= kind != stop
        if not fine.all():
            active, where, after, limit = active[fine], where[fine], after[fine], limit[fine]
        steps.append((active, where))
        at[active] = after
        on = after < limit
        if not on.all():
            active, after, limit = active[on], after[on], limit[on]
        where = after
    for lane in active.tolist():
        places, stop = _one_by_one(heads, int(at[lane]), int(limits[lane]))
        at[lane] = stop
        steps.append((np.full(len(places), lane), places))
    lanes = np.concatenate([lane for lane, _ in steps]).astype(np.uint16)
    taken = np.concatenate([place for _, place in steps])[np.argsort(lanes, kind="stable")]
    return taken, np.append(0, np.cumsum(np.bincount(lanes, minlength=len(starts)))), at
