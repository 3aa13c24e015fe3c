"""Records out of the kernel's rings, as batches: what ``reader`` does for files, for bytes as they come.

Each look takes the rings of all CPUs, one after the other. What happened before it began is in them already, so that it
is complete and can be put in order; what is younger waits for the next look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.perfdata.blocks import block_of
from probescope.formats.perfdata.buffers import Buffer
from probescope.formats.perfdata.columns import Columns
from probescope.formats.perfdata.damage import Tally
from probescope.formats.perfdata.ids import Events
from probescope.formats.perfdata.layout import time_at

if TYPE_CHECKING:
    from probescope.formats.perfdata.attr import Attr
    from probescope.formats.perfdata.blocks import Block
    from probescope.formats.perfdata.walk import Places
    from probescope.model.recording import EventBatch

EVERYTHING = (1 << 64) - 1


class LiveRecords:
    """``attrs``: of the events, in their order; ``ids``: index of the event by the number that its samples carry.
    ``tally`` counts what could not be read."""

    def __init__(self, attrs: Sequence[Attr], ids: Mapping[int, int]) -> None:
        self.tally = Tally()
        self._columns = Columns(False, Events(attrs, dict(ids)), self.tally)
        self._time_at = time_at(attrs)
        self._waiting = b""

    def batch(self, records: Sequence[bytes], until: int = EVERYTHING) -> EventBatch | None:
        """Whole records, in any order, and those that waited: all that are not younger than ``until`` (ns) in order of
        time; ``None`` if there are none. Records without a time come first."""
        data = b"".join((self._waiting, *records))
        self._waiting = b""
        if not data:
            return None
        buffer = Buffer(np.frombuffer(data, np.uint8), 0, False)
        block, end = block_of(buffer, 0, len(buffer.words), 0, self._time_at, large=False)
        if end * 8 < len(data):
            self.tally.add("record", "records of the ring that make no sense", end * 8)
        rows = self._columns.events.placed(block)
        order = np.argsort(rows.time, kind="stable")
        ready = int(np.searchsorted(rows.time[order], np.uint64(until), "right"))
        if ready < len(order):
            self._keep(data, block, block.at[np.sort(order[ready:])])
        return self._columns.batch(rows.picked(order[:ready])) if ready else None

    def _keep(self, data: bytes, block: Block, at: Places) -> None:
        """In the order in which they came."""
        sizes = (block.heads(at) >> np.uint64(48)).tolist()
        self._waiting = b"".join(data[a * 8 : a * 8 + s] for a, s in zip(at.tolist(), sizes, strict=True))
