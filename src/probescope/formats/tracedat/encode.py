"""Records into pages of a ring buffer, the other way round from ``ring``, which draws them.

A page's time is that of its first record; a record whose time is too far behind the one before it has a time extension
of its own (8 bytes). Pages are cut where the next record does not fit, at the end of each batch, and where events are
missing, which only a page's beginning can tell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probescope.formats.tracedat.ring import MISSED, MISSED_STORED, TIME_EXTEND

if TYPE_CHECKING:
    from probescope.formats.tracedat.ring import Layout
    from probescope.model.recording import Ragged

    Column = np.ndarray[Any, Any]
    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

MOST_SMALL = 28 * 4
MOST_DELTA = (1 << 27) - 1
TOGETHER = 128
"""Pages that are made at once: few enough for the processor's cache."""


def pages(
    raw: Ragged, which: Column, times: Column, layout: Layout, lost: Sequence[tuple[int, int]] = ()
) -> Iterator[bytes]:
    """Of one CPU: records ``which`` of ``raw``, with their ``times``. ``lost``: (position in ``which`` before which
    events are missing, how many; 0 if that is not known). Records that no page can hold are left out."""
    size = raw.size[which].astype(np.int64)
    room = layout.page_size - layout.data_at
    padded = (size + 3) // 4 * 4
    heads = np.where(padded > MOST_SMALL, 8, 4)
    fits = (padded + heads <= room) & (size > 0)
    missing = {int(fits[:at].sum()): count for at, count in lost}
    which, times, size, padded, heads = (c[fits] for c in (which, times, size, padded, heads))
    times = np.maximum.accumulate(times)  # a delta cannot be less than nothing
    delta = np.diff(times.astype(np.int64), prepend=times[:1].astype(np.int64))
    extended = delta > MOST_DELTA
    records = _Records(raw, which, size, padded, delta, times)
    firsts = list(_firsts(padded + heads + 8 * extended, extended, missing, room))
    for at in range(0, len(firsts), TOGETHER):
        some = firsts[at : at + TOGETHER + 1]
        yield _encoded(records, some if len(some) > TOGETHER else [*some, len(which)], missing, layout)


def _firsts(whole: Column, extended: Column, missing: dict[int, int], room: int) -> Iterator[int]:
    """Where pages begin. ``whole``: bytes of each record."""
    ends = np.cumsum(whole)
    cuts = sorted(missing)
    at = 0
    while at < len(whole):
        yield at
        begin = int(ends[at] - whole[at])
        spared = 8 if extended[at] else 0  # the first of a page needs no extension
        end = int(np.searchsorted(ends, begin + spared + room, "right"))
        cut = cuts[bisect_right(cuts, at)] if cuts and cuts[-1] > at else end
        at = max(min(cut, end), at + 1)


class _Records(NamedTuple):
    """Columns of a CPU's records."""

    raw: Ragged
    which: Column
    size: Column
    padded: Column
    delta: Column
    times: Column


def _encoded(r: _Records, firsts: list[int], missing: dict[int, int], layout: Layout) -> bytes:
    """Pages whose records begin at ``firsts``, the last of which is the end of the last."""
    first, stop = firsts[0], firsts[-1]
    which, size, padded = r.which[first:stop], r.size[first:stop], r.padded[first:stop]
    delta = r.delta[first:stop].copy()
    begins = np.array(firsts[:-1]) - first
    delta[begins] = 0
    large, extended = padded > MOST_SMALL, delta > MOST_DELTA
    ends = np.cumsum(4 + padded + 4 * large + 8 * extended)
    counts = np.diff(firsts)
    page_ends = ends[begins + counts - 1]
    page_begins = np.concatenate([[0], page_ends[:-1]])
    moved = np.arange(len(counts)) * layout.page_size + layout.data_at - page_begins
    at = np.concatenate([[0], ends[:-1]]) + np.repeat(moved, counts)
    out: Bytes = np.zeros(len(counts) * layout.page_size, np.uint8)
    words = out.view((">" if layout.big else "<") + "u4")
    place = at[extended] // 4
    words[place] = _head(np.full(len(place), TIME_EXTEND), delta[extended] & MOST_DELTA, layout.big)
    words[place + 1] = delta[extended] >> 27
    at = at + 8 * extended
    words[at // 4] = _head(np.where(large, 0, padded // 4), np.where(extended, 0, delta), layout.big)
    words[at[large] // 4 + 1] = padded[large] + 4
    _copy(r.raw, r.raw.start[which].astype(np.int64), size, out, at + 4 + 4 * large)
    for page, (number, length) in enumerate(zip(firsts, (page_ends - page_begins).tolist(), strict=False)):
        _label(out[page * layout.page_size :], length, int(r.times[number]), missing.get(number, -1), layout)
    return out.tobytes()


def _copy(raw: Ragged, start: Column, size: Column, out: Bytes, at: Column) -> None:
    """Records from ``start`` of ``raw`` to ``at`` of ``out``: by words of four bytes where all begin and end at such,
    as those of ring buffers do."""
    values: Column = np.asarray(raw.values).view(np.uint8)
    to: Column = out
    if not len(values) % 4 and not ((start | size | at) & 3).any() and not values.ctypes.data % 4:
        values, to, start, size, at = values.view(np.uint32), to.view(np.uint32), start // 4, size // 4, at // 4
    within = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    source = np.repeat(start, size)
    source += within
    within += np.repeat(at, size)
    to[within] = values[source]


def _head(kind: Column, delta: Column, big: bool) -> Column:
    return (kind << 27 | delta) if big else (delta << 5 | kind)


def _label(page: Bytes, length: int, time: int, lost: int, layout: Layout) -> None:
    """A page's own fields, and what was lost before it, behind its records."""
    order = "big" if layout.big else "little"
    size = layout.commit_size
    commit = length
    if lost >= 0:
        commit |= MISSED
        behind = layout.data_at + length
        if lost and behind + size <= layout.page_size:
            commit |= MISSED_STORED
            number = min(lost, (1 << 8 * size) - 1)
            page[behind : behind + size] = np.frombuffer(number.to_bytes(size, order), np.uint8)  # type: ignore[arg-type]
    page[:8] = np.frombuffer(time.to_bytes(8, order), np.uint8)  # type: ignore[arg-type]
    at = layout.commit_at
    page[at : at + size] = np.frombuffer(commit.to_bytes(size, order), np.uint8)  # type: ignore[arg-type]
