"""``test:`` and ``bench:`` probes: each is run by probescope, once, or so often that its time can be told.

A test fails if it returns something, asks for an exit code, or says an error; what it says is shown only then. A bench
that returns something is skipped.
"""

from __future__ import annotations

from collections.abc import Callable

from probescope.collect.actions import Actions, Sink
from probescope.collect.kernel_side import KernelSide
from probescope.model.output import BenchResult, Output, TestResult, Text
from probescope.model.plan import RunOnce

ENOUGH_NS = 1_000_000
"""A bench runs at least so long in all."""
_GROWTH = ((1_000, 10_000), (10_000, 100), (100_000, 10), (ENOUGH_NS, 2))
"""By how much more often it is run if it took less than so many ns."""
MOST_RUNS = 1 << 30


class Trials:
    """``capture`` runs something and gives what it said instead of saying it."""

    def __init__(
        self,
        steps: list[RunOnce],
        kernel: KernelSide,
        actions: Actions,
        capture: Callable[[Callable[[], None]], list[Output]],
        sink: Sink,
    ) -> None:
        self._steps = steps
        self._kernel = kernel
        self._actions = actions
        self._capture = capture
        self._sink = sink

    def run(self) -> int:
        """All of them, in the order of the script; 1 if one failed."""
        code = 0
        for kind, one in (("test", self._test), ("bench", self._bench)):
            steps = [s for s in self._steps if s.when == kind]
            names = tuple(s.name for s in steps)
            passed: list[bool] = []
            for i, step in enumerate(steps):
                passed.append(one(step, names, i, passed))
            code = code or int(not all(passed))
        return code

    def _once(self, step: RunOnce, repeat: int) -> tuple[int, int, list[Output], bool]:
        """Return value, ns of one run, what was said, and whether that was an error or an exit code."""
        value, ns = 0, 0

        def run() -> None:
            nonlocal value, ns
            value, ns = self._kernel.trial(step, repeat)

        said = self._capture(run)
        wrong = self._actions.exit.code != 0 or any(isinstance(o, Text) and o.kind == "errorf" for o in said)
        self._actions.exit.asked, self._actions.exit.code, self._actions.exit.muted = False, 0, False
        return value, ns, said, wrong

    def _test(self, step: RunOnce, names: tuple[str, ...], i: int, before: list[bool]) -> bool:
        value, ns, said, wrong = self._once(step, 1)
        ok = value == 0 and not wrong
        self._sink(TestResult(names, i, (*before, ok), ns, tuple(said)))
        return ok

    def _bench(self, step: RunOnce, names: tuple[str, ...], i: int, before: list[bool]) -> bool:
        runs = 1
        while True:
            value, ns, _, wrong = self._once(step, runs)
            if wrong:
                self._sink(Text("errorf", f"ERROR: Benchmark '{step.name}' failed.\n"))
                return False
            if value:
                return True
            growth = next((factor for bound, factor in _GROWTH if ns * runs < bound), 0)
            if not growth or runs >= MOST_RUNS:
                self._sink(BenchResult(names, i, ns, runs))
                return True
            runs = min(runs * growth, MOST_RUNS)
