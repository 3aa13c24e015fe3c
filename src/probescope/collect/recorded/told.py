"""A recording with everything that can be told of its events: names, address spaces, stacks, frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from probescope.collect.recorded.along import Along
from probescope.collect.recorded.pasted import own_names
from probescope.collect.recorded.search import Here, Search
from probescope.collect.recorded.stacks import Stacks
from probescope.collect.recorded.symbols import Frame, Symbols
from probescope.collect.recorded.tasks import Tasks
from probescope.collect.recorded.unwinding import Unwinder
from probescope.frozen import dataclass
from probescope.model.recording import EventBatch, Recording
from probescope.model.sharing import Share

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, Any]

# the misc word of a sample: where it was taken (include/uapi/linux/perf_event.h, PERF_RECORD_MISC_CPUMODE_MASK)
CPUMODE, KERNEL, HYPERVISOR = 7, 1, 3


@dataclass(frozen=True, slots=True, eq=False)
class ToldBatch:
    """``names`` and ``spaces``: i4, see ``Tasks``. ``stacks``: i4 numbers of ``Stacks``, -1 for none; absent where no
    event has one."""

    batch: EventBatch
    names: Column
    spaces: Column
    stacks: Column | None

    def of(self, kind: int, keep: Column | None = None) -> Column:
        """Indices of the events of one kind, of those in ``keep`` (ascending) where it is given."""
        import numpy as np

        which = np.flatnonzero(self.batch.event == kind)
        return which if keep is None else np.intersect1d(which, keep, assume_unique=True)


class Told:
    """Goes through a recording once. ``frames`` and ``frame`` remember what they have worked out. ``summed``: samples
    may be given put together, as ``formats.perfdata.reader`` has it. ``share``: only these pieces are made, and of
    the others what happened to processes, if anything."""

    def __init__(
        self, recording: Recording, here: Here, build_ids: Mapping[str, str], search: Search | None = None
    ) -> None:
        self.recording = recording
        self.tasks = Tasks()
        self.stacks = Stacks()
        own = own_names(recording)
        self.symbols = own or Symbols(here, build_ids, recording.machine.release, search or Search())
        self.unwinder = Unwinder(recording, self.tasks.spaces, self.symbols.unwind_file)
        self.summed = False
        self.share: Share | None = None
        self._kernel_maps = -1
        self._frames: dict[tuple[int, int, bool], Frame] = {}
        self._expanded = Along(self._frames_of)
        self._chains: dict[int, tuple[Frame, ...]] = {}

    def batches(self) -> Iterator[ToldBatch]:
        for recorded in self._recorded():
            names, spaces = self.tasks.columns(recorded)
            if len(self.tasks.kernel) != self._kernel_maps:
                self._kernel_maps = len(self.tasks.kernel)
                self.symbols.kernel_maps(self.tasks.kernel)
            batch = self.unwinder.batch(recorded, spaces)
            stacks = None if batch.stacks is None else self.stacks.numbers(batch.stacks, spaces)
            yield ToldBatch(batch, names, spaces, stacks)

    def _recorded(self) -> Iterator[EventBatch]:
        if self.share is not None:
            return self.recording.batches(summed=self.summed, share=self.share)  # type: ignore[call-arg]
        if not self.summed:
            return self.recording.batches()
        from probescope.formats.perfdata.reader import PerfData

        found = self.recording
        return found.batches(summed=True) if isinstance(found, PerfData) else found.batches()

    def frames(self, stack: int) -> tuple[Frame, ...]:
        """Of a stack by its number, innermost first; with calls that were inlined, if names are searched so. Equal
        frames are one object."""
        found = self._chains.get(stack)
        if found is None:
            space, addresses = self.stacks.chains[stack]
            found = self._chains[stack] = tuple(self.along(space, addresses))
        return found

    def along(self, space: int, addresses: tuple[int, ...]) -> list[Frame]:
        """The same of addresses with their marks. Frames of one address of a space are the same objects, always."""
        return self._expanded.of(space, addresses)

    def _frames_of(self, space: int, address: int, kernel: bool) -> tuple[Frame, ...]:
        where = self.tasks.spaces[space] if space >= 0 else None
        return self.symbols.frames(where, address, kernel=kernel)

    def line(self, space: int, address: int, kernel: bool) -> tuple[str, int]:
        """File and line of an instruction; empty, 0 where they are not known."""
        known = self.tasks.spaces[space] if space >= 0 and not kernel else None
        return self.symbols.line(known, address, kernel=kernel)

    def frame(self, space: int, address: int, kernel: bool) -> Frame:
        """The function of an address alone; the last of what ``frames`` has for it."""
        key = (-1 if kernel else space, address, kernel)
        found = self._frames.get(key)
        if found is None:
            known = self.tasks.spaces[space] if space >= 0 else None
            found = self._frames[key] = self.symbols.frame(known, address, kernel=kernel)
        return found

    def anywhere(self, space: int, address: int) -> Frame:
        """The same of an address that says itself whether it is the kernel's: of a branch."""
        return self.frame(space, address, address >> 63 != 0)

    def data(self, space: int, address: int) -> Frame:
        """What an address of data is called."""
        return self.symbols.data(self.tasks.spaces[space] if space >= 0 else None, address)

    def function(self, address: int) -> tuple[str, int] | None:
        """(function, where it begins) of an address of the kernel, which need not be one of its code."""
        found = self.symbols.kernel.at(address)
        return None if found is None else (found[0], address - found[1])


def here() -> Here:
    """This machine."""
    import os

    from probescope.debuginfo import elf_notes
    from probescope.kernel import machine, procfs
    from probescope.kernel.host import host
    from probescope.kernel.vdso import vdso

    def root(pid: int) -> str:
        try:
            return procfs.root(pid)
        except OSError:
            return ""

    try:
        notes = host().read_bytes("/sys/kernel/notes")
    except OSError:
        notes = b""
    build_id = elf_notes.build_id(notes, little=True) if notes else ""
    home = os.path.expanduser("~")
    return Here(host().release, build_id, machine.kallsyms, home, vdso, root, procfs.pid_in_namespace)
