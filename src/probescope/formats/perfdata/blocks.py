"""Pieces of the data section: whole records that lie in one buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.perfdata import records as r

if TYPE_CHECKING:
    from probescope.formats.perfdata.buffers import Buffer
    from probescope.formats.perfdata.walk import Places, Words


class Block:
    """Whole records in ``buffer``. ``heads``: the records' first words as ``walk`` draws them; ``at``: word index
    of each record. ``rounds``: numbers of records that were there when a round was finished outside. ``base``: place in
    the file of the buffer's first byte, or of what it came out of. ``others``: which of them are no samples, and
    ``kinds_of_others``."""

    __slots__ = ("at", "base", "buffer", "heads", "kinds_of_others", "others", "rounds")

    def __init__(self, buffer: Buffer, heads: Words, at: Places, rounds: tuple[int, ...], base: int) -> None:
        self.buffer, self.heads, self.at, self.rounds, self.base = buffer, heads, at, rounds, base
        kinds = heads.astype(np.uint32)
        self.others = (kinds != r.SAMPLE).nonzero()[0]
        self.kinds_of_others = kinds[self.others]


def merged(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    heads = np.concatenate([b.heads for b in blocks])
    return Block(blocks[0].buffer, heads, np.concatenate([b.at for b in blocks]), (), blocks[0].base)
