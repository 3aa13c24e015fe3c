"""Unwind tables in step with processes: made when a session starts for those that it is about, and for others when a
stack of theirs is met.

    -p, -c        before anything counts
    the others    a program that meets a process without tables walks by frame pointers, counts that, and writes its id
                  into ``unwind_wanted``; the tables are made by a thread, and found from then on
    changes       new mappings, forks and programs replace a process's list as soon as the side-band tells
"""

from __future__ import annotations

import queue
import struct
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from probescope.collect.unwind_files import FEW, File, Files, inner
from probescope.debuginfo.symbolize import AddressSpace
from probescope.errors import KernelError, LimitError
from probescope.kernel.bpf_map import Map
from probescope.kernel.uapi import bpf as k
from probescope.model import unwind as u
from probescope.model.output import Lost

if TYPE_CHECKING:
    from probescope.collect.processes import Processes

AT_A_LOOK = 64
FEW_PROCESSES = 4


class Tables:
    """Gives processes their tables. ``always``: also those that were compiled with frame pointers. ``failed``:
    processes whose tables the kernel did not take, and why."""

    def __init__(self, maps: Mapping[str, Map], vdso: Callable[[], bytes], *, always: bool) -> None:
        self.files = Files(maps["unwind_tables"], vdso)
        self.failed: dict[int, str] = {}
        self.lock = threading.Lock()
        self.closed = False
        self._pids = maps["unwind_pids"]
        self._always = always

    def give(self, pid: int, space: AddressSpace) -> None:
        """Puts the process's mappings, and the tables that it needs, where programs find them."""
        try:
            rows = self._rows(space)
            with self.lock:
                if not self.closed:
                    self.files.flush()
                    self._put(pid, [row for row in (_row(m, file) for m, file in rows) if row])
        except (KernelError, LimitError) as e:
            self.failed[pid] = str(e)

    def forget(self, pid: int) -> None:
        with self.lock:
            if not self.closed:
                self._pids.delete(struct.pack("=I", pid))

    def _rows(self, space: AddressSpace) -> list[tuple[_Stretch, File]]:
        found = []
        for start, end, m in space.stretches():
            file = self.files.find(m, space.root)
            if file is not None:
                found.append((_Stretch(start, end, m.offset + start - m.start, m.path), file))
        big = [f for _, f in found if f.functions >= FEW]
        if not self._always and big and all(f.share >= u.ENOUGH for f in big):
            return []
        for stretch, file in found:
            self.files.load(file, stretch.path)
        return found[: u.MOST_MAPPINGS - 1]

    def _put(self, pid: int, rows: list[bytes]) -> None:
        size = u.MAPPING.size
        with inner(k.BPF_MAP_TYPE_ARRAY, size, 1 + len(rows), "unwind_maps") as held:
            held.update_all(struct.pack("=Q", len(rows)).ljust(size, b"\0") + b"".join(rows))
            self._pids.update(struct.pack("=I", pid), struct.pack("=I", held.fileno()))


class _Stretch:
    """What one sees of a mapping."""

    __slots__ = ("end", "offset", "path", "start")

    inode = 0

    def __init__(self, start: int, end: int, offset: int, path: str) -> None:
        self.start, self.end, self.offset, self.path = start, end, offset, path


def _row(m: _Stretch, file: File) -> bytes:
    bias = file.bias(m)
    if bias is None or file.bundle < 0:
        return b""
    return u.MAPPING.pack(m.start, m.end - m.start, bias & ((1 << 64) - 1), file.bundle, file.first, file.blocks, 0)


class Unwinding:
    """One session's. ``start`` before anything counts, ``poll`` now and then, ``close``."""

    def __init__(self, maps: Mapping[str, Map], processes: Processes, *, always: bool) -> None:
        from probescope.kernel.vdso import vdso

        self.tables = Tables(maps, vdso, always=always)
        self._wanted = maps["unwind_wanted"]
        self._processes = processes
        self._given: set[int] = set()
        self._jobs: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._latest: dict[int, AddressSpace | None] = {}
        self._order = threading.Lock()
        self._worker: threading.Thread | None = None

    def start(self, pids: Sequence[int], probed: Collection[str] = ()) -> None:
        """``pids``: of processes that are traced; those that are 0 are left out. ``probed``: files with uprobes. Who
        runs one is known beforehand, too, unless they are many: then it is a library that everybody has."""
        self._processes.watch()
        running = self._processes.running(probed) if probed else []
        for pid in dict.fromkeys((*pids, *(running if len(running) <= FEW_PROCESSES else ()))):
            if pid:
                self.prepare(pid)

    def prepare(self, pid: int) -> None:
        """Gives a process its tables before this returns."""
        space = self._processes.space(pid)
        if space is not None:
            self._given.add(pid)
            self.tables.give(pid, space)

    def poll(self) -> None:
        """Asks for the tables of processes that have been met, or have changed."""
        for key in self._wanted_keys():
            self._ask(key)
        for pid, parent in self._processes.changed():
            if parent < 0 and pid in self._given:
                self._given.discard(pid)
                self._work_on(pid, None)
            elif pid in self._given or parent in self._given:
                self._ask(pid)

    def losses(self) -> Iterator[Lost]:
        """What did not fit. Stacks that suffered from it are counted by the programs."""
        for path in dict.fromkeys(self.tables.files.left_out):
            yield Lost("unwind_full", 1, f"the unwind table of {path} does not fit", "trace one process (-p)")
        for pid, why in self.tables.failed.items():
            yield Lost("unwind_full", 1, f"process {pid} has no unwind tables: {why}")

    def close(self) -> None:
        """The maps may be closed after this: a thread that is busy with a large file finds that it is over."""
        with self.tables.lock:
            self.tables.closed = True
        self._jobs.put(0)

    def _wanted_keys(self) -> list[int]:
        found = list(islice(self._wanted.keys(), AT_A_LOOK))
        for key in found:
            self._wanted.delete(key)
        return [struct.unpack("=I", key)[0] for key in found]

    def _ask(self, pid: int) -> None:
        space = self._processes.space(pid)
        if space is None:
            return
        self._given.add(pid)
        self._work_on(pid, space)

    def _work_on(self, pid: int, space: AddressSpace | None) -> None:
        """By the thread, as each change in the kernel takes time; of several changes of a process the last one counts.
        Without a ``space`` it is forgotten."""
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="probescope-unwind", daemon=True)
            self._worker.start()
        with self._order:
            waits = pid in self._latest
            self._latest[pid] = space
        if not waits:
            self._jobs.put(pid)

    def _work(self) -> None:
        while pid := self._jobs.get():
            with self._order:
                space = self._latest.pop(pid)
            if space is None:
                self.tables.forget(pid)
            else:
                self.tables.give(pid, space)
