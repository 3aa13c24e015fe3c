"""How long woken tasks waited for a CPU: from sched_wakeup to the sched_switch that lets them run (`report -w`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.fields import Records

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventBatch, EventType

MOST = 1 << 20
REALTIME = 100
"""Priorities below are those of real-time tasks."""
_WAKING = ("sched:sched_wakeup", "sched:sched_wakeup_new")
_SWITCH = "sched:sched_switch"


class _Sums:
    """Of waits: how many, how long, the longest and the shortest with their time, in ns."""

    def __init__(self) -> None:
        self.count = self.total = 0
        self.most = self.least = (0, 0)

    def add(self, spent: int, time: int) -> None:
        if not self.count or spent > self.most[0]:
            self.most = spent, time
        if not self.count or spent < self.least[0]:
            self.least = spent, time
        self.count += 1
        self.total += spent

    def text(self, title: str = "") -> str:
        if not self.count:
            return ""
        out = f"\n{title}Average wakeup latency: {_us(self.total // self.count)} usecs\n"
        for name, (spent, time) in (("Maximum", self.most), ("Minimum", self.least)):
            micro = (time + 500) // 1000
            out += f"{name} Latency: {_us(spent)} usecs at timestamp: {micro // 1_000_000}.{micro % 1_000_000:06d}\n"
        return out


class Wakeups:
    """``of`` is given batches in their order."""

    def __init__(self, events: tuple[EventType, ...], context: Context) -> None:
        self._events, self._context = events, context
        self._woken: dict[int, tuple[int, bool]] = {}
        self._all, self._realtime = _Sums(), _Sums()

    def of(self, batch: EventBatch) -> dict[int, int]:
        """By index of a switch: how many ns its task had waited."""
        out: dict[int, int] = {}
        if batch.raw is None:
            return out
        records = Records(batch.raw, self._context.big, self._context.long_size)
        for i, tid, woken, realtime in self._steps(batch, records):
            time = int(batch.time[i])
            if woken:
                if len(self._woken) < MOST:
                    self._woken[tid] = time, realtime
                continue
            since, counts = self._woken.pop(tid, (-1, False))
            if since >= 0:
                out[i] = time - since
                for sums in (self._all, *([self._realtime] if counts else [])):
                    sums.add(time - since, time)
        return out

    def _steps(self, batch: EventBatch, records: Records) -> list[tuple[int, int, bool, bool]]:
        out: list[tuple[int, int, bool, bool]] = []
        for index, event in enumerate(self._events):
            woken = event.name in _WAKING
            field = event.field("pid" if woken else "next_pid")
            if field is None or not (woken or event.name == _SWITCH):
                continue
            which = np.flatnonzero(batch.event == index)
            success, prio = event.field("success"), event.field("prio")
            if woken and success is not None:
                which = which[records.field(success)[which] != 0]
            tids = records.number(field.offset, 4)[which].astype(np.uint32).view(np.int32)
            realtime = records.field(prio)[which] < REALTIME if woken and prio else np.zeros(len(which), np.bool_)
            rows = zip(which.tolist(), tids.tolist(), realtime.tolist(), strict=True)
            out += [(i, tid, woken, real) for i, tid, real in rows]
        return sorted(out)

    def summary(self) -> str:
        out = self._all.text() + self._realtime.text("RT task timings:\n\n")
        return f"{out}\n" if out else ""


def shown(spent: int) -> str:
    return f" Latency: {_us(spent)} usecs"


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
