"""An event that begins another file: not recorded itself, only waited for, on all CPUs and of all tasks."""

from __future__ import annotations

from collections.abc import Sequence

from probescope.collect.recorder.opening import RingEvent
from probescope.collect.recorder.rings import Places, Rings
from probescope.frozen import replace
from probescope.kernel.machine import online_cpus
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.uapi import perf as u
from probescope.sources.perf_events import Counter


class Trigger:
    """``events`` none: never. ``rings`` wait for it too. Raises KernelError, LimitError."""

    def __init__(self, events: Sequence[Counter], rings: Rings) -> None:
        self._rings: Rings | None = None
        if not events:
            return
        asked = [RingEvent(c.name, _each(c)) for c in events]
        self._rings = Rings(asked, Places(tuple(online_cpus())), pages=1)
        for opened in self._rings.opened:
            rings.watch(opened.event.fileno())
        self._rings.enable()

    def fired(self) -> bool:
        """Since it was asked last."""
        return self._rings is not None and bool(self._rings.read())

    def close(self) -> None:
        if self._rings is not None:
            self._rings.close()


def _each(c: Counter) -> PerfAttr:
    """Wakes us each time."""
    attr = replace(c.attr, sample_type=u.PERF_SAMPLE_TIME, flags=c.attr.flags | u.FLAG_DISABLED, wakeup=1)
    return attr if attr.period else replace(attr, period=1)
