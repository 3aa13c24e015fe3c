"""Function graphs as columns: who called what, and how long it took.

funcgraph_entry  func, depth                         a function begins; depth 0: one that was asked for
funcgraph_exit   func, depth, calltime, rettime      it returns (retval where the kernel records it, 6.5)

Behind an entry there may be more, as much as was asked for: six arguments (6.15, "ftrace: Add support for function
argument to graph tracer"), and the address that it returns to behind them, or alone.

Source: kernel/trace/trace_entries.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.graph import ENTRIES, EXIT
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.model.recording import Column, EventBatch, EventType

MOST_DEPTH = 256
ENTRY, RETURN = 0, 1
ARGUMENTS = 6
"""That the kernel records, FTRACE_REGS_MAX_ARGS on 64-bit machines: u64 each."""


@dataclass(frozen=True, slots=True, eq=False)
class CallColumns:
    """Entries and returns of a batch, in order of time. ``at``: their places in the batch; ``kind``: ENTRY, RETURN;
    ``duration`` in ns, of returns; ``value``: what was returned, ``None`` where that is not recorded, and ``known``:
    which rows have one, ``None``: all. ``from_``: the address that an entry returns to, 0 where that is not recorded.
    ``args``: a row of ``ARGUMENTS`` of each entry, ``None`` where they are not recorded. ``overrun``: calls that the
    tracer had no room for, of returns."""

    at: Column
    kind: Column
    cpu: Column
    tid: Column
    time: Column
    func: Column
    depth: Column
    duration: Column
    value: Column | None
    from_: Column
    known: Column | None = None
    args: Column | None = None
    overrun: Column | None = None


class CallReader:
    """Of a recording's or a buffer's ``events``."""

    def __init__(self, events: tuple[EventType, ...], big: bool = False, long_size: int = 8) -> None:
        self.events = events
        self.big, self.long_size = big, long_size
        self.entries = [i for i, e in enumerate(events) if e.name in ENTRIES]
        self.exits = [i for i, e in enumerate(events) if e.name == EXIT]

    def columns(self, batch: EventBatch) -> CallColumns:
        where = np.flatnonzero(np.isin(batch.event, self.entries + self.exits))
        kind = np.isin(batch.event[where], self.exits).astype(np.int8)
        count = len(where)
        out: dict[str, Column] = {n: np.zeros(count, np.uint64) for n in ("func", "depth", "duration", "value", "from")}
        out["overrun"] = np.zeros(count, np.uint64)
        args: list[tuple[Column, Column]] = []
        valued = False
        if batch.raw is not None:
            records = Records(batch.raw, self.big, self.long_size)
            for index in [*self.entries, *self.exits]:
                mine = np.flatnonzero(batch.event[where] == index)
                if len(mine):
                    some = records.subset(where[mine])
                    valued |= self._fill(out, mine, some, self.events[index])
                    args += self._behind(out, mine, some, self.events[index])
        depth = np.minimum(out["depth"], np.uint64(MOST_DEPTH)).astype(np.int64)
        return CallColumns(
            where,
            kind,
            batch.cpu[where],
            batch.tid[where],
            batch.time[where],
            out["func"],
            depth,
            out["duration"],
            out["value"] if valued else None,
            out["from"],
            args=_spread_args(args, count),
            overrun=out["overrun"],
        )

    @staticmethod
    def _fill(out: dict[str, Column], mine: Column, records: Records, event: EventType) -> bool:
        """Whether the event has a returned value."""
        found = {f.name: f for f in event.fields}
        for name in ("func", "depth", "overrun"):
            if name in found:
                out[name][mine] = records.field(found[name])
        if "retaddr" in found:
            out["from"][mine] = records.field(found["retaddr"])
        if "rettime" in found and "calltime" in found:
            out["duration"][mine] = records.field(found["rettime"]) - records.field(found["calltime"])
        if "retval" in found:
            out["value"][mine] = records.field(found["retval"])
        return "retval" in found

    def _behind(
        self, out: dict[str, Column], mine: Column, records: Records, event: EventType
    ) -> list[tuple[Column, Column]]:
        """What stands behind an entry: (places, arguments) of those that have such."""
        field = next((f for f in event.fields if f.name == "args" and not f.size), None)
        if field is None or self.long_size != 8:
            return []
        words = (records.size - field.offset) // 8
        alone = np.flatnonzero(words == 1)
        out["from"][mine[alone]] = records.subset(alone).number(field.offset, 8)
        full = np.flatnonzero(words >= ARGUMENTS)
        some = records.subset(full)
        more = np.flatnonzero(words[full] > ARGUMENTS)
        out["from"][mine[full[more]]] = some.subset(more).number(field.offset + 8 * ARGUMENTS, 8)
        if not len(full):
            return []
        return [(mine[full], np.stack([some.number(field.offset + 8 * i, 8) for i in range(ARGUMENTS)], 1))]


def _spread_args(pieces: list[tuple[Column, Column]], count: int) -> Column | None:
    if not pieces:
        return None
    out: Column = np.zeros((count, ARGUMENTS), np.uint64)
    for places, args in pieces:
        out[places] = args
    return out
