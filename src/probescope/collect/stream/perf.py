"""The perf collector: events of this machine as a session's, sampled by the kernel, filtered there as far as that goes,
evaluated here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from probescope.collect.names import names_user_code
from probescope.collect.recorder.sampling import REGISTERS, register_mask
from probescope.collect.stream.live import LiveFeed
from probescope.collect.stream.live_side import LiveSide
from probescope.collect.stream.names import RecordedNames
from probescope.ir.needs import needs
from probescope.kernel.host import host
from probescope.model.output import Lost
from probescope.model.plan import SampleEvent

if TYPE_CHECKING:
    from probescope.collect.options import SessionOptions
    from probescope.ir.program import Program
    from probescope.plan.events import StreamPlan


class PerfSide(LiveSide):
    """``cpid``: of the program of -c, 0 without one."""

    def __init__(self, program: Program, plan: StreamPlan, options: SessionOptions, cpid: int) -> None:
        events = [s for s in plan.plan.steps if isinstance(s, SampleEvent)]
        asked = [needs(c) for c in program.clauses]
        mask = register_mask((), host().machine) if any("regs_intr" in e.parts for e in events) else 0
        self._feed = LiveFeed(
            events,
            names=any("comm" in n.context for n in asked),
            maps=names_user_code(program),
            registers=mask,
        )
        super().__init__(program, plan, options, self._feed, self._feed, cpid)
        self.registers = tuple(n for i, n in enumerate(REGISTERS.get(host().machine, ())) if mask >> i & 1)

    @property
    def busy(self) -> bool:
        return bool(self._feed.events)

    def names(self) -> RecordedNames:
        demangle = self.program.settings.cpp_demangle
        return RecordedNames(self.who.tasks, self.table, self.feed.machine, {}, demangle=demangle)

    def attach(self, give_up: Callable[[], bool]) -> None:
        if self._feed.events:
            self._feed.open()

    def activate(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._going = bool(self._feed.events)
        if self._going:
            batch = self._feed.before()
            if batch is not None:
                self.take(batch)
            self._feed.enable()

    def losses(self, *, final: bool) -> Iterator[Lost]:
        if final:  # the kernel's own counts: records that tell of losses come only with a later event
            self._lost = {"lost": lost} if (lost := max(self._feed.lost(), *self._lost.values(), 0)) else {}
        return super().losses(final=final)

    def words(self, kind: str) -> tuple[str, str]:
        hint = "ask less of them (a predicate that the kernel can filter), or --via bpf, which counts in the kernel"
        return "events were lost: a ring was full", hint
