"""What osnoise, timerlat and hwlat sample, summed up per CPU, as rtla and the detectors' own documents read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.formats.tracing.fields import Records
from probescope.frozen import dataclass
from probescope.model.latency import Pairs
from probescope.model.recording import Ragged
from probescope.views.latency.text import span
from probescope.views.latency.totals import Total, Totals

if TYPE_CHECKING:
    from probescope.model.recording import Column, EventBatch, EventType

COUNTS = ("hw", "nmi", "irq", "softirq", "thread")
CONTEXTS = {0: "irq", 1: "thread", 2: "user"}
"""Of timerlat: when the timer's interrupt ran, when its thread did, when that was back in user space (6.6)."""


class Samples:
    """Batches in; ``rows`` for people, ``documents`` for machines."""

    def __init__(self, tracer: str, events: tuple[EventType, ...]) -> None:
        self.tracer = tracer
        self._number = next((i for i, e in enumerate(events) if e.name == f"ftrace:{tracer}"), -1)
        self._event = events[self._number]
        self.count = 0

    def add(self, batch: EventBatch) -> None:
        at = np.flatnonzero(batch.event == self._number)
        if len(at) and batch.raw is not None:
            records = Records(Ragged(batch.raw.values, batch.raw.start[at], batch.raw.size[at]))
            self.count += len(at)
            self.take(records, batch.cpu[at], batch.time[at], batch.tid[at])

    def column(self, records: Records, name: str) -> Column:
        field = self._event.field(name)
        return records.field(field).astype(np.uint64) if field is not None else np.zeros(len(records), np.uint64)

    def take(self, records: Records, cpu: Column, time: Column, tid: Column) -> None:
        raise NotImplementedError

    def rows(self) -> Iterator[str]:
        raise NotImplementedError

    def documents(self) -> Iterator[dict[str, Any]]:
        raise NotImplementedError


@dataclass(slots=True)
class Noise:
    """Of a CPU; times in us. ``periods``: samples; ``most``: the noisiest one; ``single``: the longest interruption."""

    periods: int = 0
    runtime: int = 0
    noise: int = 0
    most: int = 0
    single: int = 0
    counts: tuple[int, ...] = (0,) * len(COUNTS)

    @property
    def available(self) -> float:
        return 100.0 * (self.runtime - self.noise) / self.runtime if self.runtime else 100.0


class OsNoise(Samples):
    def __init__(self, events: tuple[EventType, ...]) -> None:
        super().__init__("osnoise", events)
        self.cpus: dict[int, Noise] = {}

    def take(self, records: Records, cpu: Column, time: Column, tid: Column) -> None:
        names = ("runtime", "noise", "max_sample", *(f"{c}_count" for c in COUNTS))
        columns = [self.column(records, n) for n in names]
        for one in np.unique(cpu).tolist():
            runtime, noise, single, *counts = (c[cpu == one] for c in columns)
            held = self.cpus.setdefault(one, Noise())
            held.periods += len(runtime)
            held.runtime += int(runtime.sum())
            held.noise += int(noise.sum())
            held.most = max(held.most, int(noise.max()))
            held.single = max(held.single, int(single.max()))
            held.counts = tuple(a + int(c.sum()) for a, c in zip(held.counts, counts, strict=True))

    def rows(self) -> Iterator[str]:
        heads = ("periods", "runtime", "noise", "available", "max noise", "max single", *COUNTS)
        yield "cpu" + "".join(f"{h:>11}" for h in heads) + "\n"
        for cpu, n in sorted(self.cpus.items()):
            times = [span(v * 1000) for v in (n.runtime, n.noise)]
            shown = [f"{n.periods:,}", *times, f"{n.available:.3f}%", span(n.most * 1000), span(n.single * 1000)]
            yield f"{cpu:>3}" + "".join(f"{c:>11}" for c in (*shown, *(f"{c:,}" for c in n.counts))) + "\n"

    def documents(self) -> Iterator[dict[str, Any]]:
        for cpu, n in sorted(self.cpus.items()):
            out: dict[str, Any] = {"type": "osnoise", "cpu": cpu, "periods": n.periods, "runtime_us": n.runtime}
            out |= {"noise_us": n.noise, "available_percent": round(n.available, 5)}
            out |= {"max_noise_us": n.most, "max_single_us": n.single}
            yield out | dict(zip(COUNTS, n.counts, strict=True))


class TimerLatency(Samples):
    def __init__(self, events: tuple[EventType, ...]) -> None:
        super().__init__("timerlat", events)
        self.totals = Totals(0)
        self.current: dict[tuple[int, str], int] = {}

    def take(self, records: Records, cpu: Column, time: Column, tid: Column) -> None:
        latency = self.column(records, "timer_latency")
        contexts = np.array([CONTEXTS.get(c, "?") for c in self.column(records, "context").tolist()], object)
        nobody = np.full(len(latency), "", object)
        self.totals.add(Pairs(time, latency, cpu, tid, nobody, (cpu.astype(object), contexts)))
        self.current.update(zip(zip(cpu.tolist(), contexts.tolist(), strict=True), latency.tolist(), strict=True))

    def rows(self) -> Iterator[str]:
        heads = ("count", "cur", "min", "avg", "max")
        yield f"{'cpu':>3}  {'at':<6}" + "".join(f"{h:>11}" for h in heads) + "\n"
        for (cpu, context), t in sorted(self.totals.by.items()):
            shown = [span(v) for v in (self.current[cpu, context], t.least, t.average, t.most)]
            yield f"{cpu:>3}  {context:<6}" + "".join(f"{c:>11}" for c in (f"{t.count:,}", *shown)) + "\n"
        from probescope.views.latency.text import histogram

        for context in dict.fromkeys(c for _, c in sorted(self.totals.by)):
            yield f"{context}:\n"
            yield from histogram(self._over_cpus(context))

    def _over_cpus(self, context: str) -> Total:
        out = Total()
        for (_, c), total in self.totals.by.items():
            if c == context:
                out.merge(total)
        return out

    def documents(self) -> Iterator[dict[str, Any]]:
        from probescope.views.latency.text import as_json

        for (cpu, context), total in sorted(self.totals.by.items()):
            shown = as_json(total, ["cpu", "context"], (cpu, context))
            yield {**shown, "type": "timerlat", "cur_ns": self.current[cpu, context]}


class Hardware(Samples):
    """``inner``: a gap while the detector read the clock twice; ``outer``: between its rounds."""

    def __init__(self, events: tuple[EventType, ...]) -> None:
        super().__init__("hwlat", events)
        self.totals = Totals(5)

    def take(self, records: Records, cpu: Column, time: Column, tid: Column) -> None:
        inner, outer = self.column(records, "duration"), self.column(records, "outer_duration")
        nobody = np.full(len(inner), "", object)
        longest = np.maximum(inner, outer) * np.uint64(1000)
        self.totals.add(Pairs(time, longest, cpu, tid, nobody, (cpu.astype(object),)))

    def rows(self) -> Iterator[str]:
        from probescope.views.latency.text import histogram, summary, table

        yield from table(self.totals, ["cpu"], 1 << 16)
        yield summary(self.totals.all).replace("pairs", "gaps")
        yield from histogram(self.totals.all)

    def documents(self) -> Iterator[dict[str, Any]]:
        from probescope.views.latency.text import as_json

        for key, total in sorted(self.totals.by.items()):
            yield {**as_json(total, ["cpu"], key), "type": "hwlat"}


def samples(tracer: str, events: tuple[EventType, ...]) -> Samples:
    makers: dict[str, type[OsNoise | TimerLatency | Hardware]] = {
        "osnoise": OsNoise,
        "timerlat": TimerLatency,
        "hwlat": Hardware,
    }
    return makers[tracer](events)
