"""A recording of ftrace as the readers of samples want it: threads are their own processes, stacks are columns.

sched_switch: ...            an event, with                 sched_switch, its stack
kernel_stack: <addresses>    its stack behind it      ->
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.along import KERNEL_MARK
from probescope.collect.recorded.kernel_stacks import NAME, KernelStacks
from probescope.frozen import replace
from probescope.model.recording import Damage, EventBatch, EventType, Machine, Named, Ragged, SideRecord

if TYPE_CHECKING:
    import numpy as np

    from probescope.formats.tracedat.reader import TraceDat
    from probescope.formats.tracetext.reader import TraceText
    from probescope.formats.tracing.symbols import Context

    Column = np.ndarray[Any, Any]


class Traced:
    """Satisfies ``model.recording.Recording``, and what a ``PerfData`` is asked for beside it. Closes what it is
    made of. ``processes``: threads are taken for their processes, and named as side-band would; else nothing is said
    that ftrace does not know."""

    build_ids = ()
    groups = ()
    features: dict[str, Any]

    def __init__(self, trace: TraceDat | TraceText, *, processes: bool = True) -> None:
        self._processes, self.alone = processes, not processes
        self.comms = trace.comms
        self.trace = trace
        self.name = trace.name
        self.symbols = trace.symbols
        self.features = {}
        stacked = any(e.name == NAME for e in trace.events)
        has = frozenset({"tid", "time", "cpu", "raw", *(("callchain",) if stacked else ())})
        self.events: tuple[EventType, ...] = tuple(replace(e, sampled=has) for e in trace.events)

    @property
    def machine(self) -> Machine:
        return self.trace.machine

    def context(self, resolve: Callable[[int], tuple[str, int] | None] | None = None) -> Context:
        """What text of its events needs; ftrace's recordings have the kernel's names."""
        return self.trace.context()

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self.trace.damage

    def batches(self) -> Iterator[EventBatch]:
        import numpy as np

        stacks = KernelStacks(self.trace)
        known = self.comms.items() if self._processes else ()
        names: tuple[tuple[int, SideRecord], ...] = tuple((0, Named(pid=t, tid=t, comm=comm)) for t, comm in known)
        for batch in self.trace.batches():
            numbers, others = stacks.of(batch)
            between, names = (*names, *batch.between), ()
            chains = None if numbers is None else self._chains(stacks, numbers)
            pid = np.where(batch.pid >= 0, batch.pid, batch.tid) if self._processes else batch.pid
            one = replace(batch, pid=pid, stacks=chains, between=between)
            yield one if others is None else _some(one, np.flatnonzero(others))

    @staticmethod
    def _chains(stacks: KernelStacks, numbers: Column) -> Ragged:
        """Of each event: the mark of the kernel, then addresses."""
        import numpy as np

        from probescope.collect.ftrace.stacks import Machinery

        machinery = Machinery(lambda address: stacks.frame(address).name)

        def asked(number: int) -> tuple[int, ...]:
            """As by the ftrace collector: without the tracer's own functions."""
            chain = stacks.addresses(number)
            return chain[machinery.first(chain) :]

        different, inverse = np.unique(numbers, return_inverse=True)
        chains = [(KERNEL_MARK, *asked(n)) if n >= 0 else () for n in different.tolist()]
        size = np.array([len(c) for c in chains], np.int64)
        values = np.array([a for c in chains for a in c], np.uint64)
        return Ragged(values, (np.cumsum(size) - size)[inverse], size[inverse])

    def default_event(self) -> int:
        """The kind that is counted if none is named: with stacks if any has them, the most frequent one at first."""
        import numpy as np

        first = next((b for b in self.batches() if b.count), None)
        if first is None:
            return 0
        stacked = first.event if first.stacks is None else first.event[first.stacks.size > 0]
        return int(np.bincount(stacked if len(stacked) else first.event).argmax())

    def close(self) -> None:
        self.trace.close()


def _some(batch: EventBatch, which: Column) -> EventBatch:
    """The events of some indices."""
    import numpy as np

    def cut(r: Ragged | None) -> Ragged | None:
        return None if r is None else Ragged(r.values, r.start[which], r.size[which])

    places = np.searchsorted(which, np.array([i for i, _ in batch.between], np.int64))
    columns = {name: getattr(batch, name)[which] for name in ("event", "time", "cpu", "pid", "tid", "period")}
    return replace(
        batch,
        count=len(which),
        stacks=cut(batch.stacks),
        raw=cut(batch.raw),
        numbers={n: c[which] for n, c in batch.numbers.items()},
        between=tuple((int(p), r) for p, (_, r) in zip(places, batch.between, strict=True)),
        **columns,
    )
