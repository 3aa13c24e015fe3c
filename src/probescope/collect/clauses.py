"""Clauses that the session itself sets off: begin, end, signals, and intervals that user space runs.

Those of one moment go in the order of the script, whether user space evaluates them or the kernel runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from probescope.collect.actions import Actions
from probescope.collect.event import OwnEvent
from probescope.collect.kernel_side import KernelSide
from probescope.collect.timers import Timers
from probescope.evaluate.machine import Machine
from probescope.model.output import Lost
from probescope.model.plan import RunOnce, UserRun
from probescope.plan.request import BpfPlan

Step = UserRun | RunOnce


class OwnClauses:
    def __init__(self, plan: BpfPlan, machine: Machine, actions: Actions, kernel: KernelSide | None, cpid: int) -> None:
        self._machine = machine
        self._actions = actions
        self._kernel = kernel
        self._cpid = cpid
        clause_of = {u.name: u.clause for u in plan.units}
        steps = [s for s in plan.plan.steps if isinstance(s, Step)]
        self._steps = sorted(steps, key=lambda s: s.clause if isinstance(s, UserRun) else clause_of[s.program])
        self._timers = Timers([s for s in self._steps if isinstance(s, UserRun) and s.when == "interval"])
        self.waiting = any(s.when in ("interval", "signal") for s in self._steps)

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

        return of_clauses(self._machine.program, self._machine.errors, everything=everything)

    def _run(self, step: Step, start_ns: int) -> None:
        if isinstance(step, RunOnce):
            assert self._kernel is not None
            self._kernel.run_once(step)
        else:
            self._machine.run(step.clause, OwnEvent(step.site, start_ns, self._cpid))
            self._actions.flush()
