"""Text of traces, in: what the kernel's ``trace`` file, `trace-cmd report` and `perf script` print, as events again.

In: a path or an open binary file. Out: ``TraceText`` (text of ftrace; it stands for a trace.dat) or ``PerfText`` (text
of perf; it stands for a perf.data): a ``model.recording.Recording`` whose records have fields.
Who may import me: sources and every room above it. numpy is imported with the readers, not before.

    heads, perf_heads   a line: who, where, when, which event, and the rest
    graph_text          the kernel's function_graph trace, which has braces instead of heads
    entries             lines -> entries: stacks, losses, leaves of graphs in order of time
    survey              first pass: which events there are, with which fields
    kinds               a text's fields, by forms, inverse and pairs
    layouts             fields -> raw records
    reader, perf_reader second pass: batches

A text is read twice; a pipe is kept in an unnamed temporary file for that. Memory does not grow with it, but with the
number of different functions, threads and kinds of events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from probescope.formats.tracetext.perf_reader import PerfText
    from probescope.formats.tracetext.reader import TraceText
    from probescope.model.recording import EventType

    Known = Callable[[str], EventType | None]


def open_tracetext(source: str | BinaryIO, known: Known | None = None) -> TraceText | PerfText:
    """``known``: from ``system:event``, or ``event`` alone, to how a kernel describes and prints it; texts of such
    events become the fields of that kernel. Raises OSError where a path cannot be opened, FormatError where no line is
    an event of a trace."""
    from probescope.formats.tracetext.opening import opened

    return opened(source, known)
