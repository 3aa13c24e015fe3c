"""``probescope ftrace report -i FILE -i FILE``: events of several files by time, each line with its file or buffer::

 host.dat:             bash-1234  [002] d..2.  2084.021659: sched_switch:  ...
guest.dat:             bash-77    [000] d..2.  2084.021671: sched_switch:  ...
"""

from __future__ import annotations

import argparse
import heapq
import sys
from collections.abc import Iterator, Sequence
from operator import itemgetter

from probescope.cli.ftrace_report import Backwards
from probescope.formats.tracedat.reader import TraceDat
from probescope.frozen import dataclass
from probescope.views.tracecmd.choosing import Chooser, moved
from probescope.views.tracecmd.lines import ReportLines


@dataclass(frozen=True, slots=True)
class Shown:
    name: str
    recording: TraceDat
    lines: ReportLines
    choose: Chooser
    offset: int

    def label(self, width: int) -> None:
        """What its lines begin with: its own name, or that of a buffer beside the first."""
        names = [buffer.name or self.name for buffer in self.recording.buffers] or [self.name]
        self.lines.buffers = [f"{name:>{width}}: " for name in names]

    def width(self) -> int:
        return max(map(len, (self.name, *(buffer.name for buffer in self.recording.buffers))))

    def first_time(self) -> int | None:
        found = next((int(batch.time[0]) for batch in self.recording.batches() if batch.count), None)
        return None if found is None else found + self.offset

    def timed(self, aligned: int, check: bool) -> Iterator[tuple[int, str]]:
        backwards = Backwards() if check else None
        for batch in self.recording.batches():
            if backwards:
                backwards(batch)
            yield from self.lines.timed(self.choose(moved(batch, self.offset - aligned)))


def merged(files: Sequence[Shown], args: argparse.Namespace) -> None:
    """Prints them all."""
    width = max(one.width() for one in files)
    out = sys.stdout.buffer
    sys.stdout.flush()
    for one in files:
        one.label(width)
        for piece in one.recording.latency():
            out.write(piece.encode("utf-8", "surrogateescape"))
        out.write(f"{one.name:>{width}}: cpus={one.recording.machine.cpus}\n".encode("utf-8", "surrogateescape"))
    aligned = 0
    if args.align_ts and not args.raw_ts:
        aligned = min((t for one in files if (t := one.first_time()) is not None), default=0)
    for _, line in heapq.merge(*(one.timed(aligned, args.ts_check) for one in files), key=itemgetter(0)):
        out.write(f"{line}\n".encode("utf-8", "surrogateescape"))
