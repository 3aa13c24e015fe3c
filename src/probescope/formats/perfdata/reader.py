"""``open_perfdata``: a recording of perf as batches of columns."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np

from probescope.errors import FormatError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.blocks import Block
from probescope.formats.perfdata.buffers import Pool
from probescope.formats.perfdata.columns import Columns
from probescope.formats.perfdata.container import MOST_SECTION, Container, read_container
from probescope.formats.perfdata.damage import Tally
from probescope.formats.perfdata.encode import record
from probescope.formats.perfdata.features import Group
from probescope.formats.perfdata.groups import Groups
from probescope.formats.perfdata.ids import Events
from probescope.formats.perfdata.layout import READ_VALUES, time_at
from probescope.formats.perfdata.mapped import mapped
from probescope.formats.perfdata.meta import BuildId, Meta
from probescope.formats.perfdata.order import Order, Rows
from probescope.formats.perfdata.stream import Stream
from probescope.formats.perfdata.summing import Summing
from probescope.formats.piped import open_again
from probescope.kernel.uapi.perf import PERF_FORMAT_ID
from probescope.kernel.workers import reopened
from probescope.model.recording import Damage, EventBatch, EventType, Machine
from probescope.model.sharing import Share

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context

PRIMED_BLOCKS = 64


def open_perfdata(source: str | os.PathLike[str] | BinaryIO) -> PerfData:
    """A file, a directory of `perf record --threads`, or an open binary file, which stays open after ``close``. Raises
    OSError, and FormatError where it is no perf.data."""
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fspath(source))
    return PerfData(source, str(getattr(source, "name", "perf.data")), [], owned=False)


def _open_path(path: str) -> PerfData:
    parts: list[str] = []
    main = path
    if os.path.isdir(path):
        main = os.path.join(path, "data")
        names = [n for n in os.listdir(path) if re.fullmatch(r"data\.[0-9]{1,9}", n)]
        if not os.path.exists(main):
            what = "Is a directory, and none of perf record --threads, which has a file named data"
            raise IsADirectoryError(errno.EISDIR, what, path)
        parts = [os.path.join(path, n) for n in sorted(names, key=lambda n: int(n[5:]))]
    file = open_again(main, buffering=0)  # PerfData closes it
    try:
        return PerfData(file, path, parts, owned=True)
    except BaseException:
        file.close()
        raise


class PerfData:
    """A ``Recording``. ``stats``, ``damage`` and what records tell (late events, build ids) are complete when
    ``batches`` has come to its end. Of a pipe ``batches`` can be had once."""

    def __init__(self, file: BinaryIO, name: str, parts: list[str], *, owned: bool) -> None:
        self._file, self._parts, self._owned = file, parts, owned
        self.name = name
        self._size = _size_of(file)
        self.container: Container = read_container(file, name, self._size)
        self._tally, self._made = Tally(), Tally()
        self._pool = Pool()
        self._tally.extend(self.container.damage)
        self._meta = Meta(self.container.big, self._tally)
        for one in self.container.attrs:
            self._meta.add_attr(one.attr, one.ids)
        self._sections()
        self._header_damage = self._tally.listed()
        self._counts: dict[int, int] = {}
        self._primed: tuple[Stream, list[Block]] | None = None
        self.aux_bytes = 0
        if self.container.pipe:
            self._prime()

    def _sections(self) -> None:
        for number, offset, size in self.container.sections:
            if offset > self._size or size > MOST_SECTION:
                self._tally.add("feature", f"feature {number} lies outside of the file", offset)
                continue
            self._file.seek(offset)
            data = self._file.read(min(size, self._size - offset))
            if len(data) < size:
                self._tally.add("feature", f"feature {number} is cut", offset)
            try:
                self._meta.add_feature(number, data, offset)
            except FormatError as error:
                self._tally.add("feature", f"feature {number} cannot be read: {error.what}", offset)

    # --- what the file tells about itself

    @property
    def events(self) -> tuple[EventType, ...]:
        return self._meta.events

    @property
    def attrs(self) -> tuple[Attr, ...]:
        return tuple(self._meta.attrs)

    @property
    def ids(self) -> Mapping[int, int]:
        """Index of the event by its id."""
        return self._meta.ids

    @property
    def machine(self) -> Machine:
        return self._meta.machine

    @property
    def features(self) -> Mapping[str, Any]:
        """Values of ``features.parse_feature`` by the feature's name."""
        return self._meta.features

    @property
    def sections(self) -> Mapping[str, bytes]:
        """The same as bytes, as ``PerfDataWriter.finish`` takes them: with TRACING_DATA and all that has no value."""
        return self._meta.sections

    @property
    def unknown_features(self) -> Mapping[int, int]:
        """Bytes of features that are newer than this reader, by number."""
        return self._meta.unknown_features

    @property
    def build_ids(self) -> tuple[BuildId, ...]:
        return tuple(self._meta.build_ids)

    @property
    def groups(self) -> tuple[Group, ...]:
        found: tuple[Group, ...] = self._meta.features.get("GROUP_DESC", ())
        return found

    @property
    def threads(self) -> Mapping[int, str]:
        """Names of threads that THREAD_MAP records tell."""
        return self._meta.threads

    @property
    def tracing(self) -> Any:
        """``TracingData``, None if there is none."""
        return self._meta.tracing

    def context(self, resolve: Callable[[int], tuple[str, int] | None] | None = None) -> Context:
        """What text of its tracepoints needs. ``resolve``: (function, where it begins) of an address of the kernel:
        perf from 6.1 on does not record the names."""
        from probescope.formats.tracing.symbols import Context, PrintkFormats, Symbols

        machine, tracing = self.machine, self.tracing
        symbols = Symbols(tracing.symbols) if tracing else None
        printk = PrintkFormats(tracing.printk) if tracing else None
        return Context(machine.big_endian, machine.long_size, symbols, printk, resolve=resolve)

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self._tally.listed()

    @property
    def stats(self) -> Mapping[str, int]:
        """How many records of each type were met, by perf's names, in order of their numbers."""
        return {r.name_of(kind): self._counts[kind] for kind in sorted(self._counts)}

    # --- events

    def batches(self, *, summed: bool = False, share: Share | None = None) -> Iterator[EventBatch]:
        """Batches in order of time, as ``order`` has it. Raises FormatError where nothing can be made of the data.

        ``summed``: samples that differ in time, CPU and period alone may be given as one, the first of them, with
        the sum of their periods, and their number in ``numbers["samples"]`` (see ``summing``).
        ``share``: of other pieces than those only what happened between samples is given, if anything; ``shared`` says
        whether this can be."""
        self._restart()
        making = _Making(Groups(self._tally), Summing() if summed else None, share)
        columns: Columns | None = None
        version = -1
        order = Order(self._tally, self._pool, rounds=not self._parts)
        for newest, block in self._blocks():
            self._tally.step += 1
            self._count(block)
            if version != self._meta.version or columns is None:
                version = self._meta.version
                events = Events(self._meta.attrs, self._meta.ids)
                columns = Columns(self.container.big, events, self._tally if share is None else self._made)
            rows = columns.events.placed(block)
            newest[0] = max(newest[0], int(rows.time.max(initial=0)))
            for ready in order.add(rows, block.rounds):
                self._made.step = self._tally.step = self._tally.step + 1
                yield from making.batch(columns, ready)
            if block.buffer.mapped is not None:
                block.buffer.mapped.forget(order.needed(rows) * 8)
        for ready in order.end():
            if columns is not None:
                self._made.step = self._tally.step = self._tally.step + 1
                yield from making.batch(columns, ready)

    @property
    def shared(self) -> bool:
        """Whether several processes can read this, each its share: of a file, no sample of which tells what others
        were."""
        grouped = any(a.sample_type & READ_VALUES and a.read_format & PERF_FORMAT_ID for a in self._meta.attrs)
        return self._owned and self._size >= 0 and isinstance(self._file, io.FileIO) and not grouped

    @property
    def size(self) -> int:
        """Bytes, of all its files; -1 of a pipe."""
        return self._size + sum(os.path.getsize(part) for part in self._parts)

    def own_damage(self) -> list[tuple[int, Damage]]:
        """What was found while the pieces of a share were made: for ``joined`` of the process that has the rest."""
        return self._made.timed()

    def joined(self, damage: list[tuple[int, Damage]]) -> None:
        self._tally.joined((*self._made.timed(), *damage))
        self._made.reset(())

    def reopen(self) -> None:
        """In a forked process: a place in the file of its own."""
        self._file = reopened(self._file)

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Type and bytes of every record, header included, inflated, in the order of the file: what
        ``PerfDataWriter.write`` takes. Counts nothing and orders nothing; slow beside ``batches``."""
        self._restart()
        for _, block in self._blocks():
            view = block.buffer.data
            heads, places, rounds = block.everything()
            marks = rounds.tolist()
            for i, (head, at) in enumerate(zip(heads.tolist(), places.tolist(), strict=True)):
                while marks and marks[0] <= i:
                    marks.pop(0)
                    yield r.FINISHED_ROUND, record(r.FINISHED_ROUND, 0, b"", self.container.big)
                yield head & 0xFFFFFFFF, view[at * 8 : at * 8 + (head >> 48)].tobytes()
            for _ in marks:
                yield r.FINISHED_ROUND, record(r.FINISHED_ROUND, 0, b"", self.container.big)

    def close(self) -> None:
        if self._owned:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- records

    def _restart(self) -> None:
        if self._size < 0 and self._primed is None:
            raise FormatError("a pipe can be read only once", file=self.name)
        self._tally.reset(self._header_damage)
        self._made.reset(())
        self._counts = {}
        self.aux_bytes = 0

    def _stream(self) -> Stream:
        start, size = self.container.data
        if self._size >= 0:
            self._file.seek(start)
        return self._streamed(self._file, start, size, self._size)

    def _streamed(self, file: BinaryIO, start: int, size: int, file_size: int) -> Stream:
        """``file_size`` -1: of a pipe."""
        end = min(start + size, file_size) if size >= 0 else file_size
        source = None if self.container.big else mapped(file, start, end)
        stream = Stream(file, start, size, self.container.big, self._tally, self._told, self._pool, source)
        stream.time_at = time_at(self._meta.attrs)
        return stream

    def _told(self, kind: int, misc: int, body: bytes, place: int) -> None:
        if kind == r.HEADER_TRACING_DATA:
            try:
                self._meta.add_tracing(body)
            except FormatError as error:
                self._tally.add("tracing-data", error.what, place)
        else:
            self._record(kind, misc, body, place)

    def _prime(self) -> None:
        """Read until the first record of the kernel: what comes before tells of the events."""
        stream = self._stream()
        blocks: list[Block] = []
        for block in stream:
            blocks.append(block)
            self._metadata(block)
            if len(block.at) or len(blocks) >= PRIMED_BLOCKS:
                break
        stream.time_at = time_at(self._meta.attrs)
        if self._size < 0:
            self._primed = (stream, blocks)
            self._header_damage = self._tally.listed()

    def _blocks(self) -> Iterator[tuple[list[int], Block]]:
        """Each with its stream's newest time, which the caller keeps: of several files the one that lags is read on."""
        with ExitStack() as files:
            streams = [([0], self._first_blocks())]
            for path in self._parts:
                part = files.enter_context(open(path, "rb", buffering=0))
                stream = self._streamed(part, 0, -1, _size_of(part))
                streams.append(([0], self._told_blocks(stream)))
            while streams:
                newest, blocks = min(streams, key=lambda one: one[0][0])
                block = next(blocks, None)
                if block is None:
                    streams = [one for one in streams if one[0] is not newest]
                else:
                    yield newest, block

    def _first_blocks(self) -> Iterator[Block]:
        if self._primed is None:
            yield from self._told_blocks(self._stream())
        else:
            (stream, blocks), self._primed = self._primed, None
            yield from blocks
            yield from self._told_blocks(stream)

    def _told_blocks(self, stream: Stream) -> Iterator[Block]:
        for block in stream:
            self._metadata(block)
            yield block
        for kind, count in stream.counts.items():
            self._counts[kind] = self._counts.get(kind, 0) + count
        self.aux_bytes += stream.aux_bytes

    def _metadata(self, block: Block) -> None:
        for head, at in zip(block.heads(block.own).tolist(), block.own.tolist(), strict=True):
            body = block.buffer.data[at * 8 + 8 : at * 8 + (head >> 48)].tobytes()
            self._record(head & 0xFFFFFFFF, head >> 32 & 0xFFFF, body, block.base + at * 8)

    def _record(self, kind: int, misc: int, body: bytes, place: int) -> None:
        if kind in r.NAMES:
            self._meta.record(kind, misc, body, place)
        else:
            what = "simpleperf's own records" if kind >= r.SIMPLEPERF_START else f"records of type {kind}"
            self._tally.add("unknown-record", what, place)

    def _count(self, block: Block) -> None:
        counts = self._counts
        for some in (block.others, block.own):
            kinds = block.kinds(block.at.take(some) if some is block.others else some) if len(some) else some
            for kind, count in enumerate(np.bincount(np.minimum(kinds, 128)).tolist()):
                if count:
                    number = kind if kind < 128 else r.SIMPLEPERF_START
                    counts[number] = counts.get(number, 0) + count
        for number, count in ((r.SAMPLE, len(block.at) - len(block.others)), (r.FINISHED_ROUND, block.counted)):
            if count:
                counts[number] = counts.get(number, 0) + count


class _Making:
    """Batches of rows: all of them, or those of a share."""

    def __init__(self, groups: Groups, summing: Summing | None, share: Share | None) -> None:
        self._groups, self._summing, self._share = groups, summing, share

    def batch(self, columns: Columns, rows: Rows) -> Iterator[EventBatch]:
        if self._share is not None and not self._share.next():
            batch = columns.others(rows)
        else:
            summed = self._summing.summed(rows, columns) if self._summing is not None else None
            batch = summed or columns.batch(rows)
        if batch is not None:
            yield self._groups.expanded(batch, columns.events)


def _size_of(file: BinaryIO) -> int:
    """-1 for what cannot be sought. The file is left at its start."""
    try:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
    except (OSError, ValueError, AttributeError):
        return -1
    return size
