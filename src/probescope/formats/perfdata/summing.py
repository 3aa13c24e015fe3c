"""Samples that sums need not tell apart, put together before anything else is done with them: see ``heaps``.

Only where that is compiled, and only for events whose samples have neither stacks nor registers. What is damaged, or of
no known event, is left to those who count it: then nothing is put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.compiled import compiled
from probescope.formats.perfdata import layout as lay
from probescope.formats.perfdata.walk import heads_of
from probescope.frozen import replace

if TYPE_CHECKING:
    from probescope.formats.perfdata.columns import Columns
    from probescope.formats.perfdata.ids import Events
    from probescope.formats.perfdata.layout import Layout
    from probescope.formats.perfdata.order import Rows
    from probescope.model.recording import EventBatch

    Column = np.ndarray[Any, Any]

FEW = 256
_PLAIN = sum(bit for bit, _ in lay.HEAD) | lay.RAW


class Summing:
    def __init__(self) -> None:
        module = compiled("perfdata.heaps")
        self._heaps = module.Heaps() if module is not None else None

    def summed(self, rows: Rows, columns: Columns) -> EventBatch | None:
        """None where they cannot be put together, or where there are too few for that."""
        begin, data = rows.buffer.compiled()
        if self._heaps is None or not data or len(rows.at) < FEW:
            return None
        others = rows.other.nonzero()[0]
        mine = (~rows.other).nonzero()[0] if len(others) else np.arange(len(rows.at))
        at = rows.at.take(mine) if len(others) else rows.at
        layout = _layout(rows, at, columns.events)
        if layout is None:
            return None
        period = max(layout.where("period"), 0)
        breaks = others - np.arange(len(others))
        found = self._heaps.put(data, begin, at.tobytes(), breaks.tobytes(), _words(layout).tobytes(), period)
        firsts, counts, sums = np.frombuffer(found, "<i8").reshape(-1, 3).T
        kept = mine.take(firsts)
        if not _sound(rows.picked(kept), layout, columns.events):
            return None
        batch = columns.batch(rows.picked(np.sort(np.concatenate((kept, others))) if len(others) else kept))
        if batch is None or batch.count != len(firsts):
            return batch
        whole = np.maximum(counts, 1)
        own = batch.period * whole.view(np.uint64)
        periods = np.where(counts > 0, sums.view(np.uint64), own) if period else own
        return replace(batch, period=periods, numbers=batch.numbers | {"samples": whole})


def _layout(rows: Rows, at: Column, events: Events) -> Layout | None:
    """Of the first of these samples; None if it holds more than numbers and a raw record."""
    if not len(at):
        return None
    event = int(events.of_samples(rows.buffer.rows(at[:1], events.words))[0])
    layout = events.layouts[int(events.layout_of[event])] if event >= 0 else None
    return layout if layout is not None and not layout.sample_type & ~_PLAIN else None


def _words(layout: Layout) -> Column:
    """The words of a sample that tell heaps apart, the two that differ most first."""
    found = [layout.where(name) for name in ("ip", "tid", "identifier", "id")]
    if layout.sample_type & lay.RAW:
        found.append(layout.head_words)  # the size of the raw record
    return np.array([*(word for word in found if word > 0), 0], np.int64)


def _sound(rows: Rows, layout: Layout, events: Events) -> bool:
    """Whether all samples are of known events, of this layout, and as long as what is in them."""
    table = rows.buffer.rows(rows.at, max(events.words, layout.head_words + 1))
    size = (heads_of(np.ascontiguousarray(table[:, 0]), rows.buffer.big) >> np.uint64(51)).view(np.int64)
    event = events.of_samples(table)
    if event.min() < 0 or (events.layout_of[event] != events.layouts.index(layout)).any():
        return False
    raw = layout.sample_type & lay.RAW
    more = (rows.buffer.low(table[:, layout.head_words]) + 11) >> 3 if raw else 0
    return bool((size >= layout.head_words + more).all())
