"""Recordings of any kind as the builder wants them: batches with their stacks, and what else the file tells."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import FormatError
from probescope.frozen import dataclass
from probescope.store.build.interning import clean

if TYPE_CHECKING:
    from probescope.collect.recorded.search import Search
    from probescope.collect.recorded.symbols import Frame
    from probescope.formats.perfdata.reader import PerfData
    from probescope.formats.sniff import AnyRecording
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext.perf_reader import PerfText
    from probescope.formats.tracetext.reader import TraceText
    from probescope.model.recording import EventBatch, EventType, Machine

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """``kept``: which events are no parts of others; None: all. ``stacks``: numbers for ``Source.frames``."""

    batch: EventBatch
    kept: Array | None = None
    stacks: Array | None = None
    spaces: Array | None = None


class PerfSource:
    """perf.data, or its text. ``sideband``: it tells of forks, names and ends itself. ``flagged``: raw records hold the
    kernel's own flags."""

    def __init__(self, recording: PerfData | PerfText, search: Search | None) -> None:
        from probescope.collect.recorded.modules import build_ids
        from probescope.collect.recorded.told import Told, here
        from probescope.kernel.uapi.perf import FLAG_COMM, FLAG_MMAP, FLAG_TASK

        self.recording = recording
        self.told = Told(recording, here(), build_ids(recording.build_ids), search or _search(recording.name))
        told = FLAG_COMM | FLAG_MMAP | FLAG_TASK  # perf_event_task_match in kernel/events/core.c
        self.sideband = any(a.flags & told for a in getattr(recording, "attrs", ()))
        self.flagged = hasattr(recording, "attrs")
        self.comms: dict[int, str] = {}

    def pieces(self) -> Iterator[Piece]:
        for told in self.told.batches():
            yield Piece(told.batch, None, told.stacks, told.spaces)

    def frames(self, stack: int) -> tuple[Frame, ...]:
        return self.told.frames(stack)

    def frame(self, space: int, address: int, kernel: bool) -> Frame:
        return self.told.frame(space, address, kernel)

    def function(self, address: int) -> str:
        return self.told.frame(-1, address, kernel=True).name

    def times(self) -> tuple[int, int]:
        found = self.recording.features.get("SAMPLE_TIME")
        first, last = getattr(found, "first", 0), getattr(found, "last", 0)
        if isinstance(found, tuple | list) and len(found) == 2:
            first, last = found
        return (first, last) if last > first else (0, 0)

    def wall_offset(self) -> int | None:
        told = self.recording.features.get("CLOCK_DATA")
        return None if told is None else int(told.wall_ns - told.ns)


class TraceSource:
    """trace.dat, and what else ftrace's buffers became: threads without processes, stacks as events of their own."""

    sideband = False

    def __init__(self, recording: TraceDat | TraceText) -> None:
        from probescope.collect.recorded.kernel_stacks import KernelStacks

        self.recording = recording
        self.flagged = bool(getattr(recording, "flags", True))  # texts may be without
        self.comms: dict[int, str] = dict(recording.comms)
        self._stacks = KernelStacks(recording)

    def pieces(self) -> Iterator[Piece]:
        for batch in self.recording.batches():
            stacks, kept = self._stacks.of(batch)
            yield Piece(batch, kept, stacks)

    def frames(self, stack: int) -> tuple[Frame, ...]:
        return self._stacks.frames(stack)

    def frame(self, space: int, address: int, kernel: bool) -> Frame:
        return self._stacks.frame(address)

    def function(self, address: int) -> str:
        return self._stacks.frame(address).name

    def times(self) -> tuple[int, int]:
        return (0, 0)

    def wall_offset(self) -> int | None:
        return None


Source = PerfSource | TraceSource


def source_of(recording: AnyRecording, search: Search | None = None) -> Source:
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext.reader import TraceText

    return TraceSource(recording) if isinstance(recording, TraceDat | TraceText) else PerfSource(recording, search)


def _search(name: str) -> Search:
    """As commands without options of their own look for names: with the tables that were saved beside the file."""
    from probescope.collect.recorded.search import Search
    from probescope.formats.symbolfile import SymbolFile

    saved = None
    with suppress(OSError, FormatError):
        saved = SymbolFile.beside(name)
    return Search(saved=saved, demangle="short", inline=True)


class Share:
    """How much of a recording is done, in percent: by its times where they are known, else by its bytes."""

    def __init__(self, source: Source, step: Callable[[int, int, str], None]) -> None:
        self._step = step
        self._times = source.times()
        self._bytes, self._size = 0, max(1, _size(source.recording.name))

    def done(self, batch: EventBatch) -> None:
        first, last = self._times
        if not batch.count:
            return
        if last > first:
            share = max(0, int(batch.time[-1]) - first) * 100 // (last - first)
        else:
            raw = batch.raw
            self._bytes += (int(raw.size.sum()) if raw is not None else 0) + 8 * batch.count
            share = self._bytes * 100 // self._size
        self._step(min(99, share), 100, "percent")


def _size(path: str) -> int:
    try:
        if os.path.isdir(path):
            return sum(os.path.getsize(os.path.join(path, n)) for n in os.listdir(path))
        return os.path.getsize(path)
    except OSError:
        return 0


def machine_texts(machine: Machine) -> dict[str, str]:
    texts = {"host": machine.hostname, "release": machine.release, "arch": machine.arch}
    texts |= {"cpu_model": machine.cpu_model, "clock": machine.clock, "recorder": machine.recorder}
    return {n: clean(t) for n, t in texts.items()} | {"command": clean(" ".join(machine.command))}


def units(event: EventType) -> str:
    """What the period of its events counts."""
    return "ns" if event.name.partition(":")[0] in {"cpu-clock", "task-clock"} else "events"
