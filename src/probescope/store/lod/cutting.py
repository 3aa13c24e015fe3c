"""Cuts through levels: what of a track can be seen in a stretch of time that is so many pixels wide.

From the top down: a bin that is wider than a pixel is replaced by the bins it stands for. Lanes do not overlap, so
there are never more than about ``width`` such bins in a level: the cost is that of the picture, not of the recording.
What lies in one pixel in the end is one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probescope.frozen import dataclass
from probescope.store.lod.files import Reader
from probescope.store.lod.levels import FAN, level_counts, offsets

Array = np.ndarray[Any, Any]

MERGED = -1.0


@dataclass(frozen=True, slots=True)
class Cut:
    """Rows in order of depth, then of time. ``start``, ``end``: ns of the recording. ``count`` above 1: a bin, of which
    ``fill`` / 255 is covered, and whose ``key`` is the one with most time; its ``id`` is -1."""

    start: Array
    end: Array
    depth: Array
    key: Array
    kind: Array
    count: Array
    fill: Array
    id: Array


class LaneFile:
    """Tracks of a family, mapped."""

    def __init__(self, path: str) -> None:
        reader = Reader(path)
        self.columns, self.names = reader.columns, [str(n) for n in reader.more.get("names", [])]
        self.track, self.depth, counts = self.columns["track"], self.columns["depth"], self.columns["count"]
        self._counts = level_counts(counts)
        self._offsets = [offsets(c) for c in self._counts]

    def lanes(self, track: int) -> range:
        """Numbers of its lanes."""
        low, high = np.searchsorted(self.track, [track, track + 1])
        return range(int(low), int(high))

    def cut(self, track: int, start: int, end: int, width: int) -> Cut:
        parts = [self._lane(lane, start, end, width) for lane in self.lanes(track)]
        if not parts:
            return _NOTHING
        return Cut(*(np.concatenate([getattr(p, c) for p in parts]) for c in CUT_COLUMNS))

    def next_to(self, lane: int, ts: int, known: int | None, forward: bool) -> tuple[int, int, int] | None:
        """The slice that begins after, or before, a time: start, end, row. ``known``: the number of the slice that is
        left; slices that begin with it are told apart by that."""
        base, count = int(self._offsets[0][lane]), int(self._counts[0][lane])
        starts = self.columns["start0"][base : base + count]
        low, high = int(np.searchsorted(starts, ts, "left")), int(np.searchsorted(starts, ts, "right"))
        at = high if forward else low - 1
        if known is not None and high > low:
            same = np.flatnonzero(self.columns["id0"][base + low : base + high] == known)
            if len(same):
                at = low + int(same[0]) + (1 if forward else -1)
        if not 0 <= at < count:
            return None
        row = base + at
        return int(starts[at]), int(self.columns["end0"][row]), row

    def _lane(self, lane: int, start: int, end: int, width: int) -> Cut:
        pixel = max((end - start) / max(width, 1), 1e-9)
        top = max(k for k, counts in enumerate(self._counts) if counts[lane])
        at = self._within(top, lane, start, end)
        found: list[tuple[int, Array]] = []
        for k in range(top, 0, -1):
            base = int(self._offsets[k][lane])
            wide = self.columns[f"end{k}"][base + at] - self.columns[f"start{k}"][base + at] > pixel
            found.append((k, at[~wide]))
            at = self._children(k, lane, at[wide], start, end)
        found.append((0, at))
        return self._gathered(lane, found, start, pixel)

    def _within(self, k: int, lane: int, start: int, end: int) -> Array:
        base, count = int(self._offsets[k][lane]), int(self._counts[k][lane])
        low = int(np.searchsorted(self.columns[f"end{k}"][base : base + count], start, "left"))
        high = int(np.searchsorted(self.columns[f"start{k}"][base : base + count], end, "left"))
        return np.arange(low, max(low, high))

    def _children(self, k: int, lane: int, at: Array, start: int, end: int) -> Array:
        if not len(at):
            return at
        base, count = int(self._offsets[k - 1][lane]), int(self._counts[k - 1][lane])
        children = (at[:, None] * FAN + np.arange(FAN)).ravel()
        children = children[children < count]
        if len(at) > 2:  # only those at the edges can lie outside
            inside = np.ones(len(children), bool)
            for edge in (slice(0, FAN), slice(-FAN, None)):
                inside[edge] = self._touches(k - 1, base + children[edge], start, end)
            return children[inside]
        return children[self._touches(k - 1, base + children, start, end)]

    def _touches(self, k: int, rows: Array, start: int, end: int) -> Array:
        inside: Array = (self.columns[f"end{k}"][rows] >= start) & (self.columns[f"start{k}"][rows] < end)
        return inside

    def _gathered(self, lane: int, found: list[tuple[int, Array]], since: int, pixel: float) -> Cut:
        slices = int(self._counts[0][lane])
        parts: list[dict[str, Array]] = []
        for k, at in found:
            if not len(at):
                continue
            rows = at + int(self._offsets[k][lane])
            part = {c: self.columns[f"{c}{k}"][rows] for c in ("start", "end", "key", "kind")}
            part["count"] = np.minimum(FAN**k, slices - at * FAN**k) if k else np.ones(len(at), np.int64)
            part["covered"] = self.columns[f"covered{k}"][rows] if k else (part["end"] - part["start"]).astype("f4")
            part["time"] = self.columns[f"time{k}"][rows] if k else part["covered"]
            part["id"] = self.columns["id0"][rows].astype(np.float64) if not k else np.full(len(at), MERGED)
            parts.append(part)
        if not parts:
            return _NOTHING
        whole = {c: np.concatenate([p[c] for p in parts]) for c in parts[0]}
        if len(parts) > 1:
            order = whole["start"].argsort(kind="stable")
            whole = {c: v[order] for c, v in whole.items()}
        return _merged(whole, int(self.depth[lane]), since, pixel)


def _merged(rows: dict[str, Array], depth: int, since: int, pixel: float) -> Cut:
    """What is narrower than a pixel, with its neighbours in the same one."""
    start, end = rows["start"], rows["end"]
    tiny = end - start <= pixel
    column = np.floor((start - since) / pixel)
    begins = np.ones(len(start), bool)
    begins[1:] = ~(tiny[1:] & tiny[:-1] & (column[1:] == column[:-1]))
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(start)) - 1
    count = np.add.reduceat(rows["count"], first)
    ends = end[last]
    covered = np.add.reduceat(rows["covered"].astype(np.float64), first)
    # of each group the row with most time in its key
    group = np.cumsum(begins) - 1
    most = np.maximum.reduceat(rows["time"], first)
    chosen = np.full(len(first), -1, np.int64)
    best = np.flatnonzero(rows["time"] >= most[group])[::-1]
    chosen[group[best]] = best
    lasts = np.maximum(ends - start[first], 1)
    fill = np.where(count > 1, np.clip(covered / lasts * 255, 0, 255), 255).astype(np.uint8)
    return Cut(
        start[first],
        ends,
        np.full(len(first), depth, np.uint8),
        rows["key"][chosen],
        rows["kind"][chosen],
        np.minimum(count, 0xFFFFFFFF).astype(np.uint32),
        fill,
        np.where(count > 1, MERGED, rows["id"][first]),
    )


CUT_COLUMNS = ("start", "end", "depth", "key", "kind", "count", "fill", "id")
_NOTHING = Cut(*(np.empty(0, kind) for kind in ("<i8", "<i8", "|u1", "<u4", "|u1", "<u4", "|u1", "<f8")))
