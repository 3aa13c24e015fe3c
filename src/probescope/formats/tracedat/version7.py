r"""Version 7: sections, found through options.

    u16 id  u16 flags (1: compressed)  u32 place of its name among the strings  u64 size
    compressed: u32 packed size, u32 size, bytes; flyrecord data: at each CPU's place u32 count, then such blocks
    options: (u16 option, u32 size, bytes)... DONE, whose bytes are the u64 place of the next options, 0: no more

    BUFFER: u64 place, name\0, clock\0, u32 page size, u32 CPUs, CPUs x (u32 cpu, u64 offset, u64 size)
    BUFFER_TEXT: u64 place, name\0, clock\0

A file whose recorder was killed has no options, or none that can be found: its sections are then walked one by one.
"""

from __future__ import annotations

import io
from collections.abc import Callable

from probescope.errors import FormatError
from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracedat import container as c
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.cursor import MOST_BYTES, Cursor
from probescope.frozen import dataclass

COMPRESSED = 1
SECTION = 16
_READERS: dict[int, Callable[[Cursor, c.Contents], None]] = {
    o.HEADER_INFO: c.read_header_info,
    o.FTRACE_EVENTS: c.read_ftrace_formats,
    o.EVENT_FORMATS: c.read_event_formats,
    o.KALLSYMS: c.read_kallsyms,
    o.PRINTK: c.read_printk,
    o.CMDLINES: c.read_cmdlines,
}
_NAMES = {
    o.HEADER_INFO: "header_page",
    o.FTRACE_EVENTS: "ftrace formats",
    o.EVENT_FORMATS: "events",
    o.KALLSYMS: "kallsyms",
    o.PRINTK: "printk formats",
    o.CMDLINES: "cmdlines",
}


@dataclass(frozen=True, slots=True)
class Section:
    id: int
    flags: int
    size: int
    offset: int  # of its body


def read_version7(cursor: Cursor, contents: c.Contents, damage: Tally) -> None:
    """What cannot be read is counted; raises FormatError where that leaves no event."""
    first = cursor.u64()
    start = cursor.at
    try:
        _option_chain(cursor, contents, first)
    except FormatError as error:
        damage.add("options", f"options cannot be read: {error.what}", error.offset)
    places = {number: data for number, data in contents.options if number in _READERS and len(data) >= 8}
    walked: dict[int, Section] = {}
    if any(number not in places for number in (o.HEADER_INFO, o.EVENT_FORMATS)):
        damage.add("unfinished", "the recorder did not finish the file: its sections are read one by one", 0)
        walked = _walk(cursor, start)
    for number, read in _READERS.items():
        try:
            if number in places:
                cursor.seek(int.from_bytes(places[number][:8], "big" if contents.big else "little"))
                section = header(cursor)
                if section.id != number:
                    raise cursor.error(f"section {section.id} where section {number} should be")
            elif number in walked:
                section = walked[number]
            else:
                continue
            read(body(cursor, section, contents), contents)
        except FormatError as error:
            about = f"the section {_NAMES[number]} cannot be read: {error.what}"
            damage.add("section", about, error.offset)
    _buffers(cursor, contents, damage)
    if not contents.formats and not any(b.latency for b in contents.buffers):
        raise FormatError("no event is described", section="events")


def header(cursor: Cursor) -> Section:
    cursor.section = "section"
    number, flags, _, size = cursor.unpack("HHIQ")
    return Section(number, flags, size, cursor.at)


def body(cursor: Cursor, section: Section, contents: c.Contents) -> Cursor:
    """A cursor over what is in a section, inflated."""
    cursor.seek(section.offset)
    if not section.flags & COMPRESSED:
        return Cursor(cursor.file, cursor.size, contents.big, str(section.id))
    packed, size = cursor.unpack("II")
    if size > MOST_BYTES:
        raise cursor.error(f"a section of {size} bytes")
    if contents.decompress is None:
        raise cursor.error("a compressed section in a file without compression")
    data = contents.decompress(cursor.bytes(packed), size)
    return Cursor(io.BytesIO(data), len(data), contents.big, str(section.id))


def _option_chain(cursor: Cursor, contents: c.Contents, first: int) -> None:
    """Each of the chained option sections once."""
    seen: set[int] = set()
    place = first
    while place:
        if place in seen or len(seen) > 4096:
            raise cursor.error("options that lead back to themselves")
        seen.add(place)
        cursor.seek(place)
        section = header(cursor)
        if section.id != o.DONE:
            raise cursor.error(f"section {section.id} where options should be")
        inner = body(cursor, section, contents)
        inner.section = "options"
        place = _options(inner, contents)


def _options(inner: Cursor, contents: c.Contents) -> int:
    while True:
        number, size = inner.unpack("HI")
        data = inner.bytes(size)
        if number == o.DONE:
            return int.from_bytes(data[:8], "big" if contents.big else "little")
        if len(contents.options) >= o.MOST_OPTIONS:
            raise inner.error(f"more than {o.MOST_OPTIONS} options")
        contents.options.append((number, data))


def _walk(cursor: Cursor, start: int) -> dict[int, Section]:
    """Sections in the order of the file, the first of each kind."""
    out: dict[int, Section] = {}
    try:
        cursor.seek(start)
        for _ in range(1 << 12):
            if cursor.left < SECTION:
                break
            section = header(cursor)
            out.setdefault(section.id, section)
            cursor.seek(section.offset + section.size)
    except FormatError:
        pass
    return out


def _buffers(cursor: Cursor, contents: c.Contents, damage: Tally) -> None:
    for number, data in contents.options:
        if number not in {o.BUFFER, o.BUFFER_TEXT}:
            continue
        inner = Cursor(io.BytesIO(data), len(data), contents.big, "buffer")
        try:
            contents.buffers.append(_buffer(cursor, inner, contents, number == o.BUFFER_TEXT))
        except FormatError as error:
            damage.add("buffer", f"a buffer cannot be found: {error.what}", error.offset)
    contents.clock = next((b.clock for b in contents.buffers if not b.name), "")
    # a CPU without events may be in no buffer
    seen = [min(cpu.cpu + 1, c.MOST_CPUS) for b in contents.buffers for cpu in b.cpus]
    contents.cpus = max([min(o.cpu_count(contents.options, cursor.order), c.MOST_CPUS), *seen])


def _buffer(cursor: Cursor, inner: Cursor, contents: c.Contents, text: bool) -> c.Buffer:
    place, name, clock = inner.u64(), inner.string(), inner.string()
    cursor.seek(place)
    section = header(cursor)
    compressed = bool(section.flags & COMPRESSED)
    if text:
        data = c.CpuData(0, section.offset, min(section.size, cursor.size - section.offset))
        return c.Buffer(name, (data,), clock, contents.page_size, compressed, True)
    page_size = inner.u32()
    count = inner.count(20)
    if count > c.MOST_CPUS:
        raise inner.error(f"{count} CPUs")
    cpus = tuple(c.CpuData(*inner.unpack("IQQ")) for _ in range(count))
    return c.Buffer(name, cpus, clock, page_size, compressed)
