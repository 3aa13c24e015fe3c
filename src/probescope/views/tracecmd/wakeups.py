"""How long woken tasks waited for a CPU: from sched_wakeup to the sched_switch that lets them run (`report -w`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from probescope.formats.tracing.fields import Records

if TYPE_CHECKING:
    from probescope.formats.tracing.symbols import Context
    from probescope.model.recording import EventBatch, EventType

MOST = 1 << 20
_WAKING = ("sched:sched_wakeup", "sched:sched_wakeup_new")
_SWITCH = "sched:sched_switch"


class Wakeups:
    """``of`` is given batches in their order."""

    def __init__(self, events: tuple[EventType, ...], context: Context) -> None:
        self._events, self._context = events, context
        self._woken: dict[int, int] = {}
        self.count = 0
        self.total = 0
        self.most = self.least = (0, 0)  # ns, when

    def of(self, batch: EventBatch) -> dict[int, int]:
        """By index of a switch: how many ns its task had waited."""
        out: dict[int, int] = {}
        if batch.raw is None:
            return out
        records = Records(batch.raw, self._context.big, self._context.long_size)
        for i, tid, woken in self._steps(batch, records):
            time = int(batch.time[i])
            if woken:
                if len(self._woken) < MOST:
                    self._woken[tid] = time
                continue
            since = self._woken.pop(tid, None)
            if since is not None:
                out[i] = time - since
                self._sum(time - since, time)
        return out

    def _steps(self, batch: EventBatch, records: Records) -> list[tuple[int, int, bool]]:
        out: list[tuple[int, int, bool]] = []
        for index, event in enumerate(self._events):
            woken = event.name in _WAKING
            field = event.field("pid" if woken else "next_pid")
            if field is None or not (woken or event.name == _SWITCH):
                continue
            which = np.flatnonzero(batch.event == index)
            success = event.field("success")
            if woken and success is not None:
                which = which[records.field(success)[which] != 0]
            tids = records.number(field.offset, 4)[which].astype(np.uint32).view(np.int32)
            out += [(i, tid, woken) for i, tid in zip(which.tolist(), tids.tolist(), strict=True)]
        return sorted(out)

    def _sum(self, spent: int, time: int) -> None:
        if not self.count or spent > self.most[0]:
            self.most = spent, time
        if not self.count or spent < self.least[0]:
            self.least = spent, time
        self.count += 1
        self.total += spent

    def summary(self) -> str:
        if not self.count:
            return ""
        out = f"\nAverage wakeup latency: {_us(self.total // self.count)} usecs\n"
        for name, (spent, time) in (("Maximum", self.most), ("Minimum", self.least)):
            micro = (time + 500) // 1000
            out += f"{name} Latency: {_us(spent)} usecs at timestamp: {micro // 1_000_000}.{micro % 1_000_000:06d}\n"
        return out + "\n"


def shown(spent: int) -> str:
    return f" Latency: {_us(spent)} usecs"


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
