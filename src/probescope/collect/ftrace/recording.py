"""`ftrace record`: from a ``RecordPlan`` to a trace.dat.

buffers made, off ─► command made ─► on, command let go ─► pages into files whenever a buffer is half full, until the
command ends or a signal comes ─► off, what is left, what each CPU lost ─► files become one, buffers are removed
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from probescope.collect.asked import processes_asked_for
from probescope.collect.ftrace import about
from probescope.collect.ftrace.arming import reap_after
from probescope.collect.ftrace.buffers import Buffers, loss_of
from probescope.collect.ftrace.guard import Guard, Limits
from probescope.collect.ftrace.places import Place
from probescope.collect.ftrace.record_plan import Recorded, RecordPlan, TracePlan
from probescope.collect.ftrace.spools import Spools, check_output, opened
from probescope.collect.ftrace.stats import numbers
from probescope.errors import SessionError
from probescope.formats.tracedat.writer import Head, write_tracedat
from probescope.frozen import replace
from probescope.kernel import tracefs
from probescope.kernel.child import Child
from probescope.kernel.host import host
from probescope.kernel.leftovers import reap
from probescope.kernel.limits import more_files, realtime
from probescope.kernel.machine import online_cpus, possible_cpus
from probescope.kernel.poller import Poller
from probescope.kernel.signals import Signals
from probescope.kernel.watchdog import Watchdog
from probescope.kernel.wholefile import whole_file

_LOOK_MS = 1000
"""How often all buffers are emptied, however little they hold: what a recorder that is killed leaves behind."""
_GUARDED_MS = 50
_SHORT_S = 0.001
_EVENT_BYTES = 24
"""Of a function's entry, with its time: to tell events from bytes."""


def record(plan: RecordPlan, say: Callable[[str], None], limits: Limits = Limits()) -> Recorded:  # noqa: B008
    """Blocks until it is over. ``say`` is given what a person is to know at once. Raises KernelError, UsageError,
    ProbeError, SessionError."""
    signals = Signals()
    run = _Run(plan, signals, say, limits)
    try:
        return run.all()
    finally:
        run.close()
        signals.close()


class _Run:
    def __init__(self, plan: RecordPlan, signals: Signals, say: Callable[[str], None], limits: Limits) -> None:
        self.plan, self._signals, self._say, self._limits = plan, signals, say, limits
        self._child: Child | None = None
        self._dog: Watchdog | None = None
        self._buffers: Buffers | None = None
        self._spools: Spools | None = None
        self._poller: Poller | None = None
        self._options: list[tuple[int, bytes]] = []

    # --- the whole

    def all(self) -> Recorded:
        p = self.plan
        check_output(p.path)
        processes_asked_for(p.trace.pids)
        reap()
        if p.command:
            self._child = Child(p.command, user=p.user)
        more_files()  # for us, not for the command
        self._dog = Watchdog(partial(reap_after, host().getpid()))
        self._buffers = buffers = Buffers(self._trace(), lambda name: tracefs.Instance(_tag(name)).path)
        self._options = [o for o in (about.date(buffers.places[0]) if p.date else None,) if o]
        at = os.path.join(p.folder, os.path.basename(p.path)) if p.folder else p.path
        cpus = online_cpus()
        self._spools = spools = opened(buffers.places, cpus, at, p.max_kb << 10)
        if p.priority:
            realtime(p.priority)
        with _writing(p.path):
            self._record(buffers, spools)
            spools.finish()
        stats = buffers.stats(cpus)
        done = self._finish(buffers, spools, stats)
        return replace(
            done,
            losses=tuple(loss for place, cpu, text in stats if (loss := loss_of(place.name, cpu, text)).any),
            events=sum(read_events(text) for _, _, text in stats),
            signal=self._signals.stop_asked,
            exit_code=self._child.exit_code() if self._child else 0,
        )

    def _trace(self) -> TracePlan:
        trace = self.plan.trace
        if self.plan.only_command and self._child:
            return replace(trace, pids=(*trace.pids, self._child.pid))
        return trace

    # --- while it records

    def _record(self, buffers: Buffers, spools: Spools) -> None:
        self._poller = poller = Poller()
        poller.add(self._signals.fileno())
        if self._child and self._child.fileno() >= 0:
            poller.add(self._child.fileno())
        if not self.plan.sleep_us:
            spools.watch(poller)
        guard = Guard(lambda on: buffers.start() if on else buffers.stop(), self._say, self._limits)
        guarded = self.plan.trace.unlimited
        step_ms = _GUARDED_MS if guarded else self.plan.sleep_us / 1000 or _LOOK_MS
        buffers.start()
        if self._child:
            self._child.start(self._map if self.plan.proc_map else None)
        asked, whole = time.monotonic(), time.monotonic() + _LOOK_MS / 1000
        while not (self._signals.stop_asked or guard.gave_up or (self._child and self._child.ended())):
            ready = [fd for fd, _ in poller.wait(math.ceil(step_ms))]
            now = time.monotonic()
            full = not ready or self.plan.sleep_us > 0 or guarded or now >= whole
            moved = spools.take(None if full else ready)
            whole = now + _LOOK_MS / 1000 if full else whole
            if guarded:
                guard.look(moved // _EVENT_BYTES, max(0.0, now - asked - step_ms / 1000))
            elif not moved and not full:
                time.sleep(_SHORT_S)  # before 6.1 a buffer is ready as soon as it holds anything
            asked = time.monotonic()
        buffers.stop()

    def _map(self) -> None:
        if self._child and (option := about.proc_map(self._child.pid)):
            self._options.append(option)

    # --- the end

    def _finish(self, buffers: Buffers, spools: Spools, stats: list[tuple[Place, int, str]]) -> Recorded:
        p = self.plan
        if p.proc_map:
            self._options += [option for pid in p.trace.pids if (option := about.proc_map(pid))]
        head = about.head(buffers.enabled, p.trace.buffers[0].clock, p.version, p.compression)
        options = (*self._options, *about.options(stats, max(possible_cpus()) + 1))
        done = put_together(replace(head, options=options), spools, p.path)
        spools.close()
        spools.remove()
        self._spools = None
        return done

    def close(self) -> None:
        if self._poller:
            self._poller.close()
        if self._spools:
            self._spools.close()
            if not self._spools.bytes:
                self._spools.remove()
        if self._buffers:
            self._buffers.close()
        if self._dog:
            self._dog.dismiss()
        if self._child:
            self._child.close()


def put_together(head: Head, spools: Spools, path: str) -> Recorded:
    """The file, whole or not at all. Raises SessionError where it cannot be written."""
    with _writing(path), whole_file(path, own=True) as file:
        write_tracedat(file, head, spools.pages())
    return Recorded(path, os.path.getsize(path), spools.bytes, cut=spools.cut)


def _tag(name: str) -> str:
    return f"record_{name}" if name else "record"


def read_events(stats: str) -> int:
    return numbers(stats).get("read events", 0)


@contextmanager
def _writing(path: str) -> Generator[None]:
    try:
        yield
    except OSError as e:
        hints = [f"what was recorded stays in {path}.cpu*: probescope ftrace restore -o {path} {path}.cpu*"]
        raise SessionError(f"cannot write {e.filename or path}: {e.strerror}", hints=hints) from None
