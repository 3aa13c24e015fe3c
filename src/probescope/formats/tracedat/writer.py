r"""trace.dat written, versions 6 and 7, from raw pages of ring buffers: as trace-cmd reads it.

    with open("trace.dat", "wb") as file:
        write_tracedat(file, Head(version=7, compression="zstd", formats=...), [Pages("", {0: pages, 1: pages})])

Pages are written as they come (whole ones, as trace_pipe_raw gives them), so what is recorded is never held in memory.
Source of the layout: see ``version6`` and ``version7``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import BinaryIO

from probescope.errors import UsageError
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.container import MAGIC
from probescope.formats.zstd import zstd
from probescope.frozen import dataclass, field

CHUNK_PAGES = 16
SECTION = "HHIQ"
#: Clocks of nanoseconds that trace-cmd takes for counts where a file names them.
_UNKNOWN_CLOCKS = {"boot"}


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the events. ``formats``: system -> texts of its events, ``ftrace`` for ftrace's own.
    ``options``: (number, bytes); those that say where things are, are made here. ``clock``: its name."""

    version: int = 7
    big: bool = False
    long_size: int = 8
    page_size: int = 4096
    compression: str = "zstd"
    header_page: str = ""
    header_event: str = ""
    formats: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kallsyms: bytes = b""
    printk: bytes = b""
    cmdlines: bytes = b""
    clock: str = "local"
    options: tuple[tuple[int, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Pages:
    """A buffer's data: of each CPU, pieces of whole pages. The top buffer, which has no name, comes first."""

    name: str
    cpus: Mapping[int, Iterable[bytes]]


def write_tracedat(file: BinaryIO, head: Head, buffers: list[Pages]) -> None:
    """``file`` must be seekable, and at its start. Raises UsageError where the head cannot be written."""
    if head.version not in {6, 7} or head.compression not in _PACKERS:
        raise UsageError(f"trace.dat of version {head.version}, compressed by {head.compression!r}, cannot be written")
    if not buffers or buffers[0].name:
        raise UsageError("a trace.dat without a top buffer cannot be written")
    (_Version7 if head.version == 7 else _Version6)(file, head).write(buffers)


def _zlib(data: bytes) -> bytes:
    return zlib.compress(data, 6)


def _zstd(data: bytes) -> bytes:
    return bytes(zstd().compress(data, 3))


_PACKERS: dict[str, Callable[[bytes], bytes] | None] = {"none": None, "zlib": _zlib, "zstd": _zstd}


def _raw(text: str) -> bytes:
    """Bytes that were no UTF-8 when they were read are what they were."""
    return text.encode("utf-8", "surrogateescape")


class _Writer:
    def __init__(self, file: BinaryIO, head: Head) -> None:
        self.file, self.head = file, head
        self.order = ">" if head.big else "<"

    def pack(self, layout: str, *values: int) -> bytes:
        return struct.pack(self.order + layout, *values)

    def start(self) -> None:
        h = self.head
        self.file.write(
            MAGIC + str(h.version).encode() + b"\0" + bytes([h.big, h.long_size]) + self.pack("I", h.page_size)
        )

    # --- bodies, the same in both versions ---

    def header_info(self) -> bytes:
        page, event = map(_raw, (self.head.header_page, self.head.header_event))
        return b"header_page\0" + self.sized(page) + b"header_event\0" + self.sized(event)

    def sized(self, data: bytes) -> bytes:
        return self.pack("Q", len(data)) + data

    def ftrace_formats(self) -> bytes:
        texts = self.head.formats.get("ftrace", ())
        return self.pack("I", len(texts)) + b"".join(self.sized(_raw(text)) for text in texts)

    def event_formats(self) -> bytes:
        systems = [(name, texts) for name, texts in self.head.formats.items() if name != "ftrace"]
        out = self.pack("I", len(systems))
        for name, texts in systems:
            out += _raw(name) + b"\0" + self.pack("I", len(texts))
            out += b"".join(self.sized(_raw(text)) for text in texts)
        return out

    def long_text(self, data: bytes) -> bytes:
        return self.pack("I", len(data)) + data

    # --- pages ---

    def align(self) -> int:
        """The place of the next page's beginning, as trace-cmd maps pages."""
        at = self.file.tell()
        self.file.write(bytes(-at % self.head.page_size))
        return self.file.tell()

    def pages(self, pieces: Iterable[bytes]) -> tuple[int, int]:
        at = self.align()
        for piece in pieces:
            self.file.write(piece)
        return at, self.file.tell() - at


class _Version6(_Writer):
    """Where pages are stands before them: the places are filled in afterwards."""

    def write(self, buffers: list[Pages]) -> None:
        h = self.head
        self.start()
        for body in (self.header_info(), self.ftrace_formats(), self.event_formats()):
            self.file.write(body)
        self.file.write(self.long_text(h.kallsyms) + self.long_text(h.printk) + self.sized(h.cmdlines))
        cpus = max([n + 1 for b in buffers for n in b.cpus], default=1)
        self.file.write(self.pack("I", cpus) + b"options  \0")
        for number, data in h.options:
            self.file.write(self.pack("HI", number, len(data)) + data)
        clock = _raw(f"[{h.clock}]")
        self.file.write(self.pack("HI", o.TRACECLOCK, len(clock) + 1) + clock + b"\0")
        instances = [self._instance(b.name) for b in buffers[1:]]
        self.file.write(self.pack("H", o.DONE))
        table = self._table(cpus)
        self.file.write(self.sized(clock))
        for i, buffer in enumerate(buffers):
            if i:
                self._fill(instances[i - 1], self.pack("Q", self.file.tell()))
                table = self._table(cpus)
            for cpu, pieces in buffer.cpus.items():
                self._fill(table + 16 * cpu, self.pack("QQ", *self.pages(pieces)))

    def _instance(self, name: str) -> int:
        data = _raw(name) + b"\0"
        self.file.write(self.pack("HI", o.BUFFER, 8 + len(data)))
        at = self.file.tell()
        self.file.write(bytes(8) + data)
        return at

    def _table(self, cpus: int) -> int:
        self.file.write(b"flyrecord\0")
        at = self.file.tell()
        self.file.write(bytes(16 * cpus))
        return at

    def _fill(self, at: int, data: bytes) -> None:
        end = self.file.tell()
        self.file.seek(at)
        self.file.write(data)
        self.file.seek(end)


class _Version7(_Writer):
    """Sections, and options that say where they are."""

    def write(self, buffers: list[Pages]) -> None:
        h = self.head
        self.packer = _PACKERS[h.compression]
        self.start()
        version = {"none": "", "zlib": zlib.ZLIB_VERSION, "zstd": "1.5.4"}[h.compression]
        self.file.write(h.compression.encode() + b"\0" + version.encode() + b"\0")
        first = self.file.tell()
        self.file.write(bytes(8))
        bodies = (
            (o.HEADER_INFO, self.header_info()),
            (o.FTRACE_EVENTS, self.ftrace_formats()),
            (o.EVENT_FORMATS, self.event_formats()),
            (o.KALLSYMS, self.long_text(h.kallsyms)),
            (o.PRINTK, self.long_text(h.printk)),
            (o.CMDLINES, self.sized(h.cmdlines)),
        )
        places = [(number, self.pack("Q", self.section(number, body))) for number, body in bodies]
        places += [(o.BUFFER, self.buffer(b)) for b in buffers]
        clock = [(o.TRACECLOCK, _raw(f"[{h.clock}]") + b"\0")] if h.clock not in _UNKNOWN_CLOCKS else []
        listed = [*h.options, *places, *clock, (o.DONE, bytes(8))]
        # as they are: trace-cmd dump goes from a buffer's option to its section while it reads them
        at = self.section(o.DONE, b"".join(self.pack("HI", n, len(d)) + d for n, d in listed), packed=False)
        self.section(o.STRINGS, b"\0", packed=False)
        self.file.seek(first)
        self.file.write(self.pack("Q", at))
        self.file.seek(0, 2)

    def section(self, number: int, body: bytes, packed: bool = True) -> int:
        """Its place."""
        at = self.file.tell()
        packs = packed and self.packer is not None
        if packs and self.packer is not None:
            small = self.packer(body)
            body = self.pack("II", len(small), len(body)) + small
        self.file.write(self.pack(SECTION, number, int(packs), 0, len(body)) + body)
        return at

    def buffer(self, buffer: Pages) -> bytes:
        """Writes the pages; the option that says where."""
        at = self.file.tell()
        self.file.write(self.pack(SECTION, o.BUFFER, int(self.packer is not None), 0, 0))
        begin = self.file.tell()
        cpus = [(cpu, *(self.chunks(p) if self.packer else self.pages(p))) for cpu, p in buffer.cpus.items()]
        end = self.file.tell()
        self.file.seek(begin - 8)
        self.file.write(self.pack("Q", end - begin))
        self.file.seek(end)
        data = self.pack("Q", at) + _raw(buffer.name) + b"\0" + _raw(self.head.clock) + b"\0"
        data += self.pack("II", self.head.page_size, len(cpus))
        return data + b"".join(self.pack("IQQ", *cpu) for cpu in cpus)

    def chunks(self, pieces: Iterable[bytes]) -> tuple[int, int]:
        """Compressed pages: their place, and their size without the count before them, as trace-cmd tells it."""
        at, count, held = self.align(), 0, b""
        self.file.write(bytes(4))
        want = CHUNK_PAGES * self.head.page_size
        for piece in pieces:
            held += piece
            while len(held) >= want:
                self.chunk(held[:want])
                held, count = held[want:], count + 1
        if held:
            self.chunk(held)
            count += 1
        end = self.file.tell()
        self.file.seek(at)
        self.file.write(self.pack("I", count))
        self.file.seek(end)
        return at, end - at - 4 if count else 0

    def chunk(self, data: bytes) -> None:
        assert self.packer is not None
        small = self.packer(data)
        self.file.write(self.pack("II", len(small), len(data)) + small)
