"""Events of a recording as rows: the same columns for all, then those of the event's own fields.

    time  event  comm  pid  tid  cpu  period  symbol  module  stack | fields

Where one kind of event is chosen, its fields are columns of their own; where there are several, one column ``fields``
holds them as JSON. Columns that nothing was recorded for are left out. ``stack``: outermost function first, with ``;``
between (a list, in JSON lines).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from probescope.formats.folded import frame_name
from probescope.formats.jsontext import dumps
from probescope.formats.tables import Nested
from probescope.views.export.fields import by_kind, objects, own, values
from probescope.views.export.samples import Sampler

if TYPE_CHECKING:
    import numpy as np

    from probescope.formats.tables import Chunk
    from probescope.views.export.source import Piece, Source
    from probescope.views.flame.stacks import StackSamples

    Column = np.ndarray[Any, Any]

RESERVED = ("time", "event", "comm", "pid", "tid", "cpu", "period", "symbol", "module", "stack")


class Rows:
    """``nested``: for JSON lines."""

    def __init__(self, source: Source, *, nested: bool = False) -> None:
        self._source, self._nested = source, nested
        self._sampler = Sampler(source, "thread")
        self._paths: dict[int, str] = {}
        kinds = self._sampler.kinds
        events = [source.events[k] for k in kinds]
        has = {name for e in events for name in e.sampled}
        self._stacked = source.stacked
        self._placed = "ip" in has or self._stacked
        self._single = kinds[0] if len(kinds) == 1 and not nested else -1
        self._fields = any(e.fields for e in events)

    def names(self) -> list[str]:
        base = ["time", "event", "comm", "pid", "tid", "cpu", "period"]
        base += ["symbol", "module"] if self._placed else []
        base += ["stack"] if self._stacked else []
        if self._single >= 0:
            return base + [_free(f.name) for f in own(self._source.events[self._single].fields)]
        return base + (["fields"] if self._fields else [])

    def chunks(self) -> Iterator[Chunk]:
        for piece in self._source.pieces():
            if len(piece.which):
                yield self._chunk(piece)

    def _chunk(self, piece: Piece) -> Chunk:
        b, which = piece.batch, piece.which
        names, events = self._source.names, [e.name for e in self._source.events]
        out: dict[str, Any] = {
            "time": b.time[which],
            "event": [events[k] for k in b.event[which].tolist()],
            "comm": [names[n] if n >= 0 else "" for n in piece.names[which].tolist()],
            "pid": b.pid[which],
            "tid": b.tid[which],
            "cpu": b.cpu[which],
            "period": b.period[which],
        }
        if self._placed:
            out |= self._places(piece)
        if self._single >= 0:
            found = values(self._source, piece, self._single, which)
            for f in own(self._source.events[self._single].fields):
                out[_free(f.name)] = found.get(f.name, [None] * len(which))
        elif self._fields:
            out["fields"] = self._objects(piece)
        return out

    def _places(self, piece: Piece) -> dict[str, Any]:
        """Innermost functions, and stacks."""
        table = self._sampler.table
        nodes = self._sampler.batch(piece).node.tolist()
        tops = [table.frame[n] for n in nodes]
        out: dict[str, Any] = {
            "symbol": [frame_name(table.frames[f]) if f >= 0 else None for f in tops],
            "module": [table.frames[f].module if f >= 0 else None for f in tops],
        }
        if self._stacked:
            stacks = [self._path(n) for n in nodes]
            out["stack"] = Nested(stacks) if self._nested else stacks
        return out

    def _path(self, node: int) -> str:
        found = self._paths.get(node)
        if found is None:
            table = self._sampler.table
            path = [frame_name(table.frames[f]) for f in table.path(node)]
            found = self._paths[node] = dumps(path) if self._nested else ";".join(path)
        return found

    def _objects(self, piece: Piece) -> Nested:
        """Each event's fields as a JSON object."""
        import numpy as np

        out: Any = np.full(len(piece.which), "{}", object)
        for kind, which in by_kind(piece):
            out[np.searchsorted(piece.which, which)] = objects(self._source, piece, kind, which)
        return Nested(out.tolist())


def _free(name: str) -> str:
    """A field that is called as one of the columns that all have."""
    return f"field_{name}" if name in RESERVED else name


def folded_chunk(samples: StackSamples, *, nested: bool = False) -> Chunk:
    """Stacks and weights of folded text."""
    rows = [(samples.path(node), weight) for (node, _, _), weight in samples.rows.items()]
    stacks = [dumps(path) if nested else ";".join(path) for path, _ in rows]
    weights = [int(w) if w == int(w) else w for _, w in rows]
    return {"stack": Nested(stacks) if nested else stacks, "weight": weights}
