"""A program's functions with the kernel's below them: two streams of one clock become one tree for each thread.

    uprobes           parse() ............................ parse() returns     CLOCK_MONOTONIC
    function_graph            sys_read() .. returns                            trace_clock mono, the same

What the kernel does is inside of what the program's thread was in at that moment; what it does elsewhere, before the
first of these functions and between them, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracing.calls import ENTRY, MOST_DEPTH, CallColumns
from probescope.frozen import replace

if TYPE_CHECKING:
    from probescope.collect.ftrace.names import Names
    from probescope.collect.graph.probed import ProbedCalls
    from probescope.collect.graph.probed_names import ProbedNames
    from probescope.collect.graph.traced import TracedCalls
    from probescope.model.recording import Column, EventBatch, EventType

_PLAIN = ("at", "kind", "cpu", "tid", "time", "func", "depth", "duration", "from_")
_OPTIONAL = ("value", "args", "overrun")
_FIRST_ADDRESS = 1 << 32
"""Numbers of a program's functions are below it, addresses of the kernel's above."""


class MixedNames:
    def __init__(self, user: ProbedNames, kernel: Names) -> None:
        self._user, self._kernel = user, kernel

    def function(self, number: int) -> str:
        return self._kernel.function(number) if self.of_kernel(number) else self._user.function(number)

    def arguments(self, number: int, values: tuple[int, ...]) -> str:
        return self._kernel.arguments(number, values) if self.of_kernel(number) else ""

    def of_kernel(self, number: int) -> bool:
        return number >= _FIRST_ADDRESS

    def interrupts(self) -> tuple[int, int]:
        return self._kernel.interrupts()

    def learn(self, tids: set[int]) -> None:
        self._user.learn(tids)

    def comm(self, tid: int) -> str:
        return self._user.comm(tid)


class MixedCalls:
    """``Calls``. ``kernel`` runs the command, whose process ``user`` follows."""

    def __init__(self, kernel: TracedCalls, user: ProbedCalls) -> None:
        self._kernel, self._user = kernel, user
        self.names = MixedNames(user.names, kernel.names)
        self.events: tuple[EventType, ...] = ()
        self.ret = False
        self._open: dict[int, int] = {}
        self._late: list[tuple[CallColumns | None, EventBatch | None]] = []

    def begin(self) -> None:
        self._user.begin()
        self._kernel.begin()
        self.events, self.ret = self._kernel.events, self._kernel.ret

    def batches(self) -> Iterator[tuple[CallColumns, EventBatch | None]]:
        from probescope.collect.ftrace.live import EVERYTHING

        for until, columns, batch in self._kernel.looks():
            if until == EVERYTHING:
                self._late.append((columns, batch))
                continue
            self._user.drain()
            yield from self._together(self._user.taken(until), columns, batch)
        self._user.stop()
        late = [pair for pair in self._late if pair[0] is not None] or [(None, None)]
        for i, (columns, batch) in enumerate(late):
            last = i == len(late) - 1
            until = EVERYTHING if last or batch is None else int(batch.time[-1])
            yield from self._together(self._user.taken(until), columns, batch)

    def _together(
        self, user: CallColumns | None, kernel: CallColumns | None, batch: EventBatch | None
    ) -> Iterator[tuple[CallColumns, EventBatch | None]]:
        if user is not None and batch is not None:
            user = replace(user, at=np.searchsorted(batch.time, user.time))
        if user is None and kernel is None:
            return
        merged = below(in_order(user, kernel), self._open)
        if len(merged.at) or batch is not None:
            yield merged, batch

    @property
    def exit_code(self) -> int:
        return self._kernel.exit_code

    def told(self) -> list[str]:
        return [*self._user.told(), *self._kernel.told()]

    def close(self) -> None:
        try:
            self._kernel.close()
        finally:
            self._user.close()


def in_order(user: CallColumns | None, kernel: CallColumns | None) -> CallColumns:
    """Rows of both by time. At one moment a program's function begins before, and ends after, what the kernel does."""
    if user is None or kernel is None:
        found = user if user is not None else kernel
        assert found is not None
        return found
    rank = np.concatenate([np.where(user.kind == ENTRY, 0, 2), np.ones(len(kernel.at), np.int64)])
    order = np.lexsort((rank, np.concatenate([user.time, kernel.time])))

    def both(name: str) -> Column:
        return np.concatenate([getattr(user, name), getattr(kernel, name)])[order]

    def either(name: str) -> Column | None:
        """Of columns that may be absent: zeros for who has none."""
        columns = [getattr(c, name) for c in (user, kernel)]
        if all(c is None for c in columns):
            return None
        like = next(c for c in columns if c is not None)
        whole = [
            c if c is not None else np.zeros((len(owner.at), *like.shape[1:]), like.dtype)
            for c, owner in zip(columns, (user, kernel), strict=True)
        ]
        return np.concatenate(whole)[order]

    out: dict[str, Any] = {name: both(name) for name in _PLAIN}
    out |= {name: either(name) for name in _OPTIONAL}
    out["known"] = np.concatenate([_known(user), _known(kernel)])[order]
    return CallColumns(**out)


def _known(c: CallColumns) -> Column:
    if c.value is None:
        return np.zeros(len(c.at), np.bool_)
    return np.ones(len(c.at), np.bool_) if c.known is None else c.known


def below(c: CallColumns, open_: dict[int, int]) -> CallColumns:
    """Calls of the kernel deeper by as many functions of the program as are open in their thread, and only those.
    ``open_``: how many those are, of threads, before and afterwards."""
    kernel = c.func >= _FIRST_ADDRESS
    order = np.argsort(c.tid, kind="stable")
    tid, user = c.tid[order], ~kernel[order]
    after = np.where(user, c.depth[order] + (c.kind[order] == ENTRY), 0)
    starts = np.flatnonzero(np.diff(tid, prepend=tid[:1] - 1)) if len(tid) else np.zeros(0, np.int64)
    first = np.repeat(starts, np.diff(np.append(starts, len(tid))))
    last = np.maximum.accumulate(np.where(user, np.arange(len(tid)), -1)) if len(tid) else np.zeros(0, np.int64)
    before = np.array([open_.get(int(t), 0) for t in tid[starts].tolist()], np.int64)
    carried = np.repeat(before, np.diff(np.append(starts, len(tid))))
    base = np.where(last >= first, after[np.maximum(last, 0)], carried)
    for end in np.append(starts[1:], len(tid)).tolist() if len(tid) else ():
        open_[int(tid[end - 1])] = int(base[end - 1])
    deeper = np.zeros(len(c.tid), np.int64)
    deeper[order] = np.where(user, 0, base)
    keep = np.flatnonzero(~kernel | (deeper > 0))
    moved = replace(c, depth=np.minimum(c.depth + deeper, MOST_DEPTH))
    return moved if len(keep) == len(c.tid) else _rows(moved, keep)


def _rows(c: CallColumns, which: Column) -> CallColumns:
    columns = {name: getattr(c, name) for name in (*_PLAIN, *_OPTIONAL, "known")}
    found: dict[str, Any] = {name: column if column is None else column[which] for name, column in columns.items()}
    return CallColumns(**found)
