"""Recordings cut down to some of their events, as perf.data."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, BinaryIO

from probescope.formats.perfdata.cut import NO_NAME, Cut, Samples
from probescope.model.recording import EventBatch
from probescope.views.export.selection import Selection

if TYPE_CHECKING:
    import numpy as np

    from probescope.views.export.source import PerfSource, Piece, TraceSource

    Column = np.ndarray[Any, Any]


def cut_perfdata(source: PerfSource, file: BinaryIO) -> int:
    """The number of samples that are left. ``file`` must be seekable."""
    import numpy as np

    names = _Names(source) if source.selection.comms else None
    sieve = source.sieve

    def keep(s: Samples) -> Column:
        count = len(s.time)
        batch = EventBatch(count, s.event, s.time, s.cpu, s.pid, s.tid, np.zeros(count, np.uint64))
        of_each = names.of(s) if names is not None else np.full(count, -1, np.int32)
        mask = np.zeros(count, np.bool_)
        mask[sieve.which(batch, of_each, source.names)] = True
        return mask

    return Cut(source.recording, file, keep).write()


class _Names:
    """Threads' names over time, from a walk through all events: records do not carry them."""

    def __init__(self, source: PerfSource) -> None:
        import numpy as np

        self._times: dict[int, list[int]] = {}
        self._names: dict[int, list[int]] = {}
        for piece in source.pieces():
            b = piece.batch
            keys = b.tid.astype(np.int64) << 32 | piece.names
            _, first = np.unique(keys, return_index=True)
            for i in np.sort(first).tolist():
                self._add(int(b.tid[i]), int(piece.names[i]), int(b.time[i]))

    def _add(self, tid: int, name: int, time: int) -> None:
        names = self._names.setdefault(tid, [])
        if not names or names[-1] != name:
            names.append(name)
            self._times.setdefault(tid, []).append(time)

    def of(self, s: Samples) -> Column:
        import numpy as np

        out = np.full(len(s.time), -1, np.int32)
        for tid in np.unique(s.tid).tolist():
            times = self._times.get(tid)
            mine = np.flatnonzero(s.tid == tid)
            if times:
                at = [max(bisect_right(times, t) - 1, 0) for t in s.time[mine].tolist()] if len(times) > 1 else 0
                out[mine] = np.array(self._names[tid], np.int32)[at]
        return out


def traced_perfdata(source: TraceSource, file: BinaryIO) -> int:
    """A trace.dat as perf.data. The number of events; raises FormatError where some are too large to be written."""
    import numpy as np

    from probescope.errors import FormatError
    from probescope.formats.perfdata.traced import TracedWriter

    kinds = _present(source)
    contents = source.trace.contents
    writer = TracedWriter(file, source.events, kinds, big=contents.big)
    for tid, name in source.trace.comms.items():
        writer.thread(tid, name)
    for piece in source.pieces():
        writer.batch(piece.batch, piece.which[np.isin(piece.batch.event[piece.which], kinds)])
    writer.finish(_features(source), _tracing(source, kinds))
    if writer.skipped:
        raise FormatError(
            f"{writer.skipped} records are larger than 64 KiB, which perf.data cannot hold", file=source.name
        )
    return writer.count


def cut_tracedat(source: TraceSource, file: BinaryIO) -> int:
    """Some events of a trace.dat as a trace.dat, with the stacks that are theirs. The number of events that are no
    stacks."""
    from probescope.formats.tracedat.cut import TraceCut

    count = 0
    kept: dict[int, bool] = {}
    with TraceCut(source.trace) as cut:
        for piece in source.pieces():
            count += len(piece.which)
            cut.add(piece.batch, _with_stacks(source, piece, kept))
        cut.write(file)
    return count


def _with_stacks(source: TraceSource, piece: Piece, kept: dict[int, bool]) -> Column:
    """The wanted events, and the stacks that follow them on their CPU. ``kept``: of each CPU, whether its last event of
    the piece before was; before the first one, a stack whose event was lost is kept where all events are."""
    import numpy as np

    batch = piece.batch
    mask = np.zeros(batch.count, np.bool_)
    mask[piece.which] = True
    stacks = source.stacks.which(batch)
    for cpu in np.unique(batch.cpu).tolist():
        mine = np.flatnonzero(batch.cpu == cpu)
        owner = np.maximum.accumulate(np.where(stacks[mine], -1, np.arange(len(mine))))
        before = kept.get(cpu, source.selection == Selection())
        mask[mine] = np.where(owner >= 0, mask[mine][np.maximum(owner, 0)], before)
        kept[cpu] = bool(mask[mine[-1]])
    return np.flatnonzero(mask)


def _present(source: TraceSource) -> list[int]:
    """The wanted kinds that there are events of; perf.data lists them before the first one."""
    import numpy as np

    from probescope.formats.tracedat.reader import UNKNOWN

    found: set[int] = set()
    for batch in source.trace.batches():
        found.update(np.unique(batch.event).tolist())
    known = {i for i, e in enumerate(source.events) if e.name != UNKNOWN}
    return sorted(found & known & set(source.kinds))


def _features(source: TraceSource) -> dict[str, Any]:
    m = source.machine
    texts = {"HOSTNAME": m.hostname or NO_NAME, "OSRELEASE": m.release, "ARCH": m.arch}
    out: dict[str, Any] = {name: text for name, text in texts.items() if text}
    return out | ({"NRCPUS": (m.cpus, m.cpus)} if m.cpus else {})


def _tracing(source: TraceSource, kinds: list[int]) -> bytes:
    from probescope.formats.perfdata.tracing_write import encode_tracing_data

    c = source.trace.contents
    wanted = {source.events[k].id for k in kinds}
    formats: dict[str, list[bytes]] = {}
    for system, text in c.formats:
        if _id(text) in wanted:
            formats.setdefault(system, []).append(_bytes(text))
    return encode_tracing_data(
        formats,
        big=c.big,
        long_size=source.trace.long_size,
        page_size=c.page_size,
        header_page=_bytes(c.header_page),
        kallsyms=_bytes(c.kallsyms),
        printk=_bytes(c.printk),
        commands=_bytes(c.cmdlines),
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _id(text: str) -> int:
    found = re.search(r"^ID:\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0
