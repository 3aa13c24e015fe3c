"""Threads' names and processes' memory as a recording tells of them, at the moment of each event.

Both change between events: the events of a thread (or process) are cut into stretches between its changes, and only
those stretches get a name or an address space that have events in them.

    events of tid 7      . . . . . . . .
    records between         N       N         N: a new name
    names                a a|b b b b|c c

Source: tools/perf/util/thread.c and machine.c for what forks inherit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from probescope.debuginfo.symbolize import AddressSpace
from probescope.model.recording import Ended, EventBatch, MappedFile, Named, OtherRecord, SideRecord, Started

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

MOST_MAPPED = 65536
"""Mappings of one process that are kept; older ones that later ones hide are let go before."""
KERNEL = -1
GENERATED = "[generated]"
"""What paths of code that the kernel made begin with; then comes its name."""
_UNREGISTER = 1  # PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
MOST_CGROUPS = 1 << 18
MOST_ID = 1 << 22
"""As the kernel has it; what is beyond is damage, and found without a table."""
_UNASKED = -2


MOST_KEPT = 4_000_000
"""Mappings in all address spaces together. A space that changes beyond that is not kept as it was before."""


class _Taken:
    """Which addresses are taken, as pieces that do not touch: ``starts`` and ``ends``, ascending."""

    __slots__ = ("ends", "starts")

    def __init__(self, starts: list[int], ends: list[int]) -> None:
        self.starts, self.ends = starts, ends

    def take(self, start: int, end: int) -> bool:
        """Whether all of it was free."""
        first, last = bisect_left(self.ends, start), bisect_right(self.starts, end)
        inner = range(first, last)
        free = all(self.ends[i] == start or self.starts[i] == end for i in inner)
        if inner:
            start, end = min(start, self.starts[first]), max(end, self.ends[last - 1])
        self.starts[first:last], self.ends[first:last] = [start], [end]
        return free


class _Process:
    """``space``: the number of its address space now, -1 if that is not made yet; made in batch ``made``."""

    __slots__ = ("made", "mapped", "shared", "space", "taken")

    def __init__(self) -> None:
        self.mapped: list[MappedFile] = []
        self.shared = False  # the list is another's as well
        self.space = -1
        self.made = -1
        self.taken = _Taken([], [])

    def add(self, mapped: MappedFile) -> bool:
        """Whether nothing was there before."""
        if self.shared:
            self.mapped, self.shared = list(self.mapped), False
            self.taken = _Taken(list(self.taken.starts), list(self.taken.ends))
        self.mapped.append(mapped)
        if len(self.mapped) > MOST_MAPPED:
            self.mapped = [self.mapped[i] for i in AddressSpace(self.mapped).visible()][-MOST_MAPPED // 2 :]
        return self.taken.take(mapped.start, mapped.end)


class Tasks:
    """``names`` and ``spaces`` are referred to by index; both only grow. ``kernel``: mappings of the kernel and its
    modules, as they were told. ``cgroups``: paths of control groups by their numbers. ``forget_ended``: what a thread
    does after it was told to have ended has no name. ``merged``: changes of memory that events before them see as well,
    beyond ``MOST_KEPT``."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.spaces: list[AddressSpace] = []
        self.kernel: list[MappedFile] = []
        self.cgroups: dict[int, str] = {}
        self.forget_ended = True
        self.merged = 0
        self._number: dict[str, int] = {}
        self._name: dict[int, int] = {0: self.number("swapper")}
        self._leader: dict[int, int] = {}
        self._processes: dict[int, _Process] = {}
        self._batch = self._kept = 0
        self._names, self._spaces = _Held(self.name_of), _Held(self.space_of)

    def columns(self, batch: EventBatch) -> tuple[Column, Column]:
        """(names, spaces) of a batch's events, i4 each; batches are given in order, each once. A thread without a name
        is called ``:TID``. A space of -1 is none: nothing is known of the process."""
        self._batch += 1
        names = _Stretches(batch.tid, self._names)
        spaces = _Stretches(batch.pid, self._spaces)
        for at, record in batch.between:
            if isinstance(record, Named | Started | Ended):
                names.until(record.tid, at)
            if isinstance(record, MappedFile | Started):
                spaces.until(record.pid, at)
            self.apply(record)
        return names.finish(), spaces.finish()

    def apply(self, record: SideRecord) -> None:
        """What a record changes."""
        match record:
            case MappedFile():
                self._mapped(record)
            case Named():  # mappings stay after an exec: stacks end in the old ones until it returns
                self._name[record.tid] = self.number(record.comm)
                self._names.changed(record.tid)
            case Started():
                self._started(record)
            case Ended() if self.forget_ended:
                self._name.pop(record.tid, None)  # perf calls a thread by its number from here on
                self._names.changed(record.tid)
            case OtherRecord(kind="CGROUP") if len(self.cgroups) < MOST_CGROUPS:
                self.cgroups[record.values["id"]] = record.values["path"]
            case OtherRecord(kind="KSYMBOL"):
                self._generated(record.values)
            case _:
                pass

    def name_of(self, tid: int) -> int:
        """What it was told to be called; else its number, which is not handed on to threads that it starts."""
        found = self._name.get(tid)
        return self.number(f":{max(tid, -1)}") if found is None else found

    def space_of(self, pid: int) -> int:
        process = self._processes.get(pid)
        if process is None or not process.mapped:
            return -1
        if process.space < 0:
            process.space, process.made = len(self.spaces), self._batch
            self.spaces.append(AddressSpace(process.mapped, pid=pid))
            self._kept += len(process.mapped)
        return process.space

    def _mapped(self, record: MappedFile) -> None:
        if record.pid == KERNEL:
            self.kernel.append(record)
            return
        process = self._process(record.pid)
        free = process.add(record)
        # what is new hides nothing from events before it; what was asked of earlier batches stays as it was answered
        if process.space >= 0 and ((free and process.made == self._batch) or self._kept > MOST_KEPT):
            self.spaces[process.space].add(record)
            self._kept += 1
            self.merged += not free
            return
        process.space = -1
        self._spaces.changed(record.pid)

    def _generated(self, values: dict[str, Any]) -> None:
        """Code that the kernel made: a BPF program, a trampoline. What it is called stays known when it is gone."""
        name, start, size = values.get("name", ""), values.get("addr", 0), values.get("len", 0)
        if name and size > 0 and not values.get("flags", 0) & _UNREGISTER:
            self.kernel.append(MappedFile(pid=KERNEL, start=start, size=size, path=GENERATED + name))

    def _started(self, record: Started) -> None:
        parent = self._name.get(record.parent_tid)
        if parent is not None:
            self._name[record.tid] = parent
            self._names.changed(record.tid)
        if record.pid == record.parent:
            return
        mother = self._processes.get(record.parent)
        child = self._processes[record.pid] = _Process()
        self._spaces.changed(record.pid)
        if mother is not None:
            child.mapped, child.taken = mother.mapped, mother.taken
            child.shared = mother.shared = True

    def _process(self, pid: int) -> _Process:
        found = self._processes.get(pid)
        if found is None:
            found = self._processes[pid] = _Process()
        return found

    def number(self, name: str) -> int:
        """Of a name."""
        found = self._number.get(name)
        if found is None:
            found = self._number[name] = len(self.names)
            self.names.append(name)
        return found


class _Held:
    """What holds for each id at this moment, as far as it was asked for: a table, where ids are numbers of threads."""

    def __init__(self, state: Callable[[int], int]) -> None:
        self.state = state
        self._table: Column | None = None

    def changed(self, one: int) -> None:
        if self._table is not None and 0 <= one < len(self._table):
            self._table[one] = _UNASKED

    def column(self, ids: Column) -> Column:
        import numpy as np

        least, most = (int(ids.min()), int(ids.max())) if len(ids) else (0, 0)
        if least < 0 or most >= MOST_ID:
            different, inverse = np.unique(ids, return_inverse=True)
            return np.array([self.state(i) for i in different.tolist()], np.int32).take(inverse)
        table = self._grown(most + 1)
        found: Column = table.take(ids)
        if len(found) and found.min() == _UNASKED:
            for one in sorted(set(ids[found == _UNASKED].tolist())):  # np.unique would load numpy.ma
                table[one] = self.state(one)
            found = table.take(ids)
        return found

    def _grown(self, size: int) -> Column:
        import numpy as np

        if self._table is None or len(self._table) < size:
            old = self._table
            self._table = np.full(max(2 * size, 1 << 15), _UNASKED, np.int32)
            if old is not None:
                self._table[: len(old)] = old
        return self._table


FEW_IDS = 16


class _Stretches:
    """A column of what holds for the id of each event: at the end, but where it changed before that. ``until`` is told
    of each change before it is made."""

    def __init__(self, ids: Column, held: _Held) -> None:
        self._ids, self._held = ids, held
        self._places: dict[int, Column] = {}
        self._done: dict[int, int] = {}
        self._before: list[tuple[Column, int]] = []
        self._order: Column | None = None
        self._sorted: Column | None = None

    def until(self, one: int, at: int) -> None:
        """Events of ``one`` before event ``at`` get what holds now."""
        places = self._places.get(one)
        if places is None:
            places = self._places[one] = self._where(one)
        if not len(places):
            return
        done = self._done.get(one, 0)
        end = int(places.searchsorted(at))
        if end > done:
            self._before.append((places[done:end], self._held.state(one)))
            self._done[one] = end

    def _where(self, one: int) -> Column:
        """Its events. A few are looked for one by one; many ids and many events together take sorting."""
        import numpy as np

        found: Column
        if len(self._places) < FEW_IDS:
            found = (self._ids == one).nonzero()[0]
            return found
        if self._order is None or self._sorted is None:
            self._order = self._ids.argsort(kind="stable")
            self._sorted = self._ids[self._order].astype(np.int64)  # else each search would cast all of it
        first, last = self._sorted.searchsorted(np.array([one, one + 1], np.int64))
        found = self._order[first:last]
        return found

    def finish(self) -> Column:
        """The rest gets what holds at the end."""
        out = self._held.column(self._ids)
        for places, state in self._before:
            out[places] = state
        return out
