"""Samples of this machine while they are taken, with everything that can be told of them: what live views look at.

    rings of all CPUs -> LiveRecords -> EventBatch -> Told: names, mappings, stacks, frames

What is known of tasks and stacks grows while it runs; when it is much, it is forgotten and begun anew from /proc.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.collect.recorded.search import Search
from probescope.collect.recorded.told import Told, here
from probescope.collect.recorder import targets
from probescope.collect.recorder.live import LiveRings
from probescope.collect.recorder.rings import Places
from probescope.collect.recorder.sampling import ring_events
from probescope.frozen import replace
from probescope.kernel.host import host
from probescope.kernel.machine import online_cpus
from probescope.kernel.uapi import perf as u
from probescope.model.recording import EventType, Machine

if TYPE_CHECKING:
    from probescope.collect.recorded.told import ToldBatch
    from probescope.collect.recorder.request import RecordRequest
    from probescope.model.recording import Damage, EventBatch

MOST_STACKS = 200_000
MOST_SPACES = 50_000
_SAMPLED = {"ip": u.PERF_SAMPLE_IP, "callchain": u.PERF_SAMPLE_CALLCHAIN, "raw": u.PERF_SAMPLE_RAW}


class Sampler:
    """A ``Recording`` that is not over: ``batches`` are those that have come since they were last asked for. ``told``
    is replaced when it has grown too large: ``renewed`` counts how often."""

    def __init__(self, request: RecordRequest) -> None:
        """Raises KernelError, UsageError, LimitError."""
        self._request = request
        sampling = replace(request.sampling, clockid=time.CLOCK_MONOTONIC, cpus=True, periods=True)
        places = Places(request.cpus or tuple(online_cpus()), targets.threads(request))
        events = ring_events(
            request.counters, sampling, request.filters, inherit=request.inherit, machine=host().machine
        )
        self._live = LiveRings(events, places, request.pages)
        self._rings = self._live.rings
        self.notes = tuple(self._rings.notes)
        opened = self._rings.events[: len(request.counters)]  # as what it came to: not all machines count cycles
        self.events = tuple(_event_type(e.name, e.attr.sample_type) for e in opened)
        self.machine = Machine(arch=host().machine, release=host().release, clock="monotonic")
        self.renewed = 0
        self._pending: list[EventBatch] = []
        self.told = self._new_told()

    def _new_told(self) -> Told:
        told = Told(self, here(), {}, Search(demangle="short"))
        told.tasks.forget_ended = False
        start = self._live.start()
        batch = self._live.batch([*start.kernel(), *start.tasks(targets.processes(self._request, 0))])
        if batch is not None:
            self._pending.append(batch)
        return told

    # --- Recording

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self._live.decoder.tally.listed()

    def batches(self) -> Iterator[EventBatch]:
        while self._pending:
            yield self._pending.pop(0)

    def start(self) -> None:
        self._rings.enable()

    def pause(self) -> None:
        """No samples until ``start``; what happens to tasks is told all the same."""
        self._rings.disable()

    def stop(self) -> None:
        self._rings.stop()

    def wait(self, seconds: float) -> None:
        """Until a ring is half full, or so long."""
        self._rings.wait(max(int(seconds * 1000), 0))

    @property
    def over(self) -> bool:
        """All threads that were asked for have ended."""
        return self._rings.over

    def take(self) -> Iterator[ToldBatch]:
        """What is complete by now."""
        if len(self.told.stacks.chains) > MOST_STACKS or len(self.told.tasks.spaces) > MOST_SPACES:
            self.told = self._new_told()
            self.renewed += 1
        until = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        batch = self._live.look(until)
        if batch is not None:
            self._pending.append(batch)
        yield from self.told.batches()

    def lost(self) -> int:
        """Samples that found no room, since the start."""
        return self._live.lost()

    def close(self) -> None:
        self._rings.close()


def _event_type(name: str, sample_type: int) -> EventType:
    return EventType(name, sampled=frozenset(n for n, bit in _SAMPLED.items() if sample_type & bit))
