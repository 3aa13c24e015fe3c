"""From open to finish.

open all, side-band on ─► file, its start state ─► command made, enabled, let go ─► drain whenever a ring is half
full, until the command ends, its tasks do, a signal or a command says so ─► off, drain, finish the file
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from probescope.collect.recorder import off_cpu, targets
from probescope.collect.recorder.control import Control
from probescope.collect.recorder.files import Files, written_attr
from probescope.collect.recorder.finishing import finish_file
from probescope.collect.recorder.off_cpu import Waited
from probescope.collect.recorder.opening import SIDE, SNAPSHOT, RingEvent
from probescope.collect.recorder.pace import Pace
from probescope.collect.recorder.request import PIPE, Recorded, RecordRequest, Written
from probescope.collect.recorder.rings import Places, Rings
from probescope.collect.recorder.sampling import ring_events
from probescope.collect.recorder.sizes import default_pages, woken_early
from probescope.collect.recorder.starting import Start
from probescope.collect.recorder.trigger import Trigger
from probescope.formats.perfdata.layout import layout_of
from probescope.frozen import replace
from probescope.kernel.child import Child
from probescope.kernel.host import host
from probescope.kernel.limits import more_files, ordinary, realtime, urgent
from probescope.kernel.machine import online_cpus
from probescope.kernel.perfring import walk
from probescope.kernel.signals import Signals
from probescope.kernel.uapi import perf as u
from probescope.model.recording import OFF_CPU

_AT_LEAST_MS = 1000
"""How often what has come is written, however little: what a recorder that is killed leaves behind."""
_LOOK_MS = 100
"""How often what sums waits up looks after new processes."""
_PIECE = 1 << 18


def record(request: RecordRequest, say: Callable[[str], None] | None = None) -> Recorded:
    """Blocks until it is over. ``say`` is given, when it has begun, what a person is to know of it: ``notes``. Raises
    KernelError, UsageError, LimitError, and OSError where a file cannot be written any more."""
    control = Control(request.control)
    signals = Signals(usr2=True)
    child: Child | None = None
    rings: Rings | None = None
    run: _Run | None = None
    niceness: int | None = None
    try:
        child = Child(request.command, aside=request.output == PIPE) if request.command else None
        more_files()  # for us, not for the command
        if request.priority:
            realtime(request.priority)
        else:
            niceness = urgent()
        pages = request.pages or default_pages(overwrite=request.sampling.overwrite)
        rings = Rings(*_asked(request, child, pages), pages=pages, shrink=not request.pages)
        if say is not None:
            _tell(rings, request.verbose, say)
        run = _Run(request, rings, child, signals, control)
        run.all()
        if niceness is not None:
            ordinary(niceness)
        return run.recorded()
    finally:
        if niceness is not None:
            ordinary(niceness)
        if run is not None:
            run.close()
        if rings is not None:
            rings.close()
        if child is not None:
            child.close()
        signals.close()
        control.close()


def _tell(rings: Rings, verbose: bool, say: Callable[[str], None]) -> None:
    for note in rings.notes:
        say(note)
    if not verbose:
        return
    for e, ids in zip(rings.events, rings.ids, strict=True):
        say(f"{e.name}: {len(ids)} opened, ids {ids[:8]}, {e.attr}" + (f", filter {e.filter}" if e.filter else ""))
    say(f"{len(rings.rings)} rings, {rings.pages} pages each for data")


def _asked(request: RecordRequest, child: Child | None, pages: int) -> tuple[list[RingEvent], Places]:
    """``pages`` of a ring."""
    tids = targets.threads(request)
    only_child = child is not None and not tids and not request.whole_cpus
    places = Places(
        request.cpus or tuple(online_cpus()),
        (child.pid,) if child is not None and only_child else tids,
        request.per_thread,
    )
    inherit = request.inherit and not request.per_thread
    events = ring_events(
        request.counters,
        request.sampling,
        request.filters,
        inherit=inherit,
        machine=host().machine,
        alone=bool(places.tids) and not request.delay_ms and not request.control,
    )
    events = [replace(e, cgroup=request.cgroups.get(i, -1)) for i, e in enumerate(events)]
    if only_child:
        events = [_on_exec(e, late=request.delay_ms != 0) for e in events]
    return [woken_early(e, pages) for e in events], places


def _on_exec(e: RingEvent, *, late: bool) -> RingEvent:
    """The command's events begin with its exec; with a delay only what tells of tasks does."""
    if e.ring == SIDE:
        return replace(e, attr=replace(e.attr, flags=e.attr.flags | u.FLAG_DISABLED | u.FLAG_ENABLE_ON_EXEC))
    if late or not e.attr.flags & u.FLAG_DISABLED:
        return e
    return replace(e, attr=replace(e.attr, flags=e.attr.flags | u.FLAG_ENABLE_ON_EXEC))


class _Run:
    def __init__(
        self, request: RecordRequest, rings: Rings, child: Child | None, signals: Signals, control: Control
    ) -> None:
        self._request = request
        self._rings = rings
        self._child = child
        self._signals = signals
        self._files = Files(request, rings.events, rings.ids)
        self._control = control
        self._trigger = Trigger(request.switch.events, rings)
        self._done: list[Written] = []
        self._woken = 0
        self._total = 0
        self._snapshots: dict[int, int] = {}
        self._pace = Pace(rings.pages * host().page_size)
        self._overwrites = any(e.ring == SNAPSHOT for e in rings.events)
        side = len(rings.events) - 1
        self._start = Start(
            layout_of(written_attr(rings.events[side].attr)), rings.ids[side][0] if rings.ids[side] else 0
        )

    # --- the whole

    def all(self) -> None:
        self._watch()
        self._begin()
        on_exec = self._child is not None and not self._request.whole_cpus and not targets.threads(self._request)
        if not self._request.delay_ms:
            self._off_cpu_on()
            if not on_exec:
                self._rings.enable()
        begun = time.monotonic()
        if self._child is not None:
            self._child.start()
        self._loop(begun)
        self._rings.stop()
        waited = self._request.off_cpu.stop() if self._request.off_cpu is not None else ()
        self._drain()
        self._files.catch_up()
        self._write_waits(waited)

    # --- time off the CPU

    def _off_cpu_on(self) -> None:
        r = self._request
        if r.off_cpu is None:
            return
        child = (self._child.pid,) if self._child is not None else ()
        pids = () if r.whole_cpus else (*targets.leaders(r), *child)
        r.off_cpu.start(pids, r.tids)

    def _write_waits(self, found: Iterable[Waited]) -> None:
        which = next((i for i, e in enumerate(self._rings.events) if e.name == OFF_CPU), -1)
        if which >= 0 and self._rings.ids[which]:
            sample_type = self._rings.events[which].attr.sample_type
            self._files.records(off_cpu.samples(sample_type, self._rings.ids[which][0], found))
            self._files.writer.round()

    @property
    def _late_start(self) -> bool:
        return self._request.tail or self._overwrites

    def _watch(self) -> None:
        self._rings.watch(self._signals.fileno())
        for one in (self._child, self._control):
            if one is not None and one.fileno() >= 0:
                self._rings.watch(one.fileno())

    def _tell_tasks(self) -> None:
        """Rings are emptied in between, since that may take a while."""
        r = self._request
        some: list[bytes] = []
        size = 0
        for one in self._tasks():
            some.append(one)
            size += len(one)
            if size > _PIECE:
                self._files.records(some)
                some, size = [], 0
                self._drain()
        self._files.records(some)
        if r.sampling.cgroups and "cgroup" in r.start:
            self._files.records(self._start.cgroups())

    def _tasks(self) -> Iterator[bytes]:
        r = self._request
        if "task" not in r.start:
            return
        pids = targets.processes(r, self._child.pid if self._child is not None else 0)
        data = r.sampling.addresses or r.sampling.call_graph == "dwarf"
        yield from self._start.tasks(pids, maps="mmap" in r.start, data=data, namespaces=r.sampling.namespaces)

    # --- the loop

    def _loop(self, begun: float) -> None:
        r = self._request
        enable_at = begun + r.delay_ms / 1000 if r.delay_ms > 0 else None
        switch_at = begun + r.switch.time_ms / 1000 if r.switch.time_ms else None
        settle_at = begun
        while not self._over():
            now = time.monotonic()
            if enable_at is not None and now >= enable_at:
                self._off_cpu_on()
                self._rings.enable()
                enable_at = None
            if switch_at is not None and now >= switch_at:
                self._switch()
                switch_at = now + r.switch.time_ms / 1000
            if now >= settle_at:
                self._files.settle()
                settle_at = now + _AT_LEAST_MS / 1000
            look = _LOOK_MS if r.off_cpu is not None else _AT_LEAST_MS
            due = [t for t in (enable_at, switch_at, now + look / 1000) if t is not None]
            self._pace.wait(self._rings, max(0.0, min(due) - now))
            self._drain()
            self._heed()
            if r.off_cpu is not None:
                r.off_cpu.poll()
            if r.switch.size and self._files.data_size >= r.switch.size:
                self._switch()

    def _heed(self) -> None:
        """Signals and commands."""
        self._signals.drain()
        fired, self._signals.fired = self._signals.fired, []
        if (fired and self._request.switch.signal) or self._trigger.fired():
            self._switch()
        for command in self._control.commands():
            self._control.answer(command, self._obey(command))

    def _obey(self, command: str) -> str:
        word, _, name = command.partition(" ")
        only = [i for i, e in enumerate(self._rings.events) if e.name == name] if name else None
        if word == "enable":
            self._off_cpu_on() if only is None else None
            self._rings.enable(only)
        elif word == "disable":
            self._rings.disable(only)
        elif word == "snapshot":
            self._switch()
        elif word == "evlist":
            return "".join(f"{e.name}\n" for e in self._rings.events)
        return ""

    def _over(self) -> bool:
        if self._signals.stop_asked or self._control.stopped:
            return True
        if self._child is not None and self._child.ended():
            return True
        if self._too_large:
            return True
        return self._rings.over and (self._child is None or not self._request.whole_cpus)

    @property
    def _too_large(self) -> bool:
        limit = self._request.max_size
        return bool(limit) and self._total + self._files.data_size >= limit

    def _drain(self) -> None:
        visits = self._rings.visit()
        most = max((sum(map(len, v.pieces)) for v in visits), default=0)
        if self._pace.visited(time.monotonic(), most):
            self._files.hurry()
        if visits:
            self._woken += 1
            self._files.visit([piece for v in visits for piece in v.pieces])
            self._rings.release(visits)

    def _snapshot(self) -> None:
        """What the rings that overwrite hold, oldest first."""
        pausing = [o for o in self._rings.opened if self._rings.events[o.which].ring == SNAPSHOT]
        for o in pausing:
            o.event.pause_output(True)
        for i, ring in enumerate(self._rings.rings):
            if ring.kind == SNAPSHOT:
                data, head = ring.ring.snapshot(until=self._snapshots.get(i, -1))
                self._snapshots[i] = head
                places = [(at, size) for _, _, at, size in walk(data)]
                self._files.records(data[at : at + size] for at, size in reversed(places))
        if pausing:
            self._files.writer.round()
        for o in pausing:
            o.event.pause_output(False)

    # --- files

    def _switch(self) -> None:
        """Another file."""
        if self._files.pipe:
            return
        self._drain()
        self._finish(last=False)
        self._begin()

    def _begin(self) -> None:
        """The kernel is told of at once, tasks too unless they are to be told as they are at the end."""
        self._files.begin()
        self._files.records(self._start.kernel())
        if self._request.sampling.bpf:
            self._files.records(self._start.bpf_programs())
        if not self._late_start:
            self._tell_tasks()

    def _finish(self, *, last: bool) -> None:
        if self._late_start:
            self._tell_tasks()
        self._snapshot()
        self._total += self._files.data_size
        named = bool(self._request.switch) or self._request.timestamp_name
        self._done.append(finish_file(self._files, self._request, self._rings, last=last, named=named))

    def recorded(self) -> Recorded:
        """Finishes the last file."""
        self._finish(last=True)
        lost = sum(one.lost for one in self._done)
        code = 0
        if self._child is not None:
            self._child.close()
            code = self._child.exit_code()
        return Recorded(
            tuple(self._done),
            self._woken,
            lost,
            self._rings.pages,
            code,
            self._signals.stop_asked,
            self._too_large,
            tuple(self._rings.notes),
        )

    def close(self) -> None:
        if self._request.off_cpu is not None:
            self._request.off_cpu.close()
        self._files.close()
        self._trigger.close()
