"""All events on all places, and the rings that they write to.

    place       the whole machine: each CPU; tasks: each CPU again, for each thread (so that what they start can inherit
                the event and still write to one ring); --per-thread: each thread on any CPU
    ring        one for each place and kind (``opening``): the first event that is opened there owns it, the others are
                sent into it

Use::

    with Rings(events, Places(cpus=online_cpus()), pages=128) as rings:
        rings.enable()
        while rings.wait(-1):
            for cpu, records in rings.read():       # whole records of the kernel; walk(records) goes through them
                ...

``rings.ids[i]`` are the numbers by which samples tell that they are of ``events[i]`` (PERF_SAMPLE_IDENTIFIER).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from probescope.collect.kernel_filter import take_filter
from probescope.collect.recorder.opening import SIDE, SNAPSHOT, Opener, RingEvent
from probescope.errors import KernelError, LimitError, PermissionDenied
from probescope.frozen import dataclass
from probescope.kernel.fds import close_all
from probescope.kernel.perf_event import PerfEvent
from probescope.kernel.perfring import PerfRing
from probescope.kernel.poller import Poller
from probescope.kernel.uapi import perf as u

SIDE_PAGES = 16
LEAST_PAGES = 1
_CLOSERS = 8


@dataclass(frozen=True, slots=True)
class Places:
    """``tids`` on each of ``cpus``, or all tasks there where ``tids`` is empty. ``per_thread``: a ring for each thread
    instead; then nothing can be inherited."""

    cpus: tuple[int, ...]
    tids: tuple[int, ...] = ()
    per_thread: bool = False

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(CPU, thread)"""
        if self.per_thread:
            return iter([(-1, tid) for tid in self.tids])
        return iter([(cpu, tid) for cpu in self.cpus for tid in self.tids or (-1,)])


class Opened(NamedTuple):
    """``which``: the index of the event."""

    which: int
    cpu: int
    tid: int
    id: int
    event: PerfEvent


class Ring(NamedTuple):
    kind: str
    cpu: int
    tid: int
    ring: PerfRing


class Visit(NamedTuple):
    """What one ring has; ``release`` the ring up to ``head`` when it was used."""

    ring: Ring
    pieces: list[memoryview]
    head: int


class Rings:
    """``events`` and ``notes`` say what became of the events that were asked for. ``pages``: of each ring for data,
    2^n; less, down to one, if ``shrink`` and there may not be as much locked memory: then ``pages`` is what it came to.
    Events are disabled until ``enable``, except those of the side-band and those that an exec enables. Raises
    KernelError, LimitError."""

    def __init__(self, events: Sequence[RingEvent], places: Places, *, pages: int = 128, shrink: bool = True) -> None:
        self._opener = Opener(list(events))
        self.pages = self._asked = pages
        self._shrink = shrink
        self.opened: list[Opened] = []
        self.rings: list[Ring] = []
        self._owners: dict[tuple[str, int, int], PerfEvent] = {}
        self.ids: list[list[int]] = [[] for _ in events]
        self.poller = Poller()
        self._of_ours: set[int] = set()
        try:
            for cpu, tid in places:
                self._open_place(cpu, tid, places.per_thread)
            if not self.opened:
                raise KernelError("perf_event_open", errno.ESRCH, hints=["none of these threads is there any more"])
            self._map()
        except OSError as e:
            self.close()
            raise _too_many(e, len(events)) from None
        except BaseException:
            self.close()
            raise

    @property
    def events(self) -> list[RingEvent]:
        return self._opener.events

    @property
    def notes(self) -> list[str]:
        return self._opener.notes

    # --- opening

    def _open_place(self, cpu: int, tid: int, per_thread: bool) -> None:
        leaders: dict[int, PerfEvent] = {}
        for i, asked in enumerate(self.events):
            if asked.cpus and cpu >= 0 and cpu not in asked.cpus:
                continue
            follows = asked.leader >= 0 and asked.leader != i
            leader = leaders.get(asked.leader) if follows else None
            if follows and leader is None:
                continue
            try:
                event = self._opener.open(i, tid, cpu, leader)
            except KernelError as e:
                if e.errno == errno.ESRCH or (e.errno == errno.ENODEV and self.ids[i]):
                    return  # the thread is gone, or the CPU is
                raise
            leaders[i] = event
            self.opened.append(Opened(i, cpu, tid, -1, event))
            opened = Opened(i, cpu, tid, event.id(), event)
            self.opened[-1] = opened
            self.ids[i].append(opened.id)
            self._owners.setdefault((asked.ring, cpu, tid if per_thread else -1), event)
            if asked.filter:
                take_filter(event, asked.name, asked.filter)

    def _map(self) -> None:
        """All rings of one size: with less if one of them is refused."""
        while True:
            try:
                for (kind, cpu, tid), event in self._owners.items():
                    pages = min(SIDE_PAGES, self.pages) if kind == SIDE else self.pages
                    ring = PerfRing(event, pages, overwrite=kind == SNAPSHOT)
                    self.rings.append(Ring(kind, cpu, tid, ring))
                break
            except PermissionDenied:
                if not self._shrink or self.pages <= LEAST_PAGES:
                    raise
                self._unmap()
                self.pages //= 2
        if self.pages < self._asked:
            self.notes.append(f"rings of {self.pages} pages: no more memory may be locked (ulimit -l)")
        owned = {id(e) for e in self._owners.values()}
        per_thread = any(tid >= 0 for _, _, tid in self._owners)
        for o in self.opened:
            kind = self.events[o.which].ring
            owner = self._owners[kind, o.cpu, o.tid if per_thread else -1]
            if id(o.event) not in owned:
                o.event.set_output(owner)
            if kind != SNAPSHOT:
                self.poller.add(o.event)
                self._of_ours.add(o.event.fileno())

    def _unmap(self) -> None:
        for r in self.rings:
            r.ring.close()
        self.rings.clear()

    # --- on and off

    def enable(self, only: Sequence[int] | None = None) -> None:
        self._switch(True, only)

    def disable(self, only: Sequence[int] | None = None) -> None:
        """Events of the side-band go on. ``only``: indices of events."""
        self._switch(False, only)

    def _switch(self, on: bool, only: Sequence[int] | None) -> None:
        for o in self.opened:
            if self.events[o.which].ring != SIDE and (only is None or o.which in only):
                with suppress(KernelError):
                    o.event.enable() if on else o.event.disable()

    def stop(self) -> None:
        """Everything, the side-band too."""
        for o in self.opened:
            with suppress(KernelError):
                o.event.disable()

    # --- reading

    def wait(self, timeout_ms: int) -> set[int]:
        """Descriptors of others (``watch``) that are ready. Returns when a ring is half full, when a descriptor is
        ready, or after ``timeout_ms`` (-1: no limit)."""
        found = self.poller.wait(timeout_ms)
        gone = {fd for fd, hung in found if hung}
        self._of_ours -= gone
        return {fd for fd, _ in found if fd not in self._of_ours}

    def watch(self, fd: int) -> None:
        """A descriptor of somebody else, that ``wait`` returns for too."""
        self.poller.add(fd)

    @property
    def over(self) -> bool:
        """Nothing can come any more: all tasks of all events have ended."""
        return not self._of_ours and any(r.kind != SNAPSHOT for r in self.rings)

    def visit(self) -> list[Visit]:
        """What all rings but those for snapshots have, where it lies."""
        found = []
        for r in self.rings:
            if r.kind != SNAPSHOT:
                pieces, head = r.ring.unread()
                if pieces:
                    found.append(Visit(r, pieces, head))
        return found

    @staticmethod
    def release(visits: Sequence[Visit]) -> None:
        for v in visits:
            for piece in v.pieces:
                piece.release()
            v.ring.ring.release(v.head)

    def read(self) -> list[tuple[int, bytes]]:
        """(CPU, whole records) of each ring that has some; they are copies."""
        visits = self.visit()
        out = [(v.ring.cpu, b"".join(v.pieces)) for v in visits]
        self.release(visits)
        return out

    # --- counts

    def counts(self) -> list[tuple[Opened, int, int]]:
        """(event, its count, its samples that found no room) of every descriptor. Lost ones are 0 before Linux 6.0."""
        out = []
        for o in self.opened:
            read_format = self.events[o.which].attr.read_format
            with suppress(KernelError):
                out.append((o, *_count(o.event.read_values(1 << 14), read_format)))
        return out

    def close(self) -> None:
        self._unmap()
        self.poller.close()
        close_all([o.event for o in self.opened], threads=_CLOSERS)
        self.opened.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _count(values: Sequence[int], read_format: int) -> tuple[int, int]:
    """Of read(2): ``value, enabled, running, id, lost``, each if asked for; with FORMAT_GROUP the number of events and
    the times come first, and the leader is the first of the triples."""
    times = (read_format & 3).bit_count()
    if read_format & u.PERF_FORMAT_GROUP:
        values = [values[1 + times], *values[1 : 1 + times], *values[2 + times :]] if len(values) > 1 + times else ()
    at = 1 + times + (1 if read_format & u.PERF_FORMAT_ID else 0)
    lost = values[at] if read_format & u.PERF_FORMAT_LOST and len(values) > at else 0
    return values[0] if values else 0, lost


def _too_many(e: OSError, events: int) -> LimitError | OSError:
    if e.errno != errno.EMFILE:
        return e
    hints = ["fewer events, or fewer threads; ulimit -n 65536"]
    return LimitError(f"{events} events here need more open files than ulimit -n allows", hints=hints)
