"""Stacks of events, each different one once, by number, as map keys have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.recorded.stacks import Stacks, split
from probescope.evaluate.columns.values import Coded

if TYPE_CHECKING:
    from probescope.collect.stream.who import Told
    from probescope.evaluate.columns.values import Column
    from probescope.model.types import Opaque

NONE = -14
"""What stands for no stack: -EFAULT, as the kernel's helpers say where there is none."""

Address = tuple[int, tuple[int, ...]]


class StackTable:
    """``chains``: (space, addresses innermost first) by number; ``space`` is -1 for the kernel."""

    def __init__(self) -> None:
        self.chains: list[Address] = []
        self._numbers: dict[Address, int] = {}
        self._stacks = Stacks()
        self._cut: dict[tuple[str, int], list[int]] = {}

    def numbered(self, told: Told) -> Column | None:
        """The number of each event's whole stack, -1 for none; ``None`` if there are none in the batch."""
        stacks = told.batch.stacks
        return None if stacks is None else self._stacks.numbers(stacks, told.spaces)

    def column(self, t: Opaque, whole: Column | None, told: Told) -> Coded:
        """The stacks of one side and depth as values of that type: numbers; of user stacks with the space that they are
        of."""
        user, count = t.kind == "ustack", told.batch.count
        if whole is None:
            return Coded(np.zeros(count, np.int64), [(NONE, 0) if user else NONE])
        cut = self._cut.setdefault((t.kind, t.depth), [])
        for space, addresses in self._stacks.chains[len(cut) :]:
            cut.append(self._number(space, addresses, user, t.depth))
        code = np.where(whole < 0, len(cut), whole).astype(np.int64)
        if not user:
            return Coded(code, [*cut, NONE])
        spaces = [space for space, _ in self._stacks.chains]
        return Coded(code, [*zip(cut, spaces, strict=True), (NONE, 0)])

    def _number(self, space: int, addresses: tuple[int, ...], user: bool, depth: int) -> int:
        mine = tuple(a for a, side in split(addresses) if (side == "user") is user)[: depth or None]
        if not mine:
            return NONE
        key = (space if user else -1, mine)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.chains)
            self.chains.append(key)
        return found
