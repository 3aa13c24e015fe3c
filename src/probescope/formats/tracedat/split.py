"""One trace.dat cut into several: by time, by number of events, by size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import FormatError
from probescope.formats.tracedat.cut import TraceCut
from probescope.frozen import dataclass
from probescope.kernel.wholefile import whole_file

if TYPE_CHECKING:
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.model.recording import EventBatch

    Column = np.ndarray[Any, Any]

MOST_TIME = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Rule:
    """``start``, ``end``: ns, the end included. One of ``ns``, ``events``, ``pages`` (of all CPUs together, or with
    ``per_cpu`` of any of them) says how much a file holds; none: all. ``repeat``: further files, up to the end."""

    start: int = 0
    end: int = MOST_TIME
    ns: int = 0
    events: int = 0
    pages: int = 0
    per_cpu: bool = False
    repeat: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    path: str
    events: int
    size: int


def split(recording: TraceDat, rule: Rule, name: Callable[[int], str]) -> list[Piece]:
    """``name`` gives the path of the n-th file. Raises OSError where one cannot be written, FormatError where
    nothing is left of a damaged recording."""
    if not recording.buffers or not any(b.cpus for b in recording.buffers):
        raise FormatError("it has no pages to split", file=recording.name, section="buffer")
    out: list[Piece] = []
    part = _Part(recording, rule)
    try:
        for batch, which in _within(recording, rule):
            rest = which
            while len(rest):
                taken, full = part.add(batch, rest)
                rest = rest[taken:]
                if full:
                    out.append(part.written(name(len(out))))
                    if not rule.repeat:
                        return out
                    part = _Part(recording, rule)
        if part.count or not out:
            out.append(part.written(name(len(out))))
    finally:
        part.close()
    return out


def _within(recording: TraceDat, rule: Rule) -> Iterator[tuple[EventBatch, Column]]:
    for batch in recording.batches():
        fine = (batch.time >= np.uint64(rule.start)) & (batch.time <= np.uint64(rule.end))
        yield batch, np.flatnonzero(fine)


class _Part:
    """A file that fills."""

    def __init__(self, recording: TraceDat, rule: Rule) -> None:
        self._cut = TraceCut(recording)
        self._rule = rule
        self._first = -1
        self._bytes: dict[int, int] = {}
        self._room = recording.contents.page_size - 16
        self.count = 0

    def add(self, batch: EventBatch, which: Column) -> tuple[int, bool]:
        """How many of them it took, and whether it is full now."""
        rule = self._rule
        take = len(which)
        if self._first < 0:
            self._first = int(batch.time[which[0]])
        if rule.events:
            take = min(take, rule.events - self.count)
        elif rule.ns:
            until = np.uint64(min(self._first + rule.ns, MOST_TIME))
            take = int(np.searchsorted(np.maximum.accumulate(batch.time[which]), until))
        elif rule.pages:
            take = self._fitting(batch, which)
        self._cut.add(batch, which[:take])
        self.count += take
        return take, take < len(which) or bool(rule.events and self.count >= rule.events)

    def _fitting(self, batch: EventBatch, which: Column) -> int:
        """As many as the pages hold: sizes are those of records, padded, with their heads."""
        if batch.raw is None:
            return len(which)
        size = (batch.raw.size[which].astype(np.int64) + 3) // 4 * 4 + 4
        cpus = batch.cpu[which] if self._rule.per_cpu else np.zeros(len(which), np.int32)
        take = len(which)
        for cpu in np.unique(cpus).tolist():
            mine = np.flatnonzero(cpus == cpu)
            ends = np.cumsum(size[mine]) + self._bytes.get(cpu, 0)
            over = int(np.searchsorted(ends, self._rule.pages * self._room, "right"))
            if over < len(mine):
                take = min(take, int(mine[over]))
        if not take and not self.count:
            take = 1  # one record that is larger than all of it
        for cpu in np.unique(cpus).tolist():
            self._bytes[cpu] = self._bytes.get(cpu, 0) + int(size[:take][cpus[:take] == cpu].sum())
        return take

    def written(self, path: str) -> Piece:
        try:
            with whole_file(path, own=True) as file:
                self._cut.write(file)
        except OSError as e:
            raise OSError(e.errno, e.strerror, path) from None
        self.close()
        return Piece(path, self.count, os.path.getsize(path))

    def close(self) -> None:
        self._cut.__exit__(None, None, None)
