"""What is missing of a recording, as rows of ``stats``: with how bad that is, and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probescope.store.build.interning import clean
from probescope.store.schema import LOST, STATS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probescope.model.recording import Damage, LostEvents
    from probescope.store.build.sink import Sink

    Array = np.ndarray[Any, Any]


class Kind(NamedTuple):
    severity: str
    about: str
    advice: str


KINDS: dict[str, Kind] = {
    "lost": Kind("error", "events were lost while recording: their ring was full", "record with more room: -m 16M"),
    "lost_samples": Kind("error", "samples were lost while recording", "record fewer: a lower frequency, -F 99"),
    "overrun": Kind("error", "events were overwritten while recording", "record with more room: -b 20000 (KiB a CPU)"),
    "dropped": Kind("error", "events were dropped while recording", "record with more room"),
    "order": Kind("warning", "records came later than the file allows, and stand where they came", ""),
    "damage": Kind("warning", "a part of the file cannot be used", "copy it again from where it was recorded"),
    "stacks": Kind("warning", "stacks were left out: there are too many different ones", "record a shorter time"),
    "switches": Kind(
        "warning",
        "threads left a CPU that another one had got: switches between are missing, and slices have no begin or end",
        "record with more room, or a larger part of the machine",
    ),
    "skew": Kind(
        "warning",
        "things end before they begin: the clocks of CPUs, or of recordings that were put together, are apart",
        "record with one clock for all: -k mono, or -C global",
    ),
    "no-wakeups": Kind(
        "info",
        "no wake-ups were recorded: how long threads waited for a CPU is not known",
        "record sched:sched_waking and sched:sched_wakeup_new as well",
    ),
    "no-forks": Kind(
        "info",
        "starts and ends of threads were not recorded: a number that was given out again is not told apart",
        "record sched:sched_process_fork, sched:sched_process_exec and sched:sched_process_exit as well",
    ),
}


class Losses:
    def __init__(self) -> None:
        self._lost: dict[tuple[str, int], list[int]] = {}  # [count, first time]
        self._places: list[tuple[int, int, int, str]] = []

    def lost(self, record: LostEvents, time: int) -> None:
        kind = record.kind if record.kind in KINDS else "lost"
        self.count(kind, max(record.count, 1), record.cpu, time)
        self._places.append((time, record.cpu, record.count or -1, kind))

    def batch_done(self, sink: Sink) -> None:
        """The places of what was lost."""
        if self._places:
            ts, cpu, count, kind = zip(*self._places, strict=True)
            numbers = {"ts": np.array(ts, np.int64), "cpu": np.array(cpu, np.int64)}
            counts = np.array([min(n, (1 << 63) - 1) for n in count], np.int64)
            sink.add(LOST, {**numbers, "count": counts, "kind": np.array(kind, object)})
            self._places = []

    def count(self, name: str, count: int, cpu: int = -1, time: int = -1) -> None:
        found = self._lost.setdefault((name, cpu), [0, time])
        found[0] += count

    def write(self, sink: Sink, damage: Iterable[Damage]) -> None:
        rows: list[tuple[str, str, str, str, int, int, int]] = [
            (name, *_told(name), count, cpu, time) for (name, cpu), (count, time) in self._lost.items() if count
        ]
        for d in damage:
            known = KINDS["order" if d.kind == "order" else "damage"]
            where = f", first at byte {d.offset:#x}" if d.offset >= 0 else ""
            rows.append((d.kind, known.severity, clean(d.about) + where, known.advice, d.count, -1, -1))
        sink.make(STATS)
        if not rows:
            return
        rows.sort(key=lambda r: (("error", "warning", "info").index(r[1]), -r[4]))
        name, severity, about, advice, count, cpu, time = zip(*rows, strict=True)
        sink.add(
            STATS,
            {
                "name": np.array(name, object),
                "severity": np.array(severity, object),
                "count": np.array(count, np.int64),
                "cpu": np.array(cpu, np.int64),
                "ts": np.array(time, np.int64),
                "about": np.array(about, object),
                "advice": np.array([a or None for a in advice], object),
            },
        )


def _told(name: str) -> tuple[str, str, str]:
    kind = KINDS[name]
    return kind.severity, kind.about, kind.advice
