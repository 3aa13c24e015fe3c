"""Pairs that the kernel makes by itself: a synthetic event's records are all that comes out of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.ftrace.live import LiveTrace
from probescope.collect.ftrace.stacks import Machinery, with_stacks
from probescope.collect.ftrace.triggered import Triggered, known_event
from probescope.collect.latency.definition import CLOCK, Definition
from probescope.collect.stream.people import People
from probescope.collect.stream.who import Who
from probescope.errors import KernelError
from probescope.formats.tracing.event_format import parse_event_format
from probescope.formats.tracing.fields import Records
from probescope.kernel import machine, tracefs
from probescope.model.latency import Asked, Pairs
from probescope.model.recording import Ragged

if TYPE_CHECKING:
    from probescope.evaluate.columns.values import Column
    from probescope.model.recording import EventBatch, EventType, RawField

SETTLED_NS = 1_000_000
"""What is younger may still be on its way into the buffer of another CPU."""
TASKS = ("task:task_newtask", "task:task_rename")
MOST_LOOKS = 1 << 12


def described(event: str) -> EventType:
    """``system:event``. Raises KernelError, ProbeError, FormatError."""
    known_event(event)
    system, _, name = event.partition(":")
    return parse_event_format(tracefs.event_format(system, name), system)


class SyntheticPairs:
    """Nothing is measured before ``start``. Raises KernelError, ProbeError."""

    def __init__(self, asked: Asked, found: Definition, *, buffer_kb: int = 4096) -> None:
        self._asked, self._found = asked, found
        self._held = Triggered("latency", clock=CLOCK, buffer_kb=buffer_kb)
        self._live: LiveTrace | None = None
        try:
            self.name = self._held.synthetic("pair", found.fields)
            self._held.trigger(found.start_event, found.start)
            self._held.trigger(found.end_event, found.end.format(name=self.name))
            names = [f"synthetic:{self.name}", *([] if found.comm else TASKS)]
            if asked.stack:
                self._held.option("stacktrace")
            for name in names:
                self._held.enable(name)
            self._live = LiveTrace(self._held.base, names, machine.online_cpus())
        except BaseException:
            self.close()
            raise
        self._events = self._live.events
        self._number = next(i for i, e in enumerate(self._events) if e.name == names[0])
        self._people = None if found.comm else People(self._events, names=True)
        self._who = Who()
        self._machinery = Machinery()

    def start(self) -> None:
        if self._people is not None:
            self._people.begin()
        self._held.start()

    def stop(self) -> None:
        self._held.stop()

    def take(self) -> Pairs | None:
        """What is complete by now."""
        return self._look(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - SETTLED_NS)

    def rest(self) -> Iterator[Pairs]:
        """After ``stop``: everything that is left."""
        assert self._live is not None
        for _ in range(MOST_LOOKS):
            found = self._look((1 << 64) - 1)
            if found is not None:
                yield found
            elif not self._live.busy:
                return

    def _look(self, until: int) -> Pairs | None:
        assert self._live is not None
        batch = self._live.read(until)
        return None if batch is None else self._pairs(batch)

    def _pairs(self, batch: EventBatch) -> Pairs:
        at = np.flatnonzero(batch.event == self._number)
        assert batch.raw is not None
        records = Records(Ragged(batch.raw.values, batch.raw.start[at], batch.raw.size[at]))
        comm = self._texts(records, self._found.comm) if self._found.comm else self._comms(batch)[at]
        by = []
        for one, field in zip(self._asked.by, self._found.by, strict=True):
            if field:
                by.append(self._texts(records, field))
            else:
                by.append(comm if one.name == "comm" else getattr(batch, one.name)[at].astype(object))
        latency = records.field(self._field("latency")).astype(np.uint64)
        stack = self._stacks(batch)[at] if self._asked.stack else None
        return Pairs(batch.time[at], latency, batch.cpu[at], batch.tid[at], comm, tuple(by), stack)

    def _field(self, name: str) -> RawField:
        field = self._events[self._number].field(name)
        assert field is not None
        return field

    def _texts(self, records: Records, name: str) -> Column:
        """A column of texts, or of integers, as objects."""
        field = self._field(name)
        if not field.count:
            return records.field(field).astype(object)
        out = np.empty(len(records), object)
        out[:] = records.strings(field)
        return out

    def _comms(self, batch: EventBatch) -> Column:
        assert self._people is not None
        told = self._who.told(self._people.columns(batch))
        names = np.empty(len(told.comm.values), object)
        names[:] = [v.decode("utf-8", "surrogateescape") for v in told.comm.values]
        found: Column = names[told.comm.codes]
        return found

    def _stacks(self, batch: EventBatch) -> Column:
        """Addresses of each record's stack, as tuples."""
        found = with_stacks(batch, self._events, self._machinery).stacks
        assert found is not None
        out = np.empty(len(batch), object)
        out[:] = [tuple(found.piece(i)[1:].tolist()) for i in range(len(batch))]
        return out

    def losses(self) -> Iterator[str]:
        """What was not measured, in words."""
        try:
            lost = self._held.lost(self._live.cpus if self._live else [])
            dropped = sum(h.dropped for h in self._held.histograms(self._found.start_event))
        except KernelError:
            return
        if lost:
            yield f"{lost:,} pairs that the buffers had no room for: a predicate leaves out what is not asked for"
        if dropped:
            yield f"{dropped:,} starts that the kernel had no room for: too many different keys"

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None
        self._held.close()
