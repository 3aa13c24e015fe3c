"""The half of a session whose events come as a stream: what kernel_side.py is for programs in the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.memory import MemoryMaps
from probescope.collect.options import SessionOptions
from probescope.collect.stream.feed import RecordedFeed
from probescope.collect.stream.kinds import Kind, Whole
from probescope.collect.stream.moments import Deadlines, RecordedMoment
from probescope.collect.stream.names import RecordedNames
from probescope.collect.stream.stacks import StackTable
from probescope.collect.stream.who import Told, Who
from probescope.evaluate.columns.runner import Firing, Runner
from probescope.evaluate.store import MemoryStore
from probescope.model.output import Lost
from probescope.model.recording import LostEvents
from probescope.plan.events import StreamPlan, interval_steps

if TYPE_CHECKING:
    from probescope.collect.actions import Actions
    from probescope.collect.unattached import Failure
    from probescope.evaluate.columns.values import Column
    from probescope.evaluate.machine import Machine
    from probescope.evaluate.world import Event
    from probescope.ir.program import Program
    from probescope.model.recording import EventBatch, Recording


class StreamSide:
    """Phases as in session.py. ``store`` and ``maps`` are there from the start."""

    def __init__(self, program: Program, plan: StreamPlan, options: SessionOptions, recording: Recording) -> None:
        self.program, self.plan, self.options = program, plan, options
        self.store = MemoryStore(program)
        self.maps = MemoryMaps(self.store)
        self.failures: list[Failure] = []
        self.feed = RecordedFeed(recording)
        self.table = StackTable()
        self.who = Who(getattr(recording, "comms", None) or getattr(recording, "threads", None))
        self._build_ids = {_short(b.path): b.build_id.hex() for b in getattr(recording, "build_ids", ())}
        self._intervals = Deadlines(interval_steps(plan.plan))
        self._lost: dict[str, int] = {}
        self._machine: Machine | None = None
        self._actions: Actions | None = None
        self._runner: Runner | None = None
        self._start_ns = self._now_ns = 0
        self._going = False

    # --- phases

    def prepare(self) -> None:
        self._start_ns = self._now_ns = self.feed.first_time()

    def names(self) -> RecordedNames:
        return RecordedNames(self.who.tasks, self.table, self.feed.machine, self._build_ids)

    def wire(self, actions: Actions, machine: Machine, *, texts: bool) -> None:
        self._actions, self._machine = actions, machine
        clauses = list(dict.fromkeys(c for c, _, _ in self.plan.kinds))
        self._runner = Runner(self.program, machine, self.store, clauses)

    def load(self) -> None:
        pass

    def attach(self, give_up: Callable[[], bool]) -> None:
        pass

    def activate(self, start_ns: int) -> None:
        self._intervals.start(self._start_ns)
        self._going = True

    def stop(self) -> None:
        self._going = False

    def close(self) -> None:
        self.feed.close()

    # --- what a session asks

    @property
    def walking(self) -> bool:
        return False

    @property
    def by_clock(self) -> bool:
        return False

    @property
    def busy(self) -> bool:
        return self.live()

    def live(self) -> bool:
        return self._going and not self.feed.ended

    def own_event(self, site: int, start_ns: int) -> Event:
        return RecordedMoment(site, self._now_ns, self._start_ns)

    def consume(self) -> bool:
        """Acts on the next batch; whether there may be more."""
        if not self.live():
            return False
        batch = self.feed.take()
        if batch is not None:
            self._take(batch)
        return not self.feed.ended

    def losses(self, *, final: bool) -> Iterator[Lost]:
        if not final:
            return
        for kind, count in self._lost.items():
            if kind == "lost_samples" and "lost" in self._lost:
                continue  # the same, counted a second time at the end of the recording
            about, hint = _LOST.get(kind, _LOST["lost"])
            yield Lost(kind, count, about, hint)
        if self._intervals.left_out:
            about = "intervals were left out: there are no events for a long time"
            yield Lost("intervals", self._intervals.left_out, about, "ask for longer ones")
        yield from self.feed.losses()

    # --- a batch

    def _take(self, batch: EventBatch) -> None:
        assert self._actions is not None
        for _, record in batch.between:
            if isinstance(record, LostEvents):
                self._lost[record.kind] = self._lost.get(record.kind, 0) + record.count
        told = self.who.told(batch)
        if not batch.count:
            return
        if not self._start_ns:
            self._start_ns = int(batch.time[0])
            self._intervals.start(self._start_ns)
        self._segments(self._firings(told), batch.time)
        self._actions.flush()

    def _firings(self, told: Told) -> list[Firing]:
        batch, out = told.batch, []
        whole = Whole(told, self.table, self.feed.machine, self._start_ns)
        mine = batch.pid == self.options.pid if self.options.pid else None
        seen: dict[tuple[int, ...], Kind] = {}
        for clause, site, kinds in self.plan.kinds:
            kind = seen.get(kinds)
            if kind is None:
                kind = seen[kinds] = Kind(whole, self.feed.events[kinds[0]], _which(batch.event, kinds, mine), site)
            if kind.count:
                out.append(Firing(clause, kind.at(site), kind.which))
        return out

    def _segments(self, firings: Sequence[Firing], time: Column) -> None:
        """Events between intervals, and the intervals between them."""
        low, count = 0, len(time)
        while low < count or self._intervals.next_ns() <= int(time[-1]):
            due = self._intervals.next_ns()
            high = int(np.searchsorted(time, np.uint64(due))) if due <= int(time[-1]) else count
            if high > low:
                if self._run(firings, low, high):
                    return
                self._now_ns = int(time[high - 1])
                self._intervals.events()
            low = high
            if due <= int(time[-1]) and self._interval(int(time[-1])):
                return

    def _run(self, firings: Sequence[Firing], low: int, high: int) -> bool:
        """Whether the program ended itself."""
        assert self._runner is not None
        ended = self._runner.run(firings, low, high, self._over)
        self._going = self._going and not ended
        return ended

    def _interval(self, until_ns: int) -> bool:
        assert self._machine is not None
        assert self._actions is not None
        for step, at in self._intervals.due(until_ns):
            self._actions.flush()
            self._now_ns = at
            self._machine.run(step.clause, RecordedMoment(step.site, at, self._start_ns))
            self._actions.flush()
            if self._over():
                self._going = False
                return True
        return False

    def _over(self) -> bool:
        assert self._actions is not None
        return self._actions.exit.asked


_LOST = {
    "lost": ("events were lost while it was recorded: their ring was full", "record with more room: perf record -m"),
    "lost_samples": ("samples were lost while it was recorded", "record fewer: a lower frequency (-F)"),
    "overrun": ("events were overwritten while it was recorded", "record with more room: trace-cmd record -b"),
    "dropped": ("events were dropped while it was recorded", "record with more room"),
}


def _which(event: Column, kinds: tuple[int, ...], mine: Column | None) -> Column:
    found = event == kinds[0] if len(kinds) == 1 else np.isin(event, kinds)
    return np.flatnonzero(found if mine is None else found & mine)


def _short(path: str) -> str:
    return "[kernel.kallsyms]" if path.startswith("[kernel.kallsyms]") else path
