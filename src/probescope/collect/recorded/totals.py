"""Weights of a recording's samples by what they have in common: thread, module, function... and by stack.

Samples are put together by numpy as far as (stack or place, name, process, thread, CPU) go; then once by the keys that
are asked for. Memory grows with different stacks and threads, not with samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from probescope.collect.recorded.alike import alike
from probescope.frozen import dataclass, field

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.symbols import Frame
    from probescope.collect.recorded.told import Told, ToldBatch

    Column = np.ndarray[Any, Any]

KEYS = ("comm", "dso", "sym", "pid", "tid", "cpu")


class Seen(NamedTuple):
    """Samples that are alike. ``frames``: innermost first, at least one where an address was recorded."""

    frames: tuple[Frame, ...]
    comm: str
    pid: int
    tid: int
    cpu: int
    weight: int
    samples: int


@dataclass(slots=True)
class Row:
    """``own``: weight of samples taken there; ``total``: of those with it anywhere in their stack. ``stacks``: weight
    by frames' (module, name), innermost first."""

    key: tuple[str, ...]
    own: int = 0
    total: int = 0
    samples: int = 0
    stacks: dict[tuple[tuple[str, str], ...], int] = field(default_factory=dict)


class Totals:
    """Of one kind of event, by its index."""

    def __init__(self, told: Told, event: int) -> None:
        self._told, self._event = told, event
        self._sums: dict[tuple[int, ...], list[int]] = {}

    def add(self, told: ToldBatch, keep: Column | None = None) -> None:
        import numpy as np

        b = told.batch
        which = told.of(self._event, keep)
        if not len(which):
            return
        none = np.full(len(which), -1, np.int64)
        stacks = told.stacks[which].astype(np.int64) if told.stacks is not None else none
        lone = stacks < 0
        ips = b.numbers["ip"][which].view(np.int64) if "ip" in b.numbers else none
        modes = (b.numbers["misc"][which] & 7).astype(np.int64) if "misc" in b.numbers else none
        columns = [
            stacks,
            np.where(lone, ips, 0),
            np.where(lone, modes, 0),
            np.where(lone, told.spaces[which], 0),
            told.names[which],
            b.pid[which],
            b.tid[which],
            b.cpu[which],
        ]
        first, kinds = alike(columns)
        counts = np.bincount(kinds, minlength=len(first))
        weights = np.zeros(len(first), np.uint64)
        np.add.at(weights, kinds, b.period[which])
        keys = zip(*(c[first].tolist() for c in columns), strict=True)
        for key, weight, count in zip(keys, weights.tolist(), counts.tolist(), strict=True):
            found = self._sums.setdefault(key, [0, 0])
            found[0] += weight
            found[1] += count

    @property
    def weight(self) -> int:
        return sum(w for w, _ in self._sums.values())

    @property
    def samples(self) -> int:
        return sum(n for _, n in self._sums.values())

    def seen(self) -> Iterator[Seen]:
        names = self._told.tasks.names
        for (stack, ip, mode, space, name, pid, tid, cpu), (weight, count) in self._sums.items():
            if stack >= 0:
                frames = self._told.frames(stack)
            else:
                frames = (self._told.frame(space, ip & (1 << 64) - 1, mode == 1),)
            yield Seen(frames, names[name], pid, tid, cpu, weight, count)

    def rows(self, keys: tuple[str, ...], *, children: bool = False) -> list[Row]:
        """By ``keys`` (of ``KEYS``), the heaviest first. With ``children`` each function of a stack has a row."""
        out: dict[tuple[str, ...], Row] = {}
        for s in self.seen():
            path = tuple((module_of(f), symbol_of(f)) for f in s.frames)
            counted: set[tuple[str, ...]] = set()  # a function that calls itself counts once
            for i, frame in enumerate(s.frames if children else s.frames[:1]):
                key = tuple(value(k, s, frame) for k in keys)
                row = out.get(key)
                if row is None:
                    row = out[key] = Row(key)
                if i == 0:
                    row.own += s.weight
                    row.samples += s.samples
                if key not in counted:
                    counted.add(key)
                    row.total += s.weight
                    below = path[: i + 1] if children else path
                    row.stacks[below] = row.stacks.get(below, 0) + s.weight
        return sorted(out.values(), key=lambda r: (-(r.total if children else r.own), r.key))


def module_of(frame: Frame) -> str:
    return frame.module.rpartition("/")[2] or "[unknown]"


def symbol_of(frame: Frame) -> str:
    return frame.name or f"{frame.address:#018x}"


def value(key: str, s: Seen, frame: Frame) -> str:
    match key:
        case "comm":
            return s.comm
        case "dso":
            return module_of(frame)
        case "sym":
            return f"[{'k' if frame.kernel else '.'}] {symbol_of(frame)}"
        case "pid":
            return f"{s.pid:>7}:{s.comm}"
        case "tid":
            return f"{s.tid:>7}:{s.comm}"
        case _:
            return f"{s.cpu:03d}"
