"""Events in the words of the kernel that they were recorded on: its print formats, run over records that are made again
of what the store has of them. Where the recording is not there any more, as of folders of Parquet files, the store's
columns are all there is.

    columns of "sched:sched_wakeup"    pid 12, comm 'bash', prio 120, target_cpu 1
    record, each field at its place    |type|..|pid |b a s h 0 ...|12|120|1|
    its text                           comm=bash pid=12 prio=120 target_cpu=001
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.errors import ProbescopeError
from probescope.formats.tracing.fields import Records, is_text
from probescope.formats.tracing.print_fmt import Printer, compile_event
from probescope.model.recording import Ragged
from probescope.store.build.kinds import Shape

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventType, RawField
    from probescope.views.timeline.opened import Opened, Shown

POINTED = 1 << 16
"""Bytes that the words of dynamic fields can point into."""


class Words:
    """Of one recording. ``plugins``: as trace-cmd and KernelShark have it, whose libtraceevent has forms of its own."""

    def __init__(self, events: Sequence[EventType], context: Context, plugins: bool) -> None:
        self._events, self._context, self._plugins = events, context, plugins
        self._kinds: dict[int, _Kind | None] = {}

    def texts(self, kind: int, name: str, rows: Sequence[Mapping[str, Any]]) -> list[str] | None:
        """None where the kernel has none for this kind. ``name``: of the kind, to be sure of it. Rows have the columns
        of its table, and ``tid`` and ``cpu``."""
        if kind not in self._kinds:
            self._kinds[kind] = self._kind(kind, name)
        found = self._kinds[kind]
        return None if found is None else found.texts(rows, self._context)

    def _kind(self, kind: int, name: str) -> _Kind | None:
        if not 0 <= kind < len(self._events) or self._events[kind].name != name:
            return None
        event = self._events[kind]
        if max((f.offset + f.size for f in event.fields), default=0) >= POINTED:
            return None
        printer = compile_event(event, self._context, self._plugins) if event.print_fmt else None
        return _Kind(event, printer) if printer is not None and printer.parsed else None


class _Kind:
    def __init__(self, event: EventType, printer: Printer) -> None:
        self._event, self._printer = event, printer
        self._parts = Shape(event, event.name).parts
        self._size = max((f.offset + f.size for f in event.fields), default=0)

    def texts(self, rows: Sequence[Mapping[str, Any]], context: Context) -> list[str]:
        made = [self._record(row, context) for row in rows]
        sizes = np.array([len(m) for m in made], np.int64)
        raw = Ragged(np.frombuffer(b"".join(made), np.uint8), np.cumsum(sizes) - sizes, sizes)
        records = Records(raw, context.big, context.long_size)
        records.cpu = np.array([row["cpu"] for row in rows], np.int32)
        return [text.rstrip("\n") for text in self._printer.texts(records)]

    def _record(self, row: Mapping[str, Any], context: Context) -> bytes:
        data, order = bytearray(self._size), "big" if context.big else "little"

        def put(number: int, at: int, size: int) -> None:
            data[at : at + size] = (number & ((1 << 8 * size) - 1)).to_bytes(size, order)  # type: ignore[arg-type]

        for name, number in (("common_type", self._event.id), ("common_pid", row["tid"])):
            common = self._event.field(name)
            if common is not None:
                put(number, common.offset, common.size)
        for name, field, item in self._parts:
            value = row[name]
            if not isinstance(value, str):
                size = field.size // field.count if item >= 0 else field.size
                put(int(value or 0), field.offset + max(item, 0) * size, size)
                continue
            content = _content(field, value)
            if not field.dynamic:
                data[field.offset :] = content if not field.size else _fixed(data, field, content)
            elif len(data) + len(content) < POINTED:
                put(_word(field, len(data), len(content)), field.offset, min(field.size, 4))
                data += content
        return bytes(data)


def _content(field: RawField, value: str) -> bytes:
    if not is_text(field):
        return bytes.fromhex(value)
    return value.encode("utf-8", "surrogateescape") + b"\0"


def _fixed(data: bytearray, field: RawField, content: bytes) -> bytes:
    """All from the field on."""
    return content[: field.size].ljust(field.size, b"\0") + bytes(data[field.offset + field.size :])


def _word(field: RawField, at: int, length: int) -> int:
    """``__data_loc``: from the record's start on; ``__rel_loc``: from the word's end on."""
    if field.size == 2:
        return at
    return (at - (field.offset + field.size) if field.dynamic == "rel" else at) | length << 16


def words_of(opened: Opened, one: Shown) -> Words | None:
    """None where the recording cannot be read any more. What a folder of Parquet files says of a path is anybody's: it
    is not opened."""
    if opened.asked.parts[one.number].files:
        return None
    found: Words | None = opened.remembered(f"words {one.number}", lambda: _words(one.row))
    return found


def _words(row: Mapping[str, Any]) -> Words | None:
    from probescope.formats.perfdata.reader import PerfData
    from probescope.formats.sniff import open_recording
    from probescope.formats.tracedat.reader import TraceDat

    if str(row["format"]).startswith("text"):
        return None
    with suppress(ProbescopeError, OSError), open_recording(str(row["path"])) as recording:
        if isinstance(recording, TraceDat):
            return Words(recording.events, recording.context(), plugins=True)
        if isinstance(recording, PerfData):
            return Words(recording.events, recording.context(_Names(recording.name)), plugins=False)
    return None


class _Names:
    """Of the kernel's functions, once one is asked for: few events point to any."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._function: Callable[[int], tuple[str, int] | None] | None = None

    def __call__(self, address: int) -> tuple[str, int] | None:
        if self._function is None:
            self._function = self._opened()
        return self._function(address)

    def _opened(self) -> Callable[[int], tuple[str, int] | None]:
        """Where the kernel was mapped is told before the first events."""
        from probescope.formats.perfdata.reader import PerfData
        from probescope.formats.sniff import open_recording
        from probescope.store.build.reading import PerfSource

        with suppress(ProbescopeError, OSError), open_recording(self._path) as recording:
            if isinstance(recording, PerfData):
                source = PerfSource(recording, None)
                next(source.pieces(), None)
                return source.told.function
        return lambda _: None
