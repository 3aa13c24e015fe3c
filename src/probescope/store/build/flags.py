"""What the kernel noted of the moment of each record: interrupts, reschedules, depth of preemption.

A raw record begins with u16 common_type, u8 common_flags, u8 common_preempt_count, s32 common_pid; the format of the
events says so. Source: include/linux/trace_events.h (struct trace_entry, enum trace_flag_type).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probescope.model.recording import EventBatch, EventType

    Array = np.ndarray[Any, Any]

FIELDS = {"flags": "common_flags", "preempt": "common_preempt_count"}
"""Columns of ``event``, and the bytes that they are."""


class Flags:
    """``flagged``: whether raw records hold them at all."""

    def __init__(self, kinds: Sequence[EventType], flagged: bool) -> None:
        self._places: dict[str, int] = {}
        for column, name in FIELDS.items() if flagged else ():
            found = next((f for e in kinds if (f := e.field(name)) is not None), None)
            if found is not None and found.size == 1:
                self._places[column] = found.offset

    def of(self, batch: EventBatch) -> dict[str, Array]:
        """Both columns, i2; -1 where a record does not tell."""
        return {column: self._column(batch, self._places.get(column, -1)) for column in FIELDS}

    def _column(self, batch: EventBatch, place: int) -> Array:
        out: Array = np.full(batch.count, -1, np.int16)
        if batch.raw is None or place < 0 or not len(batch.raw.values):
            return out
        there = batch.raw.size > place
        at = np.minimum(batch.raw.start + place, len(batch.raw.values) - 1)
        np.copyto(out, batch.raw.values[at], where=there)
        return out
