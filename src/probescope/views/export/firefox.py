"""Recordings to the Firefox Profiler: samples as threads' samples, tracepoints as their markers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from probescope._version import __version__
from probescope.formats.firefox import About, FirefoxWriter, MarkerKind, key_of
from probescope.formats.marks import Marks
from probescope.formats.spool import Spool
from probescope.formats.stacktable import Measure, SampleBatch, StackTable
from probescope.views.export.fields import by_kind, objects, own
from probescope.views.export.samples import Sampler, folded_batches
from probescope.views.export.source import Source
from probescope.views.export.writers import Options, notes
from probescope.views.flame.stacks import StackSamples

if TYPE_CHECKING:
    import numpy as np

    from probescope.views.export.source import Piece

    Column = np.ndarray[Any, Any]


def write_firefox(
    source: Source | StackSamples, out: TextIO, options: Options, name: str, build_ids: Mapping[str, str]
) -> int:
    """The number of events."""
    spool, marks = Spool(), Marks()
    try:
        if isinstance(source, StackSamples):
            return _folded(source, out, name, spool, marks)
        found = _Events(source, options, spool, marks)
        for piece in source.pieces():
            found.add(piece)
        rates = [m.hz for m in found.measures if m.hz]
        about = About(
            name,
            f"probescope {__version__}",
            found.start,
            found.end,
            1000 / max(rates) if rates else 1.0,
            source.machine.arch,
            source.machine.release,
            tuple(notes(source)),
        )
        writer = FirefoxWriter(out, about, found.sampler.table, build_ids)
        writer.write(found.measures, spool, found.kinds, marks.by_owner())
        return found.count
    finally:
        spool.close()
        marks.close()


def _folded(samples: StackSamples, out: TextIO, name: str, spool: Spool, marks: Marks) -> int:
    """One after the other, a millisecond for each unit of weight."""
    table = StackTable()
    for b in folded_batches(samples, table):
        spool.add(SampleBatch(b.time * 1_000_000, b.owner, b.node, b.weight, b.event, b.cpu))
    about = About(name, f"probescope {__version__}", 0, int(samples.total) * 1_000_000)
    FirefoxWriter(out, about, table, {}).write([Measure(samples.unit)], spool, [], marks.by_owner())
    return len(spool)


class _Events:
    """``measures``: of samples; ``kinds``: of markers."""

    def __init__(self, source: Source, options: Options, spool: Spool, marks: Marks) -> None:
        self._source, self._spool, self._marks = source, spool, marks
        self.sampler = Sampler(source, options.by, options.weight, lines=True)
        self.measures: list[Measure] = []
        self.kinds: list[MarkerKind] = []
        self._place: dict[int, int] = {}
        for kind, measure in zip(self.sampler.kinds, self.sampler.measures, strict=True):
            event = source.events[kind]
            if event.fields:
                self._place[kind] = len(self.kinds)
                self.kinds.append(MarkerKind(event.name, tuple((f.name, _is_number(f)) for f in own(event.fields))))
            else:
                self._place[kind] = len(self.measures)
                self.measures.append(measure)
        self.count = self.start = self.end = 0

    def add(self, piece: Piece) -> None:
        import numpy as np

        if not len(piece.which):
            return
        samples = self.sampler.batch(piece)
        self.start = self.start or int(samples.time[0])
        self.end = int(samples.time[-1])
        self.count += len(samples)
        events = piece.batch.event[piece.which]
        for kind, which in by_kind(piece):
            mine, place = events == kind, self._place[kind]
            owner, node, time = samples.owner[mine], samples.node[mine], samples.time[mine]
            if self._source.events[kind].fields:
                self._marks.add(time, owner, place, node, objects(self._source, piece, kind, which, key_of))
            else:
                event = np.full(len(which), place, np.int32)
                self._spool.add(SampleBatch(time, owner, node, samples.weight[mine], event, samples.cpu[mine]))


def _is_number(field: Any) -> bool:
    from probescope.formats.tracing.fields import is_text

    return not (field.dynamic or field.count or is_text(field) or field.size not in {1, 2, 4, 8})
