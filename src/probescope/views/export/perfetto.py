"""Recordings to Perfetto: tracepoints as what ftrace would have told it, samples with their stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from probescope.formats.perfetto import PRINT, PerfettoWriter, Samples, System
from probescope.formats.stacktable import SampleBatch
from probescope.model.recording import LostEvents
from probescope.views.export.calls import Call, Calls
from probescope.views.export.fields import by_kind, values
from probescope.views.export.samples import Sampler

if TYPE_CHECKING:
    import numpy as np

    from probescope.views.export.source import Piece, Source

    Column = np.ndarray[Any, Any]


def write_perfetto(source: Source, file: BinaryIO, weight: str, build_ids: Mapping[str, str]) -> int:
    """The number of events."""
    out = _Out(source, file, weight, build_ids)
    for piece in source.pieces():
        out.add(piece)
    return out.count


class _Out:
    def __init__(self, source: Source, file: BinaryIO, weight: str, build_ids: Mapping[str, str]) -> None:
        self._source = source
        self._writer = PerfettoWriter(file, System(source.machine.release, source.machine.arch))
        self._sampler = Sampler(source, "thread", weight, addresses=True)
        self._samples: dict[int, Samples] = {}
        for i, (kind, measure) in enumerate(zip(self._sampler.kinds, self._sampler.measures, strict=True)):
            event = source.events[kind]
            if not event.fields or source.stacked:
                self._samples[kind] = self._writer.samples(self._sampler.table, measure, i, build_ids)
        self._calls = Calls(source)
        self.count = 0

    def add(self, piece: Piece) -> None:
        self._losses(piece)
        if not len(piece.which):
            return
        self.count += len(piece.which)
        samples = self._sampler.batch(piece)
        self._threads(samples)
        events = piece.batch.event[piece.which]
        self._called(self._calls.of(piece))
        for kind, which in by_kind(piece):
            if kind in self._calls.kinds:
                continue
            if kind in self._samples:
                mine = events == kind
                if self._source.events[kind].fields:  # it is there as an event, with or without a stack
                    mine &= samples.node > 0
                self._sampled(piece, kind, piece.which[mine], samples, mine)
            if self._source.events[kind].fields:
                self._traced(piece, kind, which)

    def _losses(self, piece: Piece) -> None:
        b = piece.batch
        for at, record in piece.batch.between:
            if isinstance(record, LostEvents):
                time = record.time or (int(b.time[min(at, b.count - 1)]) if b.count else 0)
                self._writer.lost(time, record.cpu, max(record.count, 1))

    def _threads(self, samples: SampleBatch) -> None:
        import numpy as np

        owners, first = np.unique(samples.owner, return_index=True)
        for owner, time in zip(owners.tolist(), samples.time[first].tolist(), strict=True):
            o = self._sampler.table.owners[owner]
            self._writer.thread(time, o.pid, o.tid, o.comm)

    def _sampled(self, piece: Piece, kind: int, which: Column, samples: SampleBatch, mine: Column) -> None:
        import numpy as np

        b = piece.batch
        columns = (samples.time, samples.owner, samples.node, samples.weight, samples.event, samples.cpu)
        modes = b.numbers["misc"][which] & 7 if "misc" in b.numbers else np.zeros(len(which), np.uint16)
        modes = np.where(modes <= 2, modes, 0)
        self._samples[kind].write(SampleBatch(*(c[mine] for c in columns)), b.pid[which], b.tid[which], modes)

    def _called(self, calls: Sequence[Call]) -> None:
        """Calls of functions as the marks of which Perfetto makes slices, one within the other."""
        import numpy as np

        for cpu in sorted({c.cpu for c in calls}):
            mine = [c for c in calls if c.cpu == cpu]
            times = np.array([c.time for c in mine], np.uint64)
            tids = np.array([max(c.tid, 0) for c in mine], np.int32)
            marks = [f"B|{c.tid}|{c.name}" if c.name else f"E|{c.tid}" for c in mine]
            self._writer.events(PRINT, cpu, times, tids, {"buf": marks})

    def _traced(self, piece: Piece, kind: int, which: Column) -> None:
        import numpy as np

        b, name = piece.batch, self._source.events[kind].name
        cpus = b.cpu[which]
        for cpu in np.unique(cpus).tolist():
            mine = which[cpus == cpu]
            fields = values(self._source, piece, kind, mine)
            self._writer.events(name, cpu, b.time[mine], b.tid[mine], fields)
