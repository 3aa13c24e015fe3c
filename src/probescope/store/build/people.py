"""Which thread a number meant at each moment: the kernel gives numbers out again.

    tid 7     . . . .| . . . .        |: a new thread 7
    utid      4 4 4 4  9 9 9 9

Most numbers mean one thread all through a batch, and are looked up in a table of what holds at its end. For the few
whose meaning changes in the middle, the places of the changes are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from probescope.model.recording import Ended, MappedFile, Named, SideRecord, Started
from probescope.store.build.interning import Pool, clean
from probescope.store.build.naming import Naming

if TYPE_CHECKING:
    from probescope.model.recording import EventBatch

    Array = np.ndarray[Any, Any]

MOST_ID = 1 << 22
"""PID_MAX_LIMIT of the kernel; what is beyond is damage, and has no thread."""
ONCE_NS = 1_000_000
"""Two events that tell of one start are not further apart."""
NOBODY = -1
_LINKER = "/ld-"


class Thread:
    __slots__ = ("end", "start", "tid", "upid")

    def __init__(self, tid: int, upid: int, start: int) -> None:
        self.tid, self.upid, self.start, self.end = tid, upid, start, -1


class Process:
    """``mapped``: whether its program file is known."""

    __slots__ = ("cmdline", "mapped", "parent", "pid", "start")

    def __init__(self, pid: int, parent: int, start: int) -> None:
        self.pid, self.parent, self.start = pid, parent, start
        self.cmdline, self.mapped = "", False


class People:
    """``threads`` and ``processes`` by utid and upid: number 0 is that of the idle threads."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.threads: list[Thread] = [Thread(0, 0, -1)]
        self.processes: list[Process] = [Process(0, -1, -1)]
        self.names = Naming(pool.number("swapper"))
        self._now = np.full(1 << 12, NOBODY, np.int32)
        self._now[0] = 0
        self._process: dict[int, int] = {0: 0}
        self._placed = np.zeros(64, np.bool_)  # by utid: its process is known
        self._seen = np.zeros(64, np.bool_)  # by utid: something of an earlier batch is its
        self._placed[0] = True
        self._changes: dict[int, tuple[list[int], list[int]]] = {}
        self._dead: list[int] = []
        self._tids: Array = np.zeros(0, np.int64)

    # --- a batch

    def begin(self, batch: EventBatch, tids: Array, changes: Iterable[tuple[int, SideRecord]]) -> None:
        """``changes``: (place, record) in order; what is at the place or after it sees the change."""
        self._changes = {}
        self._tids = tids
        for tid in self._dead:
            self._now[tid] = NOBODY
        self._dead = []
        for at, record in changes:
            self._apply(at, record)

    def of(self, tids: Array, places: Array | None = None) -> Array:
        """Utids of numbers of threads at some places of the batch (all of them in order, if not told)."""
        tids = np.where((tids >= 0) & (tids < MOST_ID), tids, -1).astype(np.int64)
        self._grow(int(tids.max(initial=0)))
        out: Array = self._now[tids]
        missing = out == NOBODY
        if missing.any():
            for tid in np.unique(tids[missing]).tolist():
                if tid >= 0:
                    self._thread(tid, -1, -1)
            out = self._now[tids]
        out[tids < 0] = NOBODY
        if self._changes:
            self._corrected(out, tids, places)
        return out

    def place(self, utids: Array, pids: Array) -> None:
        """Threads whose processes are not known belong to these, where they are told (>= 0)."""
        self._room()
        known = utids >= 0
        some = np.flatnonzero(known & (pids >= 0) & ~self._placed[np.where(known, utids, 0)])
        if len(some):
            for utid, first in zip(*np.unique(utids[some], return_index=True), strict=True):
                self._belongs(int(utid), int(pids[some[first]]))
        self._seen[utids[known]] = True

    def dies(self, utids: Array, tids: Array) -> None:
        """They have left their CPU for ever: their numbers are free from the next batch on."""
        rows = zip(tids.tolist(), utids.tolist(), strict=True)
        self._dead += [t for t, u in rows if t > 0 and u > 0 and self._now[t] == u]

    # --- changes

    def _apply(self, at: int, record: SideRecord) -> None:
        match record:
            case Started():
                self._started(at, record)
            case Named():
                utid = self._known(record.tid, record.pid)
                if utid > 0:
                    if record.exec:
                        self._executed(utid, record)
                    self.names.mention(at, utid, record.time or -1, self.pool.number(clean(record.comm)))
            case Ended():
                self._ended(record)
            case MappedFile() if record.pid > 0 and record.executable:
                self._mapped(record)
            case _:
                pass

    def _started(self, at: int, r: Started) -> None:
        if not 0 < r.tid < MOST_ID:
            return
        self._grow(r.tid)
        time = r.time or -1
        before = int(self._now[r.tid])
        parent = self._known(r.parent_tid, r.parent) if r.parent_tid >= 0 else NOBODY
        if before != NOBODY and (time < 0 or self._fresh(before, r.tid, at, time)):
            utid = before  # it was there, or somebody told of it before
            self.threads[utid].start = max(self.threads[utid].start, time)
        else:
            if r.pid == r.tid:
                self._process.pop(r.pid, None)
            utid = self._thread(r.tid, -1, time)
            if before != NOBODY:
                self._change(r.tid, at, before, utid)
        if r.pid >= 0 and not self._is_placed(utid):
            self._belongs(utid, r.pid)
        if parent not in (NOBODY, utid):
            self._inherit(at, utid, parent, r)

    def _inherit(self, at: int, utid: int, parent: int, r: Started) -> None:
        upid = self.threads[utid].upid
        if upid >= 0 and r.pid == r.tid:
            process = self.processes[upid]
            process.start = max(process.start, r.time or -1)
            mother = self.threads[parent].upid
            if process.parent < 0 and mother != upid:
                process.parent = mother
        if r.time:
            self.names.inherit(at, utid, r.time, parent)

    def _fresh(self, utid: int, tid: int, at: int, time: int) -> bool:
        """Whether nothing happened to it so far: then it is the one that starts here, and was told of early, or by two
        events."""
        self._room()
        thread = self.threads[utid]
        if thread.end >= 0 or self._seen[utid] or (thread.start >= 0 and time - thread.start > ONCE_NS):
            return False
        return not bool((self._tids[:at] == tid).any())

    def _ended(self, r: Ended) -> None:
        if not 0 < r.tid < MOST_ID:
            return
        utid = self._known(r.tid, r.pid)
        if r.time:
            self.threads[utid].end = r.time

    def _executed(self, utid: int, r: Named) -> None:
        """A thread that runs a new program takes the number of its process's first one, which has ended just before."""
        self.threads[utid].end = -1
        upid = self.threads[utid].upid
        if upid > 0:
            self.processes[upid].mapped = False

    def _mapped(self, r: MappedFile) -> None:
        upid = self._process.get(r.pid)
        process = self.processes[upid if upid is not None else self._made(r.pid)]
        if not process.mapped and r.path.startswith("/") and _LINKER not in r.path:
            process.cmdline, process.mapped = clean(r.path), True

    # --- what is known

    def _known(self, tid: int, pid: int) -> int:
        if not 0 <= tid < MOST_ID:
            return NOBODY
        self._grow(tid)
        utid = int(self._now[tid])
        if utid == NOBODY:
            utid = self._thread(tid, -1, -1)
        if pid >= 0 and not self._is_placed(utid):
            self._belongs(utid, pid)
        return utid

    def _thread(self, tid: int, upid: int, start: int) -> int:
        utid = len(self.threads)
        self.threads.append(Thread(tid, upid, start))
        self._now[tid] = utid
        return utid

    def _belongs(self, utid: int, pid: int) -> None:
        self._room()
        upid = self._process.get(pid)
        if upid is None:
            upid = self._made(pid)
        self.threads[utid].upid = upid
        self._placed[utid] = True

    def _made(self, pid: int) -> int:
        upid = self._process[pid] = len(self.processes)
        self.processes.append(Process(pid, -1, -1))
        return upid

    def _is_placed(self, utid: int) -> bool:
        return self.threads[utid].upid >= 0

    # --- tables

    def _grow(self, most: int) -> None:
        if most >= len(self._now):
            grown = np.full(min(max(2 * most, 1 << 12), MOST_ID), NOBODY, np.int32)
            grown[: len(self._now)] = self._now
            self._now = grown

    def _room(self) -> None:
        """Tables by utid have an item for each."""
        short = len(self.threads) - len(self._placed)
        if short > 0:
            more = max(short, len(self._placed))
            self._placed = np.append(self._placed, np.zeros(more, np.bool_))
            self._seen = np.append(self._seen, np.zeros(more, np.bool_))

    def _change(self, tid: int, at: int, before: int, after: int) -> None:
        places, meant = self._changes.setdefault(tid, ([], [before]))
        places.append(at)
        meant.append(after)

    def _corrected(self, out: Array, tids: Array, places: Array | None) -> None:
        some = np.flatnonzero(np.isin(tids, np.fromiter(self._changes, np.int64)))
        where: Sequence[int] = (some if places is None else places[some]).tolist()
        for i, tid, at in zip(some.tolist(), tids[some].tolist(), where, strict=True):
            changed, meant = self._changes[tid]
            out[i] = meant[bisect_right(changed, at)]
