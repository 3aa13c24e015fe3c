"""Samples of a recording as counted stacks: threads, CPUs and pieces of time are kept apart for the page.

Numpy puts equal (stack, name, thread, CPU, piece of time) of a batch together; what is left is few, and added one by
one. A frame's name ends in ``_[k]`` if it is the kernel's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.stacks import CONTEXT
from probescope.model.alike import Remembered, alike
from probescope.views.flame.stacks import Group, StackSamples

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told, ToldBatch

    Column = np.ndarray[Any, Any]

SLOTS = 240
WORDS = {"cpu-clock": "ns", "task-clock": "ns"}
"""What the periods of an event count, if not occurrences."""


class Sampled:
    """``event``: index of the kind that is counted. ``times``: first and last time of the recording in ns, equal where
    they are not known: then all is one piece."""

    def __init__(self, told: Told, event: int, times: tuple[int, int]) -> None:
        name = told.recording.events[event].name
        known = times[1] > times[0]
        self._told, self._event = told, event
        self.samples = StackSamples(WORDS.get(name.partition(":")[0], name), SLOTS if known else 1, times)
        self._width = max(1, -(-(times[1] - times[0] + 1) // SLOTS)) if known else 0
        self._nodes: dict[tuple[int, int], int] = {}
        self._met = Remembered()
        self._names: dict[int, str] = {}
        self._callers: dict[tuple[int, int, tuple[int, ...]], tuple[int, int]] = {}
        self._ips: dict[tuple[int, int, bool, int], int] = {}

    def add(self, told: ToldBatch, keep: Column | None = None) -> None:
        """Of a batch, or of some of its events (indices)."""
        import numpy as np

        b = told.batch
        which = told.of(self._event, keep)
        if not len(which):
            return
        columns = [
            self._node_column(told, which),
            told.names[which],
            b.pid[which],
            b.tid[which],
            b.cpu[which],
            self._slots(b.time[which]),
        ]
        first, kinds = alike(columns)
        weights = np.bincount(kinds, b.period[which].astype(np.float64), len(first))
        names = self._told.tasks.names
        keys = zip(*(c[first].tolist() for c in columns), strict=True)
        for (node, name, pid, tid, cpu, slot), weight in zip(keys, weights.tolist(), strict=True):
            self.samples.add(node, weight, self.samples.group(Group(names[name], pid, tid, cpu)), slot)

    def _slots(self, times: Column) -> Column:
        import numpy as np

        if not self._width:
            return np.zeros(len(times), np.int64)
        since = times.astype(np.int64) - self.samples.times[0]
        return np.clip(since // self._width, 0, SLOTS - 1)

    def _node_column(self, told: ToldBatch, which: Column) -> Column:
        """The node of each event's stack below its thread's name."""
        import numpy as np

        b = told.batch
        stacks = told.stacks[which] if told.stacks is not None else np.full(len(which), -1, np.int32)
        names = told.names[which]
        keys = names.astype(np.uint64) << np.uint64(32) | stacks.view(np.uint32)

        def nodes(which: Column) -> list[int]:
            pairs = zip(stacks[which].tolist(), names[which].tolist(), strict=True)
            return [self._node(stack, name) for stack, name in pairs]

        out = self._met.numbers(keys, nodes)
        lone = np.flatnonzero(stacks < 0)
        if len(lone) and "ip" in b.numbers:  # no stack: the place alone
            at = which[lone]
            modes = b.numbers["misc"][at] & 7 if "misc" in b.numbers else np.zeros(len(at), np.uint16)
            columns = [told.spaces[at], b.numbers["ip"][at], modes, names[lone]]
            first, kinds = alike(columns)
            rows = zip(*(c[first].tolist() for c in columns), strict=True)
            out[lone] = np.array([self._lone(space, ip, mode == 1, name) for space, ip, mode, name in rows])[kinds]
        return out

    def _node(self, stack: int, name: int) -> int:
        key = (stack, name)
        found = self._nodes.get(key)
        if found is None:
            space, addresses = self._told.stacks.chains[stack] if stack >= 0 else (-1, ())
            found = self._nodes[key] = self._stacked(space, addresses, name)
        return found

    def _stacked(self, space: int, addresses: tuple[int, ...], name: int) -> int:
        """Most stacks differ in their innermost address alone: what called it is looked up as a whole. The first of
        ``addresses`` is the mark of its context, or else all of them are followed."""
        if len(addresses) < 3 or addresses[0] < CONTEXT or addresses[1] >= CONTEXT:
            return self.samples.node(self._path(space, addresses, name))
        callers = (space, name, (addresses[0], *addresses[2:]))
        known = self._callers.get(callers)
        if known is None:
            path = self._path(space, callers[2], name)
            known = self._callers[callers] = (self.samples.node(path), len(path))
        innermost = self._told.along(space, addresses[:2])
        return self.samples.node(map(self._name, reversed(innermost)), *known)

    def _path(self, space: int, addresses: tuple[int, ...], name: int) -> list[str]:
        return [self._told.tasks.names[name], *map(self._name, reversed(self._told.along(space, addresses)))]

    def _name(self, frame: Frame) -> str:
        """Frames of stacks are few objects, which are kept: their identity is enough."""
        found = self._names.get(id(frame))
        if found is None:
            found = self._names[id(frame)] = frame_name(frame)
        return found

    def _lone(self, space: int, ip: int, kernel: bool, name: int) -> int:
        key = (space, ip, kernel, name)
        found = self._ips.get(key)
        if found is None:
            path = [self._told.tasks.names[name]]
            path.append(frame_name(self._told.frame(space, ip, kernel)))
            found = self._ips[key] = self.samples.node(path)
        return found


def frame_name(frame: Frame) -> str:
    """The function, else the module in brackets; semicolons would part frames."""
    mark = "_[k]" if frame.kernel else ""
    module = frame.module.rpartition("/")[2].strip("[]") or "unknown"
    return (frame.name or f"[{module}]").replace(";", ":") + mark
