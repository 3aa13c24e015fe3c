"""Events that came among calls, as rows of their tree: kernel/trace prints them as comments at the depth of the call
that was open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.fields import Records
from probescope.formats.tracing.graph import ENTRIES, EXIT
from probescope.formats.tracing.print_fmt import Printer, compile_event
from probescope.formats.tracing.symbols import Context
from probescope.views.graph.tree import Row

if TYPE_CHECKING:
    from probescope.model.recording import EventBatch, EventType


class OtherRows:
    """Of the events of a buffer that are no calls."""

    def __init__(self, events: tuple[EventType, ...]) -> None:
        self.events = events
        self._calls = [i for i, e in enumerate(events) if e.name in ENTRIES or e.name == EXIT]
        self._context = Context()
        self._printers: dict[int, Printer] = {}

    def rows(self, batch: EventBatch) -> list[tuple[int, Row]]:
        """(place in the batch, row), in order."""
        if batch.raw is None:
            return []
        other = ~np.isin(batch.event, self._calls)
        if not other.any():
            return []
        records = Records(batch.raw)
        out: list[tuple[int, Row]] = []
        for kind in np.unique(batch.event[other]).tolist():
            which = np.flatnonzero(other & (batch.event == kind))
            name = self.events[kind].name.partition(":")[2]
            texts = self._printer(kind).texts(records.subset(which))
            places = zip(
                which.tolist(),
                batch.cpu[which].tolist(),
                batch.tid[which].tolist(),
                batch.time[which].tolist(),
                texts,
                strict=True,
            )
            out += [
                (at, Row(cpu, tid, 0, 0, False, time=time, text=_comment(name, text)))
                for at, cpu, tid, time, text in places
            ]
        return sorted(out, key=lambda pair: pair[0])

    def _printer(self, kind: int) -> Printer:
        found = self._printers.get(kind)
        if found is None:
            found = self._printers[kind] = compile_event(self.events[kind], self._context)
        return found


def _comment(name: str, text: str) -> str:
    """What trace_marker and trace_printk() wrote stands alone (print_graph_comment)."""
    return text.partition(": ")[2].rstrip("\n") if name == "print" else f"{name}: {text}"
