"""Recordings cut down to some of their events, in their own format."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, BinaryIO

from probescope.formats.perfdata.cut import Cut, Samples
from probescope.model.recording import EventBatch

if TYPE_CHECKING:
    import numpy as np

    from probescope.views.export.source import PerfSource

    Column = np.ndarray[Any, Any]


def cut_perfdata(source: PerfSource, file: BinaryIO) -> int:
    """The number of samples that are left. ``file`` must be seekable."""
    import numpy as np

    names = _Names(source) if source.selection.comms else None
    sieve = source.sieve

    def keep(s: Samples) -> Column:
        count = len(s.time)
        batch = EventBatch(count, s.event, s.time, s.cpu, s.pid, s.tid, np.zeros(count, np.uint64))
        of_each = names.of(s) if names is not None else np.full(count, -1, np.int32)
        mask = np.zeros(count, np.bool_)
        mask[sieve.which(batch, of_each, source.names)] = True
        return mask

    return Cut(source.recording, file, keep).write()


class _Names:
    """Threads' names over time, from a walk through all events: records do not carry them."""

    def __init__(self, source: PerfSource) -> None:
        import numpy as np

        self._times: dict[int, list[int]] = {}
        self._names: dict[int, list[int]] = {}
        for piece in source.pieces():
            b = piece.batch
            keys = b.tid.astype(np.int64) << 32 | piece.names
            _, first = np.unique(keys, return_index=True)
            for i in np.sort(first).tolist():
                self._add(int(b.tid[i]), int(piece.names[i]), int(b.time[i]))

    def _add(self, tid: int, name: int, time: int) -> None:
        names = self._names.setdefault(tid, [])
        if not names or names[-1] != name:
            names.append(name)
            self._times.setdefault(tid, []).append(time)

    def of(self, s: Samples) -> Column:
        import numpy as np

        out = np.full(len(s.time), -1, np.int32)
        for tid in np.unique(s.tid).tolist():
            times = self._times.get(tid)
            mine = np.flatnonzero(s.tid == tid)
            if times:
                at = [max(bisect_right(times, t) - 1, 0) for t in s.time[mine].tolist()] if len(times) > 1 else 0
                out[mine] = np.array(self._names[tid], np.int32)[at]
        return out
