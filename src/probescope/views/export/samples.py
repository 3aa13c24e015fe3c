"""Events of a recording as stacks of owners, with weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.errors import UsageError
from probescope.formats.stacktable import CodeFrame, Measure, Owner, SampleBatch, StackTable
from probescope.model.alike import alike

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.views.export.source import Piece, Source
    from probescope.views.flame.stacks import StackSamples

    Column = np.ndarray[Any, Any]

UNITS = {"cpu-clock": "ns", "task-clock": "ns"}
PIECE = 1 << 16


class Sampler:
    """``by``: of ``owners.OWNERS``, what is kept apart. ``weight``: ``period``, ``samples``, or a field of the events.
    ``addresses``, ``lines``: places in functions are different frames. ``measures``: one for each kind of event, in
    order."""

    def __init__(
        self, source: Source, by: str, weight: str = "period", *, addresses: bool = False, lines: bool = False
    ) -> None:
        self.table = StackTable()
        self._source, self._by, self._weight = source, by, weight
        self._addresses, self._lines = addresses, lines or addresses
        self._nodes: dict[int, int] = {}
        self._places: dict[tuple[int, int, bool], int] = {}
        self._processes: dict[int, Owner] = {}
        self.kinds = source.kinds
        self._index = {kind: i for i, kind in enumerate(self.kinds)}
        if weight not in {"period", "samples"}:
            self._check_field()

    @property
    def measures(self) -> tuple[Measure, ...]:
        events = [self._source.events[k] for k in self.kinds]
        attrs = getattr(self._source.recording, "attrs", ())
        rates = [_hz(attrs[k]) if k < len(attrs) else 0 for k in self.kinds]
        return tuple(Measure(e.name, self._unit(e.name), hz) for e, hz in zip(events, rates, strict=True))

    def _unit(self, name: str) -> str:
        if self._weight == "period":
            return UNITS.get(name.partition(":")[0], "count")
        return "bytes" if "bytes" in self._weight else "count"

    def _check_field(self) -> None:
        from probescope.diagnostics import nearest

        known = sorted({f.name for k in self.kinds for f in self._source.events[k].fields if not f.count})
        if self._weight not in known:
            hints = [f"did you mean {n}?" for n in nearest(self._weight, known)]
            hints += ["fields: " + ", ".join(known)] if known else ["--weight period, or --weight samples"]
            raise UsageError(f"no event has a field '{self._weight}' to weigh it by", hints=hints)

    def batches(self) -> Iterator[SampleBatch]:
        for piece in self._source.pieces():
            if len(piece.which):
                yield self.batch(piece)

    def batch(self, piece: Piece) -> SampleBatch:
        import numpy as np

        b, which = piece.batch, piece.which
        events = b.event[which]
        index = np.zeros(int(events.max()) + 1, np.int32)
        for kind, i in self._index.items():
            if kind < len(index):
                index[kind] = i
        nodes = self._node_column(piece)
        return SampleBatch(
            b.time[which], self._owner_column(piece), nodes, self._weights(piece), index[events], b.cpu[which]
        )

    def _weights(self, piece: Piece) -> Column:
        import numpy as np

        b, which = piece.batch, piece.which
        if self._weight == "period":
            return b.period[which]
        out: Column = np.ones(len(which), np.int64)
        if self._weight == "samples":
            return out
        for kind in np.unique(b.event[which]).tolist():
            mine = np.flatnonzero(b.event[which] == kind)
            found = self._source.events[kind].field(self._weight)
            values = self._source.records(b, which[mine]).field(found).view(np.int64) if found is not None else 0
            out[mine] = values
        return out

    def _owner_column(self, piece: Piece) -> Column:
        import numpy as np

        b, which = piece.batch, piece.which
        none = np.full(len(which), -1, np.int32)
        columns = {
            "thread": (piece.names[which], b.pid[which], b.tid[which]),
            "process": (none, b.pid[which] if (b.pid >= 0).any() else b.tid[which], none),
            "comm": (piece.names[which], none, none),
            "none": (none, none, none),
        }[self._by]
        first, kinds = alike(columns)
        names = piece.names[which][first].tolist()
        rows = zip(*(c[first].tolist() for c in columns), names, strict=True)
        owners = [self._owner(name, pid, tid, some) for name, pid, tid, some in rows]
        out: Column = np.array(owners, np.int32)[kinds]
        return out

    def _owner(self, name: int, pid: int, tid: int, some: int) -> int:
        if self._by == "process":
            owner = self._processes.setdefault(pid, Owner(self._source.names[some], pid))
            return self.table.owner(owner)
        return self.table.owner(Owner(self._source.names[name] if name >= 0 else "", pid, tid))

    def _node_column(self, piece: Piece) -> Column:
        """The node of each event's stack; without one, of the place alone; 0 where there is none either."""
        import numpy as np

        b, which = piece.batch, piece.which
        out: Column = np.zeros(len(which), np.int32)
        lone = np.arange(len(which))
        if piece.stacks is not None:
            stacks = piece.stacks[which]
            numbers, inverse = np.unique(stacks, return_inverse=True)
            out = np.array([self._node(s) for s in numbers.tolist()], np.int32)[inverse]
            lone = np.flatnonzero(stacks < 0)
        if len(lone) and "ip" in b.numbers and piece.spaces is not None:
            at = which[lone]
            modes = b.numbers["misc"][at] & 7 if "misc" in b.numbers else np.zeros(len(at), np.uint16)
            columns = [piece.spaces[at], b.numbers["ip"][at], modes]
            first, kinds = alike(columns)
            rows = zip(*(c[first].tolist() for c in columns), strict=True)
            out[lone] = np.array([self._place(space, ip, mode == 1) for space, ip, mode in rows], np.int32)[kinds]
        return out

    def _node(self, stack: int) -> int:
        if stack < 0:
            return 0
        found = self._nodes.get(stack)
        if found is None:
            frames = self._source.frames(stack)
            found = self._nodes[stack] = self.table.node(self._frames(reversed(frames)))
        return found

    def _place(self, space: int, ip: int, kernel: bool) -> int:
        key = (space, ip, kernel)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = self.table.node(self._frames([self._source.frame(space, ip, kernel)]))
        return found

    def _frames(self, frames: Iterable[Frame]) -> Iterator[CodeFrame]:
        for f in frames:
            name = f.name or f"[{f.module.rpartition('/')[2].strip('[]') or 'unknown'}]"
            address = f.address if self._addresses else 0
            yield CodeFrame(name, f.module, f.kernel, address, f.file, f.line if self._lines else 0, f.inlined)


def _hz(attr: Any) -> int:
    """How often a second a sample was wanted; tracepoints stand for themselves."""
    from probescope.kernel.uapi.perf import FLAG_FREQ, PERF_TYPE_TRACEPOINT

    return attr.period if attr.flags & FLAG_FREQ and attr.type != PERF_TYPE_TRACEPOINT else 0


def folded_batches(samples: StackSamples, table: StackTable) -> Iterator[SampleBatch]:
    """Of folded text, which knows no owners and no times: one stack follows the other, each as long as its weight."""
    import numpy as np

    owner = table.owner(Owner())
    rows = list(samples.rows.items())
    at = 0.0
    for start in range(0, len(rows), PIECE):
        some = rows[start : start + PIECE]
        paths = [samples.path(node) for (node, _, _), _ in some]
        nodes = np.array([table.node(_code_frame(n) for n in path) for path in paths], np.int32)
        weights = np.array([w for _, w in some], np.float64)
        times = at + np.concatenate(([0.0], np.cumsum(weights)[:-1]))
        at += float(weights.sum())
        flat = np.full(len(some), owner, np.int32)
        zero = np.zeros(len(some), np.int32)
        yield SampleBatch(times.astype(np.uint64), flat, nodes, weights, zero, zero - 1)


def _code_frame(name: str) -> CodeFrame:
    if name.endswith("_[k]"):
        return CodeFrame(name[:-4], "[kernel.kallsyms]", kernel=True)
    return CodeFrame(name[:-4], inlined=True) if name.endswith("_[i]") else CodeFrame(name)
