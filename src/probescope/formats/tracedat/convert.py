"""A trace.dat of another version, or otherwise compressed: the same pages, the same options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

from probescope.errors import FormatError
from probescope.formats.tracedat import options as o
from probescope.formats.tracedat.cut import HEADER_EVENT
from probescope.formats.tracedat.pages import PageReader
from probescope.formats.tracedat.writer import Head, Pages, write_tracedat

if TYPE_CHECKING:
    from probescope.formats.tracedat.container import Contents
    from probescope.formats.tracedat.reader import TraceDat

#: They say where things are in the file, or are written anew.
_PLACES = {o.DONE, o.BUFFER, o.TRACECLOCK, o.STRINGS, o.BUFFER_TEXT, *range(o.HEADER_INFO, o.CMDLINES + 1)}


def convert(recording: TraceDat, file: BinaryIO, version: int, compression: str) -> None:
    """``file`` must be seekable, and at its start. What of the recording cannot be read is in its ``damage``
    afterwards. Raises FormatError for a recording that has no pages."""
    c = recording.contents
    sizes = {b.page_size for b in recording.buffers}
    if any(b.latency for b in recording.buffers) or len(sizes) > 1:
        what = "text of a latency tracer" if len(sizes) < 2 else "buffers with pages of several sizes"
        raise FormatError(f"{what} cannot be converted", file=recording.name, section="buffer")
    if not recording.buffers or not any(b.cpus for b in recording.buffers):
        raise FormatError("it has no pages to convert", file=recording.name, section="buffer")
    reader = PageReader(recording._file, recording._size, c.big, c.decompress, recording._reading)
    buffers = [Pages(b.name, {cpu.cpu: reader.pieces(b, cpu) for cpu in b.cpus}) for b in recording.buffers]
    if buffers[0].name:
        buffers.insert(0, Pages("", dict.fromkeys(buffers[0].cpus, ())))
    kept = tuple((number, data) for number, data in c.options if number not in _PLACES)
    write_tracedat(file, head_of(c, version, compression, kept, sizes.pop()), buffers)


def head_of(
    c: Contents, version: int, compression: str, kept: tuple[tuple[int, bytes], ...], page_size: int = 0
) -> Head:
    """What stands before the events of a recording."""
    return Head(
        version=version,
        big=c.big,
        long_size=c.long_size,
        page_size=page_size or c.page_size,
        compression=compression,
        header_page=c.header_page,
        header_event=HEADER_EVENT,
        formats=_formats(c),
        kallsyms=_bytes(c.kallsyms),
        printk=_bytes(c.printk),
        cmdlines=_bytes(c.cmdlines),
        clock=c.clock or "local",
        options=kept,
    )


def _formats(c: Contents) -> Mapping[str, tuple[str, ...]]:
    out: dict[str, list[str]] = {}
    for system, text in c.formats:
        out.setdefault(system, []).append(text)
    return {system: tuple(texts) for system, texts in out.items()}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
