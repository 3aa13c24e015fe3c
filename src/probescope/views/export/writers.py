"""Sources to files, by format: what is written where, and what is told of losses."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from probescope.formats.stacktable import Counts, Measure, SampleBatch, StackTable
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.formats.tables import Chunk, CsvWriter, JsonlWriter, ParquetWriter
    from probescope.views.export.source import Source
    from probescope.views.flame.stacks import StackSamples


@dataclass(frozen=True, slots=True)
class Options:
    """``by``: see ``owners.OWNERS``; ``weight``: see ``samples.Sampler``."""

    by: str = "thread"
    weight: str = "period"


class Stacks:
    """Samples of a source, or of folded text, as writers of stacks want them.

    ``count``: samples so far; ``timed``: times are real ones.
    """

    def __init__(
        self, table: StackTable, measures: tuple[Measure, ...], batches: Iterator[SampleBatch], timed: bool = True
    ) -> None:
        self.table, self.measures, self._batches = table, measures, batches
        self.count = self.first = self.last = 0
        self.timed = timed

    @property
    def duration(self) -> int:
        """In ns, 0 if it is not known."""
        return self.last - self.first if self.timed else 0

    def batches(self) -> Iterator[SampleBatch]:
        for batch in self._batches:
            if len(batch):
                self.first = self.first or int(batch.time[0])
                self.last = int(batch.time[-1])
            self.count += len(batch)
            yield batch


def stacks(source: Source | StackSamples, options: Options, *, addresses: bool = False) -> Stacks:
    from probescope.views.export.samples import Sampler, folded_batches
    from probescope.views.flame.stacks import StackSamples

    if isinstance(source, StackSamples):
        table = StackTable()
        return Stacks(table, (Measure(source.unit),), folded_batches(source, table), timed=False)
    sampler = Sampler(source, options.by, options.weight, addresses=addresses)
    return Stacks(sampler.table, sampler.measures, sampler.batches())


def lost(source: Source) -> list[str]:
    """What is missing, as far as it was read: sentences."""
    strange = source.sieve.strange
    out = [f"{source.lost} events were lost while recording"] if source.lost else []
    return out + ([f"{strange} events of kinds that the file does not tell of"] if strange else [])


def notes(source: Source | StackSamples) -> list[str]:
    """The same, and what of the file cannot be used."""
    from probescope.views.export.source import Source

    if not isinstance(source, Source):
        return []
    return lost(source) + [f"{d.count} times: {d.about}" for d in source.recording.damage]


def export(kind: str, source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    """The number of events or samples that were written. ``name``: of the recording, as viewers show it. ``file`` must
    be seekable where ``KINDS[kind].seeks``."""
    return _WRITERS[kind](source, file, options, name)


def _text(file: BinaryIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(file, "utf-8", "replace", newline="\n", write_through=False)


def _counted(found: Stacks) -> Counts:
    counts = Counts(len(found.measures))
    for batch in found.batches():
        counts.add(batch)
    return counts


def _folded(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.formats.folded import folded

    found = stacks(source, options)
    counts = _counted(found)
    out = _text(file)
    out.writelines(f"{line}\n" for line in folded(found.table, counts))
    out.detach()
    return found.count


def _pprof(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.formats.pprof import PprofWriter

    found = stacks(source, options, addresses=True)
    counts = _counted(found)
    writer = PprofWriter(file, _build_ids(source))
    writer.write(found.table, counts, found.measures, [name, *notes(source)], found.duration)
    return found.count


def _speedscope(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope._version import __version__
    from probescope.formats.speedscope import write_speedscope
    from probescope.formats.spool import Spool

    found = stacks(source, options)
    spool = Spool()
    try:
        for batch in found.batches():
            spool.add(batch)
        told = notes(source)
        title = f"{name} ({'; '.join(told)})" if told else name
        out = _text(file)
        exporter = f"probescope {__version__}"
        write_speedscope(out, found.table, spool, found.measures, name=title, exporter=exporter, notes=told)
        out.detach()
    finally:
        spool.close()
    return found.count


def _chrome(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.views.export.timeline import write_chrome

    out = _text(file)
    count = write_chrome(source, out, options, name)
    out.detach()
    return count


def _csv(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.formats.tables import CsvWriter

    out = _text(file)
    names, chunks = _rows(source)
    writer = CsvWriter(out, names)
    count = _put(chunks, writer)
    out.detach()
    return count


def _jsonl(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.formats.tables import JsonlWriter

    out = _text(file)
    count = _put(_rows(source, nested=True)[1], JsonlWriter(out))
    out.detach()
    return count


def _parquet(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.formats.tables import ParquetWriter

    writer = ParquetWriter(file)
    try:
        return _put(_rows(source)[1], writer)
    finally:
        writer.abandon()


def _perfdata(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.views.export.cut import cut_perfdata, traced_perfdata
    from probescope.views.export.source import PerfSource, TraceSource

    if isinstance(source, TraceSource):
        return traced_perfdata(source, file)
    assert isinstance(source, PerfSource)
    return cut_perfdata(source, file)


def _tracedat(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.views.export.cut import cut_tracedat
    from probescope.views.export.source import TraceSource

    assert isinstance(source, TraceSource)
    return cut_tracedat(source, file)


def _perfetto(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.views.export.perfetto import write_perfetto
    from probescope.views.export.source import Source

    assert isinstance(source, Source)
    return write_perfetto(source, file, options.weight, _build_ids(source))


def _firefox(source: Source | StackSamples, file: BinaryIO, options: Options, name: str) -> int:
    from probescope.views.export.firefox import write_firefox

    out = _text(file)
    count = write_firefox(source, out, options, name, _build_ids(source))
    out.detach()
    return count


def _rows(source: Source | StackSamples, *, nested: bool = False) -> tuple[list[str], Iterator[Chunk]]:
    from probescope.views.export.rows import Rows, folded_chunk
    from probescope.views.flame.stacks import StackSamples

    if isinstance(source, StackSamples):
        return ["stack", "weight"], iter([folded_chunk(source, nested=nested)])
    rows = Rows(source, nested=nested)
    return rows.names(), rows.chunks()


def _put(chunks: Iterator[Chunk], writer: CsvWriter | JsonlWriter | ParquetWriter) -> int:
    count = 0
    for chunk in chunks:
        count += len(next(iter(chunk.values())))
        writer.write(chunk)
    writer.close()
    return count


def _build_ids(source: Source | StackSamples) -> dict[str, str]:
    from probescope.collect.recorded.modules import build_ids

    return build_ids(getattr(getattr(source, "recording", None), "build_ids", ()))


_WRITERS: dict[str, Callable[[Source | StackSamples, BinaryIO, Options, str], int]] = {
    "chrome": _chrome,
    "csv": _csv,
    "folded": _folded,
    "jsonl": _jsonl,
    "firefox": _firefox,
    "parquet": _parquet,
    "perf.data": _perfdata,
    "perfetto": _perfetto,
    "trace.dat": _tracedat,
    "pprof": _pprof,
    "speedscope": _speedscope,
}
