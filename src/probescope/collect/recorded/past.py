"""What the registers of a stack's frames held: worked out for the rare frame whose rule needs more than the stack and
frame pointers, from the steps that led there.

    step k   lanes that took it, their rules, ip, sp, fp before it, CFAs      a register: as it was at the first step,
                                                                              then by each step's rule for it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from probescope.debuginfo import eh_evaluate
from probescope.debuginfo.eh_evaluate import Unknown
from probescope.debuginfo.eh_rules import X86_64, Conventions
from probescope.debuginfo.unwind_rows import END, GAP, UNREAD

if TYPE_CHECKING:
    import numpy as np

    from probescope.debuginfo.eh_rules import Rule

    Column = np.ndarray[Any, Any]

MOST_WORK = 1 << 14
"""Expressions that are worked out for the registers of stacks that are walked at once: rules may come from anybody, and
ask for each other."""


class Step(NamedTuple):
    """``lanes`` ascending; the others have an item for each of them."""

    lanes: Column
    rules: Column
    kinds: Column
    ip: Column
    sp: Column
    fp: Column
    cfa: Column


class Registers:
    """Of all lanes at their first step, as they were recorded: lane ``i`` has its own from ``start[i]`` on in
    ``values``; ``places``: by DWARF's number, where."""

    def __init__(self, values: Column, start: Column, places: dict[int, int]) -> None:
        self._values, self._start, self._places = values, start, places

    def only(self, which: Column) -> Registers:
        return Registers(self._values, self._start[which], self._places)

    def column(self, number: int) -> Column:
        found: Column = self._values[self._start + self._places[number]]
        return found

    def has(self, number: int) -> bool:
        return number in self._places

    def of(self, lane: int, number: int) -> int | None:
        place = self._places.get(number)
        return int(self._values[int(self._start[lane]) + place]) if place is not None else None


class Past:
    """``first``: registers at the first step. ``word``: memory of a lane."""

    def __init__(
        self,
        first: Registers,
        rules: list[Rule],
        word: Callable[[int, int], int | None],
        machine: Conventions = X86_64,
    ) -> None:
        self._first, self._rules, self._word, self._machine = first, rules, word, machine
        self._steps: list[Step] = []
        self._work = 0
        self._known: dict[tuple[int, int, int], int | None] = {}

    def add(self, step: Step) -> None:
        self._steps.append(step)

    def register(self, lane: int, k: int, number: int) -> int | None:
        """What a register holds before step ``k``. Raises ``Unknown`` where that takes too much work."""
        key = (lane, k, number)
        if key not in self._known:
            self._known[key] = self._found(lane, k, number)
        return self._known[key]

    def _found(self, lane: int, k: int, number: int) -> int | None:
        m = self._machine
        if number in (m.ip, m.stack, m.frame) and k < len(self._steps):
            step = self._steps[k]
            return int({m.ip: step.ip, m.stack: step.sp}.get(number, step.fp)[_place(step, lane)])
        if number == m.link and 0 < k < len(self._steps):  # where it returned to
            return int(self._steps[k].ip[_place(self._steps[k], lane)])
        value = self._first.of(lane, number)
        for j in range(min(k, len(self._steps))):
            value = self._after(lane, j, number, value)
        return value

    def _after(self, lane: int, j: int, number: int, value: int | None) -> int | None:
        """What ``value`` of a register becomes by step ``j``."""
        step = self._steps[j]
        i = _place(step, lane)
        if step.kinds[i] in (UNREAD, GAP, END):
            return None
        kept = next((k for n, k in self._rules[int(step.rules[i])].others if n == number), None)
        if kept is None or kept.how == "same":
            return value if number in self._machine.preserved else None

        if kept.code:
            self._work += 1
            if self._work > MOST_WORK:
                raise Unknown

        def register(other: int) -> int | None:
            return value if other == number else self.register(lane, j, other)

        def read(address: int) -> int | None:
            return self._word(lane, address)

        try:
            return eh_evaluate.restored(number, kept, int(step.cfa[i]), register, read, self._machine)
        except (Unknown, RecursionError):
            return None


def _place(step: Step, lane: int) -> int:
    import numpy as np

    return int(np.searchsorted(step.lanes, lane))
