"""Rows in order of time -> a batch: samples as columns, other records between them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import FormatError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.damage import Tally
from probescope.formats.perfdata.samples import Parts, gather
from probescope.formats.perfdata.sideband import Trailer, body_of, side_record
from probescope.formats.perfdata.walk import heads_of
from probescope.frozen import replace
from probescope.model.recording import EventBatch, Ragged, SideRecord

if TYPE_CHECKING:
    from probescope.formats.perfdata.buffers import Buffer
    from probescope.formats.perfdata.ids import Events
    from probescope.formats.perfdata.layout import Layout
    from probescope.formats.perfdata.order import Rows

    Column = np.ndarray[Any, Any]

_OWN_COLUMNS = ("cpu", "pid", "tid", "period")
_KIND = np.uint64(0xFFFFFFFF)


class Columns:
    """Makes batches; what cannot be used is counted in ``tally``, and samples per event in ``samples``."""

    def __init__(self, big: bool, events: Events, tally: Tally) -> None:
        self.big, self.events, self.tally = big, events, tally

    def batch(self, rows: Rows) -> EventBatch | None:
        others = rows.other.nonzero()[0]
        mine = rows
        if len(others):
            mine = rows.picked((~rows.other).nonzero()[0])
        found = near(mine, mine.buffer.rows(mine.at, self.events.words), self.events)
        if len(found.event) and found.event.min() < 0:
            found = self.without_strangers(mine, found)
        samples, dropped = self.samples(found)
        between: tuple[tuple[int, SideRecord], ...] = ()
        if len(others):
            kept = ~rows.other
            for gone in (found.gone, dropped):
                if gone is not None:
                    kept[kept.nonzero()[0][gone]] = False
            left_out = found.gone is not None or dropped is not None
            places = np.cumsum(kept)[others] if left_out else others - np.arange(len(others))
            between = self.between(rows.picked(others), places)
        if not samples.count and not between:
            return None
        return replace(samples, between=between) if between else samples

    def others(self, rows: Rows) -> EventBatch | None:
        """No sample, and what happened between them: counts nothing."""
        others = rows.other.nonzero()[0]
        if not len(others):
            return None
        own, self.tally = self.tally, Tally()
        try:
            between = self.between(rows.picked(others), np.zeros(len(others), np.int64))
        finally:
            self.tally = own
        return replace(_NONE, between=between) if between else None

    def without_strangers(self, rows: Rows, found: Samples) -> Samples:
        """Counts samples whose event is not known."""
        alien = found.event < 0
        about = "samples of events that the file does not tell of"
        self.tally.add("unknown-event", about, rows.place(int(alien.argmax())), int(np.count_nonzero(alien)))
        kept = found.picked((~alien).nonzero()[0])
        kept.gone = alien
        return kept

    # --- samples

    def samples(self, found: Samples) -> tuple[EventBatch, Column | None]:
        """Also which of them had to be dropped, if any."""
        parts, bad, mixed = self.parts(found)
        if bad is not None:
            about = "samples that are shorter than what is in them"
            self.tally.add("sample", about, found.place(int(bad.argmax())), int(bad.sum()))
            batch, more = self.samples(found.picked((~bad).nonzero()[0]))
            if more is not None:
                bad[np.flatnonzero(~bad)[more]] = True
            return batch, bad
        count = len(found.at)
        numbers = parts.numbers
        cpu, pid, tid, period = (numbers.pop(name, None) for name in _OWN_COLUMNS)
        numbers["misc"] = misc_of(found.heads)
        nobody: Column = np.full(count if cpu is None or pid is None or tid is None else 0, -1, np.int32)
        if period is None or mixed:
            period = self.events.periods(found.event, period)
        pieces: dict[str, Any] = dict(parts.ragged)
        batch = EventBatch(
            count,
            found.event,
            found.time,
            nobody if cpu is None else cpu,
            nobody if pid is None else pid,
            nobody if tid is None else tid,
            period,
            numbers=numbers,
            **pieces,
        )
        return batch, None

    def parts(self, found: Samples) -> tuple[Parts, Column | None, bool]:
        """Which of them are bad, and whether they have different layouts."""
        layouts = self.events.layouts
        kind = self.kinds(found.event)
        if (kind == kind[:1]).all():
            layout = layouts[int(kind[0]) if len(kind) else 0]
            parts = gather(found.buffer, layout, found.at, found.size, found.rows)
            return parts, parts.bad, False
        whole = Parts(bad=np.zeros(len(found.at), np.bool_))
        for one in np.flatnonzero(np.bincount(kind, minlength=len(layouts))).tolist():
            mine = np.flatnonzero(kind == one)
            some = found.picked(mine)
            self.scatter(whole, mine, gather(some.buffer, layouts[one], some.at, some.size, some.rows))
        assert whole.bad is not None
        return whole, whole.bad if whole.bad.any() else None, True

    def kinds(self, event: Column) -> Column:
        """The layout of each; of all, if it is the same."""
        if not len(event) or len(self.events.layouts) == 1 or (event == event[0]).all():
            event = event[:1]
        found: Column = self.events.layout_of[event]
        return found

    def scatter(self, whole: Parts, mine: Column, parts: Parts) -> None:
        """Parts of some samples into those of all. What the others lack is -1 for cpu, pid and tid, 0 for numbers, and
        empty for pieces."""
        assert whole.bad is not None
        count = len(whole.bad)
        if parts.bad is not None:
            whole.bad[mine] = parts.bad
        for name, column in parts.numbers.items():
            if name not in whole.numbers:
                fill = -1 if name in {"cpu", "pid", "tid"} else 0
                whole.numbers[name] = np.full(count, fill, column.dtype)
            whole.numbers[name][mine] = column
        for name, piece in parts.ragged.items():
            old = whole.ragged.get(name)
            if old is None:
                old = Ragged(piece.values[:0], np.zeros(count, np.int64), np.zeros(count, np.int64))
            shift = 0
            values = piece.values
            if name == "branches":  # the only ones that are copies
                shift = len(old.values)
                values = np.concatenate((old.values, piece.values))
            old.start[mine] = piece.start + shift
            old.size[mine] = piece.size
            whole.ragged[name] = Ragged(values, old.start, old.size, piece.source)

    # --- other records

    def between(self, rows: Rows, places: Column) -> tuple[tuple[int, SideRecord], ...]:
        """All of ``rows`` are no samples; ``places``: of the samples that each of them comes before."""
        found: list[tuple[int, SideRecord]] = []
        view = np.ascontiguousarray(rows.buffer.data).data
        events = self.events.behind(rows.buffer, rows.heads, rows.at)[1]
        trailers = self.trailers(rows, events)
        heads, at = rows.heads.tolist(), rows.at.tolist()
        layouts = self.events.layouts
        kinds = self.events.layout_of[np.maximum(events, 0)].tolist() if len(layouts) > 1 else None
        for i, (head, start, place) in enumerate(zip(heads, at, places.tolist(), strict=True)):
            record = view[start * 8 : start * 8 + (head >> 48)].tobytes()
            layout = layouts[kinds[i]] if kinds else layouts[0]
            try:
                cursor = body_of(record, self.big, len(layout.trailer))
                one = side_record(int(head & 0xFFFFFFFF), int(head >> 32 & 0xFFFF), cursor, Trailer(*trailers[i]))
            except FormatError as error:
                name = r.name_of(head & 0xFFFFFFFF)
                self.tally.add("record", f"a {name} record that cannot be read: {error.what}", rows.base + start * 8)
                continue
            if one is None:
                self.tally.add("unknown-record", f"records of type {head & 0xFFFFFFFF}", rows.base + start * 8)
            else:
                found.append((place, one))
        return tuple(found)

    def trailers(self, rows: Rows, event: Column) -> list[tuple[int, int, int, int, int]]:
        """time, cpu, pid, tid, event of each; what is not recorded is 0 or -1."""
        count = len(event)
        heads = rows.heads
        end = self.events.ends(rows.buffer, heads, rows.at)
        words = rows.buffer.words
        cpu, pid, tid = (np.full(count, -1, np.int32) for _ in range(3))
        kind = self.events.layout_of[np.maximum(event, 0)]
        for number, layout in enumerate(self.events.layouts):
            mine = np.flatnonzero((kind == number) & (heads >= np.uint64((len(layout.trailer) + 1) << 51)))
            self.trail(rows, layout, mine, end, cpu, pid, tid)
        if (heads & _KIND == r.LOST).any():
            mine = np.flatnonzero((heads & _KIND == r.LOST) & (heads >= np.uint64(24 << 48)))
            event = event.copy()
            event[mine] = self.events.index(words[rows.at[mine] + 1])
        return list(zip(*(c.tolist() for c in (rows.time, cpu, pid, tid, event)), strict=True))

    def trail(
        self, rows: Rows, layout: Layout, mine: Column, end: Column, cpu: Column, pid: Column, tid: Column
    ) -> None:
        back = layout.behind("cpu")
        if back and len(mine):
            cpu[mine] = rows.buffer.halves((end[mine] - back) * 2)
        back = layout.behind("tid")
        if back and len(mine):
            pid[mine] = rows.buffer.halves((end[mine] - back) * 2)
            tid[mine] = rows.buffer.halves((end[mine] - back) * 2 + 1)


_I4, _U8 = np.zeros(0, np.int32), np.zeros(0, np.uint64)
_NONE = EventBatch(0, _I4, _U8, _I4, _I4, _I4, _U8)


def misc_of(heads: Column) -> Column:
    """Bits 32 to 47 of each: where the machine has them, without a copy."""
    if sys.byteorder == "little" and heads.flags.c_contiguous:
        return heads.view(np.uint16)[2::4]
    return (heads >> np.uint64(32)).astype(np.uint16)


class Samples:
    """Samples alone. ``rows``: the first words of each; ``gone``: those that were left out before, of all there were.
    ``base``: where the buffer begins in the file."""

    __slots__ = ("at", "base", "buffer", "event", "gone", "heads", "rows", "size", "time")

    def __init__(
        self, buffer: Buffer, at: Column, rows: Column, heads: Column, time: Column, event: Column, base: int
    ) -> None:
        self.buffer, self.at, self.rows, self.heads, self.time, self.event = buffer, at, rows, heads, time, event
        self.size: Column = (heads >> np.uint64(51)).view(np.int64)
        self.base = base
        self.gone: Column | None = None

    def picked(self, which: Column) -> Samples:
        columns = (self.at, self.rows, self.heads, self.time, self.event)
        at, rows, heads, time, event = (column[which] for column in columns)
        return Samples(self.buffer, at, rows, heads, time, event, self.base)

    def place(self, row: int) -> int:
        return max(self.base + int(self.at[row]) * 8, 0)


def near(rows: Rows, table: Column, events: Events) -> Samples:
    """In the part of their buffer that they lie in: it can be as large as the file."""
    heads = heads_of(np.ascontiguousarray(table[:, 0]), rows.buffer.big)
    event = events.of_samples(table)
    if not len(heads):
        return Samples(rows.buffer.part(0, 0), rows.at, table, heads, rows.time, event, rows.base)
    first, last = int(rows.at.min()), int(rows.at.argmax())
    part = rows.buffer.part(first, int(rows.at[last]) + (int(heads[last]) >> 51))
    return Samples(part, rows.at - first, table, heads, rows.time, event, rows.base + first * 8)
