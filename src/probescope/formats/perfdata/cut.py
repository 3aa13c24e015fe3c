"""Some samples of a perf.data as a perf.data: records go over as they are, so that nothing that is not understood gets
lost.

    samples                        those that ``keep`` wants
    all other records of the kernel, ID_INDEX, EVENT_UPDATE...    all: they tell whose the samples are
    features                       all; SAMPLE_TIME is that of what is left
    AUX data, simpleperf's records none

The order of records and the ends of rounds stay. What was compressed is compressed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.encode import encode_feature
from probescope.formats.perfdata.ids import Events
from probescope.formats.perfdata.writer import PerfDataWriter, WrittenEvent
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.formats.perfdata.blocks import Block
    from probescope.formats.perfdata.reader import PerfData

    Column = np.ndarray[Any, Any]

LEVEL = 3
NO_NAME = "(none)"  # what the kernel calls a machine without one
#: Records that are written anew, or told of what is left out.
_DROPPED = (
    r.HEADER_ATTR,
    r.HEADER_EVENT_TYPE,
    r.HEADER_TRACING_DATA,
    r.HEADER_BUILD_ID,
    r.HEADER_FEATURE,
    r.AUXTRACE_INFO,
    r.AUXTRACE,
    r.AUXTRACE_ERROR,
    r.COMPRESSED,
    r.COMPRESSED2,
)
_NOT_COPIED = {"EVENT_DESC", "COMPRESSED", "AUXTRACE", "DIR_FORMAT", "SAMPLE_TIME", "TRACING_DATA"}


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """What can be asked of samples: ``event`` (-1: not known), ``pid``, ``tid``, ``cpu`` i4 (-1: not recorded);
    ``time`` u8 (0: not recorded)."""

    event: Column
    time: Column
    pid: Column
    tid: Column
    cpu: Column


Keep = Callable[[Samples], "Column"]


class Cut:
    """``count``: samples that were written so far; ``first``, ``last``: their times."""

    def __init__(self, recording: PerfData, file: BinaryIO, keep: Keep) -> None:
        self._recording, self._keep = recording, keep
        self.big = recording.container.big
        ids: dict[int, list[int]] = {}
        for one, index in recording.ids.items():
            ids.setdefault(index, []).append(one)
        names = [e.name for e in recording.events]
        events = [WrittenEvent(a, names[i], tuple(ids.get(i, ()))) for i, a in enumerate(recording.attrs)]
        level = LEVEL if "COMPRESSED" in recording.features else 0
        self._writer = PerfDataWriter(file, events, big=self.big, level=level)
        self._events = Events(recording.attrs, dict(recording.ids))
        self.count = self.first = self.last = 0

    def write(self) -> int:
        """The number of samples that are left."""
        for _, block in self._recording._blocks():
            self._block(block)
            if block.buffer.mapped is not None and len(block.at):
                block.buffer.mapped.forget(int(block.at[-1]) * 8)
        sections = {n: d for n, d in self._recording.sections.items() if n not in _NOT_COPIED}
        if self.count and self.last > self.first:
            sections["SAMPLE_TIME"] = encode_feature("SAMPLE_TIME", (self.first, self.last), self.big)
        # of another byte order, perf tells the width of the header's feature words by this one
        sections.setdefault("HOSTNAME", encode_feature("HOSTNAME", NO_NAME, self.big))
        build_ids = () if "BUILD_ID" in sections else self._recording.build_ids
        tracing = self._recording.sections.get("TRACING_DATA", b"")
        self._writer.finish(sections, build_ids=build_ids, tracing=tracing)
        return self.count

    def _block(self, block: Block) -> None:
        heads, at, rounds = block.everything()
        kinds = heads.astype(np.uint32)
        keep = (kinds < r.SIMPLEPERF_START) & ~np.isin(kinds, _DROPPED)
        samples = np.flatnonzero(kinds == r.SAMPLE)
        if len(samples):
            keep[samples] = self._wanted(block, at[samples], heads[samples])
        done = 0
        for end in [*rounds.tolist(), -1]:
            which = np.flatnonzero(keep[done:] if end < 0 else keep[done:end]) + done
            for piece in _pieces(block, at[which], heads[which]):
                self._writer.write(piece)
            if end >= 0:
                self._writer.round()
                done = end

    def _wanted(self, block: Block, at: Column, heads: Column) -> Column:
        """Which of the samples are to be kept. Those that are too short for what they should hold are not."""
        words, events = block.buffer.words, self._events
        event = np.zeros(len(at), np.int32)
        if not events.single:
            event = events.index(words.take(at + events.id_at, mode="clip"))
        none = [np.full(len(at), -1, np.int32) for _ in range(3)]
        found = Samples(event, np.zeros(len(at), np.uint64), *none)
        kind = events.layout_of[np.maximum(event, 0)]
        whole = np.zeros(len(at), np.bool_)
        size = heads >> np.uint64(51)
        for number, layout in enumerate(events.layouts):
            mine = np.flatnonzero(kind == number)
            mine = mine[size[mine] >= np.uint64(layout.head_words)]
            whole[mine] = True
            if layout.where("time") > 0:
                found.time[mine] = words[at[mine] + layout.where("time")]
            for name, columns in (("tid", (found.pid, found.tid)), ("cpu", (found.cpu,))):
                where = layout.where(name)
                for half, column in enumerate(columns) if where > 0 else ():
                    column[mine] = block.buffer.halves((at[mine] + where) * 2 + half)
        mask: Column = whole & (event >= 0) & self._keep(found)
        self._count(found.time[mask])
        return mask

    def _count(self, times: Column) -> None:
        if len(times):
            self.first = min(self.first or int(times.min()), int(times.min()))
            self.last = max(self.last, int(times.max()))
            self.count += len(times)


def _pieces(block: Block, at: Column, heads: Column) -> Iterator[memoryview]:
    """The bytes of some records; neighbours as one."""
    if not len(at):
        return
    start = at * 8
    end = start + (heads >> np.uint64(48)).astype(np.int64)
    first = np.flatnonzero(np.concatenate(([True], start[1:] != end[:-1])))
    last = np.append(first[1:], len(at)) - 1
    view = np.ascontiguousarray(block.buffer.data).data
    for a, b in zip(start[first].tolist(), end[last].tolist(), strict=True):
        yield view[a:b]
