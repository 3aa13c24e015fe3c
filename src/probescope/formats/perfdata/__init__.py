"""perf.data, in and out: what `perf record` writes, from any kernel, architecture and version of perf.

In: a path (a file or a directory of `perf record --threads`) or an open binary file. Out: ``open_perfdata(...) ->
PerfData``, a ``model.recording.Recording`` which also knows the attributes of the events, the header's features and
build ids, and counts of every type of record.
Who may import me: sources and every room above it. numpy is imported with ``reader``, not before.

    container   header, attributes, ids, feature sections            where things are in the file
    stream      bytes of the data section -> blocks of whole records  skipping, damage;  squeezed: compressed records
    walk        where each record of a block begins;  chain: the same for a compiler;  blocks: records sorted by kind
    order       blocks -> rows in order of time                      rounds, the window, bounded memory
    samples     rows -> columns;  sideband: rows -> SideRecords;  groups: one sample for each member of a group
    writer      records and features -> files that perf reads
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from probescope.formats.perfdata.reader import PerfData


def open_perfdata(source: str | BinaryIO) -> PerfData:
    """Open a recording of perf. A file that is not seekable (a pipe) can be read once. Raises OSError where it cannot
    be opened and FormatError where it is no perf.data."""
    from probescope.formats.perfdata.reader import open_perfdata as opened

    return opened(source)
