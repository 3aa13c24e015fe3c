"""Records of all CPUs in order of time, in memory that does not grow with the file.

Of each CPU one block is held. In a round, everything up to the earliest of the blocks' last times is complete: it is
taken from all of them, sorted, and given out. Equal times: the first buffer and CPU first, as trace-cmd has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracedat.ring import Block
from probescope.frozen import dataclass

if TYPE_CHECKING:
    from probescope.model.recording import Column

MOST_TIME = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Merged:
    """Records in order. ``source``: which of the merged streams each is from. ``lost``: (index, source, count)."""

    values: Column
    start: Column
    size: Column
    time: Column
    source: Column
    lost: tuple[tuple[int, int, int], ...]


class _Stream:
    """A CPU's blocks; ``at``: the first record not yet given out. Times never fall: one that does is taken for the
    highest before it, for sorting only."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self.blocks = blocks
        self.block: Block | None = None
        self.keys: Column = np.zeros(0, np.uint64)
        self.at = 0
        self.high = np.uint64(0)
        self.pending: list[int] = []  # losses after the last record of a block
        self.more()

    def more(self) -> None:
        """The next block that has records, if there is one and none is held."""
        while self.block is None or self.at >= len(self.block.time):
            if self.block is not None:
                end = len(self.block.time)
                self.pending += [n for i, n in self.block.lost if i >= end]
            self.block = next(self.blocks, None)
            self.at = 0
            if self.block is None:
                return
            if len(self.block.time):
                self.keys = np.maximum(np.maximum.accumulate(self.block.time), self.high)
                self.high = self.keys[-1]

    @property
    def last(self) -> int:
        return int(self.high) if self.block is not None else MOST_TIME

    def take(self, until: int) -> tuple[Block, Column] | None:
        """Records whose key is not after ``until``, and their keys."""
        block = self.block
        if block is None:
            return None
        begin = self.at
        end = int(np.searchsorted(self.keys, np.uint64(until), "right"))
        if end <= begin:
            return None
        self.at = end
        low = int(block.start[begin])
        high = int(block.start[end - 1] + block.size[end - 1])
        lost = [(0, n) for n in self.pending] + [(i - begin, n) for i, n in block.lost if begin <= i < end]
        self.pending = []
        piece = Block(
            block.values[low:high],
            block.start[begin:end] - low,
            block.size[begin:end],
            block.time[begin:end],
            tuple(lost),
        )
        return piece, self.keys[begin:end]


def merged(streams: list[Iterator[Block]]) -> Iterator[Merged]:
    live = [(number, _Stream(blocks)) for number, blocks in enumerate(streams)]
    ended: list[tuple[int, int]] = []
    while True:
        for number, stream in live:
            if stream.block is None:
                ended += [(number, n) for n in stream.pending]
        live = [(number, stream) for number, stream in live if stream.block is not None]
        if not live:
            break
        until = min(stream.last for _, stream in live)
        taken = [(number, piece) for number, stream in live if (piece := stream.take(until)) is not None]
        yield in_order(taken)
        for _, stream in live:
            stream.more()
    if ended:
        none = np.zeros(0, np.int64)
        lost = tuple((0, number, n) for number, n in ended)
        yield Merged(np.zeros(0, np.uint8), none, none, np.zeros(0, np.uint64), none, lost)


def in_order(taken: list[tuple[int, tuple[Block, Column]]]) -> Merged:
    bases = np.cumsum([0] + [len(block.values) for _, (block, _) in taken])
    counts = np.cumsum([0] + [len(block.time) for _, (block, _) in taken])
    pieces = [block for _, (block, _) in taken]
    values = np.concatenate([b.values for b in pieces])
    start = np.concatenate([b.start + base for b, base in zip(pieces, bases[:-1], strict=True)])
    size = np.concatenate([b.size for b in pieces])
    time = np.concatenate([b.time for b in pieces])
    source = np.repeat(np.array([n for n, _ in taken], np.int64), np.diff(counts))
    if len(taken) > 1:
        order = np.argsort(np.concatenate([keys for _, (_, keys) in taken]), kind="stable")
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        start, size, time, source = start[order], size[order], time[order], source[order]
    else:
        places = np.arange(len(time))
    lost = [
        (int(places[base + i]), number, n)
        for (number, (block, _)), base in zip(taken, counts[:-1].tolist(), strict=True)
        for i, n in block.lost
    ]
    return Merged(values, start, size, time, source, tuple(sorted(lost)))
