"""The stacks whose frames all have plain rules, walked by ``steps`` where that is compiled, and where their dumps lie
in memory that it can read: those of mapped files. The others are left to ``lanes``.

    stacks ──► steps.walk ──► walked to their ends
                 ▲   ├──────► addresses that it does not know ──► grounds ──┐
                 │   └──────► other rules ──► lanes                         │
                 └────────────────── learns their rules ◄───────────────────┘
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.lanes import DEPTH, Dumps, Walked
from probescope.formats.compiled import compiled

if TYPE_CHECKING:
    import numpy as np

    from probescope.collect.recorded.grounds import Grounds
    from probescope.collect.recorded.past import Registers
    from probescope.debuginfo.unwind_rows import Columns

    Column = np.ndarray[Any, Any]

ROUNDS = DEPTH
"""Each tells of one more frame of the stacks that are new."""


class Quick:
    """``walk`` gives pieces: which stacks, and their frames; and which are left."""

    def __init__(self, grounds: Grounds) -> None:
        module = compiled("steps", "collect.recorded") if grounds.machine.link < 0 else None
        self._steps: Any = module.Steps() if module is not None else None
        self._module: Any = module
        self._grounds = grounds
        self._generation = grounds.generation
        self._columns: Columns | None = None
        self._rules = b""

    @property
    def there(self) -> bool:
        return self._steps is not None

    def walk(
        self, data: bytes, offset: int, dumps: Dumps, registers: Registers, spaces: Column
    ) -> tuple[list[tuple[Column, Walked]], Column]:
        """``offset``: the byte of ``data`` where ``dumps.words`` begin."""
        import numpy as np

        m = self._grounds.machine
        bases = self._grounds.bases(spaces)
        start = (dumps.start << np.uint64(3)) + np.uint64(offset)
        columns = (bases, *map(registers.column, (m.ip, m.stack, m.frame)), start, dumps.size)
        rows = np.stack(columns, 1).astype("<u8", copy=False)
        left: Column = np.arange(len(rows))
        pieces: list[tuple[Column, Walked]] = []
        others: list[Column] = []
        for _ in range(ROUNDS):
            if self._generation != self._grounds.generation:
                self._steps.forget()
                self._generation = self._grounds.generation
            frames, counts, unknown, cut = self._steps.walk(data, rows[left].tobytes(), self._packed(), DEPTH)
            count = np.frombuffer(counts, "<i8")
            done = count >= 0
            if done.any():
                pieces.append((left[done], Walked(count[done], np.frombuffer(frames, "<u8"), cut)))
            others.append(left[count == self._module.OTHER])
            left = left[count == self._module.UNKNOWN]
            if not len(left):
                break
            self._learn(np.frombuffer(unknown, "<u8").reshape(-1, 2))
        return pieces, np.sort(np.concatenate((*others, left)))

    def _learn(self, met: Column) -> None:
        """Rules of these addresses; each has what makes a key of it before it."""
        import numpy as np

        bases, addresses = met[:, 0], met[:, 1]
        keys, first = np.unique(bases + addresses, return_index=True)
        rules = self._grounds.rules(bases[first], addresses[first])
        self._steps.learn(np.stack((keys.astype("<i8"), rules), 1).astype("<i8", copy=False).tobytes())

    def _packed(self) -> bytes:
        """As ``steps`` has them; there are more now and then."""
        import numpy as np

        columns = self._grounds.rows.rules.columns()
        if columns is not self._columns:
            c = self._columns = columns
            numbers = (c.kind, c.by_frame, c.number.view(np.int64), c.saved.view(np.int64), c.back.view(np.int64))
            self._rules = np.stack([one.astype("<i8") for one in (*numbers, c.signal)], 1).tobytes()
        return self._rules
