"""The end of a file: which of the mapped files were hit, their build-ids and symbols, what was lost; then the header.

Where all events are tracepoints of the kernel without stacks, no sample has an address that anybody asks for: then the
kernel is what was hit, samples are counted by the kernel, and nothing is read again.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from probescope.collect.recorder.files import Files
from probescope.collect.recorder.hits import Hits, hits_of
from probescope.collect.recorder.opening import SIDE, RingEvent
from probescope.collect.recorder.request import RecordRequest, Written
from probescope.collect.recorder.rings import Rings
from probescope.collect.recorder.starting import trailer
from probescope.errors import FormatError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.encode import record
from probescope.formats.perfdata.layout import layout_of
from probescope.formats.perfdata.meta import BuildId
from probescope.formats.symbolfile import SUFFIX, SavedFrames, SavedSymbols, write_symbols
from probescope.kernel.uapi import perf as u
from probescope.kernel.wholefile import whole_file

_USERS = ("uprobes", "probe", "sdt_", "user_events")
"""Systems of tracepoints that are in programs: their samples have addresses of users."""
_COUNTING = ("sched:sched_stat_",)
_SOMEWHERE = Hits(kernel=(0,))


def finish_file(files: Files, request: RecordRequest, rings: Rings, *, last: bool, named: bool) -> Written:
    """``named``: the file gets the time behind its name. ``last``: what was lost is told in this one. Raises OSError
    where it cannot be written."""
    counts = rings.counts()
    lost = sum(one for _, _, one in counts)
    files.flush()
    if files.pipe:
        files.finish()
        return Written(files.path, files.size, lost=lost)
    hits = _hits(files, request, rings, lost) if last or request.build_ids == "hit" else Hits()
    lost = max(lost, hits.lost)
    if last and lost > hits.lost:
        files.records([_lost(rings, lost - hits.lost)])
        files.writer.round()
    saving = hits is not _SOMEWHERE and request.keep_symbols
    symbols = _symbols(request, hits) if saving else []
    more: dict[str, Any] = {"SAMPLE_TIME": hits.times} if hits.times[0] else {}
    files.finish(_build_ids(request, hits), more)
    path = files.name_by_time() if named else files.path
    if symbols:
        _write_symbols(path + SUFFIX, symbols)
    samples = hits.samples if hits.times[0] else _counted(rings, counts, lost) if not request.switch else -1
    return Written(path, files.size, samples, path + SUFFIX if symbols else "", lost if last else 0)


def _hits(files: Files, request: RecordRequest, rings: Rings, lost: int) -> Hits:
    events, ids = rings.events, rings.ids
    known = all(e.attr.read_format & u.PERF_FORMAT_LOST for e in events)
    if request.sampling.no_samples or not files.regular:
        return Hits()
    if known and not lost and not any(_has_addresses(e) for e in events):
        return _SOMEWHERE
    if known and not lost and request.build_ids in {"none", "mapped"} and not request.keep_symbols:
        return Hits()
    try:
        return _few(files, events, ids) or hits_of(files.path)
    except (FormatError, OSError, ImportError):  # the recording itself is whole without build-ids
        return Hits()


def _few(files: Files, events: Sequence[RingEvent], ids: Sequence[Sequence[int]]) -> Hits | None:
    """None where there are many."""
    from probescope.collect.recorder import small
    from probescope.collect.recorder.files import written_attr

    layouts = [layout_of(written_attr(e.attr)) for e in events]
    if sys.byteorder == "big" or not small.can_tell(layouts):
        return None
    records = files.records_so_far(small.MOST)
    if records is None:
        return None
    alone = len(events) == 1
    return small.hits_of_records(
        records, {0 if alone else i: one for one, of in zip(layouts, ids, strict=True) for i in of}
    )


def _has_addresses(e: RingEvent) -> bool:
    """Anything to be named."""
    if e.ring == SIDE:
        return False
    stacks = e.attr.sample_type & (u.PERF_SAMPLE_CALLCHAIN | u.PERF_SAMPLE_BRANCH_STACK)
    return bool(stacks) or e.attr.type != u.PERF_TYPE_TRACEPOINT or e.name.startswith(_USERS)


def _counted(rings: Rings, counts: Sequence[tuple[Any, int, int]], lost: int) -> int:
    """Samples, where every event is one: -1 where it is not (some tracepoints count nanoseconds: __perf_count)."""
    for e in rings.events:
        if e.ring != SIDE and (e.attr.flags & u.FLAG_FREQ or e.attr.period != 1 or e.name.startswith(_COUNTING)):
            return -1
    return max(sum(n for o, n, _ in counts if rings.events[o.which].ring != SIDE) - lost, 0)


def _lost(rings: Rings, count: int) -> bytes:
    """The kernel tells of what was lost when there is room again: of the last ones it never can."""
    from probescope.collect.recorder.files import written_attr

    event_id = rings.ids[0][0]
    layout = layout_of(written_attr(rings.events[0].attr))
    return record(r.LOST, 0, struct.pack("=QQ", event_id, count) + trailer(layout, event_id))


def _build_ids(request: RecordRequest, hits: Hits) -> list[BuildId]:
    if request.build_ids in {"none", "mapped"}:
        return []
    if hits is _SOMEWHERE and request.build_ids == "hit":
        from probescope.collect.recorder.kernel_id import KERNEL, kernel_build_id

        kernel = kernel_build_id()
        return [BuildId(-1, kernel, KERNEL)] if kernel else []
    from probescope.collect.recorder.saving import Saving

    return Saving(hits).build_ids(every=request.build_ids == "all")


def _symbols(request: RecordRequest, hits: Hits) -> list[SavedSymbols | SavedFrames]:
    from probescope.collect.recorder.saving import Saving

    dumped = request.sampling.call_graph == "dwarf"
    saving = Saving(hits)
    return [*saving.symbols(whole=dumped), *(saving.frames() if dumped else ())]


def _write_symbols(path: str, symbols: Sequence[SavedSymbols | SavedFrames]) -> None:
    """Beside a file that is whole without them."""
    with suppress(OSError), whole_file(path, own=True) as f:
        write_symbols(f, symbols)
