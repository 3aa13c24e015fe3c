"""Calls that were recorded before: function graphs of a trace.dat, or of a text of the kernel's or trace-cmd's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.formats.tracing.graph import ENTRIES, EXIT
from probescope.model.recording import LostEvents
from probescope.sources.globs import matches

if TYPE_CHECKING:
    import numpy as np

    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext.reader import TraceText
    from probescope.formats.tracing.calls import CallColumns
    from probescope.model.recording import EventBatch, EventType

    Column = np.ndarray[Any, Any]


class RecordedNames:
    """Functions by the recording's own symbols, threads by its names."""

    def __init__(self, recording: TraceDat | TraceText) -> None:
        self._context = recording.context()
        self._comms = {0: "<idle>", **recording.comms}

    def function(self, address: int) -> str:
        found = self._context.function(address)
        return found[0] if found else f"{address:#x}"

    def arguments(self, address: int, values: tuple[int, ...]) -> str:
        return ", ".join(f"{value:#x}" for value in values)

    def of_kernel(self, address: int) -> bool:
        return True

    def interrupts(self) -> tuple[int, int]:
        return 0, 0

    def learn(self, tids: set[int]) -> None:
        pass

    def comm(self, tid: int) -> str:
        return str(self._comms.get(tid, "<...>"))


class RecordedCalls:
    """``Calls``. ``roots``: globs of functions; calls of others are left out, but for those within. Empty: all."""

    exit_code = 0

    def __init__(self, recording: TraceDat | TraceText, roots: tuple[str, ...] = ()) -> None:
        self.recording, self._roots = recording, roots
        self.names = RecordedNames(recording)
        self.events: tuple[EventType, ...] = recording.events
        fields = {f.name for e in self.events if e.name in (*ENTRIES, EXIT) for f in e.fields}
        self.ret = bool(fields & {"args", "retaddr"})
        self._wanted: dict[int, bool] = {}
        self._below: dict[tuple[int, int], int] = {}
        self._lost = 0

    def begin(self) -> None:
        pass

    def batches(self) -> Iterator[tuple[CallColumns, EventBatch | None]]:
        from probescope.formats.tracing.calls import CallReader

        m = self.recording.machine
        reader = CallReader(self.events, m.big_endian, self.recording.long_size)
        for batch in self.recording.batches():
            self._lost += sum(max(1, r.count) for _, r in batch.between if isinstance(r, LostEvents))
            columns = reader.columns(batch)
            if self._roots:
                columns = self._within(columns)
            # events among calls are shown where they are of a machine like this one
            yield columns, None if m.big_endian or self._roots else batch

    def _within(self, c: CallColumns) -> CallColumns:
        """Calls of the roots and all that is in them, as deep as they are below their root."""
        import numpy as np

        from probescope.formats.tracing.calls import RETURN
        from probescope.frozen import fields, replace

        keep, depths = np.zeros(len(c.at), np.bool_), c.depth.copy()
        rows = zip(*(x.tolist() for x in (c.kind, c.tid, c.cpu, c.func, c.depth)), strict=True)
        for i, (kind, tid, cpu, func, depth) in enumerate(rows):
            key = (tid, cpu if tid <= 0 else -1)
            root = self._below.get(key, -1)
            if root >= 0 and depth < root:
                root = self._below[key] = -1
            if root < 0 and kind != RETURN and self._root(func):
                root = self._below[key] = depth
            if root >= 0:
                keep[i], depths[i] = True, depth - root
                if kind == RETURN and depth == root:
                    self._below[key] = -1
        columns = {f.name: getattr(c, f.name) for f in fields(c)} | {"depth": depths}
        return replace(c, **{name: None if x is None else x[keep] for name, x in columns.items()})

    def _root(self, func: int) -> bool:
        found = self._wanted.get(func)
        if found is None:
            name = self.names.function(func).partition(" ")[0]
            found = self._wanted[func] = any(matches(root, name) for root in self._roots)
        return found

    def told(self) -> list[str]:
        lost = [f"LOST: {self._lost:,} events were lost while it was recorded"] if self._lost else []
        damage = [f"WARNING: {self.recording.name}: {d.count} times: {d.about}" for d in self.recording.damage]
        return [*lost, *damage]

    def close(self) -> None:
        self.recording.close()
