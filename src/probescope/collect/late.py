"""Actions that found the ring full and were put off by the program in the kernel: exit(), clear(), zero(), print(@m).

They wait in a map of their own (bpf/unit.py, LATE_WORDS) and are carried out when everything that was in the ring
before them has been read. What was put off several times meanwhile is done once: the map is then what it is then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.bpf.unit import LATE_WORDS
from probescope.ir.program import Program
from probescope.kernel.ringbuf import RingBuffer
from probescope.model.types import wrap

if TYPE_CHECKING:
    from probescope.kernel.host import Mapping
    from probescope.kernel.perfbuf import PerfBuffer


class Late:
    """``actions``: by slot."""

    def __init__(self, words: Mapping, actions: tuple[int, ...], program: Program) -> None:
        self._mapping = words
        self._words = words.view[: 8 * (1 + LATE_WORDS * len(actions))].cast("Q")
        self._actions = actions
        self._types = [program.actions[a].types for a in actions]
        self._done = [0] * len(actions)
        self._behind: int | None = None  # position in the ring that has to be read first

    def noticed(self, ring: RingBuffer | PerfBuffer) -> bool:
        """Whether something waits; looked at before the ring is read."""
        if self._behind is None and self._words[0]:
            self._behind = ring.produced if isinstance(ring, RingBuffer) else 0
        return self._behind is not None

    def due(self, ring: RingBuffer | PerfBuffer, *, last: bool = False) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Actions with their values, in the order of the program. ``last``: whatever the ring holds."""
        if not last and isinstance(ring, RingBuffer) and ring.consumed < (self._behind or 0):
            return
        self._behind = None
        self._words[0] = 0  # first: what is put off from here on is noticed next time
        for i, action in enumerate(self._actions):
            at = 1 + LATE_WORDS * i
            count = self._words[at]
            if count != self._done[i]:
                self._done[i] = count
                yield action, tuple(wrap(self._words[at + 1 + k], t) for k, t in enumerate(self._types[i]))

    def close(self) -> None:
        self._words.release()
        self._mapping.close()
