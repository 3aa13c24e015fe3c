"""Perf events as a stream: opened as the plan says, read while they happen.

Times are those of CLOCK_MONOTONIC as the kernel stamps them, moved to CLOCK_BOOTTIME, which ``nsecs`` is of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.recorder.live import LiveRings
from probescope.collect.recorder.opening import SIDE, RingEvent
from probescope.collect.recorder.rings import Places
from probescope.errors import KernelError
from probescope.formats.perfdata.live import EVERYTHING
from probescope.formats.tracing.event_format import parse_event_format
from probescope.frozen import replace
from probescope.kernel import machine, perf_attr, procfs
from probescope.kernel.host import host
from probescope.kernel.uapi import perf as u
from probescope.model.output import Lost
from probescope.model.recording import EventType, Machine
from probescope.sources.events import format_text

if TYPE_CHECKING:
    from probescope.kernel.perf_attr import PerfAttr
    from probescope.model.plan import SampleEvent
    from probescope.model.recording import EventBatch

MUCH = 1 << 18
MOST_LOOKS = 1 << 12
_PARTS = {
    "identifier": u.PERF_SAMPLE_IDENTIFIER,
    "ip": u.PERF_SAMPLE_IP,
    "tid": u.PERF_SAMPLE_TID,
    "time": u.PERF_SAMPLE_TIME,
    "cpu": u.PERF_SAMPLE_CPU,
    "callchain": u.PERF_SAMPLE_CALLCHAIN,
    "raw": u.PERF_SAMPLE_RAW,
    "regs_intr": u.PERF_SAMPLE_REGS_INTR,
    "cgroup": u.PERF_SAMPLE_CGROUP,
}
_COMMON = u.PERF_SAMPLE_IDENTIFIER | u.PERF_SAMPLE_TID | u.PERF_SAMPLE_TIME | u.PERF_SAMPLE_CPU


class LiveFeed:
    """``names``: whether names of threads are wanted; ``maps``: whether addresses of processes are. ``registers``: of
    probes, as a mask of perf's. Events are disabled until ``enable``."""

    def __init__(self, events: Sequence[SampleEvent], *, names: bool, maps: bool, registers: int) -> None:
        self._asked = events
        self._side = names or maps
        self._maps = maps
        self._registers = registers
        self._live: LiveRings | None = None
        self._offset = machine.boot_offset_ns()
        self.events = tuple(_event_type(e) for e in events)
        self.machine = Machine(
            arch=host().machine, release=host().release, cpus=len(machine.possible_cpus()), clock="boottime"
        )
        self.ended = False
        self.much = False

    # --- opening

    def open(self) -> None:
        """Raises KernelError, LimitError."""
        wanted = [RingEvent(e.about, self._attr(e), filter=e.filter) for e in self._asked]
        if self._side:
            wanted.append(self._side_event())
        cpus = tuple(machine.online_cpus())
        pid = self._asked[0].pid if self._asked else 0
        places = Places(cpus, tuple(procfs.threads(pid)) if pid else ())
        self._live = LiveRings(wanted, places)

    def before(self) -> EventBatch | None:
        """What is there already: names of threads, and their mappings, as far as they are wanted."""
        assert self._live is not None
        if not self._side:
            return None
        start = self._live.start()
        pid = self._asked[0].pid
        found = [*start.kernel()] if self._maps else []
        return self._live.batch([*found, *start.tasks([pid] if pid else procfs.pids(), maps=self._maps)])

    def enable(self) -> None:
        """From here on there are events."""
        assert self._live is not None
        self._live.rings.enable()

    def _attr(self, e: SampleEvent) -> PerfAttr:
        match e.pmu:
            case "uprobe":
                attr = perf_attr.uprobe_attr(e.path, e.offset, ret=e.ret, ref_ctr=e.ref_ctr)
            case "kprobe":
                attr = perf_attr.kprobe_attr(e.symbol, e.offset, address=e.address, ret=e.ret)
            case _ if e.type == u.PERF_TYPE_BREAKPOINT:
                attr = perf_attr.breakpoint_attr(e.bp_addr, e.bp_len, e.bp_type)
            case _:
                flags = u.FLAG_FREQ if e.frequency else 0
                attr = perf_attr.PerfAttr(e.type, e.config, e.frequency or e.period, flags=flags)
        parts = sum(_PARTS[p] for p in e.parts)
        flags = attr.flags | u.FLAG_DISABLED | u.FLAG_SAMPLE_ID_ALL | u.FLAG_USE_CLOCKID
        flags |= u.FLAG_INHERIT if e.pid else 0
        mask = self._registers if "regs_intr" in e.parts else 0
        return replace(
            attr,
            sample_type=parts,
            flags=flags,
            read_format=u.PERF_FORMAT_LOST,
            clockid=time.CLOCK_MONOTONIC,
            sample_regs_intr=mask,
            sample_max_stack=0,
        )

    def _side_event(self) -> RingEvent:
        flags = u.FLAG_SAMPLE_ID_ALL | u.FLAG_USE_CLOCKID | u.FLAG_COMM | u.FLAG_COMM_EXEC | u.FLAG_TASK
        flags |= u.FLAG_EXCLUDE_KERNEL | u.FLAG_EXCLUDE_HV
        flags |= u.FLAG_MMAP | u.FLAG_MMAP2 if self._maps else 0
        flags |= u.FLAG_INHERIT if self._asked[0].pid else 0
        attr = perf_attr.PerfAttr(u.PERF_TYPE_SOFTWARE, u.PERF_COUNT_SW_DUMMY, 1, _COMMON, flags=flags)
        return RingEvent("side-band", replace(attr, clockid=time.CLOCK_MONOTONIC), ring=SIDE)

    # --- reading

    def take(self) -> EventBatch | None:
        """What is complete by now."""
        return self._look(time.clock_gettime_ns(time.CLOCK_MONOTONIC))

    def last(self) -> Iterator[EventBatch]:
        """Everything that is left, after ``stop``."""
        for _ in range(MOST_LOOKS):
            batch = self._look(EVERYTHING)
            if batch is None:
                return
            yield batch

    def _look(self, until: int) -> EventBatch | None:
        if self._live is None:
            return None
        batch = self._live.look(until)
        self.much = self._live.much > MUCH
        if batch is not None and batch.count:
            batch = replace(batch, time=(batch.time.view(np.int64) + self._offset).view(np.uint64))
        return batch

    def stop(self) -> None:
        """No more events."""
        if self._live is not None:
            self._live.rings.stop()

    def losses(self) -> Iterator[Lost]:
        for d in self._live.decoder.tally.listed() if self._live is not None else ():
            yield Lost("damage", d.count, f"times: {d.about}")

    def lost(self) -> int:
        """As ``LiveRings.lost``."""
        return self._live.lost() if self._live is not None else 0

    def close(self) -> None:
        if self._live is not None:
            self._live.rings.close()
            self._live = None


def _event_type(e: SampleEvent) -> EventType:
    sampled = frozenset(e.parts)
    kind, _, name = e.about.partition(" ")
    if kind == "tracepoint":
        category, _, event = name.partition(":")
        try:
            found = parse_event_format(format_text(category, event), category)
        except KernelError:
            return EventType(name, e.config, sampled=sampled)
        return replace(found, sampled=sampled)
    return EventType(e.about, sampled=sampled)
