"""Clauses that the session itself sets off: begin, end, signals, and intervals that user space runs.

Those of one moment go in the order of the script, whether user space evaluates them or the kernel runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from probescope.collect.actions import Actions
from probescope.collect.kernel_side import KernelSide
from probescope.collect.timers import Timers
from probescope.evaluate.machine import Machine
from probescope.model.output import Lost
from probescope.model.plan import RunOnce, UserRun
from probescope.plan.request import BpfPlan

if TYPE_CHECKING:
    from probescope.evaluate.world import Event
    from probescope.plan.events import StreamPlan

Step = UserRun | RunOnce


class OwnClauses:
    """``own_event``: what they see, by the number of a site and the start of the session. ``by_clock``: intervals are
    set off here."""

    def __init__(
        self,
        plan: BpfPlan | StreamPlan,
        machine: Machine,
        actions: Actions,
        kernel: KernelSide | None,
        own_event: Callable[[int, int], Event],
        *,
        by_clock: bool = True,
    ) -> None:
        self._machine = machine
        self._actions = actions
        self._kernel = kernel
        self._own_event = own_event
        clause_of = {u.name: u.clause for u in plan.units}
        steps = [s for s in plan.plan.steps if isinstance(s, Step) and (by_clock or s.when != "interval")]
        self._steps = sorted(steps, key=lambda s: s.clause if isinstance(s, UserRun) else clause_of[s.program])
        self._timers = Timers([s for s in self._steps if isinstance(s, UserRun) and s.when == "interval"])
        self.waiting = by_clock and any(s.when in ("interval", "signal") for s in self._steps)

    def start(self) -> None:
        """Intervals begin."""
        self._timers.start()

    def wait_ms(self, most: int) -> int:
        return self._timers.wait_ms(most)

    def run(self, when: str, start_ns: int, over: Callable[[], bool], name: str = "") -> None:
        """Those of one moment, until one of them asks for the end."""
        for step in self._steps:
            if step.when == when and step.name == name and not over():
                self._run(step, start_ns)

    def run_due(self, start_ns: int, over: Callable[[], bool]) -> None:
        """Intervals whose time has come."""
        for step in self._timers.due():
            if not over():
                self._run(step, start_ns)

    def losses(self, *, everything: bool) -> Iterator[Lost]:
        """What clauses in user space could not do."""
        from probescope.collect.losses import of_clauses

        return of_clauses(self._machine.program, self._machine.errors, self._machine.misses, everything=everything)

    def _run(self, step: Step, start_ns: int) -> None:
        if isinstance(step, RunOnce):
            assert self._kernel is not None
            self._kernel.run_once(step)
        else:
            self._machine.run(step.clause, self._own_event(step.site, start_ns))
            self._actions.flush()
