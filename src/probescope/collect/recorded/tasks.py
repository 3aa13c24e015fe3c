"""Threads' names and processes' memory as a recording tells of them, at the moment of each event.

Both change between events: the events of a thread (or process) are cut into stretches between its changes, and only
those stretches get a name or an address space that have events in them.

    events of tid 7      . . . . . . . .
    records between         N       N         N: a new name
    names                a a|b b b b|c c

Source: tools/perf/util/thread.c and machine.c for what forks inherit.
"""

from __future__ import annotations

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
MOST_APART = 1 << 22


class _Process:
    __slots__ = ("mapped", "shared", "space")

    def __init__(self) -> None:
        self.mapped: list[MappedFile] = []
        self.shared = False  # the list is another's as well
        self.space = -1

    def add(self, mapped: MappedFile) -> None:
        if self.shared:
            self.mapped, self.shared = list(self.mapped), False
        self.mapped.append(mapped)
        self.space = -1
        if len(self.mapped) > MOST_MAPPED:
            self.mapped = [self.mapped[i] for i in AddressSpace(self.mapped).visible()][-MOST_MAPPED // 2 :]


class Tasks:
    """``names`` and ``spaces`` are referred to by index; both only grow. ``kernel``: mappings of the kernel and its
    modules, as they were told. ``forget_ended``: what a thread does after it was told to have ended has no name."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.spaces: list[AddressSpace] = []
        self.kernel: list[MappedFile] = []
        self.forget_ended = True
        self._number: dict[str, int] = {}
        self._name: dict[int, int] = {0: self._named("swapper")}
        self._leader: dict[int, int] = {}
        self._processes: dict[int, _Process] = {}

    def columns(self, batch: EventBatch) -> tuple[Column, Column]:
        """(names, spaces) of a batch's events, i4 each; batches are given in order, each once. A thread without a name
        is called ``:TID``. A space of -1 is none: nothing is known of the process."""
        names = _Stretches(batch.tid, self.name_of)
        spaces = _Stretches(batch.pid, self.space_of)
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
                self._name[record.tid] = self._named(record.comm)
            case Started():
                self._started(record)
            case Ended() if self.forget_ended:
                self._name.pop(record.tid, None)  # perf calls a thread by its number from here on
            case OtherRecord(kind="KSYMBOL"):
                self._generated(record.values)
            case _:
                pass

    def name_of(self, tid: int) -> int:
        found = self._name.get(tid)
        if found is None:
            found = self._name[tid] = self._named(f":{tid}" if tid >= 0 else ":-1")
        return found

    def space_of(self, pid: int) -> int:
        process = self._processes.get(pid)
        if process is None or not process.mapped:
            return -1
        if process.space < 0:
            process.space = len(self.spaces)
            self.spaces.append(AddressSpace(list(process.mapped), pid=pid))
        return process.space

    def _mapped(self, record: MappedFile) -> None:
        if record.pid == KERNEL:
            self.kernel.append(record)
        else:
            self._process(record.pid).add(record)

    def _generated(self, values: dict[str, Any]) -> None:
        """Code that the kernel made: a BPF program, a trampoline. What it is called stays known when it is gone."""
        name, start, size = values.get("name", ""), values.get("addr", 0), values.get("len", 0)
        if name and size > 0 and not values.get("flags", 0) & _UNREGISTER:
            self.kernel.append(MappedFile(pid=KERNEL, start=start, size=size, path=GENERATED + name))

    def _started(self, record: Started) -> None:
        parent = self._name.get(record.parent_tid)
        if parent is not None:
            self._name[record.tid] = parent
        if record.pid == record.parent:
            return
        mother = self._processes.get(record.parent)
        child = self._processes[record.pid] = _Process()
        if mother is not None:
            child.mapped, child.space = mother.mapped, -1
            child.shared = mother.shared = True

    def _process(self, pid: int) -> _Process:
        found = self._processes.get(pid)
        if found is None:
            found = self._processes[pid] = _Process()
        return found

    def _named(self, name: str) -> int:
        found = self._number.get(name)
        if found is None:
            found = self._number[name] = len(self.names)
            self.names.append(name)
        return found


class _Stretches:
    """A column that is filled piece by piece: ``state`` gives what holds for an id at this moment."""

    def __init__(self, ids: Column, state: Callable[[int], int]) -> None:
        import numpy as np

        self._state = state
        self._ids, self._inverse = _numbered(ids)
        self._out = np.full(len(ids), -1, np.int32)
        self._known = {int(i): k for k, i in enumerate(self._ids)}
        self._places: dict[int, Column] = {}
        self._done: dict[int, int] = {}

    def until(self, one: int, at: int) -> None:
        """Events of ``one`` before event ``at`` get what holds now."""
        import numpy as np

        k = self._known.get(one)
        if k is None:
            return
        places = self._places.get(one)
        if places is None:
            places = self._places[one] = np.flatnonzero(self._inverse == k)
        done = self._done.get(one, 0)
        end = int(np.searchsorted(places, at))
        if end > done:
            self._out[places[done:end]] = self._state(one)
            self._done[one] = end

    def finish(self) -> Column:
        """The rest gets what holds at the end."""
        import numpy as np

        for one in self._places:
            self.until(one, len(self._out))
        changed = {self._known[one] for one in self._places}
        last = np.array([-1 if k in changed else self._state(int(i)) for k, i in enumerate(self._ids)], np.int32)
        if not changed:
            return last.take(self._inverse)
        steady = np.ones(len(self._ids), np.bool_)
        steady[list(changed)] = False
        rest = steady.take(self._inverse)
        self._out[rest] = last[self._inverse[rest]]
        return self._out


def _numbered(ids: Column) -> tuple[Column, Column]:
    """The different ids in order, and the place of each event's among them: by a table, where they are numbers of
    threads, ten times faster than by sorting."""
    import numpy as np

    least, most = (int(ids.min()), int(ids.max())) if len(ids) else (0, 0)
    if most - least > MOST_APART:
        different, inverse = np.unique(ids, return_inverse=True)
        return different, inverse
    shifted = ids.astype(np.int64) - least
    seen = np.zeros(most - least + 1, np.bool_)
    seen[shifted] = True
    different = seen.nonzero()[0]
    table = np.empty(len(seen), np.int32)
    table[different] = np.arange(len(different), dtype=np.int32)
    return different[: len(ids)] + least, table.take(shifted)
