"""The ftrace collector: events of a private instance of tracefs, filtered by the kernel as far as that goes, evaluated
here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from probescope.collect.ftrace.arming import Armed
from probescope.collect.ftrace.setup import DynamicSetup, EventSetup, Setup
from probescope.collect.ftrace.stacks import Machinery, with_stacks
from probescope.collect.names import Names
from probescope.collect.stream.kernel_counts import CountedMaps, KernelCounts
from probescope.collect.stream.live_side import LiveSide
from probescope.collect.stream.people import People
from probescope.collect.stream.who import Told
from probescope.errors import KernelError
from probescope.formats.tracing.fields import Records
from probescope.frozen import replace
from probescope.ir.needs import needs
from probescope.kernel import machine, procfs, triggers
from probescope.kernel.host import host
from probescope.kernel.leftovers import owner_prefix
from probescope.model.output import Lost
from probescope.model.plan import DefineEvent, MakeInstance, TraceEvent
from probescope.model.plan_kernel import CountInKernel, PairInKernel
from probescope.model.recording import Machine, Ragged

if TYPE_CHECKING:
    from probescope.collect.ftrace.live import LiveTrace
    from probescope.collect.options import SessionOptions
    from probescope.collect.stream.stacks import StackTable
    from probescope.ir.program import Program
    from probescope.model.plan import Step
    from probescope.model.recording import Column, EventBatch, EventType
    from probescope.model.types import Opaque
    from probescope.plan.events import StreamPlan

SYNTHETIC = "synthetic"
SETTLED_NS = 1_000_000
"""What is younger may still be on its way into the buffer of another CPU."""
MOST_LOOKS = 1 << 12
_instances = count()


class FtraceFeed:
    """``events``: of the plan's ``TraceEvent`` steps, in their order, once it is open. ``registers``: those that
    dynamic events fetch. ``pids``: threads of what is traced, empty for all. Nothing is recorded before ``enable``."""

    def __init__(self, steps: Sequence[Step], pids: Sequence[int]) -> None:
        self.asked = [s for s in steps if isinstance(s, TraceEvent)]
        self._defined = {s.name: s for s in steps if isinstance(s, DefineEvent)}
        self._instance = next((s for s in steps if isinstance(s, MakeInstance)), None)
        self._pids = tuple(pids)
        fetched = {arg.partition("=")[0] for d in self._defined.values() for arg in d.args}
        self.registers = tuple(sorted(fetched))
        self.pairs = {s.event: s for s in steps if isinstance(s, PairInKernel)}
        self.counts = KernelCounts([s for s in steps if isinstance(s, CountInKernel)])
        self.events: tuple[EventType, ...] = ()
        self.machine = Machine(
            arch=host().machine, release=host().release, cpus=len(machine.possible_cpus()), clock="boottime"
        )
        self.ended = False
        self.unknown_losses = False
        self._armed: Armed | None = None
        self._live: LiveTrace | None = None
        self._first = 0
        self._stacks = False
        self._machinery = Machinery()

    @property
    def much(self) -> bool:
        return self._live is not None and self._live.busy

    def open(self) -> None:
        """Raises KernelError, ProbeError, Unsupported."""
        from probescope.collect.ftrace.live import LiveTrace

        assert self._instance is not None
        tag = f"run{next(_instances)}"
        group = owner_prefix() + tag
        names = [self._named(e.event, group) for e in self.asked]
        recorded = (EventSetup(name, e.filter) for name, e in zip(names, self.asked, strict=True))
        setup = Setup(
            pids=self._pids,
            events=(*self.counts.setups(), *self._pairing(group), *recorded),
            options=("stacktrace",) if self._instance.stacks else (),
            clock=self._instance.clock,
            buffer_kb=self._instance.buffer_kb,
            dynamic=(
                *(DynamicSetup(d.kind, f"{group}/{d.name}", d.definition(group)) for d in self._defined.values()),
                *(_synthetic(f"{group}_{p.event}", p.fields) for p in self.pairs.values()),
            ),
            tag=tag,
        )
        self._armed = Armed(setup)
        self.counts.base = self._armed.base
        self._live = LiveTrace(self._armed.base, names, machine.online_cpus())
        self._first = len(self._live.events) - 1 - len(names)
        self.events = self._live.events[self._first : -1]
        self._stacks = self._instance.stacks

    def _named(self, event: str, group: str) -> str:
        """As tracefs has it."""
        category, _, name = event.rpartition(":")
        if category == SYNTHETIC and name in self.pairs:
            return f"{SYNTHETIC}:{group}_{name}"
        return f"{group}:{event}" if event in self._defined else event

    def _pairing(self, group: str) -> Iterator[EventSetup]:
        for p in self.pairs.values():
            yield EventSetup(p.start_event, triggers=(p.start,), recorded=False)
            yield EventSetup(p.end_event, triggers=(p.end.format(name=f"{group}_{p.event}"),), recorded=False)

    def enable(self) -> None:
        assert self._armed is not None
        self._armed.start()
        self.counts.start()

    # --- reading

    def take(self) -> EventBatch | None:
        """What is complete by now."""
        return self._look(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - SETTLED_NS)

    def last(self) -> Iterator[EventBatch]:
        """Everything that is left."""
        for _ in range(MOST_LOOKS):
            batch = self._look()
            if batch is not None:
                yield batch
            elif not self.much:
                return

    def _look(self, until: int = (1 << 64) - 1) -> EventBatch | None:
        if self._live is None:
            return None
        batch = self._live.read(until)
        if batch is None:
            return None
        if self._stacks:
            batch = with_stacks(batch, self._live.events, self._machinery)
        batch = replace(batch, event=batch.event - self._first, between=())  # losses are counted by the kernel
        return replace(batch, registers_intr=self._fetched(batch)) if self.registers else batch

    def _fetched(self, batch: EventBatch) -> Ragged:
        """What dynamic events have fetched, as perf's samples have registers."""
        values = np.zeros((len(batch), len(self.registers)), np.uint64)
        size = np.zeros(len(batch), np.int64)
        for i, e in enumerate(self.asked):
            if e.event in self._defined and self._defined[e.event].args:
                self._registers(batch, i, values, size)
        return Ragged(values.reshape(-1), np.arange(len(batch), dtype=np.int64) * len(self.registers), size)

    def _registers(self, batch: EventBatch, kind: int, values: Column, size: Column) -> None:
        which = np.flatnonzero(batch.event == kind)
        if not len(which) or batch.raw is None:
            return
        records = Records(Ragged(batch.raw.values, batch.raw.start[which], batch.raw.size[which]))
        size[which] = len(self.registers)
        for column, name in enumerate(self.registers):
            field = self.events[kind].field(name)
            if field is not None:
                values[which, column] = records.field(field)

    # --- the end

    def stop(self) -> None:
        """No more events."""
        self.counts.stop()
        if self._armed is not None:
            self._armed.stop()

    def lost(self) -> int:
        """Events that found no room, or were written over before they were read, as the kernel counts them."""
        if self._armed is None or self._live is None:
            return 0
        try:
            return self._armed.lost(self._live.cpus)
        except KernelError:
            self.unknown_losses = True
            return 0

    def losses(self) -> Iterator[Lost]:
        yield from self.counts.losses()
        for d in self._live.damage.listed() if self._live is not None else ():
            yield Lost("damage", d.count, f"times: {d.about}")
        if self.unknown_losses:
            about = "time tracefs was gone at the end: how many events were lost is not known"
            yield Lost("tracefs", 1, about, "mount -t tracefs nodev /sys/kernel/tracing; the next run tidies up")

    def close(self) -> None:
        if self._armed is not None and self.pairs:  # variables keep the instance
            triggers.remove(self._armed.base, [e for p in self.pairs.values() for e in (p.end_event, p.start_event)])
        for held in (self._live, self._armed):  # an instance whose buffers are open cannot be removed
            if held is not None:
                held.close()
        self._live = self._armed = None


def _synthetic(name: str, fields: str) -> DynamicSetup:
    return DynamicSetup("dynamic", f"{SYNTHETIC}/{name}", f"s:{name} {fields}")


class StackNames(Names):
    """Names of this machine; stacks are those that came with records."""

    def __init__(self, program: Program, table: StackTable) -> None:
        super().__init__(program, None)
        self._table = table

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        chains = self._table.chains
        return chains[stack_id][1] if stack_id < len(chains) else None


class FtraceSide(LiveSide):
    """``cpid``: of the program of -c, 0 without one."""

    def __init__(self, program: Program, plan: StreamPlan, options: SessionOptions, cpid: int) -> None:
        root = options.pid or (cpid if options.follow else 0)
        threads = procfs.threads(root) if root else []
        self._feed = FtraceFeed(plan.plan.steps, threads)
        super().__init__(program, plan, options, self._feed, self._feed, cpid)
        self.registers = self._feed.registers
        if self._feed.counts.steps:
            self.maps = CountedMaps(self.store, program, self._feed.counts)
        self._followed = set(threads) if options.follow else None
        self._people: People | None = None

    @property
    def busy(self) -> bool:
        return bool(self._feed.asked)

    @property
    def _wanted(self) -> bool:
        return bool(self._feed.asked or self._feed.counts.steps)

    def names(self) -> Names:
        if any(needs(c).stacks for c in self.program.clauses):
            return StackNames(self.program, self.table)
        return Names(self.program, None)

    def attach(self, give_up: Callable[[], bool]) -> None:
        if not self._wanted:
            return
        self._feed.open()
        comms = any("comm" in needs(c).context for c in self.program.clauses)
        self._people = People(self._feed.events, names=comms, followed=self._followed)

    def activate(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._going = self._wanted
        if self._people is not None:
            if any(e.about for e in self._feed.asked):
                self._people.begin()
            self._feed.enable()

    def take(self, batch: EventBatch) -> None:
        assert self._people is not None
        super().take(self._people.columns(batch))

    def unwound(self, told: Told) -> Told:
        """User addresses are named by process (collect/names.py)."""
        return Told(told.batch, told.batch.pid, told.comm)

    def mine(self, batch: EventBatch) -> Column | None:
        if self._followed is None:
            return super().mine(batch)
        return np.isin(batch.tid, np.fromiter(self._followed, np.int32, len(self._followed)))

    def others_live(self) -> bool:
        """With --follow: whether what was forked runs on. Who was forked is in the buffers, if not known yet."""
        self.all_left()
        return self._people is not None and self._people.running()

    def losses(self, *, final: bool) -> Iterator[Lost]:
        if final:
            self._lost = {"lost": lost} if (lost := self._feed.lost()) else {}
        return super().losses(final=final)

    def words(self, kind: str) -> tuple[str, str]:
        hint = "ask less of them (a predicate that the kernel can filter), or --via bpf, which counts in the kernel"
        return "events were lost: a buffer of ftrace was full", hint
