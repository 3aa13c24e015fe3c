"""What a hit costs on this machine: nanoseconds that each way to attach adds to a function that is called in a loop.

In: nothing. Out: ``Measured``, the medians by the names of plan/costs.py, and why some are missing. A process of our
own (kernel/treadmill.py) does the calling, pinned to one CPU; what is counted is its CPU time, with a probe and
without, in batches of a few milliseconds. All of it takes a second or two. Nothing else on the machine is touched,
except that a tracepoint on system calls makes those of everybody slower for the tenth of a second that it is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from probescope.collect.measure_ways import MULTI, SINGLE_UPROBES, UPROBES, WAYS, Stage, Way
from probescope.errors import KernelError
from probescope.frozen import dataclass, field
from probescope.kernel import features
from probescope.kernel.features.answer import No
from probescope.kernel.treadmill import MOST_TIMES, Treadmill
from probescope.plan.costs import Cost

BATCHES = 11
BATCH_NS = 3_000_000
CALIBRATION = 256
TRIES = 3
DOUBT = 0.05

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """``costs`` by name; ``missing``: name to reason."""

    costs: Mapping[str, Cost]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_json(self) -> dict[str, object]:
        costs = {n: {"ns": c.ns, "low": c.low, "high": c.high} for n, c in self.costs.items()}
        return {"costs": costs, "missing": dict(self.missing)}


def measure(progress: Progress = lambda _done, _all, _name: None) -> Measured:
    """Raises KernelError where not even the loop can be run. ``progress``: ways done, ways in all, what is next."""
    single = features.have(MULTI) is False
    ways = (*WAYS, *(SINGLE_UPROBES if single else UPROBES))
    costs: dict[str, Cost] = {}
    missing: dict[str, str] = {}
    cpu = max(os.sched_getaffinity(0))
    with Treadmill(cpu) as treadmill:
        treadmill.run("syscall", MOST_TIMES >> 6)  # the CPU wakes up, caches fill
        for done, way in enumerate(ways):
            progress(done, len(ways), way.name)
            answer = features.probe(way.feature)
            if answer.yes is False:
                missing[way.name] = answer.reason
                continue
            try:
                costs[way.name] = _cost(way, treadmill, cpu)
            except No as e:
                missing[way.name] = e.reason
            except KernelError as e:
                missing[way.name] = str(e)
    progress(len(ways), len(ways), "")
    return Measured(costs, missing)


def _cost(way: Way, treadmill: Treadmill, cpu: int) -> Cost:
    """The difference of medians, with and without. Without is looked at before and after: where these two disagree,
    something else took part of the CPU, and it is done again."""
    found: list[tuple[float, Cost]] = []
    for _ in range(TRIES):
        doubt, cost = _once(way, treadmill, cpu)
        found.append((doubt, cost))
        if doubt < DOUBT:
            break
    return min(found, key=lambda f: f[0])[1]


def _once(way: Way, treadmill: Treadmill, cpu: int) -> tuple[float, Cost]:
    """How much the baseline moved meanwhile, as a part of what was measured with the probe; and the cost."""
    with ExitStack() as hold:
        before = _batches(treadmill, way.function, CALIBRATION * 16, BATCHES // 2)
        way.attach(Stage(treadmill, cpu, hold))
        treadmill.run(way.function, CALIBRATION)
        each = max(treadmill.run(way.function, CALIBRATION) / CALIBRATION, 1.0)
        times = min(max(int(BATCH_NS / each), CALIBRATION), MOST_TIMES)
        attached = _batches(treadmill, way.function, times, BATCHES)
    after = _batches(treadmill, way.function, CALIBRATION * 16, BATCHES // 2)
    base = _median(sorted(before + after))
    quarter = len(attached) // 4
    spread = (_median(attached), attached[quarter], attached[-1 - quarter])
    doubt = abs(_median(before) - _median(after)) / _median(attached)
    return doubt, Cost(*(max(round(t - base), 0) for t in spread))


def _batches(treadmill: Treadmill, function: str, times: int, count: int) -> list[float]:
    """Nanoseconds a call, sorted."""
    return sorted(treadmill.run(function, times) / times for _ in range(count))


def _median(ordered: list[float]) -> float:
    return ordered[len(ordered) // 2]
