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

LOOK_MS, TASTE_MS = 50, 10
FEW_READS = 2
"""Of each CPU in a look where every function is traced: the guard has its say after each, and reading is traced too."""
SETTLED_NS = 1_000_000
"""What is younger may still be on its way into the buffer of another CPU."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is traced, and for how long: a command (``()``: none), processes, until the last of them ends, seconds (0:
    until a signal). ``everybody``: the command only says how long."""

    command: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    seconds: float = 0
    everybody: bool = False


class FtraceRun:
    """``begin`` arms; ``looks`` lets the command go and gives what comes until the end; ``close`` undoes all. Raises
    what ``Armed`` and ``Child`` raise. ``say`` tells people what the guard does. ``keep``: is given each CPU's pages as
    they come."""

    def __init__(
        self,
        setup: Setup,
        target: Target,
        say: Callable[[str], None],
        limits: Limits = Limits(),  # noqa: B008
        keep: Callable[[int, bytes], None] | None = None,
    ) -> None:
        self.target = target
        self._keep = keep
        self._say, self._limits = say, limits
        self._child = Child(target.command) if target.command else None
        self._watched: list[Watch] = []
        mine = (self._child.pid,) if self._child and not target.everybody else target.pids
        self._setup = replace(setup, pids=mine) if mine and not setup.pids else setup
        self._signals: Signals | None = None
        self._armed: Armed | None = None
        self._live: LiveTrace | None = None
        self.lost = 0
        self.exit_code = 0

    def begin(self) -> tuple[EventType, ...]:
        """Everything in place, nothing recorded yet; the kinds of events that may come."""
        from probescope.collect.ftrace.live import LiveTrace

        if not self._child:
            self._watched += [Watch(pid) for pid in self.target.pids]
        self._armed = Armed(self._setup)
        names = [e.name for e in self._setup.events]
        self._live = LiveTrace(self._armed.base, names, online_cpus(), self._keep)
        self._signals = Signals()
        return self._live.events

    @property
    def child_pid(self) -> int:
        """Of the command, which waits for ``looks``; 0 without one."""
        return self._child.pid if self._child else 0

    @property
    def base(self) -> str:
        """The buffer's folder, after ``begin``."""
        assert self._armed is not None
        return self._armed.base

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self._live.damage.listed() if self._live else ()

    def looks(self) -> Iterator[tuple[int, EventBatch | None]]:
        """(time in ns before which all was given by now, what was new). The last ones are of the end of time."""
        from probescope.collect.ftrace.live import EVERYTHING, MOST_READS

        armed, live, signals = self._armed, self._live, self._signals
        assert armed is not None
        assert live is not None
        assert signals is not None
        guard = Guard(lambda on: armed.start() if on else armed.stop(), self._say, self._limits)
        armed.start()
        if self._child:
            self._child.start()
        until = time.monotonic() + self.target.seconds if self.target.seconds else float("inf")
        late, wait = 0.0, TASTE_MS
        while not (signals.stop_asked or guard.gave_up or time.monotonic() >= until or self._over()):
            settled = self._settled()
            batch = live.read(settled, FEW_READS if self._setup.unlimited else MOST_READS)
            guard.look(len(batch) if batch else 0, late, behind=live.busy and self._setup.unlimited)
            yield settled, batch
            wait = TASTE_MS if wait == TASTE_MS and self._setup.unlimited and not guard.tasted else LOOK_MS
            late = 0.0 if live.busy else self._wait(min(wait, max(0, (until - time.monotonic()) * 1000)))
        armed.stop()
        while (batch := live.read()) is not None or live.busy:
            yield EVERYTHING, batch
        yield EVERYTHING, None
        self.lost = armed.lost(live.cpus)
        if self._child:
            self.exit_code = self._child.exit_code()

    def _wait(self, milliseconds: float) -> float:
        """How many seconds later than asked it came back."""
        asked = time.monotonic()
        host().poll(self._wakers(), int(milliseconds))
        return max(0.0, time.monotonic() - asked - milliseconds / 1000)

    def _settled(self) -> int:
        from probescope.collect.ftrace.live import EVERYTHING

        if self._setup.clock != "mono":
            return EVERYTHING
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - SETTLED_NS

    def _over(self) -> bool:
        if self._child:
            return self._child.ended()
        return bool(self._watched) and all(w.ended() for w in self._watched)

    def _wakers(self) -> list[int]:
        assert self._signals is not None
        watched = [self._child.fileno()] if self._child else [w.fileno() for w in self._watched if not w.ended()]
        return [self._signals.fileno(), *(fd for fd in watched if fd >= 0)]

    def close(self) -> None:
        for held in (self._live, self._armed, self._signals, self._child, *self._watched):
            if held is not None:
                held.close()
