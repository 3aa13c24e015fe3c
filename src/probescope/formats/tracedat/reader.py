"""A recording of trace-cmd, opened: ``TraceDat``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Self

import numpy as np

from probescope.errors import FormatError
from probescope.formats.perfdata.damage import Tally
from probescope.formats.piped import open_again
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.batching import Batching, page_fields, page_layout
from probescope.formats.tracedat.container import Buffer, Contents, read_contents
from probescope.formats.tracedat.merge import merged
from probescope.formats.tracedat.pages import PageReader
from probescope.formats.tracedat.ring import Block, Layout, decode
from probescope.formats.tracedat.times import corrected
from probescope.formats.tracing.event_format import parse_event_format
from probescope.formats.tracing.symbols import Context, PrintkFormats, Symbols
from probescope.model.recording import Damage, EventBatch, EventType, Machine

if TYPE_CHECKING:
    from probescope.formats.tracedat.container import CpuData

PAGES_IN_HAND = 512  # of all CPUs together, of 4 KiB: 2 MiB, with the columns of their events in the processor's caches
MOST_COMMS = 1 << 20
UNKNOWN = "unknown"
_COMM = re.compile(r"^\s*(\d{1,10}) (.{0,256})$", re.MULTILINE)


def open_tracedat(source: str | BinaryIO) -> TraceDat:
    """Raises OSError where a path cannot be opened, FormatError where it is no trace.dat. A file that was opened by the
    caller stays the caller's to close."""
    if not isinstance(source, str):
        return TraceDat(source, getattr(source, "name", ""), owned=False)
    file = open_again(source)  # the recording holds it
    try:
        return TraceDat(file, source, owned=True)
    except BaseException:
        file.close()
        raise


class TraceDat:
    """Satisfies ``model.recording.Recording``. ``comms``: names of threads by id, as of the recording's end;
    ``buffers``: the top one and instances, whose index is the column ``numbers["buffer"]`` of batches where there are
    several."""

    def __init__(self, file: BinaryIO, name: str, owned: bool) -> None:
        self._file, self._owned = file, owned
        self._size = file.seek(0, os.SEEK_END)
        file.seek(0)
        self.name = str(name)
        self._opening = Tally()
        self.contents: Contents = read_contents(file, self.name, self._size, self._opening)
        self._reading = Tally()
        self._page = page_fields(self.contents.header_page)
        self.events = _events(self.contents, self._opening)
        self.comms = {int(pid): comm for pid, comm in _COMM.findall(self.contents.cmdlines)[:MOST_COMMS]}
        self.symbols = Symbols(self.contents.kallsyms)
        self.printk = PrintkFormats(self.contents.printk)
        self.times = o.times_of(self.contents.options, ">" if self.contents.big else "<")
        self.machine = self._machine()

    # --- what is in it ---

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(self.contents.buffers)

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self._opening.listed() + self._reading.listed()

    @property
    def clock(self) -> str:
        return self.contents.clock

    def option(self, number: int) -> list[bytes]:
        """The bytes of all options of a kind, see ``options``."""
        return [data for kind, data in self.contents.options if kind == number]

    @property
    def unused(self) -> dict[str, int]:
        """Options of which nothing is made here, by name, and how many there are: BTF, modules, hooks and the like;
        ``option 99`` of a newer trace-cmd."""
        found: dict[str, int] = {}
        for number, _ in self.contents.options:
            if number not in o.USED:
                name = o.NAMES.get(number, f"option {number}")
                found[name] = found.get(name, 0) + 1
        return found

    def context(self) -> Context:
        """What text of its events needs."""
        return Context(self.contents.big, self.long_size, self.symbols, self.printk, dict(self.comms))

    @property
    def long_size(self) -> int:
        """Bytes of the kernel's longs, which may be more than those of the recording program."""
        size = self._page.get("commit", (0, self.contents.long_size))[1]
        return size if size in {4, 8} else self.contents.long_size

    def _machine(self) -> Machine:
        c = self.contents
        uname = o.text((self.option(o.UNAME) or [b""])[-1]).split()
        version = o.text((self.option(o.VERSION) or [b""])[-1])
        known = len(uname) >= 4
        return Machine(
            arch=uname[-1] if known else "",
            release=uname[2] if known else "",
            hostname=uname[1] if known else "",
            cpus=c.cpus,
            big_endian=c.big,
            long_size=self.long_size,
            page_size=c.page_size,
            clock=c.clock,
            recorder=f"trace-cmd {version}".strip(),
        )

    # --- events ---

    def batches(self) -> Iterator[EventBatch]:
        self._reading = Tally()
        sources = [(i, b, cpu) for i, b in enumerate(self.buffers) if not b.latency for cpu in b.cpus if cpu.size]
        streams = [self._blocks(buffer, cpu, len(sources)) for _, buffer, cpu in sources]
        cpus = np.array([min(cpu.cpu, (1 << 31) - 1) for _, _, cpu in sources] or [0], np.int32)
        buffers = np.array([i for i, _, _ in sources] or [0], np.int32)
        batching = Batching(self.events, self.contents.big, self.long_size, self._reading)
        for round_ in merged(streams):
            if len(round_.time) or round_.lost:
                yield batching.batch(round_, cpus, buffers if len(self.contents.buffers) > 1 else None)

    def _blocks(self, buffer: Buffer, cpu: CpuData, streams: int) -> Iterator[Block]:
        layout = self._layout(buffer)
        if layout is None:
            return
        c = self.contents
        reader = PageReader(self._file, self._size, c.big, c.decompress, self._reading)
        in_hand = max(1, PAGES_IN_HAND * 4096 // buffer.page_size)
        pages = max(1, min(in_hand // max(1, streams), in_hand // 2))
        for data in reader.blocks(buffer, cpu, max(pages, min(16, in_hand))):
            block = decode(data, layout, self._reading)
            time = corrected(block.time, cpu.cpu, self.times)
            yield Block(block.values, block.start, block.size, time, block.lost)

    def _layout(self, buffer: Buffer) -> Layout | None:
        found = page_layout(self._page, self.contents.big, self.contents.long_size, buffer.page_size)
        if found is None:
            about = f"pages of {buffer.page_size} bytes with parts at {self._page}: such cannot be read"
            self._reading.add("layout", about, count=1)
        return found

    def latency(self) -> Iterator[str]:
        """The text of a latency tracer, where the recording is one: line by line, ends included."""
        reader = PageReader(self._file, self._size, self.contents.big, self.contents.decompress, self._reading)
        for buffer in self.buffers:
            if buffer.latency:
                held = ""
                for piece in reader.pieces(buffer, buffer.cpus[0]):
                    lines = (held + piece.decode("utf-8", "surrogateescape")).splitlines(keepends=True)
                    held = lines.pop() if lines and not lines[-1].endswith("\n") and len(lines[-1]) < 1 << 16 else ""
                    yield from lines
                if held:
                    yield held

    def close(self) -> None:
        if self._owned:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _events(contents: Contents, damage: Tally) -> tuple[EventType, ...]:
    """Each number once; the last one is for events of no known kind."""
    out: dict[int, EventType] = {}
    for system, text in contents.formats:
        try:
            event = parse_event_format(text, system)
        except FormatError:
            damage.add("format", "the description of an event cannot be read")
            continue
        out.setdefault(event.id, event)
    return (*out.values(), EventType(UNKNOWN))
