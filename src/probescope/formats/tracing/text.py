"""Lines of text as `trace-cmd report` prints them.

                bash-1234  [002] d..2.  2084.021659: sched_switch:         bash:1234 [120] S ==> swapper/2:0 [120]
    %16s-%-5d [%03d] flags secs.usecs: event:   (names padded to 20)   text

The flags: interrupts off, need to reschedule, in an interrupt, depth of preemption, of migration being disabled. Heads
of lines repeat and are kept; times are put together by numpy; a line costs about 0.7 us in all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracing import cells
from probescope.formats.tracing.fields import Records, Texts
from probescope.formats.tracing.graph import Graph
from probescope.formats.tracing.print_fmt import Printer, compile_event
from probescope.formats.tracing.repeats import Repeats, cells_of
from probescope.formats.tracing.texts import Memo
from probescope.model.alike import alike
from probescope.model.recording import EventBatch, EventType, LostEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from probescope.formats.tracing.cells import Cells
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import Column

IRQS_OFF, NO_SUPPORT, NEED_RESCHED, HARDIRQ, SOFTIRQ = 1, 2, 4, 8, 16
SLICE = 1 << 13
MOST_COMMS = 1 << 20
#: Events that name threads which the recording's own list may not have.
_NAMING = {
    "sched:sched_switch": (("prev_pid", "prev_comm"), ("next_pid", "next_comm")),
    "sched:sched_wakeup": (("pid", "comm"),),
    "sched:sched_wakeup_new": (("pid", "comm"),),
}


def told_by(key: int, context: Context, comm: str = "") -> tuple[str, int, int, int, int]:
    """Name, thread, CPU, flags, depth of what a line begins with: ``key`` holds the last four, from its lower end."""
    tid = key & 0xFFFFFFFF
    tid -= (tid >> 31) << 32
    name = comm or ("<idle>" if not tid else context.comms.get(tid, "<...>"))
    return name, tid, key >> 32 & 0xFFFF, key >> 48 & 0xFF, key >> 56


def usual_head(context: Context, flags: bool, key: int, comm: str = "") -> str:
    """``comm-TID [CPU] flags``."""
    name, tid, cpu, bits, depth = told_by(key, context, comm)
    head = f"{name:>16}-{tid:<5d} [{cpu:03d}]"
    return f"{head} {latency(bits, depth)}" if flags else head


class Lines:
    """Of batches of one recording, in their order: names of threads are learnt on the way. ``flags``: the column that
    trace-cmd has from 3.3 on; ``nanoseconds``: 9 digits instead of 6; ``ticks``: times are no nanoseconds, and printed
    as they are; ``buffers``: names of several ring buffers, printed before each line; ``head``: as ``usual_head``."""

    def __init__(
        self,
        events: tuple[EventType, ...],
        context: Context,
        *,
        flags: bool = True,
        nanoseconds: bool = False,
        ticks: bool = False,
        buffers: tuple[str, ...] = (),
        plugins: bool = True,
        head: Callable[..., str] = usual_head,
    ) -> None:
        self.events = events
        self.context = context
        self.flags = flags
        self.nanoseconds = nanoseconds
        self.ticks = ticks
        self.plugins = plugins
        width = max((len(b) for b in buffers), default=0)
        self.buffers = [f"{b:>{width}}: " if b else " " * (width + 2) for b in buffers] if len(buffers) > 1 else []
        self.printers: dict[int, Printer] = {}
        self.repeats: dict[int, Repeats] = {}
        self.pauses: dict[int, list[int]] = {}
        self.texts = Texts()
        self.head = partial(head, context, flags)  # not of this object: what refers to itself is freed late
        self.heads = Memo(self.head)
        self.graph = Graph(events, context)

    def data(self, batch: EventBatch) -> bytes:
        """The same as ``lines``, with their ends: by columns of all events at once, where no line depends on others."""
        if batch.raw is None or not batch.count or self.ticks:
            return _ended(self.lines(batch))
        records = self._records(batch)
        named = self._learn(batch, records)
        if named or self.graph.has(batch) or any(isinstance(r, LostEvents) for _, r in batch.between):
            return _ended(self._lines(batch, records, named))
        key = self._keys(batch, records)
        first, kinds = alike([key.view(np.int64)])
        heads = cells.texts(self.heads[k].encode("utf-8", "surrogateescape") for k in key[first].tolist())
        kind = self._kinds(batch, np.arange(batch.count))
        parts: list[tuple[Column | None, Sequence[Cells]]] = []
        for one in np.flatnonzero(np.bincount(kind)).tolist():
            which = (kind == one).nonzero()[0]
            part = records if len(which) == batch.count else records.subset(which)
            index, buffer = divmod(one, max(1, len(self.buffers)))
            before = self.buffers[buffer].encode("utf-8", "surrogateescape") if self.buffers else b""
            columns = [before, heads.take(kinds[which]), *self._cells(index, part, batch.time[which])]
            parts.append((which, columns))
        return cells.lines(parts, batch.count)

    def _cells(self, index: int, records: Records, time: Column) -> list[Cells]:
        """Of events of one kind, what follows the head."""
        event = self.events[index]
        migration = self._common_field("common_migrate_disable") if self.flags else None
        extra = cells.decimal(records.field(migration)) if migration else []
        if not self.nanoseconds:
            time = (time + np.uint64(500)) // np.uint64(1000) * np.uint64(1000)
        when = cells.seconds(time, 5, 9 if self.nanoseconds else 6)
        printer = self.printer(index) if event.id else Printer("[UNKNOWN EVENT]", ())
        own = (f.offset for f in event.fields if not f.name.startswith("common_"))
        found = cells_of(printer, records, min(own, default=0), self.pauses.setdefault(index, [0]))
        label = f":{_label(event)}".encode("utf-8", "surrogateescape")
        return [*extra, b" ", *when, label, *cells.without_newline(found), b"\n"]

    def _records(self, batch: EventBatch) -> Records:
        assert batch.raw is not None
        records = Records(batch.raw, self.context.big, self.context.long_size, self.texts)
        records.cpu = batch.cpu
        return records

    def lines(self, batch: EventBatch) -> list[str]:
        """Without their ends; some have line ends within. Losses have lines of their own."""
        if batch.raw is None or not batch.count:
            return [_lost(r) for _, r in batch.between if isinstance(r, LostEvents)]
        records = self._records(batch)
        return self._lines(batch, records, self._learn(batch, records))

    def _lines(self, batch: EventBatch, records: Records, named: dict[int, str]) -> list[str]:
        key = self._keys(batch, records)
        graph = self.graph.has(batch)
        step = batch.count if graph or named else SLICE  # small enough that its texts stay in the processor's cache
        out: list[str] = []
        for at in range(0, batch.count, step):
            out += self._slice(batch, records, key, np.arange(at, min(at + step, batch.count)), named)
        gone: set[int] = set()
        if graph:
            gone = self.graph.fold(batch, records, out)
        return self._placed(batch, out, gone)

    def _slice(
        self, batch: EventBatch, records: Records, key: Column, rows: Column, named: dict[int, str]
    ) -> list[str]:
        """Events of one kind and buffer have one template."""
        buffers = max(1, len(self.buffers))
        kind = self._kinds(batch, rows)
        order = np.argsort(kind.astype(np.uint32), kind="stable")
        out = np.empty(len(rows), object)
        for which in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
            here = rows[which]
            part = records if len(here) == batch.count else records.subset(here)
            heads = list(map(self.heads.__getitem__, key[here].tolist()))
            if named:
                pairs = zip(here.tolist(), heads, strict=True)
                heads = [self.head(int(key[i]), named[i]) if i in named else head for i, head in pairs]
            index, buffer = divmod(int(kind[which[0]]), buffers)
            before = self.buffers[buffer] if self.buffers else ""
            out[which] = self._group(before, index, part, heads, batch.time[here])
        lines: list[str] = out.tolist()
        return lines

    def _kinds(self, batch: EventBatch, rows: Column) -> Column:
        """Numbers of events and buffers in one."""
        kind = batch.event[rows].astype(np.int64)
        if self.buffers and "buffer" in batch.numbers:
            kind = kind * len(self.buffers) + batch.numbers["buffer"][rows]
        return kind

    def _placed(self, batch: EventBatch, lines: list[str], gone: set[int]) -> list[str]:
        """Losses before their events, after the buffer's name."""
        lost: dict[int, str] = {}
        for i, record in batch.between:
            if isinstance(record, LostEvents):
                lost[i] = f"{lost[i]}\n{_lost(record)}" if i in lost else _lost(record)
        for i, text in lost.items():
            if i >= len(lines):
                lines.append(text)
                continue
            before = len(self.buffers[0]) if self.buffers else 0
            lines[i] = f"{lines[i][:before]}{text}\n{lines[i][before:]}"
        return [line for i, line in enumerate(lines) if i not in gone] if gone else lines

    # --- the text of one kind of event ---

    def printer(self, index: int) -> Printer:
        found = self.printers.get(index)
        if found is None:
            found = self.printers[index] = compile_event(self.events[index], self.context, self.plugins)
        return found

    def _group(self, before: str, index: int, records: Records, heads: list[str], time: Column) -> list[str]:
        event = self.events[index]
        label = _label(event)
        extra = self._migration(records)
        if extra is not None:
            heads = list(map(str.__add__, heads, extra))
        shown, times = self._times(time)
        printer = self.printer(index) if event.id else Printer("[UNKNOWN EVENT]", ())
        columns, ending = self._columns(index, printer, records)
        template = f"{before.replace('%', '%%')}%s{shown}{label.replace('%', '%%')}{ending}"
        lines = list(map(template.__mod__, zip(heads, *times, *columns, strict=True)))
        if printer.template.endswith(("%s", "\n")):
            return [line.removesuffix("\n") for line in lines]
        return lines

    def _columns(self, index: int, printer: Printer, records: Records) -> tuple[list[list[Any]], str]:
        """What fills the end of a template, and that end."""
        repeats = self.repeats.get(index)
        if repeats is None and printer.alone:
            own = [f.offset for f in self.events[index].fields if not f.name.startswith("common_")]
            repeats = self.repeats[index] = Repeats(printer, min(own, default=0))
        if repeats is not None and repeats.worthwhile(records):
            return [repeats.texts(records)], "%s"
        return printer.columns(records), printer.template

    # --- heads: comm-pid [cpu] flags ---

    def _keys(self, batch: EventBatch, records: Records) -> Column:
        """All that a head shows, in 64 bits."""
        key = batch.tid.astype(np.uint32) | batch.cpu.astype(np.uint16).astype(np.uint64) << np.uint64(32)
        if self.flags:
            flags, depth = (self._common(records, name) for name in ("common_flags", "common_preempt_count"))
            key |= (flags & np.uint64(0xFF)) << np.uint64(48) | (depth & np.uint64(0xFF)) << np.uint64(56)
        return key

    def _common(self, records: Records, name: str) -> Column:
        field = self._common_field(name)
        return records.field(field) if field else np.zeros(len(records), np.uint64)

    def _common_field(self, name: str) -> Any:
        return next((f for e in self.events[:1] for f in e.fields if f.name == name), None)

    def _migration(self, records: Records) -> list[str] | None:
        field = self._common_field("common_migrate_disable") if self.flags else None
        return [str(n) for n in records.field(field).tolist()] if field else None

    def _times(self, time: Column) -> tuple[str, list[list[Any]]]:
        """A template and its columns: seconds, then thousands of texts that are there already."""
        if self.ticks:
            return "%12d:", [time.tolist()]
        if not self.nanoseconds:
            time = (time + np.uint64(500)) // np.uint64(1000)
        columns: list[list[Any]] = []
        for _ in range(3 if self.nanoseconds else 2):
            above = time // np.uint64(1000)
            columns.insert(0, _THOUSAND[(time - above * np.uint64(1000)).astype(np.int64)].tolist())
            time = above
        return f" %5d.{'%s' * len(columns)}:", [time.tolist(), *columns]

    def learn(self, batch: EventBatch) -> dict[int, str]:
        """Takes the names of threads that a batch tells: those of its events, by index, whose thread had none."""
        return self._learn(batch, self._records(batch)) if batch.raw is not None and batch.count else {}

    def _learn(self, batch: EventBatch, records: Records) -> dict[int, str]:
        """Names out of scheduler events for threads that have none. If there are new ones: the name of every event of
        such a thread, by index: none before the event that named it."""
        if not self.plugins:
            return {}
        comms = self.context.comms
        first: dict[int, tuple[int, str]] = {}
        for index in np.unique(batch.event).tolist():
            for pid_name, comm_name in self._naming(index):
                pid, comm = self.events[index].field(pid_name), self.events[index].field(comm_name)
                if pid is None or comm is None:
                    continue
                which = np.flatnonzero(batch.event == index)
                tids, at = np.unique(
                    records.number(pid.offset, 4)[which].astype(np.uint32).view(np.int32), return_index=True
                )
                for tid, place in zip(tids.tolist(), which[at].tolist(), strict=True):
                    if tid and tid not in comms and (tid not in first or place < first[tid][0]):
                        first[tid] = (place, records.subset(np.array([place])).strings(comm)[0])
        return self._named(batch, first) if first else {}

    def _naming(self, index: int) -> tuple[tuple[str, str], ...]:
        """Fields with a thread and its name."""
        return _NAMING.get(self.events[index].name, ())

    def _named(self, batch: EventBatch, first: dict[int, tuple[int, str]]) -> dict[int, str]:
        out: dict[int, str] = {}
        self.heads.clear()
        for tid, (place, name) in first.items():
            out |= {i: name if i > place else "<...>" for i in np.flatnonzero(batch.tid == tid).tolist()}
            if len(self.context.comms) < MOST_COMMS:
                self.context.comms[tid] = name
        return out


_THOUSAND = np.array([f"{n:03d}" for n in range(1000)], object)


def latency(flags: int, depth: int) -> str:
    """The flags' five characters."""
    irqs = "d" if flags & IRQS_OFF else "X" if flags & NO_SUPPORT else "."
    within = {0: ".", HARDIRQ: "h", SOFTIRQ: "s", HARDIRQ | SOFTIRQ: "H"}[flags & (HARDIRQ | SOFTIRQ)]
    depths = "".join(f"{n:x}" if n else "." for n in (depth & 0xF, depth >> 4))
    return f"{irqs}{'N' if flags & NEED_RESCHED else '.'}{within}{depths}"


def _label(event: EventType) -> str:
    name = event.name.partition(":")[2] or "(NULL)"
    return f" {name}: ".ljust(23) if len(name) < 20 else f" {name}: "


def _ended(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _lost(record: LostEvents) -> str:
    number = f"{record.count} " if record.count else ""
    return f"CPU:{record.cpu} [{number}EVENTS DROPPED]"


def report(lines: Lines, batches: Iterable[EventBatch], cpus: int) -> Iterator[bytes]:
    """All of `trace-cmd report`, in pieces with line ends."""
    yield b"cpus=%d\n" % cpus
    for batch in batches:
        yield lines.data(batch)
