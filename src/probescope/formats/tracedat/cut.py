"""Some events of a trace.dat as a trace.dat of the same version, compression and byte order.

Times are written as they were read: in nanoseconds, corrected; so what corrects them is left out. Pages of each CPU
wait in temporary files, since one CPU is written after the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import numpy as np

from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.encode import pages
from probescope.formats.tracedat.writer import Head, Pages, write_tracedat
from probescope.model.recording import EventBatch, LostEvents

if TYPE_CHECKING:
    from probescope.formats.tracedat.reader import TraceDat

    Column = np.ndarray[Any, Any]

PIECE = 1 << 20
MOST_CPUS = 1 << 13
KEPT = (o.UNAME, o.VERSION)
#: What events/header_event of every kernel says.
HEADER_EVENT = """# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""


class TraceCut:
    """``add`` batches in order of time, then ``write``. ``count``: events so far."""

    def __init__(self, recording: TraceDat) -> None:
        self._recording = recording
        self._names = [b.name for b in recording.buffers]
        self._layouts = [recording._layout(b) for b in recording.buffers]
        self._files: dict[tuple[int, int], BinaryIO] = {}
        self._stack = ExitStack()
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, batch: EventBatch, which: Column) -> None:
        """``which``: ascending indices of the wanted events. Losses are kept where an event of their CPU follows."""
        buffers = batch.numbers.get("buffer")
        raw = batch.raw
        if raw is None or not len(which):
            return
        cpus = batch.cpu[which].astype(np.int64)
        keys = cpus if buffers is None else buffers[which].astype(np.int64) << 32 | cpus
        losses = list(_losses(batch, buffers))
        for key in np.unique(keys).tolist():
            buffer, cpu = key >> 32, key & 0xFFFFFFFF
            mine = which[keys == key]
            layout = self._layouts[buffer]
            if layout is None:
                continue
            lost = [(int(np.searchsorted(mine, at)), count) for at, key_of, count in losses if key_of == key]
            file = self._file(buffer, cpu)
            for page in pages(raw, mine, batch.time[mine], layout, lost):
                file.write(page)
            self.count += len(mine)

    def _file(self, buffer: int, cpu: int) -> BinaryIO:
        found = self._files.get((buffer, cpu))
        if found is None:
            found = cast("BinaryIO", self._stack.enter_context(_temporary()))
            self._files[buffer, cpu] = found
        return found

    def write(self, file: BinaryIO) -> None:
        """``file`` must be seekable, and at its start."""
        buffers = []
        for i, name in enumerate(self._names):
            # CPUs without events too: readers count them
            cpus: dict[int, Iterable[bytes]] = {c.cpu: () for c in self._recording.buffers[i].cpus[:MOST_CPUS]}
            cpus |= {cpu: _pieces(f) for (b, cpu), f in sorted(self._files.items()) if b == i}
            buffers.append(Pages(name, dict(sorted(cpus.items()))))
        write_tracedat(file, self._head(), buffers)

    def _head(self) -> Head:
        c = self._recording.contents
        formats: dict[str, list[str]] = {}
        for system, text in c.formats:
            formats.setdefault(system, []).append(text)
        return Head(
            version=c.version if c.version in {6, 7} else 7,
            big=c.big,
            long_size=c.long_size,
            page_size=c.page_size,
            compression=c.compression if c.version >= 7 else "none",
            header_page=c.header_page,
            header_event=HEADER_EVENT,
            formats={system: tuple(texts) for system, texts in formats.items()},
            kallsyms=_bytes(c.kallsyms),
            printk=_bytes(c.printk),
            cmdlines=_bytes(c.cmdlines),
            clock=c.clock or "local",
            options=tuple((n, d) for n, d in c.options if n in KEPT),
        )


def _losses(batch: EventBatch, buffers: Column | None) -> Iterator[tuple[int, int, int]]:
    """(index of the event after, buffer and CPU, how many). The event after is of the same buffer."""
    for at, record in batch.between:
        if isinstance(record, LostEvents) and at < batch.count and int(batch.cpu[at]) == record.cpu:
            buffer = 0 if buffers is None else int(buffers[at])
            yield at, buffer << 32 | record.cpu, record.count


def _temporary() -> Any:
    return tempfile.TemporaryFile(prefix="probescope-")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece
