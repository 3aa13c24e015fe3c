"""Events of a recording that are wanted, and their times as they are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.fields import Records
from probescope.frozen import dataclass, replace
from probescope.model.recording import EventBatch, LostEvents, Ragged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import Column, RawField, SideRecord
    from probescope.views.tracecmd.filtering import Filters

HARDIRQ, SOFTIRQ = 8, 16


@dataclass(frozen=True, slots=True)
class Choice:
    """``cpus`` empty: all. ``without``: flags whose events are left out."""

    cpus: tuple[int, ...] = ()
    without: int = 0

    def mask(self, batch: EventBatch, flags: RawField | None, context: Context) -> Column:
        shown = np.ones(batch.count, np.bool_)
        if self.cpus:
            shown &= np.isin(batch.cpu, self.cpus)
        if self.without and flags is not None and batch.raw is not None:
            records = Records(batch.raw, context.big, context.long_size)
            shown &= (records.field(flags) & np.uint64(self.without)) == 0
        return shown


class Chooser:
    """Of each batch in turn, those that ``choice`` and ``filters`` leave. ``learn``: what tells names of threads out of
    a batch, by index of event: filters have those that a report of all events shows."""

    def __init__(
        self,
        choice: Choice,
        filters: Filters | None,
        flags: RawField | None,
        context: Context,
        learn: Callable[[EventBatch], Mapping[int, str]] | None = None,
    ) -> None:
        self._choice, self._filters, self._flags, self._context = choice, filters, flags, context
        self._learn = learn if filters and filters.by_comm else None
        self._all = not (choice.cpus or choice.without or filters)

    def __call__(self, batch: EventBatch) -> EventBatch:
        if self._all or not batch.count:
            return batch
        shown = self._choice.mask(batch, self._flags, self._context)
        if self._filters:
            shown &= self._filters.mask(batch, self._learn(batch) if self._learn else None)
        cpus = set(self._choice.cpus)
        between = tuple(p for p in batch.between if not cpus or getattr(p[1], "cpu", -1) in cpus)
        return selected(replace(batch, between=between), np.flatnonzero(shown))


def selected(batch: EventBatch, which: Column) -> EventBatch:
    """Some events, by ascending indices. What happened between them stays, before the next of them."""
    if len(which) == batch.count:
        return batch
    raw = batch.raw
    between: list[tuple[int, SideRecord]] = [
        (int(np.searchsorted(which, at)), record) for at, record in batch.between if isinstance(record, LostEvents)
    ]
    return EventBatch(
        len(which),
        batch.event[which],
        batch.time[which],
        batch.cpu[which],
        batch.pid[which],
        batch.tid[which],
        batch.period[which],
        raw=None if raw is None else Ragged(raw.values, raw.start[which], raw.size[which]),
        numbers={name: column[which] for name, column in batch.numbers.items()},
        between=tuple(between),
    )


def moved(batch: EventBatch, offset: int) -> EventBatch:
    """``offset``: ns to add, wrapping as C does."""
    return replace(batch, time=batch.time + np.uint64(offset & ((1 << 64) - 1))) if offset else batch
