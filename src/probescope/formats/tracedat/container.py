r"""The outside of trace.dat: what both versions share.

    17 08 44 "tracing" "6\0"  u8 big-endian  u8 long size  u32 page size
    version 7 goes on: "zstd\0" "1.5.4\0"  u64 place of the first options

Source: trace-cmd's Documentation/trace-cmd/trace-cmd.dat.v6.5.txt and trace-cmd.dat.v7.5.txt.
"""

from __future__ import annotations

from typing import BinaryIO

from probescope.errors import FormatError
from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracedat.compression import Decompress, decompressor
from probescope.formats.tracedat.cursor import Cursor
from probescope.frozen import dataclass, field

MAGIC = b"\x17\x08\x44tracing"
MOST_FORMATS = 1 << 16
MOST_CPUS = 1 << 16
#: Sections whose loss costs all events.
NEEDED = {"header_page", "events"}


@dataclass(frozen=True, slots=True)
class CpuData:
    """Where a CPU's pages are. ``compressed``: as chunks."""

    cpu: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A ring buffer: the top one (no name) or an instance. ``latency``: text of a latency tracer, in ``cpus[0]``."""

    name: str
    cpus: tuple[CpuData, ...]
    clock: str = ""
    page_size: int = 4096
    compressed: bool = False
    latency: bool = False


@dataclass(slots=True)
class Contents:
    """Filled while the file is read. ``formats``: (system, text) of each event; ``options``: (number, bytes), in
    order."""

    version: int
    big: bool
    long_size: int
    page_size: int
    compression: str = "none"
    decompress: Decompress | None = None
    header_page: str = ""
    formats: list[tuple[str, str]] = field(default_factory=list)
    kallsyms: str = ""
    printk: str = ""
    cmdlines: str = ""
    cpus: int = 0
    clock: str = ""
    options: list[tuple[int, bytes]] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)


def read_contents(file: BinaryIO, name: str, size: int, damage: Tally) -> Contents:
    """Everything but the events themselves. Raises FormatError where nothing can be made of the file."""
    from probescope.formats.tracedat.version6 import read_version6
    from probescope.formats.tracedat.version7 import read_version7

    cursor = Cursor(file, size, section="header")
    try:
        contents = _header(cursor)
        if contents.version >= 7:
            read_version7(cursor, contents, damage)
        else:
            read_version6(cursor, contents, damage)
    except FormatError as error:
        raise FormatError(error.what, file=name, section=error.section, offset=error.offset) from None
    return contents


def _header(cursor: Cursor) -> Contents:
    start = cursor.file.read(len(MAGIC))
    if start != MAGIC:
        raise FormatError("this is no trace.dat: it begins with " + repr(start.decode("latin-1")), offset=0)
    version = cursor.string()
    if not version.isdecimal() or int(version[:4]) not in {6, 7}:
        raise cursor.error(f"version {version[:16]!r} of trace.dat is not known here; 6 and 7 are")
    big, long_size = cursor.unpack("BB")
    cursor.order = ">" if big else "<"
    page_size = cursor.u32()
    if long_size not in {4, 8}:
        raise cursor.error(f"longs of {long_size} bytes")
    contents = Contents(int(version), bool(big), long_size, page_size)
    if contents.version >= 7:
        contents.compression = cursor.string()
        cursor.string()
        contents.decompress = decompressor(contents.compression)
    return contents


# --- sections that both versions have, the same inside ---


def read_header_info(cursor: Cursor, contents: Contents) -> None:
    cursor.section = "header_page"
    for name in (b"header_page\0", b"header_event\0"):
        if cursor.bytes(len(name)) != name:
            raise cursor.error(f"no {name[:-1].decode()} where it should be")
        text = cursor.sized(cursor.u64())
        if name.startswith(b"header_page"):
            contents.header_page = text


def read_ftrace_formats(cursor: Cursor, contents: Contents) -> None:
    cursor.section = "ftrace formats"
    for _ in range(cursor.count(8)):
        contents.formats.append(("ftrace", cursor.sized(cursor.u64())))


def read_event_formats(cursor: Cursor, contents: Contents) -> None:
    cursor.section = "events"
    for _ in range(cursor.count(5)):
        system = cursor.string()
        for _ in range(cursor.count(8)):
            if len(contents.formats) >= MOST_FORMATS:
                raise cursor.error(f"more than {MOST_FORMATS} events")
            contents.formats.append((system, cursor.sized(cursor.u64())))


def read_kallsyms(cursor: Cursor, contents: Contents) -> None:
    cursor.section = "kallsyms"
    contents.kallsyms = cursor.sized(cursor.u32())


def read_printk(cursor: Cursor, contents: Contents) -> None:
    cursor.section = "printk formats"
    contents.printk = cursor.sized(cursor.u32())


def read_cmdlines(cursor: Cursor, contents: Contents) -> None:
    cursor.section = "cmdlines"
    contents.cmdlines = cursor.sized(cursor.u64())
