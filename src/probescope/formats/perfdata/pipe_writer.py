"""Writing perf.data into a pipe: what a file has in its header comes as records, before all others.

PERFILE2  u64 16 | ATTR with ids ... | EVENT_UPDATE: names | FEATURE ... | TRACING_DATA, its bytes | records ...
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from probescope.formats.perfdata import features as fe
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.container import MAGIC2, MAGIC2_OTHER, PIPE_HEADER
from probescope.formats.perfdata.encode import MOST_RECORD, encode_feature, record
from probescope.formats.perfdata.meta import UPDATE_NAME
from probescope.formats.perfdata.writer import AT_ONCE, Records, WrittenEvent
from probescope.frozen import replace

_LEFT_OUT = ("SAMPLE_TIME", "EVENT_DESC")


class PipeWriter(Records):
    """As ``PerfDataWriter``; features have to be known at the beginning, and nothing is written at the end."""

    def __init__(
        self,
        file: BinaryIO,
        events: Sequence[WrittenEvent],
        features: Mapping[str, Any],
        *,
        tracing: bytes = b"",
        big: bool = False,
        level: int = 0,
    ) -> None:
        super().__init__(file, big=big, level=level)
        self._put((MAGIC2_OTHER if big else MAGIC2) + struct.pack(self.order + "Q", PIPE_HEADER))
        events = [replace(e, attr=replace(e.attr, size=max(e.attr.size, 128))) for e in events]
        for e in events:
            ids = struct.pack(f"{self.order}{len(e.ids)}Q", *e.ids)
            self._record(r.HEADER_ATTR, e.attr.pack(big) + ids)
        for e in events:
            head = struct.pack(self.order + "QQ", UPDATE_NAME, e.ids[0] if e.ids else 0)
            self._record(r.EVENT_UPDATE, head + e.name.encode("utf-8", "surrogateescape") + b"\0")
        told = {name: value for name, value in features.items() if name not in _LEFT_OUT}
        if level:
            told["COMPRESSED"] = (0, 1, level, 1, 2 * AT_ONCE)
        for name, value in told.items():
            self._record(
                r.HEADER_FEATURE, struct.pack(self.order + "Q", fe.NUMBERS[name]) + encode_feature(name, value)
            )
        if tracing:
            padded = tracing + bytes(-len(tracing) % 8)
            self._put(struct.pack(self.order + "IHHI", r.HEADER_TRACING_DATA, 0, 12, len(padded)) + padded)

    def _record(self, kind: int, body: bytes) -> None:
        """What is too large for a record is left out: a reader can do without any of it."""
        if len(body) + 16 <= MOST_RECORD:
            self._put(record(kind, 0, body, self.big))

    def finish(self) -> None:
        self._deflate()
