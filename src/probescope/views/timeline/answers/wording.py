"""Events in the words of the kernel that they were recorded on: its print formats, run over records that are made again
of what the store has of them. Where the recording is not there any more, as of folders of Parquet files, the store's
columns are all there is.

    columns of "sched:sched_wakeup"    pid 12, comm 'bash', prio 120, target_cpu 1
    record, each field at its place    |type|..|pid |b a s h 0 ...|12|120|1|
    its text                           comm=bash pid=12 prio=120 target_cpu=001
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from probescope.errors import LimitError, ProbescopeError, UsageError
from probescope.formats.tracing.directives import MAX_WIDTH
from probescope.formats.tracing.fields import Records, is_text
from probescope.formats.tracing.print_fmt import Printer, compile_event
from probescope.formats.tracing.symbols import Forms
from probescope.model.recording import Ragged
from probescope.store.build.interning import clean
from probescope.store.build.kinds import Shape, is_number, table_names
from probescope.store.cache import still_of

if TYPE_CHECKING:
    from probescope.formats.sniff import AnyRecording
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventType, RawField
    from probescope.views.timeline.opened import Opened, Shown

    Row = Sequence[Any]

POINTED = 1 << 16
"""Bytes that the words of dynamic fields can point into."""
MOST_BYTES = 1 << 24
"""Of texts that are made at once, at worst."""
WIDENED = 6
"""Characters that a byte of a record becomes at most, in one argument: ``0xff, `` of an array."""
MOST_SPECIAL = 16
"""Records at once of events whose texts are as long as something else says: formats of binary printk."""
LOSSY = frozenset({"ftrace:raw_data"})
"""Bytes that are called char: as texts, they end in the store at their first 0."""


class Words:
    """Of one recording. ``plugins``: as trace-cmd and KernelShark have it, whose libtraceevent has forms of its own;
    but functions stand without indentation, which depends on what was shown before. Threads may ask at once."""

    def __init__(self, events: Sequence[EventType], context: Context, plugins: bool) -> None:
        self._events, self._context, self._plugins = events, context, plugins
        self._tables = table_names(clean(e.name) for e in events)
        self._kinds: dict[int, _Kind | None] = {}
        self._guard = threading.Lock()
        context.forms = Forms(indent=False)

    def table(self, kind: int, name: str) -> str | None:
        """Where the store has the fields of a kind; None where this recording has no such kind."""
        known = 0 <= kind < len(self._events) and clean(self._events[kind].name) == name
        return self._tables[kind] if known else None

    def texts(self, kind: int, names: Sequence[str], rows: Sequence[Row], most: int) -> list[str] | None:
        """Of a kind that has a ``table``; None where the kernel has no words for it. Rows: CPU, thread, and the columns
        ``names`` of the table. ``most`` characters of each."""
        with self._guard, suppress(LimitError):
            if kind not in self._kinds:
                self._kinds[kind] = self._kind(self._events[kind])
            found = self._kinds[kind]
            return None if found is None else found.texts(names, rows, self._context, most)
        return None

    def _kind(self, event: EventType) -> _Kind | None:
        if event.name in LOSSY or not event.print_fmt or _end(event) >= POINTED:
            return None
        printer = compile_event(event, self._context, self._plugins)
        return _Kind(event, printer) if printer.parsed else None


def _end(event: EventType) -> int:
    return max((f.offset + f.size for f in event.fields), default=0)


class _Kind:
    def __init__(self, event: EventType, printer: Printer) -> None:
        self._event, self._printer = event, printer
        self._parts = Shape(event, "").parts
        self._common = [event.field(name) for name in ("common_type", "common_pid")]
        self._size = _end(event)

    def texts(self, names: Sequence[str], rows: Sequence[Row], context: Context, most: int) -> list[str] | None:
        """Raises LimitError where one may become too long."""
        at = {name: i for i, name in enumerate(names, 2)}
        if not all(name in at for name, _, _ in self._parts):
            return None
        parts = [_Part(at[name], field, item) for name, field, item in self._parts]
        out: list[str] = []
        for some in self._pieces(self._record(row, parts, "big" if context.big else "little") for row in rows):
            sizes = np.array([len(m) for m in some], np.int64)
            raw = Ragged(np.frombuffer(b"".join(some), np.uint8), np.cumsum(sizes) - sizes, sizes)
            records = Records(raw, context.big, context.long_size)
            records.cpu = np.array([row[0] or 0 for row in rows[len(out) : len(out) + len(some)]], np.int32)
            out += [clean(text.rstrip("\n")[:most])[:most] for text in self._printer.texts(records)]
        return out

    def _pieces(self, records: Iterator[bytes]) -> Iterator[list[bytes]]:
        """As many at once as their texts have room for. Raises LimitError."""
        printer, fixed = self._printer, len(self._event.print_fmt)
        some: list[bytes] = []
        cost = 0
        for record in records:
            one = fixed + (len(printer.makers) + 1) * (WIDENED * len(record) + MAX_WIDTH)
            if one > MOST_BYTES:
                raise LimitError(f"the text of an event of {len(record)} bytes may need {one}")
            if some and (cost + one > MOST_BYTES or (len(some) >= MOST_SPECIAL and not printer.alone)):
                yield some
                some, cost = [], 0
            some.append(record)
            cost += one
        if some:
            yield some

    def _record(self, row: Row, parts: Sequence[_Part], order: Literal["big", "little"]) -> bytes:
        data = bytearray(self._size)

        def put(number: int, at: int, size: int) -> None:
            data[at : at + size] = (number & ((1 << 8 * size) - 1)).to_bytes(size, order)

        for common, number in zip(self._common, (self._event.id, row[1] or 0), strict=True):
            if common is not None:
                put(number, common.offset, common.size)
        for part in parts:
            field, value = part.field, row[part.column]
            if part.size:
                put(_number(value), part.at, part.size)
                continue
            content = _content(field, value)
            if not field.dynamic:
                content = content[: field.size] if field.size else content[:POINTED]
                data[field.offset : field.offset + len(content)] = content
            elif len(data) + len(content) < POINTED:
                put(_word(field, len(data), len(content)), field.offset, min(field.size, 4))
                data += content
        return bytes(data)


class _Part:
    """Of a record: what a column of a row becomes. ``at``, ``size``: place of a number; 0: it is none."""

    def __init__(self, column: int, field: RawField, item: int) -> None:
        self.column, self.field = column, field
        self.size = 0 if not is_number(field, item) else field.size // field.count if item >= 0 else field.size
        self.at = field.offset + max(item, 0) * self.size


def _number(value: Any) -> int:
    """Texts are numbers of a column that is text in another recording."""
    if not isinstance(value, str):
        return int(value or 0)
    with suppress(ValueError):
        return int(value)
    return int(value == "true")


def _content(field: RawField, value: Any) -> bytes:
    if not isinstance(value, str):
        return b""
    return value.encode() + b"\0" if is_text(field) else bytes.fromhex(value)


def _word(field: RawField, at: int, length: int) -> int:
    """``__data_loc``: from the record's start on; ``__rel_loc``: from the word's end on."""
    if field.size == 2:
        return at
    return (at - (field.offset + field.size) if field.dynamic == "rel" else at) | length << 16


def words_of(opened: Opened, one: Shown) -> Words | None:
    """None where the recording cannot be read any more, or is another one now. What a folder of Parquet files says of a
    path is anybody's: it is not opened."""
    part = opened.asked.parts[one.number]
    if part.files or str(one.row["format"]).startswith("text"):
        return None
    found: Words | None = opened.remembered(f"words {one.number}", lambda: _words(str(one.row["path"]), part.path))
    return found


def _words(path: str, store: str) -> Words | None:
    from probescope.formats.perfdata.reader import PerfData
    from probescope.formats.tracedat.reader import TraceDat

    with suppress(ProbescopeError, OSError), _recording(path, store) as recording:
        if isinstance(recording, TraceDat):
            return Words(recording.events, recording.context(), plugins=True)
        if isinstance(recording, PerfData):
            return Words(recording.events, recording.context(_Names(path, store)), plugins=False)
    return None


@contextmanager
def _recording(path: str, store: str) -> Generator[AnyRecording]:
    """What the store was made of. Raises ProbescopeError where that cannot be read any more, or is another one now."""
    from probescope.formats.sniff import open_recording

    if not still_of(store, path):
        raise UsageError(f"{path} is another recording now")
    with open_recording(path) as recording:
        yield recording


class _Names:
    """Of the kernel's functions, once one is asked for: few events point to any."""

    def __init__(self, path: str, store: str) -> None:
        self._path, self._store = path, store
        self._function: Callable[[int], tuple[str, int] | None] | None = None

    def __call__(self, address: int) -> tuple[str, int] | None:
        if self._function is None:
            self._function = self._opened()
        return self._function(address)

    def _opened(self) -> Callable[[int], tuple[str, int] | None]:
        """Where the kernel was mapped is told before the first events."""
        from probescope.formats.perfdata.reader import PerfData
        from probescope.store.build.reading import PerfSource

        with suppress(ProbescopeError, OSError), _recording(self._path, self._store) as recording:
            if isinstance(recording, PerfData):
                source = PerfSource(recording, None)
                next(source.pieces(), None)
                return source.told.function
        return lambda _: None
