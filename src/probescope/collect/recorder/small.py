"""What a small recording hit, record by record: starting numpy takes longer than all of this."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from probescope.collect.recorder.hits import Hits, Seen, heed, place
from probescope.errors import FormatError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.layout import CALLCHAIN, READ_VALUES, Layout
from probescope.formats.perfdata.sideband import Trailer, body_of, side_record
from probescope.model.recording import SUMMED_TIME

MOST = 1 << 22
"""Bytes of records: some 20,000 samples with stacks."""
_HEADER = struct.Struct("=IHH")


def can_tell(layouts: Sequence[Layout]) -> bool:
    """Stacks lie behind what a group's values take."""
    return not any(one.sample_type & READ_VALUES for one in layouts)


def hits_of_records(data: bytes, layouts: Mapping[int, Layout]) -> Hits:
    """``data``: the records of a file of ours, not compressed. ``layouts``: by the ids of the events; by 0 where there
    is one event without."""
    view = memoryview(data)[: len(data) & ~7]
    words = view.cast("Q")
    seen, found = Seen(), Hits()
    known: dict[tuple[int, bytes], None] = {}
    at = 0
    while at + 8 <= len(view):
        kind, misc, size = _HEADER.unpack_from(view, at)
        if size < 8 or size & 7 or at + size > len(view):
            break
        record = words[at // 8 : (at + size) // 8]
        if kind == r.SAMPLE:
            _sample(record, layouts.get(record[1]) or layouts.get(0), seen, found, known)
        elif kind < r.USER_START:
            layout = layouts.get(record[-1]) or layouts.get(0)
            _side(kind, misc, bytes(view[at : at + size]), layout, seen, found)
        at += size
    for pid, chain in known:
        seen.keep(pid, memoryview(chain).cast("Q"))
    place(seen, found)
    return found


def _sample(
    record: memoryview[int], layout: Layout | None, seen: Seen, found: Hits, known: dict[tuple[int, bytes], None]
) -> None:
    if layout is None:
        return
    where = dict(layout.head)
    time = record[where["time"]] if "time" in where else 0
    found.samples += 1
    first, last = found.times
    if time < SUMMED_TIME:
        found.times = (min(first or time, time), max(last, time))
    pid = record[where["tid"]] & 0xFFFFFFFF
    seen.keep(pid, (record[where["ip"]],))
    if layout.sample_type & CALLCHAIN:
        start = layout.head_words + 1
        known[pid, record[start : start + record[start - 1]].tobytes()] = None


def _side(kind: int, misc: int, record: bytes, layout: Layout | None, seen: Seen, found: Hits) -> None:
    if layout is None:
        return
    try:
        side = side_record(kind, misc, body_of(record, False, len(layout.trailer)), Trailer())
    except FormatError:
        return
    if side is not None:
        heed(side, seen, found)
