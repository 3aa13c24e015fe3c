"""Records into pages of a ring buffer, the other way round from ``ring``, which draws them.

A page's time is that of its first record; a record whose time is too far behind the one before it has a time extension
of its own (8 bytes). Pages are cut where the next record does not fit, at the end of each batch, and where events are
missing, which only a page's beginning can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracedat.ring import MISSED, MISSED_STORED, TIME_EXTEND

if TYPE_CHECKING:
    from probescope.formats.tracedat.ring import Layout
    from probescope.model.recording import Ragged

    Column = np.ndarray[Any, Any]
    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

MOST_SMALL = 28 * 4
MOST_DELTA = (1 << 27) - 1


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
    whole = padded + heads + 8 * extended
    ends = np.cumsum(whole)
    at = 0
    while at < len(which):
        begin = int(ends[at] - whole[at])
        spared = 8 if extended[at] else 0  # the first of a page needs no extension
        end = int(np.searchsorted(ends, begin + spared + room, "right"))
        cut = min((m for m in missing if at < m < end), default=end)
        some = slice(at, max(cut, at + 1))
        deltas = delta[some].copy()
        deltas[0] = 0
        body = _events(raw, which[some], size[some], padded[some], deltas, layout.big)
        yield _page(body, int(times[at]), missing.get(at, -1), layout)
        at = some.stop


def _events(raw: Ragged, which: Column, size: Column, padded: Column, delta: Column, big: bool) -> bytes:
    large, extended = padded > MOST_SMALL, delta > MOST_DELTA
    lengths = 4 + padded + 4 * large + 8 * extended
    ends = np.cumsum(lengths)
    at = ends - lengths
    out: Bytes = np.zeros(int(ends[-1]), np.uint8)
    words = out.view((">" if big else "<") + "u4")
    place = at[extended] // 4
    words[place] = _head(np.full(len(place), TIME_EXTEND), delta[extended] & MOST_DELTA, big)
    words[place + 1] = delta[extended] >> 27
    at = at + 8 * extended
    kinds = np.where(large, 0, padded // 4)
    words[at // 4] = _head(kinds, np.where(extended, 0, delta), big)
    words[at[large] // 4 + 1] = padded[large] + 4
    data = at + 4 + 4 * large
    within = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    source = np.repeat(raw.start[which].astype(np.int64), size) + within
    out[np.repeat(data, size) + within] = np.asarray(raw.values).view(np.uint8)[source]
    return out.tobytes()


def _head(kind: Column, delta: Column, big: bool) -> Column:
    return (kind << 27 | delta) if big else (delta << 5 | kind)


def _page(body: bytes, time: int, lost: int, layout: Layout) -> bytes:
    order = "big" if layout.big else "little"
    out = bytearray(layout.page_size)
    commit = len(body)
    out[layout.data_at : layout.data_at + len(body)] = body
    if lost >= 0:
        commit |= MISSED
        behind = layout.data_at + len(body)
        if lost and behind + layout.commit_size <= layout.page_size:
            commit |= MISSED_STORED
            number = min(lost, (1 << 8 * layout.commit_size) - 1)
            out[behind : behind + layout.commit_size] = number.to_bytes(layout.commit_size, order)  # type: ignore[arg-type]
    out[:8] = time.to_bytes(8, order)  # type: ignore[arg-type]
    size = layout.commit_size
    out[layout.commit_at : layout.commit_at + size] = commit.to_bytes(size, order)  # type: ignore[arg-type]
    return bytes(out)
