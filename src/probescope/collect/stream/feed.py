"""Where batches of events come from: a file, read on as they are taken."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from probescope.model.output import Lost
from probescope.model.recording import EventBatch, EventType, Machine, Recording

MOST_AHEAD = 16
"""Batches that are looked through for a first event."""


class Feed(Protocol):
    """``events`` and ``machine`` as in a ``Recording``. ``ended``: nothing more will come."""

    @property
    def events(self) -> tuple[EventType, ...]: ...
    @property
    def machine(self) -> Machine: ...
    @property
    def ended(self) -> bool: ...
    def take(self) -> EventBatch | None:
        """The next batch, in order of time; ``None`` if there is none now. Raises ``FormatError``."""
        ...

    def losses(self) -> Iterator[Lost]:
        """What could not be read, at the end."""
        ...

    def close(self) -> None: ...


class RecordedFeed:
    """A recording from its begin to its end. ``first_time`` looks ahead."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._batches: Iterator[EventBatch] = recording.batches()
        self.ended = False

    @property
    def events(self) -> tuple[EventType, ...]:
        return self._recording.events

    @property
    def machine(self) -> Machine:
        return self._recording.machine

    def first_time(self) -> int:
        """Of the first event in ns; 0 if there is none."""
        seen: list[EventBatch] = []
        for batch in self._batches:
            seen.append(batch)
            if batch.count or len(seen) >= MOST_AHEAD:
                break
        self._batches = chain(seen, self._batches)
        return int(seen[-1].time[0]) if seen and seen[-1].count else 0

    def take(self) -> EventBatch | None:
        batch = next(self._batches, None)
        if batch is None:
            self.ended = True
        return batch

    def losses(self) -> Iterator[Lost]:
        for d in self._recording.damage:
            where = f" (first at {d.offset:#x})" if d.offset >= 0 else ""
            yield Lost("damage", d.count, f"times the recording is damaged: {d.about}{where}")

    def close(self) -> None:
        self._recording.close()
