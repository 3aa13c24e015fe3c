"""Merged records of ring buffers as batches of events, whether from a file or from the kernel itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracedat.merge import Merged
from probescope.formats.tracedat.ring import Layout
from probescope.formats.tracing.fields import Records
from probescope.model.recording import EventBatch, EventType, LostEvents, Ragged, RawField

if TYPE_CHECKING:
    from probescope.model.recording import Column

MOST_PAGE = 1 << 22
_PAGE_FIELD = re.compile(r"field:[^;\n]*?\b(timestamp|commit|data);\s*offset:\s*(\d{1,9});\s*size:\s*(\d{1,9})")


def page_fields(header_page: str) -> dict[str, tuple[int, int]]:
    """(offset, size) of a page's parts, as the kernel says in events/header_page."""
    return {name: (int(offset), int(size)) for name, offset, size in _PAGE_FIELD.findall(header_page)}


def page_layout(fields: dict[str, tuple[int, int]], big: bool, long_size: int, page_size: int) -> Layout | None:
    """``None`` for pages that cannot be. ``long_size``: where the fields do not tell."""
    commit_at, commit_size = fields.get("commit", (8, long_size))
    data_at = fields.get("data", (8 + long_size, 0))[0]
    fine = 64 <= page_size <= MOST_PAGE and page_size % 4 == 0 and commit_size in {4, 8} and data_at % 4 == 0
    if not fine or not commit_at >= 8 or not commit_at + commit_size <= data_at <= page_size - 8:
        return None
    return Layout(big, page_size, commit_at, commit_size, data_at)


class Batching:
    """``events``: the last one is for events of no known kind."""

    def __init__(self, events: tuple[EventType, ...], big: bool, long_size: int, damage: Tally) -> None:
        self.big = big
        self.long_size = long_size
        self._strange = len(events) - 1
        self._ids = _index_by_id(events)
        self._kind, self._pid = _common_fields(events)
        self._damage = damage

    def batch(self, m: Merged, cpus: Column, buffers: Column | None = None) -> EventBatch:
        """``cpus`` and ``buffers``: of each source that was merged."""
        raw = Ragged(m.values, m.start, m.size)
        records = Records(raw, self.big, self.long_size)
        kind = self._ids[np.minimum(records.field(self._kind), np.uint64(len(self._ids) - 1)).astype(np.int64)]
        strange = int((kind == self._strange).sum())
        if strange:
            self._damage.add("event", "events of kinds that the file does not describe", count=strange)
        tid = records.field(self._pid).astype(np.uint32).view(np.int32)
        cpu = cpus[m.source]
        numbers = {} if buffers is None else {"buffer": buffers[m.source]}
        between = tuple((i, _lost(m, i, int(cpus[source]), count)) for i, source, count in m.lost)
        none = np.full(len(cpu), -1, np.int32)
        period = np.ones(len(cpu), np.uint64)
        return EventBatch(len(cpu), kind, m.time, cpu, none, tid, period, raw=raw, numbers=numbers, between=between)


def _lost(m: Merged, at: int, cpu: int, count: int) -> LostEvents:
    time = int(m.time[at]) if at < len(m.time) else 0
    return LostEvents(time=time, cpu=cpu, count=max(0, count), kind="overrun")


def _index_by_id(events: tuple[EventType, ...]) -> Column:
    """From an event's number to its index; the last entry is for numbers that are none."""
    table = np.full((1 << 16) + 1, len(events) - 1, np.int32)
    for i, event in enumerate(events[:-1]):
        if 0 < event.id < 1 << 16:
            table[event.id] = i
    return table


def _common_fields(events: tuple[EventType, ...]) -> tuple[RawField, RawField]:
    """``common_type`` and ``common_pid``, the same in all events."""
    kind = next((f for e in events if (f := e.field("common_type"))), None)
    pid = next((f for e in events if (f := e.field("common_pid"))), None)
    return (
        kind or RawField("common_type", "unsigned short", 0, 2, False),
        pid or RawField("common_pid", "int", 4, 4, True),
    )
