"""Recordings along time: samples as flame charts, tracepoints as marks, sched_switch as who ran on which CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from probescope.formats.chrome import Chart, ChromeWriter
from probescope.formats.stacktable import Measure, Owner, SampleBatch, StackTable
from probescope.views.export.calls import Calls
from probescope.views.export.fields import by_kind, state_letter, switches, values
from probescope.views.export.samples import Sampler, folded_batches
from probescope.views.export.source import Source
from probescope.views.export.writers import Options, notes
from probescope.views.flame.stacks import StackSamples

if TYPE_CHECKING:
    import numpy as np

    from probescope.views.export.source import Piece

    Column = np.ndarray[Any, Any]


def write_chrome(source: Source | StackSamples, out: TextIO, options: Options, name: str) -> int:
    """The number of events."""
    writer = ChromeWriter(out)
    if isinstance(source, StackSamples):
        return _folded(source, writer, name)
    timeline = _Timeline(source, writer, options)
    for piece in source.pieces():
        timeline.add(piece)
    writer.close(timeline.end, {"recording": name, "notes": notes(source)})
    return timeline.count


def _folded(samples: StackSamples, writer: ChromeWriter, name: str) -> int:
    """One after the other, a microsecond for each unit of weight."""
    table, count = StackTable(), 0
    chart = writer.chart(table, Measure(samples.unit, "ns"))
    for b in folded_batches(samples, table):
        count += len(b)
        chart.add(SampleBatch(b.time * 1000, b.owner, b.node, b.weight * 1000, b.event, b.cpu))
    writer.close(0, {"recording": name, "notes": []})
    return count


class _Timeline:
    def __init__(self, source: Source, writer: ChromeWriter, options: Options) -> None:
        self._source, self._writer = source, writer
        self._sampler = Sampler(source, options.by, options.weight)
        self._charts: dict[int, Chart] = {}
        for kind, measure in zip(self._sampler.kinds, self._sampler.measures, strict=True):
            if measure.unit == "ns" or measure.hz:
                self._charts[kind] = writer.chart(self._sampler.table, measure)
        self._calls = Calls(source)
        self.count = self.end = 0

    def add(self, piece: Piece) -> None:
        b = piece.batch
        if not len(piece.which):
            return
        self.count += len(piece.which)
        self.end = int(b.time[piece.which[-1]])
        samples = self._sampler.batch(piece)
        events = b.event[piece.which]
        self._called(piece, samples)
        for kind, which in by_kind(piece):
            if kind in self._calls.kinds:
                continue
            mine = events == kind
            if kind in self._charts:
                columns = (samples.time, samples.owner, samples.node, samples.weight, samples.event, samples.cpu)
                self._charts[kind].add(SampleBatch(*(c[mine] for c in columns)))
                continue
            owners = [self._sampler.table.owners[i] for i in samples.owner[mine].tolist()]
            self._marks(piece, kind, which, owners, samples.node[mine].tolist(), samples.weight[mine])
            found = switches(self._source, piece, kind, which)
            if found is not None:
                states = [state_letter(s) for s in found.prev_state.tolist()]
                self._writer.switches(found.time, found.cpu, found.next_pid, found.next_comm, states)

    def _called(self, piece: Piece, samples: SampleBatch) -> None:
        """Calls of functions: slices within slices."""
        calls = self._calls.of(piece)
        if calls:
            owners = samples.owner[piece.which.searchsorted([c.row for c in calls])].tolist()
            table = self._sampler.table
            self._writer.calls((table.owners[o], c.time, c.name) for o, c in zip(owners, calls, strict=True))

    def _marks(
        self, piece: Piece, kind: int, which: Column, owners: list[Owner], nodes: list[int], weights: Column
    ) -> None:
        b, event = piece.batch, self._source.events[kind]
        fields: dict[str, Any] = {"cpu": b.cpu[which].tolist()} if (b.cpu[which] >= 0).any() else {}
        fields |= {
            k: v if isinstance(v, list) else v.tolist() for k, v in values(self._source, piece, kind, which).items()
        }
        if not event.fields:
            fields["weight"] = weights.tolist()
        if any(nodes):
            table = self._sampler.table
            fields["stack"] = [";".join(table.frames[f].name for f in table.path(n)) for n in nodes]
        self._writer.events(event.name, owners, b.time[which], fields)
