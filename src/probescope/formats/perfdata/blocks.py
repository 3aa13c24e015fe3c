"""Pieces of the data section: whole records that lie in one buffer, sorted by what is done with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.compiled import compiled
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.walk import heads_of, walk

if TYPE_CHECKING:
    from probescope.formats.perfdata.buffers import Buffer
    from probescope.formats.perfdata.walk import Places, Words

    Column = np.ndarray[Any, Any]

Chain = Callable[[bytes, int, int, int], "tuple[bytes, bytes, bytes, bytes, bytes, int]"]


_CHAINED = compiled("perfdata.chain")
CHAIN: Chain | None = getattr(_CHAINED, "chain", None)
SQUEEZED: Callable[[bytes, int], tuple[bytes, int, int, bool, int]] | None = getattr(_CHAINED, "squeezed", None)
LARGE = 64
"""Words of records on average, from which on looking at them where they lie is faster than a copy of all: where what
lies there is none."""


class Block:
    """Whole records in ``buffer``, places counted in words. ``at``: the kernel's, ``time``: what samples among them
    have at word ``time_at``, if that was known; ``others``: which of them are no samples, by number. ``own``: those of
    perf itself. ``rounds``: where a round was finished, ``counted`` times by a record of this block.
    ``base``: place in the file of the buffer's first byte, or of what it came out of."""

    __slots__ = ("at", "base", "buffer", "counted", "others", "own", "rounds", "time", "time_at")

    def __init__(
        self, buffer: Buffer, at: Places, time: Words | None, others: Places, own: Places, rounds: Places, base: int
    ) -> None:
        self.buffer, self.at, self.time, self.others, self.own, self.base = buffer, at, time, others, own, base
        self.rounds, self.counted, self.time_at = rounds, len(rounds), 0

    def __len__(self) -> int:
        return len(self.at) + len(self.own) + self.counted

    def ended(self, marks: Places) -> None:
        """Rounds were also finished outside, at these places."""
        self.rounds = np.sort(np.concatenate((self.rounds, marks)))

    def heads(self, at: Places) -> Words:
        """First words of some records, as ``walk`` draws them."""
        return heads_of(self.buffer.words.take(at), self.buffer.big)

    def kinds(self, at: Places) -> Column:
        return self.heads(at).astype(np.uint32)

    def everything(self) -> tuple[Words, Places, Places]:
        """Heads and places of all records but the ends of rounds, in order; and how many of them came before each of
        these."""
        at = np.sort(np.concatenate((self.at, self.own))) if len(self.own) else self.at
        return self.heads(at), at, at.searchsorted(self.rounds)


def merged(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    first = blocks[0]
    counts = np.cumsum([0, *(len(b.at) for b in blocks[:-1])]).tolist()
    others = np.concatenate([b.others + n for b, n in zip(blocks, counts, strict=True)])
    times = [b.time for b in blocks if b.time is not None]
    at, own, rounds = (np.concatenate([getattr(b, n) for b in blocks]) for n in ("at", "own", "rounds"))
    time = np.concatenate(times) if len(times) == len(blocks) else None
    out = Block(first.buffer, at, time, others, own, rounds, first.base)
    out.time_at = first.time_at
    return out


def block_of(buffer: Buffer, first: int, count: int, base: int, time_at: int, *, large: bool) -> tuple[Block, int]:
    """Of ``count`` words from ``first`` on; and how many of them records fill. ``time_at``: word of samples that holds
    their time, 0 where it is not known; ``large``: what came before was."""
    whole = buffer.mapped.whole() if CHAIN is not None and buffer.mapped is not None else None
    if CHAIN is not None and whole is not None:
        found = CHAIN(whole, first * 8, (first + count) * 8, time_at)
        at, time, others, own, rounds, end = _chained(found, 0, time_at)
        end -= first
    elif CHAIN is not None and not buffer.big and not large:
        data = buffer.data[first * 8 : (first + count) * 8].tobytes()
        buffer.copied = (first, data)
        at, time, others, own, rounds, end = _chained(CHAIN(data, 0, len(data), time_at), first, time_at)
    else:
        at, time, others, own, rounds, end = _walked(buffer, first, count)
    block = Block(buffer, at, time, others, own, rounds, base)
    block.time_at = time_at
    return block, end


_Sorted = tuple["Places", "Words | None", "Places", "Places", "Places", int]


def _chained(found: tuple[bytes, bytes, bytes, bytes, bytes, int], first: int, time_at: int) -> _Sorted:
    """``chain``'s findings, of bytes whose first word is ``first``, as columns."""
    at, time, others, own, rounds = (np.frombuffer(one, "<i8") for one in found[:5])
    if first:
        at, own, rounds = at + first, own + first, rounds + first
    return at, time.view(np.uint64) if time_at else None, others, own, rounds, found[5]


def _walked(buffer: Buffer, first: int, count: int) -> _Sorted:
    at, found, end = walk(heads_of(buffer.words[first : first + count], buffer.big))
    at += first
    kinds = found.astype(np.uint32)
    others = (kinds != r.SAMPLE).nonzero()[0]
    of_perf = kinds[others] >= r.USER_START
    own = others[of_perf]
    if not len(own):
        return at, None, others, own, own, end
    kept = np.ones(len(at), np.bool_)
    kept[own] = False
    round_kind = kinds[own] == r.FINISHED_ROUND
    others = others[~of_perf]
    others -= own.searchsorted(others)
    return at.take(kept.nonzero()[0]), None, others, at[own[~round_kind]], at[own[round_kind]], end
