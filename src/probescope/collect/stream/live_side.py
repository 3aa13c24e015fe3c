"""Events of this machine as a session's: what perf's rings and ftrace's buffers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from probescope.collect.event import OwnEvent
from probescope.collect.stream.side import StreamSide
from probescope.collect.stream.who import Who

if TYPE_CHECKING:
    from probescope.collect.options import SessionOptions
    from probescope.collect.stream.feed import Feed
    from probescope.evaluate.world import Event
    from probescope.ir.program import Program
    from probescope.model.recording import EventBatch
    from probescope.plan.events import StreamPlan


class Source(Protocol):
    """A ``Feed`` that is live. ``much``: looking again at once is worth while."""

    @property
    def much(self) -> bool: ...
    def take(self) -> EventBatch | None: ...
    def last(self) -> Iterator[EventBatch]: ...
    def stop(self) -> None: ...


class LiveSide(StreamSide):
    """``cpid``: of the program of -c, 0 without one. ``source`` and ``feed`` are one thing, seen in two ways."""

    def __init__(
        self, program: Program, plan: StreamPlan, options: SessionOptions, feed: Feed, source: Source, cpid: int
    ) -> None:
        super().__init__(program, plan, options, feed, Who())
        self._source = source
        self.cpid = cpid

    @property
    def by_clock(self) -> bool:
        return True

    def prepare(self) -> None:
        pass

    def own_event(self, site: int, start_ns: int) -> Event:
        return OwnEvent(site, start_ns, self.cpid)

    def consume(self) -> bool:
        """What is complete by now; whether it was much."""
        if not self.live():
            return False
        batch = self._source.take()
        if batch is not None:
            self.take(batch)
        return self._source.much and self.live()

    def stop(self) -> None:
        """Events go, and what they left is looked at, unless the program has ended itself."""
        self._source.stop()
        self.all_left()
        self._going = False

    def all_left(self) -> None:
        """Whatever there is, complete or not."""
        if self._going:
            for batch in self._source.last():
                self._taken_unless_over(batch)

    def _taken_unless_over(self, batch: EventBatch) -> None:
        if self._going:
            self.take(batch)
