"""Recordings of any kind as pieces: a batch, the names of its threads, and which of its events are wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.kernel_stacks import KernelStacks
from probescope.collect.recorded.symbols import Frame
from probescope.errors import UsageError
from probescope.frozen import dataclass
from probescope.model.recording import EventBatch, EventType, LostEvents, Machine, Ragged

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.told import Told
    from probescope.formats.perfdata.reader import PerfData
    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracing.fields import Records
    from probescope.views.export.selection import Selection, Sieve

    Column = np.ndarray[Any, Any]
    Step = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """``names``: of each event's thread, an index into ``Source.names``; ``stacks``: numbers for ``Source.frames``, -1
    for none; ``spaces``: of addresses outside of stacks; ``which``: indices of the events that are wanted."""

    batch: EventBatch
    names: Column
    which: Column
    stacks: Column | None = None
    spaces: Column | None = None


class Source(ABC):
    """A recording, gone through once. ``names``: of threads, which only grow; ``lost``: events that the kernel could
    not keep, as far as ``pieces`` has come. ``progress`` is called with the share of time that is done, in percent."""

    def __init__(self, recording: PerfData | TraceDat, selection: Selection, progress: Step) -> None:
        from probescope.formats.tracing.fields import Texts

        self.recording = recording
        self.name = recording.name
        self.names: list[str] = []
        self.lost = 0
        self._progress = progress
        self.selection = selection
        self._sieve: Sieve | None = None
        self._times = (0, 0)
        self._texts = Texts()

    @property
    def events(self) -> tuple[EventType, ...]:
        return self.recording.events

    @property
    def machine(self) -> Machine:
        return self.recording.machine

    @property
    def stacked(self) -> bool:
        """Whether wanted events may have stacks."""
        return any("callchain" in self.events[k].sampled for k in self.kinds)

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """All batches in order of time."""

    @abstractmethod
    def frames(self, stack: int) -> tuple[Frame, ...]:
        """Of a stack by its number, innermost first."""

    @abstractmethod
    def frame(self, space: int, address: int, kernel: bool) -> Frame:
        """Of a place alone."""

    @property
    def sieve(self) -> Sieve:
        from probescope.views.export.selection import Sieve

        if self._sieve is None:
            self._sieve = Sieve(self.selection, self.events, self.times() if self.selection.spans.shares else (0, 0))
        return self._sieve

    @property
    def kinds(self) -> tuple[int, ...]:
        return self.sieve.kinds

    def times(self) -> tuple[int, int]:
        """Of the first and last event in ns, which may want a walk through all of them."""
        if self._times == (0, 0):
            if self.name == "<stdin>":
                hints = ["--time 10.5,12 (seconds)", "write it to a file first"]
                raise UsageError("of a pipe, parts of the whole time are not known before its end", hints=hints)
            spans = [(int(b.time[0]), int(b.time[-1])) for b in self.recording.batches() if b.count]
            self._times = (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else (0, 0)
        return self._times

    def records(self, batch: EventBatch, which: Column) -> Records:
        """The raw records of some events: empty ones where they have none."""
        import numpy as np

        from probescope.formats.tracing.fields import Records

        raw = batch.raw
        if raw is None:
            none = np.zeros(len(which), np.int64)
            some = Ragged(np.zeros(0, np.uint8), none, none)
        else:
            some = Ragged(raw.values, raw.start[which], raw.size[which])
        m = self.machine
        return Records(some, m.big_endian, m.long_size, self._texts)

    def _done(self, batch: EventBatch) -> None:
        self.lost += sum(r.count for _, r in batch.between if isinstance(r, LostEvents))
        first, last = self._times
        if batch.count and last > first:
            share = max(0, int(batch.time[-1]) - first) * 100 // (last - first)
            self._progress(min(99, share), 100, "percent")


class PerfSource(Source):
    """A perf.data, with everything that can be told of it. ``times``: of its first and last sample, if they are
    known."""

    def __init__(
        self, told: Told, recording: PerfData, selection: Selection, progress: Step, times: tuple[int, int]
    ) -> None:
        super().__init__(recording, selection, progress)
        self.recording: PerfData = recording
        self._told = told
        self._times = times
        self.names = told.tasks.names

    def frames(self, stack: int) -> tuple[Frame, ...]:
        return self._told.frames(stack)

    def frame(self, space: int, address: int, kernel: bool) -> Frame:
        return self._told.frame(space, address, kernel)

    def pieces(self) -> Iterator[Piece]:
        for told in self._told.batches():
            which = self.sieve.which(told.batch, told.names, self.names)
            yield Piece(told.batch, told.names, which, told.stacks, told.spaces)
            self._done(told.batch)


class TraceSource(Source):
    """A trace.dat. It knows threads, not processes. The kernel's stacks are events of their own, which follow the event
    that they are of: they become its stack."""

    def __init__(self, recording: TraceDat, selection: Selection, progress: Step) -> None:
        super().__init__(recording, selection, progress)
        self.trace = recording
        self._number: dict[int, int] = {}
        self.stacks = KernelStacks(recording)
        self._stacked: bool | None = None

    def pieces(self) -> Iterator[Piece]:
        for batch in self.recording.batches():
            names = self._names(batch)
            stacks, others = self.stacks.of(batch)
            which = self.sieve.which(batch, names, self.names)
            yield Piece(batch, names, which if others is None else which[others[which]], stacks)
            self._done(batch)

    @property
    def stacked(self) -> bool:
        """As the first batch has them, or not."""
        if self._stacked is None:
            first = next(iter(self.recording.batches()), None)
            self._stacked = first is not None and self.stacks.there(first)
        return self._stacked

    def _names(self, batch: EventBatch) -> Column:
        import numpy as np

        tids, inverse = np.unique(batch.tid, return_inverse=True)
        found: Column = np.array([self._name(tid) for tid in tids.tolist()], np.int32)[inverse]
        return found

    def _name(self, tid: int) -> int:
        found = self._number.get(tid)
        if found is None:
            found = self._number[tid] = len(self.names)
            self.names.append(self.trace.comms.get(tid, "<idle>" if tid == 0 else f":{tid}"))
        return found

    def frames(self, stack: int) -> tuple[Frame, ...]:
        return self.stacks.frames(stack)

    def frame(self, space: int, address: int, kernel: bool) -> Frame:
        return self.stacks.frame(address)
