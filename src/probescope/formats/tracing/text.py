"""Lines of text as `trace-cmd report` prints them.

                bash-1234  [002] d..2.  2084.021659: sched_switch:         bash:1234 [120] S ==> swapper/2:0 [120]
    %16s-%-5d [%03d] flags secs.usecs: event:   (names padded to 20)   text

The flags: interrupts off, need to reschedule, in an interrupt, depth of preemption, of migration being disabled. Heads
of lines repeat and are kept; times are put together by numpy; a line costs about 0.7 us in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracing.fields import Records, Texts
from probescope.formats.tracing.graph import Graph
from probescope.formats.tracing.print_fmt import Printer, compile_event
from probescope.formats.tracing.texts import Memo
from probescope.model.recording import EventBatch, EventType, LostEvents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import Column

IRQS_OFF, NO_SUPPORT, NEED_RESCHED, HARDIRQ, SOFTIRQ = 1, 2, 4, 8, 16
#: Events that name threads which the recording's own list may not have.
_NAMING = {
    "sched:sched_switch": (("prev_pid", "prev_comm"), ("next_pid", "next_comm")),
    "sched:sched_wakeup": (("pid", "comm"),),
    "sched:sched_wakeup_new": (("pid", "comm"),),
}


class Lines:
    """Of batches of one recording, in their order: names of threads are learnt on the way. ``flags``: the column that
    trace-cmd has from 3.3 on; ``nanoseconds``: 9 digits instead of 6; ``ticks``: times are no nanoseconds, and printed
    as they are; ``buffers``: names of several ring buffers, printed before each line."""

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
        self.texts = Texts()
        self.heads = Memo(self._head)
        self.graph = Graph(events, context)

    def lines(self, batch: EventBatch) -> list[str]:
        """Without their ends; some have line ends within. Losses have lines of their own."""
        if batch.raw is None or not batch.count:
            return [_lost(r) for _, r in batch.between if isinstance(r, LostEvents)]
        records = Records(batch.raw, self.context.big, self.context.long_size, self.texts)
        records.cpu = batch.cpu
        heads = self._heads(batch, records)
        out = np.empty(batch.count, object)
        kinds = np.argsort(batch.event.astype(np.uint16), kind="stable")
        ends = np.flatnonzero(np.diff(batch.event[kinds])) + 1
        for which in np.split(kinds, ends):
            index = int(batch.event[which[0]])
            part = records if len(which) == batch.count else records.subset(which)
            out[which] = self._group(index, part, [heads[i] for i in which.tolist()])
        gone = self.graph.fold(batch, records, out, heads) if self.graph.has(batch) else set()
        return self._placed(batch, out.tolist(), gone)

    def _placed(self, batch: EventBatch, lines: list[str], gone: set[int]) -> list[str]:
        if "buffer" in batch.numbers and self.buffers:
            names = self.buffers
            lines = [names[b] + line for b, line in zip(batch.numbers["buffer"].tolist(), lines, strict=True)]
        lost = [(i, r) for i, r in batch.between if isinstance(r, LostEvents)]
        if not lost and not gone:
            return lines
        out: list[str] = []
        at = 0
        for i, record in lost:
            out += [lines[j] for j in range(at, i) if j not in gone]
            out.append(_lost(record))
            at = i
        return out + [lines[j] for j in range(at, len(lines)) if j not in gone]

    # --- the text of one kind of event ---

    def printer(self, index: int) -> Printer:
        found = self.printers.get(index)
        if found is None:
            found = self.printers[index] = compile_event(self.events[index], self.context, self.plugins)
        return found

    def _group(self, index: int, records: Records, heads: list[str]) -> list[str]:
        event = self.events[index]
        name = event.name.partition(":")[2] or "(NULL)"
        label = f" {name}: ".ljust(23) if len(name) < 20 else f" {name}: "
        if not event.id:
            return [f"{head}{label}[UNKNOWN EVENT]" for head in heads]
        printer = self.printer(index)
        template = "%s" + label.replace("%", "%%") + printer.template
        lines = list(map(template.__mod__, zip(heads, *printer.columns(records), strict=True)))
        if template.endswith(("%s", "\n")):
            return [line.removesuffix("\n") for line in lines]
        return lines

    # --- heads ---

    def _heads(self, batch: EventBatch, records: Records) -> list[str]:
        """``comm-pid [cpu] flags time:``"""
        flags, depth = (self._common(records, name) for name in ("common_flags", "common_preempt_count"))
        key = batch.tid.astype(np.uint32).astype(np.uint64) | batch.cpu.astype(np.uint16).astype(
            np.uint64
        ) << np.uint64(32)
        key |= (flags & np.uint64(0xFF)) << np.uint64(48) | (depth & np.uint64(0xFF)) << np.uint64(56)
        heads = list(map(self.heads.__getitem__, key.tolist()))
        for i, name in self._learn(batch, records):
            heads[i] = self._head(int(key[i]), name)
        times = self._times(batch.time)
        extra = self._migration(records)
        if extra is not None:
            return [a + b + t for a, b, t in zip(heads, extra, times, strict=True)]
        return list(map(str.__add__, heads, times))

    def _head(self, key: int, comm: str = "") -> str:
        tid = key & 0xFFFFFFFF
        tid -= (tid >> 31) << 32
        cpu, flags, depth = key >> 32 & 0xFFFF, key >> 48 & 0xFF, key >> 56
        name = comm or ("<idle>" if not tid else self.context.comms.get(tid, "<...>"))
        head = f"{name:>16}-{tid:<5d} [{cpu:03d}]"
        return f"{head} {latency(flags, depth)}" if self.flags else head

    def _common(self, records: Records, name: str) -> Column:
        field = self._common_field(name)
        return records.field(field) if field else np.zeros(len(records), np.uint64)

    def _common_field(self, name: str) -> Any:
        return next((f for e in self.events[:1] for f in e.fields if f.name == name), None)

    def _migration(self, records: Records) -> list[str] | None:
        field = self._common_field("common_migrate_disable") if self.flags else None
        return [str(n) for n in records.field(field).tolist()] if field else None

    def _times(self, time: Column) -> list[str]:
        if self.ticks:
            return [f"{n:12d}:" for n in time.tolist()]
        places = 9 if self.nanoseconds else 6
        unit = np.uint64(10**places)
        if places == 6:
            time = (time + np.uint64(500)) // np.uint64(1000)
        seconds = time // unit
        rest = time - seconds * unit
        known, which = np.unique(seconds, return_inverse=True)
        wholes = [f" {n:5d}." for n in known.tolist()]
        width = max(len(w) for w in wholes)
        table = np.frombuffer("".join(w.rjust(width) for w in wholes).encode(), np.uint8).reshape(len(known), width)
        cells = np.empty((len(time), width + places + 1), np.uint8)
        cells[:, :width] = table[which]
        for at in range(places - 3, -1, -3):
            rest, digits = rest // np.uint64(1000), (rest % np.uint64(1000)).astype(np.int64)
            cells[:, width + at : width + at + 3] = _DIGITS[digits]
        cells[:, -1] = ord(":")
        text, step = cells.tobytes().decode(), width + places + 1
        strip = len({len(w) for w in wholes}) > 1
        lines = [text[i : i + step] for i in range(0, len(text), step)]
        return [f" {line.strip():>{places + 7}}" for line in lines] if strip else lines

    def _learn(self, batch: EventBatch, records: Records) -> list[tuple[int, str]]:
        """Names out of scheduler events for threads that have none; and who among this batch's events came after the
        event that named its thread: (index, name)."""
        if not self.plugins:
            return []
        comms = self.context.comms
        first: dict[int, tuple[int, str]] = {}
        for index in np.unique(batch.event).tolist():
            for pid_name, comm_name in _NAMING.get(self.events[index].name, ()):
                pid, comm = self.events[index].field(pid_name), self.events[index].field(comm_name)
                if pid is None or comm is None:
                    continue
                which = np.flatnonzero(batch.event == index)
                pids = records.number(pid.offset, 4).astype(np.uint32).view(np.int32)[which]
                tids, at = np.unique(pids, return_index=True)
                for tid, place in zip(tids.tolist(), which[at].tolist(), strict=True):
                    if tid and tid not in comms and (tid not in first or place < first[tid][0]):
                        first[tid] = (place, records.subset(np.array([place])).strings(comm)[0])
        return self._named(batch, first) if first else []

    def _named(self, batch: EventBatch, first: dict[int, tuple[int, str]]) -> list[tuple[int, str]]:
        out: list[tuple[int, str]] = []
        self.heads.clear()
        for tid, (place, name) in first.items():
            out += [(i, name) for i in np.flatnonzero(batch.tid == tid).tolist() if i > place]
            if len(self.context.comms) < 1 << 20:
                self.context.comms[tid] = name
        return out


_DIGITS = np.frombuffer("".join(f"{n:03d}" for n in range(1000)).encode(), np.uint8).reshape(1000, 3)


def latency(flags: int, depth: int) -> str:
    """The flags' five characters."""
    irqs = "d" if flags & IRQS_OFF else "X" if flags & NO_SUPPORT else "."
    within = {0: ".", HARDIRQ: "h", SOFTIRQ: "s", HARDIRQ | SOFTIRQ: "H"}[flags & (HARDIRQ | SOFTIRQ)]
    depths = "".join(f"{n:x}" if n else "." for n in (depth & 0xF, depth >> 4))
    return f"{irqs}{'N' if flags & NEED_RESCHED else '.'}{within}{depths}"


def _lost(record: LostEvents) -> str:
    number = f"{record.count} " if record.count else ""
    return f"CPU:{record.cpu} [{number}EVENTS DROPPED]"


def report(lines: Lines, batches: Iterable[EventBatch], cpus: int) -> Iterator[str]:
    """All of `trace-cmd report`, in pieces with line ends."""
    yield f"cpus={cpus}\n"
    for batch in batches:
        found = lines.lines(batch)
        if found:
            yield "\n".join(found) + "\n"
