"""ftrace under a command, or for some seconds, or until it is asked to stop: batches as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from probescope.collect.ftrace.arming import Armed
from probescope.collect.ftrace.guard import Guard, Limits
from probescope.collect.ftrace.setup import Setup
from probescope.frozen import dataclass, replace
from probescope.kernel.child import Child
from probescope.kernel.host import host
from probescope.kernel.machine import online_cpus
from probescope.kernel.signals import Signals
from probescope.kernel.watch import Watch

if TYPE_CHECKING:
    from probescope.collect.ftrace.live import LiveTrace
    from probescope.model.recording import Damage, EventBatch, EventType

LOOK_MS = 50
SETTLED_NS = 1_000_000
"""What is younger may still be on its way into the buffer of another CPU."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is traced, and for how long: a command (``()``: none), a process whose end is the end (0: none), seconds (0:
    until a signal). ``everybody``: the command only says how long."""

    command: tuple[str, ...] = ()
    pid: int = 0
    seconds: float = 0
    everybody: bool = False


class FtraceRun:
    """``begin`` arms; ``batches`` lets the command go and gives what comes until the end; ``close`` undoes all. Raises
    what ``Armed`` and ``Child`` raise. ``say`` tells people what the guard does."""

    def __init__(self, setup: Setup, target: Target, say: Callable[[str], None], limits: Limits = Limits()) -> None:  # noqa: B008
        self.target = target
        self._say, self._limits = say, limits
        self._child = Child(target.command) if target.command else None
        self._watch = Watch(target.pid) if target.pid and not target.command else None
        mine = self._child.pid if self._child and not target.everybody else target.pid
        self._setup = replace(setup, pids=(mine,)) if mine and not setup.pids else setup
        self._signals: Signals | None = None
        self._armed: Armed | None = None
        self._live: LiveTrace | None = None
        self.lost = 0
        self.exit_code = 0

    def begin(self) -> tuple[EventType, ...]:
        """Everything in place, nothing recorded yet; the kinds of events that may come."""
        from probescope.collect.ftrace.live import LiveTrace

        self._armed = Armed(self._setup)
        self._live = LiveTrace(self._armed.base, [e.name for e in self._setup.events], online_cpus())
        self._signals = Signals()
        return self._live.events

    @property
    def private(self) -> bool:
        return self._armed is not None and self._armed.private

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self._live.damage.listed() if self._live else ()

    def batches(self) -> Iterator[EventBatch]:
        armed, live, signals = self._armed, self._live, self._signals
        assert armed is not None
        assert live is not None
        assert signals is not None
        guard = Guard(lambda on: armed.start() if on else armed.stop(), self._say, self._limits)
        armed.start()
        if self._child:
            self._child.start()
        until = time.monotonic() + self.target.seconds if self.target.seconds else float("inf")
        asked = time.monotonic()
        while not (signals.stop_asked or guard.gave_up or time.monotonic() >= until or self._over()):
            late = max(0.0, time.monotonic() - asked - LOOK_MS / 1000)
            asked = time.monotonic()
            batch = live.read(self._settled())
            guard.look(len(batch) if batch else 0, late)
            if batch is not None:
                yield batch
            if not live.busy:
                host().poll(self._wakers(), int(min(LOOK_MS, max(0, (until - time.monotonic()) * 1000))))
        armed.stop()
        while (batch := live.read()) is not None or live.busy:
            if batch is not None:
                yield batch
        self.lost = armed.lost(live.cpus)
        if self._child:
            self.exit_code = self._child.exit_code()

    def _settled(self) -> int:
        from probescope.collect.ftrace.live import EVERYTHING

        if self._setup.clock != "mono":
            return EVERYTHING
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - SETTLED_NS

    def _over(self) -> bool:
        return bool((self._child and self._child.ended()) or (self._watch and self._watch.ended()))

    def _wakers(self) -> list[int]:
        assert self._signals is not None
        watched = [w.fileno() for w in (self._child, self._watch) if w is not None]
        return [self._signals.fileno(), *(fd for fd in watched if fd >= 0)]

    def close(self) -> None:
        for held in (self._live, self._armed, self._signals, self._child, self._watch):
            if held is not None:
                held.close()
