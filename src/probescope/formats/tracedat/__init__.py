"""trace.dat, in: what `trace-cmd record` and `trace-cmd extract` write, versions 6 and 7.

In: a path or an open binary file that can be sought in. Out: ``open_tracedat(...) -> TraceDat``, a
``model.recording.Recording`` which also knows names of threads, symbols, printk formats, buffers and options.
Who may import me: sources and every room above it. numpy is imported with ``reader``, not before.

    container   header, sections, options: where things are in the file    (version6, version7, options)
    pages       blocks of a CPU's ring-buffer pages, inflated               bounded, however large the file
    ring        pages -> records, all pages of a block in lockstep
    merge       records of all CPUs in order of time, losses in place
    reader      TraceDat: EventBatches;  graph, text: formats/tracing/text
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from probescope.formats.tracedat.reader import TraceDat


def open_tracedat(source: str | BinaryIO) -> TraceDat:
    """Open a recording of trace-cmd. Raises OSError where it cannot be opened and FormatError where it is no
    trace.dat."""
    from probescope.formats.tracedat.reader import open_tracedat as opened

    return opened(source)
