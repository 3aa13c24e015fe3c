"""Names for addresses of processes, also of those that have ended by the time of printing.

While a program that asks for user stacks or symbols runs, mappings are followed through perf's side-band; those of
processes that were there before are read from /proc, a few at each look, so that a machine with thousands of them is
not held up. Files that can only be reached through a living process (those of containers, and deleted ones) are opened
while it lives.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from probescope.collect.sideband import Executed, Exited, Forked, MapEvent, Mapped, Missed, SideBand
from probescope.errors import KernelError
from probescope.kernel import procfs
from probescope.model.output import Frame

if TYPE_CHECKING:
    from probescope.debuginfo.symbolize import AddressSpace, UserSymbols

START_SECONDS = 0.1  # for processes that are there before anything counts; who has thousands waits no longer
AT_A_LOOK = 16  # processes read from /proc at each poll after that
LOOK_AGAIN = 1.0  # seconds
MOST_ENDED = 4096  # ended processes whose mappings are kept
MOST_MAPPED = 4096  # mappings of a process before those that later ones hide are let go


class _Process:
    """``mapped`` in order of their making; ``space`` is built from them when an address is looked up. ``root``: where
    its root folder is for us; ``inner``: its id in its own pid namespace. ``looked``: when /proc was last asked for an
    address that lies nowhere, and how much the side-band had missed by then."""

    __slots__ = ("ended", "inner", "looked", "mapped", "most", "pid", "root", "space")

    def __init__(self, pid: int, mapped: list[Mapped], root: str = "", inner: int = 0) -> None:
        self.pid = pid
        self.mapped = mapped
        self.most = MOST_MAPPED
        self.root = root
        self.inner = inner or pid
        self.space: AddressSpace | None = None
        self.looked: tuple[float, int] = (float("-inf"), 0)
        self.ended = False

    def add(self, mapped: Mapped) -> None:
        self.mapped.append(mapped)
        self.space = None
        if len(self.mapped) > self.most:  # it maps and unmaps all the time
            self.mapped = [self.mapped[i] for i in _space_of(self).visible()]
            self.most = max(MOST_MAPPED, 2 * len(self.mapped))


class Processes:
    """``start`` begins to follow; without it, what /proc shows at the time of asking is all there is. ``missed``
    counts changes that the side-band lost, ``nameless`` addresses that have no names for want of privileges: of
    processes of others (``foreign``), and of those that ended while perf did not tell of them (``unseen``)."""

    def __init__(self, *, demangle: bool = True) -> None:
        self.missed = 0
        self.nameless = {"foreign": 0, "unseen": 0}
        self._refused = False
        self._demangle = demangle
        self._known: dict[int, _Process] = {}
        self._ended: deque[int] = deque()
        self._unread: deque[int] = deque()
        self._sideband: SideBand | None = None
        self._changes: list[tuple[int, int]] | None = None
        self._symbols: UserSymbols | None = None
        self._names: dict[str, str] = {}

    def start(self, pids: Iterable[int] = ()) -> None:
        """``pids``: those that can appear, none given: all. Where perf refuses, names of ended processes are missing,
        and nothing else."""
        try:
            self._sideband = SideBand()
        except KernelError:
            self._refused = True
            return
        self._unread.extend(pids or procfs.pids())
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.poll():
            pass

    def watch(self) -> None:
        """From now on changes are kept for ``changed``."""
        self._changes = []

    def changed(self) -> list[tuple[int, int]]:
        """Since the last call: processes with other files mapped than before, each with the one that it was forked from
        (0: none), or with -1 where it has ended."""
        found, self._changes = list(dict.fromkeys(self._changes or ())), []
        return found

    @property
    def follows(self) -> bool:
        """Whether the rings of the side-band fill, and somebody has to empty them."""
        return self._sideband is not None

    def poll(self) -> bool:
        """Takes in what happened since; whether processes that were there before are still to be read."""
        if self._sideband is None:
            return False
        for change in self._sideband.changes():
            self._apply(change)
        for _ in range(min(AT_A_LOOK, len(self._unread))):
            pid = self._unread.popleft()
            if pid not in self._known:
                self._read(pid)
        return bool(self._unread)

    def close(self) -> None:
        if self._sideband is not None:
            self._sideband.close()
            self._sideband = None

    # --- following
    # ------------------------------------------------------------------------------------------------------

    def _apply(self, change: object) -> None:
        if self._changes is not None:
            self._keep(self._changes, change)
        match change:
            case MapEvent(pid=pid, mapped=m):
                process = self._of(pid)
                process.add(m)
                self._capture(process, [m])
            case Forked(pid=pid, parent=parent):
                origin = self._known.get(parent) or self._read(parent) or _Process(parent, [])
                self._known[pid] = _Process(pid, list(origin.mapped), origin.root, procfs.pid_in_namespace(pid))
            case Executed(pid=pid):
                before = self._known.get(pid)
                inherited = before.root if before is not None else ""
                root = procfs.root(pid) if procfs.alive(pid) else inherited
                self._known[pid] = _Process(pid, [], root, before.inner if before is not None else 0)
            case Exited(pid=pid):
                self._let_go(pid)
            case Missed(lost=n):
                self.missed += n
            case _:
                return

    def _keep(self, changes: list[tuple[int, int]], change: object) -> None:
        match change:
            case MapEvent(pid=pid, mapped=m) if m.path.startswith("/") and not m.path.startswith("//"):
                changes.append((pid, 0))  # other executable memory is that of JIT compilers: it comes all the time
            case Executed(pid=pid):
                changes.append((pid, 0))
            case Forked(pid=pid, parent=parent):
                changes.append((pid, parent))
            case Exited(pid=pid):
                changes.append((pid, -1))
            case _:
                return

    def _of(self, pid: int) -> _Process:
        found = self._known.get(pid)
        if found is None:
            found = self._read(pid) or _Process(pid, [])
            self._known[pid] = found
        return found

    def _read(self, pid: int) -> _Process | None:
        """From /proc; ``None`` if it is gone or has no memory of its own."""
        try:
            entries = procfs.maps(pid)
        except KernelError:
            return None
        mapped = [_mapped(pid, e) for e in entries if e.executable]
        if not mapped:
            return None
        root = procfs.root(pid) if procfs.alive(pid) else ""
        made = self._known[pid] = _Process(pid, mapped, root, procfs.pid_in_namespace(pid))
        self._capture(made, mapped)
        return made

    def _capture(self, process: _Process, mapped: list[Mapped]) -> None:
        """Opens the files that cannot be found again once the process is gone."""
        wanted = [m for m in mapped if m.file or (process.root and m.path.startswith("/"))]
        if wanted:
            from probescope.debuginfo.symbolize import AddressSpace

            self._user_symbols().capture(AddressSpace(wanted, process.root, process.inner))

    def _let_go(self, pid: int) -> None:
        found = self._known.get(pid)
        if found is None or found.ended:
            return
        found.ended = True
        self._ended.append(pid)
        while len(self._ended) > MOST_ENDED:
            oldest = self._ended.popleft()
            if oldest in self._known and self._known[oldest].ended:
                del self._known[oldest]

    # --- looking up
    # -----------------------------------------------------------------------------------------------------

    def symbol(self, pid: int, address: int) -> Frame:
        """Its frame, as far as anything is known of the process."""
        self.poll()
        space = self._space(pid, address)
        if space is None:
            if procfs.alive(pid):
                self.nameless["foreign"] += 1
            elif self._refused:
                self.nameless["unseen"] += 1
            return Frame(address)
        place = self._user_symbols().symbolize(space, [address])[0]
        return Frame(address, self._name(place.symbol), place.offset, place.module)

    def sources(self, pid: int, frame: Frame, caller: bool) -> tuple[Frame, ...]:
        """A frame as the functions that were inlined there, with their source lines."""
        space = self._space(pid, frame.address)
        if space is None:
            return (frame,)
        from probescope.collect.source_frames import frames_of, looked_up

        found = self._user_symbols().source(space, looked_up(frame, caller))
        return frames_of(frame, found, self._name)

    def file_frame(self, pid: int, address: int) -> Frame:
        """The build-id of the file that an address is in, and where; nothing is named."""
        space = self._space(pid, address)
        found = self._user_symbols().build_id(space, address) if space is not None else None
        return Frame(address) if found is None else Frame(address, offset=found[1], build_id=found[0])

    def space(self, pid: int) -> AddressSpace | None:
        """The mappings of a process: what /proc says now, or, when it is gone, what was known of it."""
        process = self._known.get(pid) or self._read(pid)
        if process is None:
            return None
        self._refresh(process)
        return _space_of(process)

    def running(self, paths: Collection[str]) -> list[int]:
        """Processes, of those that are known, that have one of the files mapped and have not ended."""
        return [p.pid for p in self._known.values() if not p.ended and any(m.path in paths for m in p.mapped)]

    def _space(self, pid: int, address: int) -> AddressSpace | None:
        process = self._known.get(pid) or self._read(pid)
        if process is None:
            return None
        if process.space is None:
            self._refresh(process)
        space = process.space = process.space or _space_of(process)
        if space.find(address) is None and self._may_be_new(process) and self._refresh(process):
            space = process.space = _space_of(process)
        return space

    def _may_be_new(self, process: _Process) -> bool:
        """Stacks walked by frame pointers are full of addresses that lie nowhere: where the side-band tells of all that
        is mapped, /proc is asked again only if some of that was missed, or after a while."""
        last, missed = process.looked
        now = time.monotonic()
        if process.ended or (self._sideband is not None and missed == self.missed and now - last < LOOK_AGAIN):
            return False
        process.looked = (now, self.missed)
        return True

    def _refresh(self, process: _Process) -> bool:
        """Adds what /proc says now of a process that lives: mapped since we looked, or deleted meanwhile."""
        if process.ended:
            return False
        before = process.mapped
        now = self._read(process.pid)
        if now is None:
            return False
        self._known[process.pid] = process
        known = set(now.mapped)
        process.mapped = [*(m for m in before if m not in known), *now.mapped]
        return True

    def _user_symbols(self) -> UserSymbols:
        if self._symbols is None:
            from probescope.debuginfo.symbolize import UserSymbols
            from probescope.kernel.vdso import vdso

            self._symbols = UserSymbols(vdso)
        return self._symbols

    def _name(self, symbol: str) -> str:
        if not self._demangle or not (symbol.startswith(("_Z", "__Z", "_R")) or "%" in symbol):
            return symbol
        found = self._names.get(symbol)
        if found is None:
            from probescope.debuginfo.demangle import demangle

            found = self._names[symbol] = demangle(symbol)
        return found


def _mapped(pid: int, entry: procfs.MapEntry) -> Mapped:
    """/proc/PID/map_files/START-END leads to the file though its name is gone."""
    link = f"/proc/{pid}/map_files/{entry.start:x}-{entry.end:x}" if entry.deleted else ""
    return Mapped(entry.start, entry.end, entry.offset, entry.path, entry.inode, link)


def _space_of(process: _Process) -> AddressSpace:
    """Later mappings hide those that they overlap: the address space sees to that."""
    from probescope.debuginfo.symbolize import AddressSpace

    return AddressSpace(process.mapped, process.root, process.inner)
