"""Texts of traces, and recordings to compare them with."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from probescope.formats.tracedat.reader import TraceDat
from probescope.formats.tracetext import open_tracetext
from probescope.formats.tracetext.perf_reader import PerfText
from probescope.formats.tracetext.reader import TraceText
from probescope.formats.tracing.fields import Records, own_fields
from probescope.formats.tracing.text import Lines, report
from probescope.model.recording import EventType, Ragged

Row = tuple[str, int, int, int, dict[str, Any]]


def of_trace(text: str, known: Callable[[str], EventType | None] | None = None) -> TraceText:
    found = open_tracetext(io.BytesIO(text.encode("utf-8", "surrogateescape")), known)
    assert isinstance(found, TraceText)
    return found


def of_perf(text: str, known: Callable[[str], EventType | None] | None = None) -> PerfText:
    found = open_tracetext(io.BytesIO(text.encode()), known)
    assert isinstance(found, PerfText)
    return found


def described(recording: TraceDat) -> Callable[[str], EventType | None]:
    """The events of a recording, as its kernel describes them: by their name with and without the system."""
    named = {e.name: e for e in recording.events}
    short = {e.name.rpartition(":")[2]: e for e in reversed(recording.events)}
    return lambda name: named.get(name) or short.get(name)


def rows(recording: Any) -> Iterator[Row]:
    """(event, time, CPU, thread, its own fields) of all events."""
    for batch in recording.batches():
        fields: dict[int, dict[str, Any]] = {}
        for kind in np.unique(batch.event).tolist():
            which = np.flatnonzero(batch.event == kind)
            raw = Ragged(batch.raw.values, batch.raw.start[which], batch.raw.size[which])
            records = Records(raw, recording.machine.big_endian, recording.machine.long_size)
            fields.update(zip(which.tolist(), own_fields(records, recording.events[kind]), strict=True))
        for i in range(batch.count):
            name = recording.events[int(batch.event[i])].name
            yield name, int(batch.time[i]), int(batch.cpu[i]), int(batch.tid[i]), fields[i]


def printed(recording: TraceText) -> list[str]:
    """As probescope script prints it."""
    lines = Lines(
        recording.events,
        recording.context(),
        flags=recording.flags,
        nanoseconds=recording.nanoseconds,
        ticks=recording.clock == "counter",
        buffers=tuple(b.name for b in recording.buffers) if len(recording.buffers) > 1 else (),
        plugins=False,
    )
    data = b"".join(report(lines, recording.batches(), recording.machine.cpus))
    return data.decode("utf-8", "surrogateescape").splitlines()
