"""Tracepoints of another tracer as a perf.data: samples with raw records, as perf would have recorded them.

    sample  id 8 | pid 4 tid 4 | time 8 | cpu 4, 0 | period 8 | size 4, raw record, up to 8

Raw records are the same in both worlds: what the kernel wrote into its ring buffer. Each kind of event has one
attribute and one id. Memory holds one batch.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from probescope.formats.perfdata import layout as lay
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.attr import Attr
from probescope.formats.perfdata.encode import MOST_RECORD, encode_side, record
from probescope.formats.perfdata.layout import layout_of
from probescope.formats.perfdata.writer import PerfDataWriter, WrittenEvent
from probescope.kernel.uapi import perf as u
from probescope.model.recording import EventBatch, EventType, LostEvents

if TYPE_CHECKING:
    Column = np.ndarray[Any, Any]

SAMPLED = lay.IDENTIFIER | lay.TID | lay.TIME | lay.CPU | lay.PERIOD | lay.RAW
HEAD = 8 + 5 * 8 + 4
FIRST_ID = 1
KERNEL = 1  # cpumode


class TracedWriter:
    """``events`` are those that batches' ``event`` columns point to, ``kinds`` the ones that are written: indices, in
    order. ``skipped``: records too large for perf's format."""

    def __init__(self, file: BinaryIO, events: Sequence[EventType], kinds: Sequence[int], *, big: bool) -> None:
        self.big, self.skipped, self.count = big, 0, 0
        self.first = self.last = 0
        found = [WrittenEvent(_attr(events[kind]), events[kind].name, (FIRST_ID + i,)) for i, kind in enumerate(kinds)]
        self._writer = PerfDataWriter(file, found, big=big)
        self._layout = layout_of(found[0].attr) if found else layout_of(Attr(sample_type=SAMPLED))
        self._ids = np.zeros(max(kinds, default=0) + 1, np.uint64)
        for i, kind in enumerate(kinds):
            self._ids[kind] = FIRST_ID + i

    def thread(self, tid: int, name: str) -> None:
        """Of a thread, which perf takes for a process: which it is of is not known."""
        raw = name.encode("utf-8", "surrogateescape")[:15] + b"\0"
        body = struct.pack(self._order + "ii", tid, tid) + raw + bytes(-len(raw) % 8)
        trailer = struct.pack(self._order + "iiQiIQ", tid, tid, 0, 0, 0, FIRST_ID)
        self._writer.write(record(r.COMM, 0, body + trailer, self.big))

    @property
    def _order(self) -> str:
        return ">" if self.big else "<"

    def batch(self, batch: EventBatch, which: Column) -> None:
        """Some events of a batch. Those that were lost are told before them."""
        for _, side in batch.between:
            if isinstance(side, LostEvents) and side.count:
                self._writer.write(encode_side(side, self._layout, FIRST_ID, cpumode=0, big=self.big))
        if batch.raw is not None and len(which):
            fits = batch.raw.size[which] <= MOST_RECORD - HEAD - 8
            self.skipped += int((~fits).sum())
            self._samples(batch, which[fits])
        self._writer.round()

    def _samples(self, batch: EventBatch, which: Column) -> None:
        raw = batch.raw
        if raw is None or not len(which):
            return
        size = raw.size[which].astype(np.int64)
        whole = (size + 11) // 8 * 8  # with its own size before it
        ends = np.cumsum(whole + HEAD - 4)
        at = ends - (whole + HEAD - 4)
        out = np.zeros(int(ends[-1]), np.uint8)
        head = np.zeros(len(which), self._head())
        head["kind"], head["misc"], head["size"] = r.SAMPLE, KERNEL, whole + HEAD - 4
        head["id"], head["time"], head["period"] = self._ids[batch.event[which]], batch.time[which], batch.period[which]
        head["pid"] = head["tid"] = batch.tid[which]
        head["cpu"], head["raw"] = batch.cpu[which], whole - 4
        out[at[:, None] + np.arange(HEAD)] = head.view(np.uint8).reshape(len(which), HEAD)
        within = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
        values = np.asarray(raw.values).view(np.uint8)
        out[np.repeat(at + HEAD, size) + within] = values[np.repeat(raw.start[which].astype(np.int64), size) + within]
        self._writer.write(out.tobytes())
        times = batch.time[which]
        self.count += len(which)
        self.first, self.last = self.first or int(times[0]), int(times[-1])

    def _head(self) -> np.dtype[Any]:
        names = "kind:u4 misc:u2 size:u2 id:u8 pid:i4 tid:i4 time:u8 cpu:i4 none:u4 period:u8 raw:u4".split()
        return np.dtype([(n.partition(":")[0], self._order + n.partition(":")[2]) for n in names])

    def finish(self, features: Mapping[str, Any], tracing: bytes) -> None:
        told = dict(features)
        if self.last > self.first:
            told["SAMPLE_TIME"] = (self.first, self.last)
        self._writer.finish(told, tracing=tracing)


def _attr(event: EventType) -> Attr:
    return Attr(
        type=u.PERF_TYPE_TRACEPOINT,
        config=event.id,
        period=1,
        sample_type=SAMPLED,
        flags=u.FLAG_SAMPLE_ID_ALL,
        size=128,
    )
