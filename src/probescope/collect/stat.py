"""Counting for as long as a command runs, a process lives or a person watches: readings as they come.

open ─► command made, not started ─► enable (or at its exec) ─► start ─► every interval: read ─► end: read, close
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from probescope.collect.asked import threads_asked_for
from probescope.collect.counting import Counting, Target
from probescope.collect.recorder.control import Control
from probescope.errors import KernelError, UsageError
from probescope.frozen import dataclass
from probescope.kernel import procfs
from probescope.kernel.child import Child, children_seconds
from probescope.kernel.host import host
from probescope.kernel.signals import Signals
from probescope.model.counting import Reading
from probescope.sources.perf_events import Counter

_LOOK_MS = 100
"""How often the end of processes is looked for that give no descriptor."""


@dataclass(frozen=True, slots=True)
class StatRequest:
    """``control``: as of ``record``; ``delay_ms`` -1: nothing is counted until it says so.

    ``cpus``: all processes there; else ``pids`` (with all their threads) and ``tids``; else the command alone.
    ``cgroups``: paths below the cgroup file system, each counted apart. Times in ms, 0 for none."""

    counters: tuple[Counter, ...]
    cpus: tuple[int, ...] = ()
    pids: tuple[int, ...] = ()
    tids: tuple[int, ...] = ()
    command: tuple[str, ...] = ()
    cgroups: tuple[str, ...] = ()
    interval_ms: int = 0
    delay_ms: int = 0
    timeout_ms: int = 0
    inherit: bool = True
    control: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``readings`` since the last one with an interval, else since the start; those of the n-th cgroup have n times the
    number of counters added to ``counter``. ``at_ns``: since the start. ``final``: the end, with the command's own
    times in seconds (its children's too)."""

    readings: tuple[Reading, ...]
    at_ns: int
    final: bool
    user_s: float = 0.0
    system_s: float = 0.0
    exit_code: int = 0
    interrupted: bool = False
    refused: tuple[tuple[int, KernelError], ...] = ()


def run(request: StatRequest) -> Iterator[Snapshot]:
    """Snapshots: one for each interval, and one at the end. Raises KernelError, UsageError."""
    control = Control(request.control)
    signals = Signals()
    child: Child | None = None
    countings: list[Counting] = []
    cgroups: list[int] = []
    try:
        child = Child(request.command) if request.command else None
        cgroups.extend(map(_cgroup, request.cgroups))
        countings.extend(Counting(request.counters, target) for target in _targets(request, child, cgroups))
        yield from _Run(request, countings, child, signals, control).snapshots()
    finally:
        for c in countings:
            c.close()
        for fd in cgroups:
            os.close(fd)
        if child is not None:
            child.close()
        signals.close()
        control.close()


def _targets(request: StatRequest, child: Child | None, cgroups: list[int]) -> Iterator[Target]:
    """``cgroups``: descriptors of their folders."""
    tids = threads_asked_for(request.pids, request.tids)
    if cgroups:
        yield from (Target(request.cpus, cgroup=fd) for fd in cgroups)
    elif request.cpus:
        yield Target(request.cpus)
    elif tids:
        yield Target(tids=tuple(dict.fromkeys(tids)), inherit=request.inherit)
    elif child is not None:
        yield Target(tids=(child.pid,), on_exec=not request.delay_ms, inherit=request.inherit)


def _cgroup(path: str) -> int:
    """A descriptor of its folder."""
    from probescope.kernel import cgroups

    for base in [cgroups.root_v2(), *cgroups.mounts().values()]:
        try:
            return os.open(f"{base}/{path.strip('/')}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
    raise UsageError(f"there is no cgroup '{path}'", hints=["paths are as in /proc/PID/cgroup"])


class _Run:
    def __init__(
        self,
        request: StatRequest,
        countings: list[Counting],
        child: Child | None,
        signals: Signals,
        control: Control,
    ) -> None:
        self._request = request
        self._countings = countings
        self._child = child
        self._signals = signals
        self._last: list[Reading] = []
        self._control = control

    def snapshots(self) -> Iterator[Snapshot]:
        r = self._request
        before = children_seconds()
        on_exec = bool(r.command) and not (r.cpus or r.pids or r.tids or r.cgroups or r.delay_ms)
        if not on_exec and not r.delay_ms:
            self._enable()
        start = time.monotonic_ns()
        if self._child is not None:
            self._child.start()
        if r.delay_ms > 0:
            self._wait(start + r.delay_ms * 1_000_000)
            self._enable()
        deadline = start + r.timeout_ms * 1_000_000 if r.timeout_ms else None
        tick = start
        while r.interval_ms:
            tick += r.interval_ms * 1_000_000
            if self._wait(min(tick, deadline) if deadline else tick):
                break
            if deadline and time.monotonic_ns() >= deadline:
                break
            yield Snapshot(self._readings(), time.monotonic_ns() - start, final=False)
        else:
            self._wait(deadline)
        yield self._end(start, before)

    def _end(self, start: int, before: tuple[float, float]) -> Snapshot:
        at = time.monotonic_ns() - start
        for c in self._countings:
            c.disable()
        readings = self._readings()
        code = 0
        if self._child is not None:
            ended = self._child.ended()
            self._child.close()
            code = self._child.exit_code() if ended else 0
        after = children_seconds()
        refused = tuple(e for c in self._countings for e in c.refused.items())
        return Snapshot(
            readings,
            at,
            True,
            after[0] - before[0],
            after[1] - before[1],
            code,
            bool(self._signals.stop_asked),
            refused,
        )

    def _enable(self) -> None:
        for c in self._countings:
            c.enable()

    def _readings(self) -> tuple[Reading, ...]:
        from probescope.frozen import replace

        count = len(self._request.counters)
        now = [
            replace(x, counter=x.counter + k * count) if k else x
            for k, c in enumerate(self._countings)
            for x in c.read()
        ]
        if not self._request.interval_ms:
            return tuple(now)
        out = tuple(a - b for a, b in zip(now, self._last, strict=True)) if self._last else tuple(now)
        self._last = now
        return out

    def _wait(self, until: int | None) -> bool:
        """Until a time (ns, monotonic), or for ever; whether all is over before."""
        while True:
            if self._over():
                return True
            left = None if until is None else (until - time.monotonic_ns() + 999_999) // 1_000_000
            if left is not None and left <= 0:
                return False
            fds = [self._signals.fileno(), *([self._control.fileno()] if self._control.fileno() >= 0 else [])]
            if self._child is not None and self._child.fileno() >= 0:
                fds.append(self._child.fileno())
                look = left
            else:
                look = _LOOK_MS if left is None else min(left, _LOOK_MS)
            host().poll(fds, -1 if look is None else look)
            self._obey()

    def _obey(self) -> None:
        for command in self._control.commands():
            for c in self._countings:
                if command == "enable":
                    c.enable()
                elif command == "disable":
                    c.disable()
            self._control.answer(command)

    def _over(self) -> bool:
        if self._signals.stop_asked or self._control.stopped:
            return True
        if self._child is not None:
            return self._child.ended()
        watched = (*self._request.pids, *self._request.tids)
        return bool(watched) and not any(procfs.alive(p) for p in watched)
