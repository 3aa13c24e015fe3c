"""Sampled stacks as writers take them: a tree of frames, owners, and columns of samples. Plain data, no numpy here.

    frames  [main, parse, read]     parent [-1, 0, 1, 2]   frame [-1, 0, 1, 2]     node 0 is the root
    owners  [(bash, 7, 7), ...]     whose stacks these are
    batch   time, owner, node, weight, event, cpu: one item a sample

A stack is known by the number of its innermost node. A node's number is above its parent's. Memory grows with different
stacks, not with samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from probescope.errors import LimitError
from probescope.frozen import dataclass, field

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

MAX_NODES = 8_000_000
MAX_DEPTH = 8192


class CodeFrame(NamedTuple):
    """A function, or a place in one where ``address`` is given. ``module``: the path of its file, or what stands for
    one (``[kernel.kallsyms]``). ``line`` 0: not known. ``inlined``: into the next outer frame of its stack."""

    name: str
    module: str = ""
    kernel: bool = False
    address: int = 0
    file: str = ""
    line: int = 0
    inlined: bool = False


class Owner(NamedTuple):
    """A thread, process or name: empty and -1 what is not told or not kept apart."""

    comm: str = ""
    pid: int = -1
    tid: int = -1

    def title(self) -> str:
        """As folded stacks name it: ``comm-PID/TID``, as much of it as there is."""
        numbers = [str(n) for n in (self.pid, self.tid) if n >= 0]
        return "-".join(p for p in (self.comm, "/".join(numbers)) if p)


class Measure(NamedTuple):
    """What weights count: ``cpu-clock`` in ``ns``, ``page-faults`` in ``count``. ``hz``: how often it was sampled, 0 if
    not by time."""

    name: str
    unit: str = "count"
    hz: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class SampleBatch:
    """``time`` u8 ns; ``owner``, ``node``, ``event``, ``cpu`` i4 (``node`` 0: no stack; ``event`` an index into
    measures; ``cpu`` -1: not told); ``weight`` u8 or f8."""

    time: Column
    owner: Column
    node: Column
    weight: Column
    event: Column
    cpu: Column

    def __len__(self) -> int:
        return len(self.time)


@dataclass(slots=True)
class StackTable:
    frames: list[CodeFrame] = field(default_factory=list)
    parent: list[int] = field(default_factory=lambda: [-1])
    frame: list[int] = field(default_factory=lambda: [-1])
    depth: list[int] = field(default_factory=lambda: [0])
    owners: list[Owner] = field(default_factory=list)
    _frames: dict[CodeFrame, int] = field(default_factory=dict)
    _nodes: dict[tuple[int, int], int] = field(default_factory=dict)
    _owners: dict[Owner, int] = field(default_factory=dict)

    def node(self, stack: Iterable[CodeFrame]) -> int:
        """The node of a stack, outermost frame first. Raises LimitError past ``MAX_NODES`` or ``MAX_DEPTH``."""
        at = 0
        for one in stack:
            number = self._frames.get(one)
            if number is None:
                number = self._frames[one] = len(self.frames)
                self.frames.append(one)
            below = self._nodes.get((at, number))
            at = self._grow(at, number) if below is None else below
        return at

    def _grow(self, parent: int, frame: int) -> int:
        depth = self.depth[parent] + 1
        if depth > MAX_DEPTH:
            raise LimitError(f"a stack of more than {MAX_DEPTH} frames")
        if len(self.parent) >= MAX_NODES:
            hints = ["leave some out: --time, --pid, --comm, --event"]
            raise LimitError(f"more than {MAX_NODES} different stacks", hints=hints)
        made = self._nodes[parent, frame] = len(self.parent)
        self.parent.append(parent)
        self.frame.append(frame)
        self.depth.append(depth)
        return made

    def owner(self, owner: Owner) -> int:
        found = self._owners.get(owner)
        if found is None:
            found = self._owners[owner] = len(self.owners)
            self.owners.append(owner)
        return found

    def path(self, node: int) -> list[int]:
        """Frames' numbers, outermost first."""
        out: list[int] = []
        while node > 0:
            out.append(self.frame[node])
            node = self.parent[node]
        return out[::-1]


class Counts:
    """Weights summed up: by owner and node, one sum for each measure, and the number of samples."""

    def __init__(self, measures: int) -> None:
        self.measures = measures
        self.sums: dict[tuple[int, int], list[float]] = {}

    def add(self, batch: SampleBatch) -> None:
        import numpy as np

        if not len(batch):
            return
        mixed = (batch.owner.astype(np.int64) << 32) | batch.node
        keys, kinds = np.unique(mixed, return_inverse=True)
        cells = kinds * self.measures + batch.event
        sums = np.zeros(len(keys) * self.measures, batch.weight.dtype)
        np.add.at(sums, cells, batch.weight)
        counts = np.bincount(kinds, minlength=len(keys)).tolist()
        rows = sums.reshape(len(keys), self.measures).tolist()
        for key, row, count in zip(keys.tolist(), rows, counts, strict=True):
            self._sum(key, [count, *row])

    def _sum(self, key: int, row: list[float]) -> None:
        place = (key >> 32, key & 0xFFFFFFFF)
        found = self.sums.get(place)
        if found is None:
            self.sums[place] = row
        else:
            for i, n in enumerate(row):
                found[i] += n
