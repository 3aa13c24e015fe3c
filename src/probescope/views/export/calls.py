"""Function graphs along time: where each call of a thread begins and where it ends, for viewers of slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from probescope.formats.tracing.graph import ENTRIES, EXIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probescope.formats.tracing.calls import CallReader
    from probescope.views.export.source import Piece, Source


class Call(NamedTuple):
    """``row``: of the batch; ``name`` is empty where a call ends."""

    row: int
    cpu: int
    tid: int
    time: int
    name: str


class Calls:
    """Ends without a beginning, as a recording that starts within a call has them, are left out. Calls that a thread
    left without an end (their event was lost) end with those around them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.kinds = frozenset(i for i, e in enumerate(source.events) if e.name in ENTRIES or e.name == EXIT)
        self._reader: CallReader | None = None
        self._open: dict[tuple[int, int], list[int]] = {}

    def of(self, piece: Piece) -> Sequence[Call]:
        """Those of the wanted events, in order of time."""
        import numpy as np

        if not self.kinds or not np.isin(piece.batch.event[piece.which], list(self.kinds)).any():
            return ()
        from probescope.formats.tracing.calls import RETURN, CallReader

        if self._reader is None:
            m = self._source.machine
            self._reader = CallReader(self._source.events, m.big_endian, m.long_size)
        found = self._reader.columns(piece.batch)
        mine = np.isin(found.at, piece.which)
        columns = (found.at, found.cpu, found.tid, found.time, found.kind, found.depth, found.func)
        out: list[Call] = []
        for row, cpu, tid, time, kind, depth, func in zip(*(c[mine].tolist() for c in columns), strict=True):
            stack = self._open.setdefault((tid, cpu if tid <= 0 else -1), [])
            ends = sum(d >= depth for d in stack)
            if kind == RETURN:
                ends = ends if depth in stack else 0
            out += [Call(row, cpu, tid, time, "")] * ends
            del stack[len(stack) - ends :]
            if kind != RETURN:
                stack.append(depth)
                out.append(Call(row, cpu, tid, time, self._source.frame(-1, func, True).name or hex(func)))
        return out
