"""A recording as a session's events: from its first to its last, and intervals by their time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.names import names_user_code
from probescope.collect.recorded.modules import build_ids
from probescope.collect.recorded.pasted import own_names
from probescope.collect.recorded.unwinding import Unwinder
from probescope.collect.stream.feed import RecordedFeed
from probescope.collect.stream.moments import Deadlines, RecordedMoment
from probescope.collect.stream.names import RecordedNames
from probescope.collect.stream.side import StreamSide
from probescope.collect.stream.who import Told, Who
from probescope.model.output import Lost
from probescope.plan.events import StreamPlan, interval_steps

if TYPE_CHECKING:
    from probescope.collect.options import SessionOptions
    from probescope.evaluate.columns.runner import Firing
    from probescope.evaluate.columns.values import Column
    from probescope.evaluate.world import Event
    from probescope.ir.program import Program
    from probescope.model.recording import EventBatch, Recording


class ReplaySide(StreamSide):
    """The recording is closed with the session."""

    def __init__(self, program: Program, plan: StreamPlan, options: SessionOptions, recording: Recording) -> None:
        alone = getattr(recording, "alone", all(not e.sampled for e in recording.events))  # of ftrace: no side-band
        names = getattr(recording, "comms", None) or getattr(recording, "threads", None)
        who = Who(names, recording.events if alone else (), big=recording.machine.big_endian)
        super().__init__(program, plan, options, RecordedFeed(recording), who)
        self._recording = recording
        self._build_ids = build_ids(getattr(recording, "build_ids", ()))
        self._intervals = Deadlines(interval_steps(plan.plan))
        self._now_ns = 0
        self._names = RecordedNames(
            self.who.tasks,
            self.table,
            recording.machine,
            self._build_ids,
            demangle=program.settings.cpp_demangle,
            own=own_names(recording),
        )
        dumped = names_user_code(program) and any("stack_user" in e.sampled for e in recording.events)
        self._unwinder = Unwinder(recording, self.who.tasks.spaces, self._names.unwind_file) if dumped else None

    @property
    def by_clock(self) -> bool:
        return False

    @property
    def wall_offset(self) -> int | None:
        return wall_offset(self._recording)

    def prepare(self) -> None:
        assert isinstance(self.feed, RecordedFeed)
        self._start_ns = self._now_ns = self.feed.first_time()

    def names(self) -> RecordedNames:
        return self._names

    def attach(self, give_up: Callable[[], bool]) -> None:
        pass

    def activate(self, start_ns: int) -> None:
        self._intervals.start(self._start_ns)
        self._going = True

    def stop(self) -> None:
        self._going = False

    def own_event(self, site: int, start_ns: int) -> Event:
        return RecordedMoment(site, self._now_ns, self._start_ns)

    def consume(self) -> bool:
        """The next batch; whether there may be more."""
        if not self.live():
            return False
        batch = self.feed.take()
        if batch is not None:
            self.take(batch)
        return not self.feed.ended

    def losses(self, *, final: bool) -> Iterator[Lost]:
        yield from super().losses(final=final)
        if final and self._intervals.left_out:
            about = "intervals were left out: there are no events for a long time"
            yield Lost("intervals", self._intervals.left_out, about, "ask for longer ones")

    def words(self, kind: str) -> tuple[str, str]:
        return _LOST.get(kind, _LOST["lost"])

    def unwound(self, told: Told) -> Told:
        if self._unwinder is None:
            return told
        return Told(self._unwinder.batch(told.batch, told.spaces), told.spaces, told.comm)

    # --- time

    def begun(self, batch: EventBatch) -> None:
        if not self._start_ns:
            self._start_ns = int(batch.time[0])
            self._intervals.start(self._start_ns)

    def run(self, firings: Sequence[Firing], time: Column) -> None:
        """Events between intervals, and the intervals between them."""
        low, count, last = 0, len(time), int(time[-1])
        while low < count or self._intervals.next_ns() <= last:
            due = self._intervals.next_ns()
            high = int(np.searchsorted(time, np.uint64(due))) if due <= last else count
            if high > low:
                if self.some(firings, low, high):
                    return
                self._now_ns = int(time[high - 1])
                self._intervals.events()
            low = high
            if due <= last and self._interval(last):
                return

    def _interval(self, until_ns: int) -> bool:
        assert self._machine is not None
        assert self._actions is not None
        for step, at in self._intervals.due(until_ns):
            self._actions.flush()
            self._now_ns = at
            self._machine.run(step.clause, RecordedMoment(step.site, at, self._start_ns))
            self._actions.flush()
            if self.over():
                self._going = False
                return True
        return False


def wall_offset(recording: Recording) -> int | None:
    """As `perf record -k CLOCK` tells it."""
    told = getattr(recording, "features", {}).get("CLOCK_DATA")
    return None if told is None else told.wall_ns - told.ns


_LOST = {
    "lost": ("events were lost while it was recorded: their ring was full", "record with more room: perf record -m"),
    "lost_samples": ("samples were lost while it was recorded", "record fewer: a lower frequency (-F)"),
    "overrun": ("events were overwritten while it was recorded", "record with more room: trace-cmd record -b"),
    "dropped": ("events were dropped while it was recorded", "record with more room"),
}
