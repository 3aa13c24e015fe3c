"""The half of a session whose events come as a stream: what kernel_side.py is for programs in the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.memory import MemoryMaps
from probescope.collect.stream.kinds import Kind, Whole
from probescope.collect.stream.stacks import StackTable
from probescope.evaluate.columns.runner import Firing, Runner
from probescope.evaluate.store import MemoryStore
from probescope.model.output import Lost
from probescope.model.recording import LostEvents

if TYPE_CHECKING:
    from probescope.collect.actions import Actions
    from probescope.collect.options import SessionOptions
    from probescope.collect.stream.feed import Feed
    from probescope.collect.stream.who import Told, Who
    from probescope.collect.unattached import Failure
    from probescope.evaluate.columns.values import Column
    from probescope.evaluate.machine import Machine
    from probescope.ir.program import Program
    from probescope.model.recording import EventBatch
    from probescope.plan.events import StreamPlan


class StreamSide:
    """Phases as in session.py; ``store`` and ``maps`` are there from the start. ``cpid`` and ``registers``: what a
    batch does not tell, see ``kinds.Whole``."""

    def __init__(self, program: Program, plan: StreamPlan, options: SessionOptions, feed: Feed, who: Who) -> None:
        self.program, self.plan, self.options = program, plan, options
        self.feed, self.who = feed, who
        self._sites = program.sites
        self.store = MemoryStore(program)
        self.maps = MemoryMaps(self.store)
        self.failures: list[Failure] = []
        self.table = StackTable()
        self.cpid = 0
        self.registers: Sequence[str] = ()
        self._lost: dict[str, int] = {}
        self._machine: Machine | None = None
        self._actions: Actions | None = None
        self._runner: Runner | None = None
        self._start_ns = 0
        self._going = False

    def wire(self, actions: Actions, machine: Machine, *, texts: bool) -> None:
        self._actions, self._machine = actions, machine
        clauses = list(dict.fromkeys(c for c, _, _ in self.plan.kinds))
        self._runner = Runner(self.program, machine, self.store, clauses)

    def columnar(self) -> None:
        """From now on what is printed comes as ``Batch``."""
        from probescope.collect.columns import PRINTED
        from probescope.collect.stream.printed import Printed

        assert self._actions is not None
        assert self._machine is not None
        assert self._runner is not None
        printed = Printed(self.program, self._actions, PRINTED)
        self._actions.held = printed.flush
        self._machine.emit = printed.row
        self._runner.columnar(printed.printing, printed.columns)

    def load(self) -> None:
        pass

    def close(self) -> None:
        self.feed.close()

    @property
    def walking(self) -> bool:
        return False

    @property
    def wall_offset(self) -> int | None:
        return None

    @property
    def busy(self) -> bool:
        return self.live()

    def live(self) -> bool:
        return self._going and not self.feed.ended

    def others_live(self) -> bool:
        return False

    def losses(self, *, final: bool) -> Iterator[Lost]:
        if not final:
            return
        for kind, count in self._lost.items():
            if kind == "lost_samples" and "lost" in self._lost:
                continue  # the same, counted a second time at the end of the recording
            about, hint = self.words(kind)
            yield Lost(kind, count, about, hint)
        yield from self.feed.losses()

    def words(self, kind: str) -> tuple[str, str]:
        """What is said of lost events of a kind, and what to change."""
        raise NotImplementedError

    # --- a batch

    def take(self, batch: EventBatch) -> None:
        assert self._actions is not None
        for _, record in batch.between:
            if isinstance(record, LostEvents):
                self._lost[record.kind] = self._lost.get(record.kind, 0) + record.count
        told = self.who.told(batch)
        if batch.count:
            self.begun(batch)
            told = self.unwound(told)
            self.run(self._firings(told), batch.time)
            self._actions.flush()

    def unwound(self, told: Told) -> Told:
        """With whole stacks."""
        return told

    def begun(self, batch: EventBatch) -> None:
        """Is called before the events of each batch are looked at."""

    def run(self, firings: Sequence[Firing], time: Column) -> None:
        """All events of a batch."""
        self.some(firings, 0, len(time))

    def some(self, firings: Sequence[Firing], low: int, high: int) -> bool:
        """Events at some places of a batch; whether the program ended itself."""
        assert self._runner is not None
        ended = self._runner.run(firings, low, high, self.over)
        self._going = self._going and not ended
        return ended

    def over(self) -> bool:
        assert self._actions is not None
        return self._actions.exit.asked

    def mine(self, batch: EventBatch) -> Column | None:
        """Which events are of what is traced; ``None``: all."""
        return batch.pid == self.options.pid if self.options.pid else None

    def _firings(self, told: Told) -> list[Firing]:
        batch, out = told.batch, []
        whole = Whole(
            told,
            self.table,
            self.feed.machine,
            self._start_ns,
            self.registers,
            self.cpid,
            lambda n: self._sites[n].args,
        )
        mine = self.mine(batch)
        seen: dict[tuple[int, ...], Kind] = {}
        for clause, site, kinds in self.plan.kinds:
            kind = seen.get(kinds)
            if kind is None:
                kind = seen[kinds] = Kind(whole, self.feed.events[kinds[0]], _which(batch.event, kinds, mine), site)
            if kind.count:
                out.append(Firing(clause, kind.at(site), kind.which))
        return out


def _which(event: Column, kinds: tuple[int, ...], mine: Column | None) -> Column:
    found = event == kinds[0] if len(kinds) == 1 else np.isin(event, kinds)
    return np.flatnonzero(found if mine is None else found & mine)
