"""Names for addresses of processes, also of those that have ended by the time of printing.

While a program that asks for user stacks or symbols runs, mappings are followed through perf's side-band; those of
processes that were there before are read from /proc, a few at each look, so that a machine with thousands of them is
not held up.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from probescope.collect.sideband import Executed, Exited, Forked, MapEvent, Mapped, Missed, SideBand
from probescope.errors import KernelError
from probescope.kernel import procfs
from probescope.model.output import Frame

if TYPE_CHECKING:
    from probescope.debuginfo.symbolize import AddressSpace, UserSymbols

AT_A_LOOK = 16  # processes read from /proc at each poll
MOST_ENDED = 4096  # ended processes whose mappings are kept
MOST_MAPPED = 4096  # mappings of a process before those that later ones hide are let go


class _Process:
    """Mappings in order of their making; ``space`` is built from them when an address is looked up."""

    __slots__ = ("ended", "mapped", "most", "pid", "root", "space")

    def __init__(self, pid: int, mapped: list[Mapped], root: str = "") -> None:
        self.pid = pid
        self.mapped = mapped
        self.most = MOST_MAPPED
        self.root = root
        self.space: AddressSpace | None = None
        self.ended = False

    def add(self, mapped: Mapped) -> None:
        self.mapped.append(mapped)
        self.space = None
        if len(self.mapped) > self.most:  # it maps and unmaps all the time
            self.mapped = [self.mapped[i] for i in _space_of(self).visible()]
            self.most = max(MOST_MAPPED, 2 * len(self.mapped))


class Processes:
    """``start`` begins to follow; without it, what /proc shows at the time of asking is all there is. ``missed``
    counts changes that the side-band lost."""

    def __init__(self, *, demangle: bool = True) -> None:
        self.missed = 0
        self._demangle = demangle
        self._known: dict[int, _Process] = {}
        self._ended: deque[int] = deque()
        self._unread: deque[int] = deque()
        self._sideband: SideBand | None = None
        self._symbols: UserSymbols | None = None
        self._names: dict[str, str] = {}

    def start(self) -> None:
        """Where perf refuses, names of ended processes are missing, and nothing else."""
        try:
            self._sideband = SideBand()
        except KernelError:
            return
        self._unread.extend(procfs.pids())

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
        match change:
            case MapEvent(pid=pid, mapped=m):
                self._of(pid).add(m)
            case Forked(pid=pid, parent=parent):
                origin = self._known.get(parent) or self._read(parent)
                self._known[pid] = _Process(pid, list(origin.mapped) if origin else [], origin.root if origin else "")
            case Executed(pid=pid):
                self._known[pid] = _Process(pid, [], _root(pid))
            case Exited(pid=pid):
                self._let_go(pid)
            case Missed(lost=n):
                self.missed += n
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
        mapped = [Mapped(e.start, e.end, e.offset, e.path, e.inode) for e in entries if e.executable]
        if not mapped:
            return None
        made = self._known[pid] = _Process(pid, mapped, _root(pid))
        return made

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
            return Frame(address)
        place = self._user_symbols().symbolize(space, [address])[0]
        return Frame(address, self._name(place.symbol), place.offset, place.module)

    def _space(self, pid: int, address: int) -> AddressSpace | None:
        process = self._known.get(pid) or self._read(pid)
        if process is None:
            return None
        if process.space is None:
            process.space = _space_of(process)
        if process.space.find(address) is None and not process.ended:
            again = self._read(pid)  # mapped since we looked, or never told
            if again is not None:
                again.space = _space_of(again)
                return again.space
        return process.space

    def _user_symbols(self) -> UserSymbols:
        if self._symbols is None:
            from probescope.debuginfo.symbolize import UserSymbols
            from probescope.kernel.vdso import vdso

            self._symbols = UserSymbols(vdso)
        return self._symbols

    def _name(self, symbol: str) -> str:
        if not self._demangle or not symbol.startswith(("_Z", "__Z", "_R")):
            return symbol
        found = self._names.get(symbol)
        if found is None:
            from probescope.debuginfo.demangle import demangle

            found = self._names[symbol] = demangle(symbol)
        return found


def _root(pid: int) -> str:
    """Where the process's root folder is for us, if it still is anywhere."""
    return procfs.root(pid) if procfs.alive(pid) else ""


def _space_of(process: _Process) -> AddressSpace:
    from probescope.debuginfo.symbolize import AddressSpace

    pid = process.pid
    return AddressSpace(process.mapped, process.root, pid if not process.root else procfs.pid_in_namespace(pid))
