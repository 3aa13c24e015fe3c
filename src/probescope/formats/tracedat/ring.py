"""Pages of the kernel's ring buffer, decoded: all pages of a block step from event to event together.

    page    u64 time | long commit: 31 missed events, 30 their number follows the data, 26..0 bytes of data | data
    event   u32: type_len (5 bits), time_delta (27 bits) from the low end, or from the high one if big-endian
            0         u32 size + 4, data                    28 and less: so many words of data
            29        padding: u32 size, that many bytes; the page's end where the delta is 0
            30        u32 goes above the delta              31: u32 and delta are the time itself, its low 59 bits

Source: include/linux/ring_buffer.h, kernel/trace/ring_buffer.c. A step in Python costs 100 ns and more; with each page
a lane of numpy arrays, an event costs about 40 ns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.perfdata.damage import Tally
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.model.recording import Column

PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31
MISSED, MISSED_STORED = 1 << 31, 1 << 30
COMMIT = (1 << 27) - 1
_ONE, _MOST_WORDS = np.uint32(1), np.uint32(28)
HIGH_BITS = np.uint64(0xF8 << 56)


@dataclass(frozen=True, slots=True)
class Layout:
    """Of pages, in bytes: where the commit word and the data are."""

    big: bool
    page_size: int
    commit_at: int = 8
    commit_size: int = 8
    data_at: int = 16


@dataclass(frozen=True, slots=True)
class Block:
    """Records of some pages of one CPU, in their order. ``start``: bytes in ``values``. ``lost``: (index of the record
    before which events are missing, how many; -1 if not told)."""

    values: Column
    start: Column
    size: Column
    time: Column
    lost: tuple[tuple[int, int], ...] = ()


def decode(data: bytes, layout: Layout, damage: Tally) -> Block:
    """``data``: whole pages. Events that reach beyond their page's data are counted, with the rest of the page."""
    values: Column = np.frombuffer(data, np.uint8)
    pages = len(values) // layout.page_size
    order = ">" if layout.big else "<"
    time = _column(values, pages, layout, 0, order + "u8").astype(np.uint64)
    commit = _column(values, pages, layout, layout.commit_at, f"{order}u{layout.commit_size}").astype(np.int64)
    size = commit & COMMIT
    bad = size > layout.page_size - layout.data_at
    if bad.any():
        damage.add("page", "a page holds more data than its size", count=int(bad.sum()))
        size[bad] = 0
    lanes = _Lanes(values, layout, time, size)
    start, length, when, lane = lanes.run(damage)
    first = np.searchsorted(lane, np.arange(pages))
    lost = tuple(_lost(values, layout, commit, size, first))
    return Block(values, start, length, when, lost)


def _column(values: Column, pages: int, layout: Layout, at: int, kind: str) -> Column:
    return np.ndarray((pages,), kind, values.data, at, (layout.page_size,))


def _lost(values: Column, layout: Layout, commit: Column, size: Column, first: Column) -> Any:
    for page in np.flatnonzero(commit & MISSED).tolist():
        at = page * layout.page_size + layout.data_at + int(size[page])
        number = values[at : at + layout.commit_size].tobytes() if commit[page] & MISSED_STORED else b""
        whole = len(number) == layout.commit_size and at + layout.commit_size <= (page + 1) * layout.page_size
        yield int(first[page]), int.from_bytes(number, "big" if layout.big else "little") if whole else -1


class _Lanes:
    """Each page a lane. ``at`` and ``end`` count words of all pages."""

    def __init__(self, values: Column, layout: Layout, time: Column, size: Column) -> None:
        words: Column = values.view((">" if layout.big else "<") + "u4")
        self.words = words if words.dtype.isnative else words.astype(np.uint32)
        self.big = layout.big
        base = np.arange(len(time), dtype=np.int64) * (layout.page_size // 4) + layout.data_at // 4
        self.at = base
        self.end = base + (size >> 2)
        self.time = time.copy()
        self.found: list[tuple[Column, Column, Column, Column]] = []

    def run(self, damage: Tally) -> tuple[Column, Column, Column, Column]:
        """(start in bytes, size in bytes, time, lane) of every record, lane by lane."""
        lane = np.flatnonzero(self.at < self.end)
        at, end, time = self.at[lane], self.end[lane], self.time[lane]
        broken = 0
        while len(lane):
            start, after, time, record = self.step(at, end, time)
            on = after < end
            if record is None and on.all():
                self.found.append((start, after, time, lane))
                at = after
                continue
            fine = after <= end
            broken += len(fine) - int(np.count_nonzero(fine))
            keep = fine if record is None else fine & record
            self.found.append((start[keep], after[keep], time[keep], lane[keep]))
            lane, at, end, time = lane[on], after[on], end[on], time[on]
        if broken:
            damage.add("record", "an event reaches beyond its page: the rest of that page is lost", count=broken)
        return self.sorted()

    def step(self, at: Column, end: Column, time: Column) -> tuple[Column, Column, Column, Column | None]:
        """One event of each lane: (where its data begin, where the next one does, time, what is a record; None: all
        are)."""
        word = self.words[at]
        kind, delta = (word >> 27, word & 0x7FFFFFF) if self.big else (word & 31, word >> 5)
        start = at + 1
        after = start + kind
        time = time + delta
        special = kind - _ONE >= _MOST_WORDS  # 0 and 29 to 31
        if special.any():
            record = self.special(np.flatnonzero(special), kind, delta, at, end, start, after, time)
            return start, after, time, record
        return start, after, time, None

    def special(
        self,
        which: Column,
        kind: Column,
        delta: Column,
        at: Column,
        end: Column,
        start: Column,
        after: Column,
        time: Column,
    ) -> Column | None:
        """Long records, padding and times: changes ``start``, ``after`` and ``time``; which are records, None: all."""
        what = kind[which]
        second = self.words[np.minimum(at[which] + 1, len(self.words) - 1)].astype(np.int64)
        long = which[what == 0]
        held = second[what == 0]
        start[long] += 1
        after[long] = at[long] + np.where(held < 4, COMMIT, 1 + ((held + 3) >> 2))
        if len(long) == len(which):
            return None
        record = np.ones(len(kind), np.bool_)
        record[which[what != 0]] = False
        pad = what == PADDING
        skipped = 1 + ((second + 3) >> 2)
        after[which[pad]] = np.where(delta[which[pad]] == 0, end[which[pad]], at[which[pad]] + skipped[pad])
        timed = what >= TIME_EXTEND
        places, above = which[timed], second[timed].astype(np.uint64) << np.uint64(27)
        after[places] = at[places] + 2
        stamp = what[timed] == TIME_STAMP
        before = time[places] - delta[places]
        told = (above | delta[places]) | (before & HIGH_BITS)
        time[places] = np.where(stamp, told, time[places] + above)
        return record

    def sorted(self) -> tuple[Column, Column, Column, Column]:
        if not self.found:
            none = np.zeros(0, np.int64)
            return none, none, np.zeros(0, np.uint64), none
        start, after, time, lane = (np.concatenate(parts) for parts in zip(*self.found, strict=True))
        kind = np.uint16 if len(self.at) <= 1 << 16 else np.int64
        order = np.argsort(lane.astype(kind), kind="stable")
        return start[order] << 2, (after - start)[order] << 2, time[order], lane[order]
