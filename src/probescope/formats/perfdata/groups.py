"""Samples that carry the values of a whole group -> one for each member, as perf delivers them.

With PERF_SAMPLE_READ (`perf record -e '{a,b}:S'`) only the leader of a group samples, and each of its samples holds the
counts of all members so far. What happened since the sample before is the difference: that many events of each member,
at the leader's place and time. A member that counted nothing since then is left out.

    sample 1 of a: a 100, b 7   ->  a, period 100;  b, period 7
    sample 2 of a: a 200, b 7   ->  a, period 100
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.perfdata.damage import Tally
from probescope.frozen import replace
from probescope.kernel.uapi import perf as u
from probescope.model.recording import EventBatch, Ragged

if TYPE_CHECKING:
    from probescope.formats.perfdata.ids import Events

    Column = np.ndarray[Any, Any]


class Groups:
    """Keeps the last value of each id."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.last: dict[int, int] = {}

    def expanded(self, batch: EventBatch, events: Events) -> EventBatch:
        """``batch`` itself where no sample tells whose values it has."""
        reads = batch.reads
        if reads is None or not batch.count:
            return batch
        form = events.read_formats[batch.event]
        mine = (form & u.PERF_FORMAT_ID != 0) & (reads.size > 0)
        if not mine.any():
            return batch
        rows, ids, values = self.members(reads, form, mine)
        period = self.since(ids, values)
        event = events.index(ids)
        unknown = int((event < 0).sum())
        if unknown:
            self.tally.add("unknown-event", "values of events that the file does not tell of", count=unknown)
        kept = (period != 0) & (event >= 0)
        others = np.flatnonzero(~mine)
        row = np.concatenate((rows[kept], others))
        event = np.concatenate((event[kept], batch.event[others]))
        period = np.concatenate((period[kept], batch.period[others]))
        order = np.argsort(row, kind="stable")
        return picked(batch, row[order], event[order], period[order])

    def members(self, reads: Ragged, form: Column, mine: Column) -> tuple[Column, Column, Column]:
        """Of each member of each sample, in order: the sample's row, the id, the value."""
        rows: list[Column] = []
        places: list[Column] = []
        for one in np.unique(form[mine]).tolist():
            which = np.flatnonzero(mine & (form == one))
            once = bool(one & u.PERF_FORMAT_TOTAL_TIME_ENABLED) + bool(one & u.PERF_FORMAT_TOTAL_TIME_RUNNING)
            each = 2 + bool(one & u.PERF_FORMAT_LOST)
            start = reads.start[which]
            if one & u.PERF_FORMAT_GROUP:
                count = (reads.size[which] - 1 - once) // each
                first = np.repeat(start + 1 + once - (np.cumsum(count) - count) * each, count)
                places.append(first + np.arange(int(count.sum())) * each)
                rows.append(np.repeat(which, count))
            else:  # value, enabled, running, id: told apart from a group's by the sign
                places.append(-1 - start)
                rows.append(which)
        row, place = np.concatenate(rows), np.concatenate(places)
        order = np.argsort(row, kind="stable")
        row, place = row[order], place[order]
        single = place < 0
        value_at = np.where(single, -1 - place, place)
        lone = form[row]
        times = (lone & u.PERF_FORMAT_TOTAL_TIME_ENABLED != 0).astype(np.int64)
        times += lone & u.PERF_FORMAT_TOTAL_TIME_RUNNING != 0
        id_at = value_at + 1 + np.where(single, times, 0)
        return row, reads.values[id_at], reads.values[value_at]

    def since(self, ids: Column, values: Column) -> Column:
        """Each value less the one before it of the same id."""
        if not len(ids):
            return values
        order = np.argsort(ids, kind="stable")
        by_id, value = ids[order], values[order]
        firsts = np.flatnonzero(np.append(True, by_id[1:] != by_id[:-1]))
        before = np.append(np.uint64(0), value[:-1])
        before[firsts] = [self.last.get(one, 0) for one in by_id[firsts].tolist()]
        lasts = np.append(firsts[1:], len(by_id)) - 1
        if len(self.last) < 1 << 20:
            self.last.update(zip(by_id[lasts].tolist(), value[lasts].tolist(), strict=True))
        period = np.empty(len(ids), np.uint64)
        period[order] = value - before
        return period


def picked(batch: EventBatch, rows: Column, event: Column, period: Column) -> EventBatch:
    """The rows of ``batch``, ascending and perhaps more than once, with other events and periods."""

    def pieces(piece: Ragged | None) -> Ragged | None:
        return None if piece is None else Ragged(piece.values, piece.start[rows], piece.size[rows])

    return replace(
        batch,
        count=len(rows),
        event=event,
        time=batch.time[rows],
        cpu=batch.cpu[rows],
        pid=batch.pid[rows],
        tid=batch.tid[rows],
        period=period,
        stacks=pieces(batch.stacks),
        raw=pieces(batch.raw),
        numbers={name: column[rows] for name, column in batch.numbers.items()},
        registers=pieces(batch.registers),
        stack_dumps=pieces(batch.stack_dumps),
        branches=pieces(batch.branches),
        reads=pieces(batch.reads),
        between=tuple((int(np.searchsorted(rows, at)), record) for at, record in batch.between),
        registers_intr=pieces(batch.registers_intr),
    )
