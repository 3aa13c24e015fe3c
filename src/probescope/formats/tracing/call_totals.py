"""Calls summed up by their path: a function and all its callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.calls import ENTRY, RETURN, CallColumns
from probescope.frozen import dataclass, field

if TYPE_CHECKING:
    from probescope.model.recording import Column

HIST_BUCKETS = 65


@dataclass(slots=True)
class _Open:
    """A thread between two batches. By depth: the path of the call that is open, and the ns of its calls so far."""

    path: dict[int, int] = field(default_factory=dict[int, int])
    below: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class FunctionTotal:
    """Of all calls of a function; times in ns. ``own``: without what it called, as far as that was traced. A function
    that calls itself counts what is inside again. ``hist``: calls by log2 of their time: bucket b is [2^(b-1), 2^b)."""

    func: int
    calls: int
    total: int
    own: int
    least: int
    most: int
    hist: tuple[int, ...]


class CallTotals:
    """Sums up calls by their path, a function and all its callers. Columns go in as they come; ``functions``,
    ``paths`` and ``callers`` may be asked at any time."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.func: list[int] = []
        self._ids: dict[tuple[int, int], int] = {}
        self._open: dict[int, _Open] = {}
        self._count = self._total = self._own = np.zeros(0, np.int64)
        self._hist: dict[int, Column] = {}
        self._range: dict[int, tuple[int, int]] = {}

    def add(self, c: CallColumns) -> None:
        if not len(c.at):  # a batch of other events only
            return
        order = np.argsort(c.tid, kind="stable")
        tids, starts = np.unique(c.tid[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        for tid, begin, end in zip(tids.tolist(), starts.tolist(), ends, strict=True):
            which = order[begin:end]
            state = self._open.setdefault(tid, _Open())
            self._thread(state, c.kind[which], c.depth[which], c.func[which], c.duration[which].astype(np.int64))

    def _thread(self, state: _Open, kind: Column, depth: Column, func: Column, duration: Column) -> None:
        path = np.full(len(kind), -1, np.int64)
        before = dict(state.path)
        above: Column = np.zeros(0, np.int64)
        returns: list[Column] = []
        for level in range(int(depth.max()) + 1 if len(depth) else 0):
            here = depth == level
            entered = np.flatnonzero(here & (kind == ENTRY))
            left = np.flatnonzero(here & (kind == RETURN))
            parent = _last_before(above, entered, path, before.get(level - 1, -1))
            path[entered] = self._paths(parent, func[entered])
            mine = _last_before(entered, left, path, before.get(level, -1))
            strange = np.flatnonzero((mine < 0) | (self._funcs(mine) != func[left]))
            if len(strange):  # its entry was not recorded
                mine[strange] = self._paths(
                    _last_before(above, left[strange], path, before.get(level - 1, -1)), func[left[strange]]
                )
            path[left] = mine
            if len(entered):
                state.path[level] = int(path[entered[-1]])
            above = entered
            returns.append(left)
        self._sum(state, path, duration, returns)
        self._spread(func, duration, returns)

    def _funcs(self, paths: Column) -> Column:
        table = np.array([*self.func, 0], np.uint64)
        return table[paths]

    def _paths(self, parent: Column, func: Column) -> Column:
        if not len(func):
            return np.zeros(0, np.int64)
        pairs, which = np.unique(np.stack([parent.astype(np.uint64), func], 1), axis=0, return_inverse=True)
        known = np.array([self._path(_signed(p), f) for p, f in pairs.tolist()], np.int64)
        return known[which.reshape(-1)]

    def _path(self, parent: int, func: int) -> int:
        found = self._ids.get((parent, func))
        if found is None:
            found = self._ids[parent, func] = len(self.func)
            self.parent.append(parent)
            self.func.append(func)
        return found

    def _sum(self, state: _Open, path: Column, duration: Column, returns: list[Column]) -> None:
        more = len(self.func) - len(self._count)
        if more > 0:
            grown = (np.pad(a, (0, max(more, len(a)))) for a in (self._count, self._total, self._own))
            self._count, self._total, self._own = grown
        for level, left in enumerate(returns):
            inner = returns[level + 1] if level + 1 < len(returns) else np.zeros(0, np.int64)
            sums = np.concatenate([[0], np.cumsum(duration[inner])]) + state.below.get(level, 0)
            seen = sums[np.searchsorted(inner, left)] if len(left) else np.zeros(0, np.int64)
            below = np.diff(seen, prepend=0)
            state.below[level] = int(sums[-1] - (seen[-1] if len(seen) else 0))
            np.add.at(self._count, path[left], 1)
            np.add.at(self._total, path[left], duration[left])
            np.add.at(self._own, path[left], np.maximum(duration[left] - below, 0))

    def _spread(self, func: Column, duration: Column, returns: list[Column]) -> None:
        left = np.concatenate(returns) if returns else np.zeros(0, np.int64)
        took = np.maximum(duration[left], 0)
        bucket = np.where(took > 0, np.floor(np.log2(np.maximum(took, 1))).astype(np.int64) + 1, 0)
        for f in np.unique(func[left]).tolist():
            mine = func[left] == f
            hist = self._hist.setdefault(f, np.zeros(HIST_BUCKETS, np.int64))
            hist += np.bincount(bucket[mine], minlength=HIST_BUCKETS)[:HIST_BUCKETS]
            low, high = int(took[mine].min()), int(took[mine].max())
            least, most = self._range.get(f, (low, high))
            self._range[f] = min(least, low), max(most, high)

    # --- answers ---

    def functions(self) -> list[FunctionTotal]:
        """Most of their own time first."""
        sums: dict[int, list[int]] = {}
        for f, count, total, own in zip(self.func, self._count.tolist(), self._total.tolist(), self._own.tolist()):  # noqa: B905 - the sums are longer
            s = sums.setdefault(f, [0, 0, 0])
            s[0] += count
            s[1] += total
            s[2] += own
        found = [
            FunctionTotal(f, s[0], s[1], s[2], *self._range[f], tuple(self._hist[f].tolist()))
            for f, s in sums.items()
            if s[0]
        ]
        return sorted(found, key=lambda t: (-t.own, -t.total, t.func))

    def paths(self) -> list[tuple[tuple[int, ...], int, int]]:
        """(functions from the outermost, calls, own ns) of every path that returned."""
        counted = zip(range(len(self.func)), self._count.tolist(), self._own.tolist())  # noqa: B905
        return [(self._whole(i), count, own) for i, count, own in counted if count]

    def _whole(self, path: int) -> tuple[int, ...]:
        out: list[int] = []
        while path >= 0:
            out.append(self.func[path])
            path = self.parent[path]
        return tuple(out[::-1])

    def callers(self) -> dict[tuple[int, int], tuple[int, int]]:
        """(caller, function) -> (calls, total ns); caller 0: none that was traced."""
        out: dict[tuple[int, int], tuple[int, int]] = {}
        for i, f in enumerate(self.func):
            count, total = int(self._count[i]), int(self._total[i])
            if count:
                key = (self.func[self.parent[i]] if self.parent[i] >= 0 else 0, f)
                held = out.get(key, (0, 0))
                out[key] = held[0] + count, held[1] + total
        return out


def _last_before(candidates: Column, of: Column, path: Column, otherwise: int) -> Column:
    """For each of ``of`` the path of the last candidate before it."""
    if not len(candidates):
        return np.full(len(of), otherwise, np.int64)
    place = np.searchsorted(candidates, of) - 1
    return np.where(place >= 0, path[candidates[np.maximum(place, 0)]], otherwise)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
