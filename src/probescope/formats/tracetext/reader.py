"""Text of ftrace, opened: ``TraceText``, which stands for a trace.dat wherever one is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracetext.entries import as_print, entries
from probescope.formats.tracetext.graph_text import Entry, Missing
from probescope.formats.tracetext.heads import bits
from probescope.formats.tracetext.layouts import Layout
from probescope.formats.tracetext.names import Names
from probescope.formats.tracetext.survey import Survey
from probescope.formats.tracing.symbols import Context, PrintkFormats
from probescope.frozen import dataclass
from probescope.model.recording import Damage, EventBatch, EventType, LostEvents, Machine, Ragged, SideRecord

if TYPE_CHECKING:
    from probescope.formats.tracetext import Known
    from probescope.formats.tracetext.opening import TextFile
    from probescope.model.recording import Column

BATCH = 1 << 13
FIELDS = "texts whose fields are not those of this kernel's event: only what they name is there"
VALUES = "values that could not be read out of a text: they are 0"


@dataclass(frozen=True, slots=True)
class TextBuffer:
    """What stands before lines of one of several ring buffers; the top one has no name."""

    name: str
    latency: bool = False


class OpenText(ABC):
    """A text that was gone through once to see what there is in it, and is read again by each ``batches``."""

    def __init__(self, file: TextFile, survey: Callable[[Tally], Survey]) -> None:
        self._file = file
        self.name = file.name
        self._opening, self._reading = Tally(), Tally()
        self.survey = survey(self._opening)
        if not self.survey.count:
            raise file.nothing()
        self.comms = self.survey.comms

    @property
    def events(self) -> tuple[EventType, ...]:
        return self.survey.events

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self._opening.listed() + self._reading.listed()

    @abstractmethod
    def _entries(self, tally: Tally) -> Iterator[Entry | Missing]: ...

    @abstractmethod
    def _making(self, tally: Tally) -> Making: ...

    def batches(self) -> Iterator[EventBatch]:
        self._reading = Tally()
        making = self._making(self._reading)
        for one in self._entries(Tally()):
            making.add(one)
            if len(making) >= BATCH:
                yield making.batch()
        if making.any:
            yield making.batch()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TraceText(OpenText):
    """Satisfies ``model.recording.Recording``, and what else is asked of a ``TraceDat``. ``flags``: lines have that
    column; ``nanoseconds``: their times have 9 digits."""

    long_size = 8

    def __init__(self, file: TextFile, known: Known | None) -> None:
        self._first: dict[int, tuple[str, int]] = {}
        super().__init__(file, lambda tally: Survey(known).walk(entries(file.lines(tally), tally, self._first)))
        for comm, tid in self._first.values():
            self.comms.setdefault(tid, comm)
        self.symbols = Names()
        self.printk = PrintkFormats()
        self.flags, self.nanoseconds = self.survey.flags, self.survey.digits == 9
        self.clock = "" if self.survey.digits else "counter"
        self.machine = Machine(cpus=max(self.survey.cpus, file.cpus), clock=self.clock, recorder=file.recorder)

    @property
    def buffers(self) -> tuple[TextBuffer, ...]:
        return tuple(TextBuffer(name) for name in sorted(self.survey.buffers))

    def context(self) -> Context:
        return Context(False, self.long_size, self.symbols, self.printk, dict(self.comms))

    def latency(self) -> Iterator[str]:
        """Of a latency tracer's trace the events are events: nothing is left."""
        return iter(())

    def _entries(self, tally: Tally) -> Iterator[Entry | Missing]:
        return entries(self._file.lines(tally), tally, self._first)

    def _making(self, tally: Tally) -> Making:
        return Making(self.survey, self.symbols, tally)


class Making:
    """Entries to a batch."""

    def __init__(self, survey: Survey, names: Names, tally: Tally) -> None:
        self._survey, self._tally = survey, tally
        self._layouts = {id(k): Layout(k.event, names) for k in survey.kinds.values() if k.event is not None}
        self._buffer = {name: i for i, name in enumerate(sorted(survey.buffers))}
        self._last = 0
        self._clear()

    def _clear(self) -> None:
        self._rows: list[tuple[int, int, int, int, int, int, int]] = []
        self._raw: list[bytes] = []
        self._between: list[tuple[int, SideRecord]] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def any(self) -> bool:
        return bool(self._rows or self._between)

    def add(self, one: Entry | Missing) -> None:
        if isinstance(one, Missing):
            self.between(LostEvents(cpu=one.cpu, count=one.count, kind="overrun"))
            return
        event, raw = self._record(one)
        self._raw.append(raw)
        buffer = self._buffer.get(one.buffer, 0)
        self._rows.append((event, one.time, one.cpu, one.pid, one.tid, one.period, buffer))

    def between(self, record: SideRecord) -> None:
        self._between.append((len(self._rows), record))

    def _record(self, one: Entry) -> tuple[int, bytes]:
        kind = self._survey.kind(one.name)
        values: dict[str, Any] = one.values
        if kind.printed:
            kind, values = self._survey.kind("ftrace:print"), as_print(one)
        elif not kind.special:
            values, fine = kind.values(one.text)
            if not fine:
                self._tally.add("fields", FIELDS)
        flags, count = bits(one.flags)
        raw, failed = self._layouts[id(kind)].record(flags, count, max(one.tid, -1), values)
        if failed:
            self._tally.add("values", VALUES, count=failed)
        return self._survey.index(kind), raw

    def batch(self, **columns: Any) -> EventBatch:
        """What has been added since the last one, in order of time."""
        rows = self._rows
        time = np.array([r[1] for r in rows], np.uint64)
        order = np.argsort(time, kind="stable")
        numbers = np.array([(r[0], r[2], r[3], r[4], r[6]) for r in rows], np.int64).reshape(len(rows), 5)[order]
        event, cpu, pid, tid, buffer = (np.ascontiguousarray(c, np.int32) for c in numbers.T)
        time = time[order]
        if len(rows):
            if int(time[0]) < self._last:
                self._tally.add("order", "times that go back: they are where the text has them")
            self._last = int(time[-1])
        size = np.array([len(r) for r in self._raw], np.int64)
        start = np.cumsum(size) - size
        raw = Ragged(np.frombuffer(b"".join(self._raw), np.uint8), start[order], size[order])
        more: dict[str, Column] = {"buffer": buffer} if len(self._buffer) > 1 else {}
        period = np.array([r[5] for r in rows], np.uint64)[order]
        between = self._placed(order)
        self._clear()
        return EventBatch(
            len(rows), event, time, cpu, pid, tid, period, raw=raw, numbers=more, between=between, **columns
        )

    def _placed(self, order: Column) -> tuple[tuple[int, SideRecord], ...]:
        """What stood between lines, before the line that followed it."""
        places = np.empty(len(order) + 1, np.int64)
        places[order] = np.arange(len(order))
        places[-1] = len(order)
        found = [(int(places[i]), record) for i, record in self._between]
        return tuple(sorted(found, key=lambda pair: pair[0]))
