"""Rows in order of time -> a batch: samples as columns, other records between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import FormatError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.damage import Tally
from probescope.formats.perfdata.order import Rows
from probescope.formats.perfdata.samples import Parts, gather
from probescope.formats.perfdata.sideband import Trailer, body_of, side_record
from probescope.model.recording import EventBatch, Ragged, SideRecord

if TYPE_CHECKING:
    from probescope.formats.perfdata.ids import Events
    from probescope.formats.perfdata.layout import Layout

    Column = np.ndarray[Any, Any]

_OWN_COLUMNS = ("cpu", "pid", "tid", "period")
_KIND = np.uint64(0xFFFFFFFF)


class Columns:
    """Makes batches; what cannot be used is counted in ``tally``, and samples per event in ``samples``."""

    def __init__(self, big: bool, events: Events, tally: Tally) -> None:
        self.big, self.events, self.tally = big, events, tally

    def batch(self, rows: Rows) -> EventBatch | None:
        rows = near(rows)
        sample = rows.heads.astype(np.uint32) == r.SAMPLE
        known = sample & (rows.event >= 0)
        others = np.flatnonzero(~known)
        mine = rows
        if len(others):
            mine = rows.picked(np.flatnonzero(known))
            others = self.strangers(rows, others, sample)
        samples, dropped = self.samples(mine)
        if dropped is not None:
            known[np.flatnonzero(known)[dropped]] = False
        between = self.between(rows, others, np.cumsum(known)[others]) if len(others) else ()
        if not samples.count and not between:
            return None
        return EventBatch(
            samples.count,
            samples.event,
            samples.time,
            samples.cpu,
            samples.pid,
            samples.tid,
            samples.period,
            samples.stacks,
            samples.raw,
            samples.numbers,
            samples.registers,
            samples.stack_dumps,
            samples.branches,
            samples.reads,
            between,
            samples.registers_intr,
        )

    def strangers(self, rows: Rows, others: Column, sample: Column) -> Column:
        """Counts samples whose event is not known; the rest of ``others``."""
        alien = others[sample[others]]
        if len(alien):
            about = "samples of events that the file does not tell of"
            self.tally.add("unknown-event", about, rows.place(int(alien[0])), len(alien))
        return others[~sample[others]]

    # --- samples

    def samples(self, rows: Rows) -> tuple[EventBatch, Column | None]:
        """All of ``rows`` are samples. Also which of them had to be dropped, if any."""
        parts, bad, mixed = self.parts(rows)
        if bad is not None:
            self.tally.add(
                "sample", "samples that are shorter than what is in them", rows.place(int(bad.argmax())), int(bad.sum())
            )
            kept = rows.picked(~bad)
            batch, more = self.samples(kept)
            if more is not None:
                bad[np.flatnonzero(~bad)[more]] = True
            return batch, bad
        count = len(rows.at)
        numbers = parts.numbers
        cpu, pid, tid, period = (numbers.pop(name, None) for name in _OWN_COLUMNS)
        numbers["misc"] = (rows.heads >> np.uint64(32)).astype(np.uint16)
        nobody = np.full(count, -1, np.int32)
        if period is None or mixed:
            period = self.events.periods(rows.event, period)
        pieces: dict[str, Any] = dict(parts.ragged)
        batch = EventBatch(
            count,
            rows.event,
            rows.time,
            nobody if cpu is None else cpu,
            nobody if pid is None else pid,
            nobody if tid is None else tid,
            period,
            numbers=numbers,
            **pieces,
        )
        return batch, None

    def parts(self, rows: Rows) -> tuple[Parts, Column | None, bool]:
        """Which of them are bad, and whether they have different layouts."""
        layouts = self.events.layouts
        if len(layouts) == 1 or not len(rows.at):
            parts = gather(rows.buffer, layouts[0], rows.at, rows.size)
            return parts, parts.bad, False
        kind = self.events.layout_of[rows.event]
        present = np.flatnonzero(np.bincount(kind, minlength=len(layouts)))
        if len(present) == 1:
            parts = gather(rows.buffer, layouts[int(present[0])], rows.at, rows.size)
            return parts, parts.bad, False
        whole = Parts(bad=np.zeros(len(rows.at), np.bool_))
        for one in present.tolist():
            mine = np.flatnonzero(kind == one)
            some = rows.picked(mine)
            self.scatter(whole, mine, gather(rows.buffer, layouts[one], some.at, some.size))
        assert whole.bad is not None
        return whole, whole.bad if whole.bad.any() else None, True

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
            whole.ragged[name] = Ragged(values, old.start, old.size)

    # --- other records

    def between(self, rows: Rows, others: Column, places: Column) -> tuple[tuple[int, SideRecord], ...]:
        found: list[tuple[int, SideRecord]] = []
        if not len(others):
            return ()
        view = np.ascontiguousarray(rows.buffer.data).data
        trailers = self.trailers(rows, others)
        heads, at = rows.heads[others].tolist(), rows.at[others].tolist()
        layouts = self.events.layouts
        kinds = self.events.layout_of[np.maximum(rows.event[others], 0)].tolist() if len(layouts) > 1 else None
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

    def trailers(self, rows: Rows, others: Column) -> list[tuple[int, int, int, int, int]]:
        """time, cpu, pid, tid, event of each; what is not recorded is 0 or -1."""
        count = len(others)
        heads = rows.heads[others]
        end = rows.at[others] + (heads >> np.uint64(51)).astype(np.int64)
        words = rows.buffer.words
        event = rows.event[others]
        cpu, pid, tid = (np.full(count, -1, np.int32) for _ in range(3))
        kind = self.events.layout_of[np.maximum(event, 0)]
        for number, layout in enumerate(self.events.layouts):
            mine = np.flatnonzero((kind == number) & (heads >= np.uint64((len(layout.trailer) + 1) << 51)))
            self.trail(rows, layout, mine, end, cpu, pid, tid)
        if (heads & _KIND == r.LOST).any():
            mine = np.flatnonzero((heads & _KIND == r.LOST) & (heads >= np.uint64(24 << 48)))
            event = event.copy()
            event[mine] = self.events.index(words[rows.at[others][mine] + 1])
        return list(zip(*(c.tolist() for c in (rows.time[others], cpu, pid, tid, event)), strict=True))

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


def near(rows: Rows) -> Rows:
    """The same in the part of their buffer that they lie in: it can be as large as the file."""
    if not len(rows.at):
        return rows
    first, end = int(rows.at.min()), int((rows.at + rows.size).max())
    return Rows(rows.buffer.part(first, end), rows.heads, rows.at - first, rows.time, rows.event, rows.base + first * 8)
