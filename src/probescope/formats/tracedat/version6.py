r"""Version 6: everything one after another.

header pages, ftrace formats, event formats, kallsyms, printk formats, cmdlines
u32 CPUs
"options  \0"  (u16 option, u32 size, bytes)... u16 0       may be missing
"flyrecord\0"  CPUs x (u64 offset, u64 size)  [u64 size, text of trace_clock]
"latency  \0"  text up to the end of the file
pages, at their offsets; instances: an option says where their own "flyrecord\0" is
"""

from __future__ import annotations

import struct

from probescope.errors import FormatError
from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.container import (
    MOST_CPUS,
    Buffer,
    Contents,
    CpuData,
    read_cmdlines,
    read_event_formats,
    read_ftrace_formats,
    read_header_info,
    read_kallsyms,
    read_printk,
)
from probescope.formats.tracedat.cursor import Cursor


def read_version6(cursor: Cursor, contents: Contents, damage: Tally) -> None:
    """Raises FormatError where the formats of events cannot be read; what is broken after them costs itself."""
    read_header_info(cursor, contents)
    read_ftrace_formats(cursor, contents)
    read_event_formats(cursor, contents)
    try:
        read_kallsyms(cursor, contents)
        read_printk(cursor, contents)
        read_cmdlines(cursor, contents)
        cursor.section = "cpus"
        contents.cpus = cursor.u32()
        _data(cursor, contents, "", damage)
    except FormatError as error:
        damage.add("cut", f"the file cannot be read beyond {error.where}: {error.what}", error.offset)
        return
    for number, data in list(contents.options):
        if number == o.BUFFER and len(data) > 8:
            _instance(cursor, contents, data, damage)


def _instance(cursor: Cursor, contents: Contents, data: bytes, damage: Tally) -> None:
    offset = struct.unpack_from(cursor.order + "Q", data)[0]
    name = data[8:].split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
    try:
        cursor.section = f"instance {name}"
        cursor.seek(offset)
        _data(cursor, contents, name, damage)
    except FormatError as error:
        damage.add("instance", f"the instance {name} cannot be read: {error.what}", error.offset)


def _data(cursor: Cursor, contents: Contents, name: str, damage: Tally) -> None:
    kind = cursor.bytes(10)
    options: list[tuple[int, bytes]] = []
    if kind.startswith(b"options"):
        options = _options(cursor)
        kind = cursor.bytes(10)
    if not name:
        contents.options = options
        contents.cpus = max(contents.cpus, o.cpu_count(options, cursor.order))
    if kind.startswith(b"latency"):
        rest = CpuData(0, cursor.at, cursor.left)
        contents.buffers.append(Buffer(name, (rest,), page_size=contents.page_size, latency=True))
        return
    if not kind.startswith(b"flyrecord"):
        raise cursor.error(f"neither flyrecord nor latency: {kind!r}")
    if contents.cpus > MOST_CPUS:
        raise cursor.error(f"{contents.cpus} CPUs")
    table = cursor.unpack(f"{2 * contents.cpus}Q")
    cpus = tuple(CpuData(i, table[2 * i], table[2 * i + 1]) for i in range(contents.cpus))
    clock = ""
    if not name and any(number == o.TRACECLOCK for number, _ in options):
        try:
            clock = o.chosen_clock(cursor.sized(cursor.u64()))
        except FormatError:
            damage.add("clock", "the name of the clock cannot be read", cursor.at)
        contents.clock = clock
    contents.buffers.append(Buffer(name, cpus, clock, contents.page_size))


def _options(cursor: Cursor) -> list[tuple[int, bytes]]:
    out: list[tuple[int, bytes]] = []
    cursor.section = "options"
    while (number := cursor.u16()) != o.DONE:
        if len(out) >= o.MOST_OPTIONS:
            raise cursor.error(f"more than {o.MOST_OPTIONS} options")
        out.append((number, cursor.bytes(cursor.u32())))
    return out
