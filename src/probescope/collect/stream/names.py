"""Symbols and stacks of recorded events: ``finish.Symbols`` and ``finish.Stacks``.

User addresses belong to an address space (its number is what stands beside a stack or an address in a value), which
outlives its process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from probescope.frozen import replace
from probescope.model.output import Frame, Lost
from probescope.model.types import Opaque

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Symbols
    from probescope.collect.recorded.tasks import Tasks
    from probescope.collect.stream.stacks import StackTable
    from probescope.debuginfo.eh_index import FrameIndex
    from probescope.debuginfo.elf import ElfFile
    from probescope.debuginfo.symbolize import AddressSpace
    from probescope.debuginfo.symbolize import Mapping as Mapped
    from probescope.model.recording import Machine


class RecordedNames:
    """``build_ids``: of the recording, hex by path; ``own``: names that it brings itself. Files are read when
    a name is first asked for."""

    def __init__(
        self,
        tasks: Tasks,
        table: StackTable,
        machine: Machine,
        build_ids: Mapping[str, str],
        *,
        demangle: bool = True,
        own: Symbols | None = None,
    ) -> None:
        self._demangle = demangle
        self._tasks, self._table, self._machine, self._build_ids = tasks, table, machine, build_ids
        self._symbols = own
        self._kernel_maps = 0
        self._known: dict[tuple[int, int], Frame] = {}

    def kernel(self, address: int) -> Frame:
        return self._frame(-1, address)

    def user(self, pid: int, address: int) -> Frame:
        """``pid``: number of the address space."""
        return self._frame(max(pid, 0), address) if pid >= 0 else Frame(address)

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        chains = self._table.chains
        return chains[stack_id][1] if stack_id < len(chains) else None

    def sources(self, frame: Frame, pid: int, *, user: bool, caller: bool) -> tuple[Frame, ...]:
        from probescope.collect.source_frames import looked_up

        if not frame.symbol:
            return (frame,)
        known = self._space(pid) if user else None
        *inner, own = self._ready().frames(known, looked_up(frame, caller), kernel=not user)
        whole = replace(frame, file=own.file, line=own.line)
        made = (replace(frame, symbol=f.name, offset=0, inlined=True, file=f.file, line=f.line) for f in inner)
        return (*made, whole)

    def file_frame(self, pid: int, address: int) -> Frame:
        known = self._space(pid)
        mapped = known.find(address) if known is not None else None
        if mapped is None:
            return Frame(address)
        told = getattr(mapped, "build_id", b"").hex() or self._build_ids.get(mapped.path, "")
        return Frame(address, offset=address - mapped.start + mapped.offset, build_id=told)

    def _space(self, number: int) -> AddressSpace | None:
        return self._tasks.spaces[number] if 0 <= number < len(self._tasks.spaces) else None

    def unwind_file(self, mapping: Mapped) -> tuple[ElfFile, FrameIndex] | None:
        """The file of a mapping with its unwind information."""
        return self._ready().unwind_file(mapping)

    def _frame(self, space: int, address: int) -> Frame:
        key = (space, address)
        found = self._known.get(key)
        if found is None:
            symbols = self._ready()
            f = symbols.frame(self._space(space), address, kernel=space < 0)
            module = _kernel_module(f.module) if f.kernel else f.module
            found = self._known[key] = Frame(address, f.name, f.offset, module)
        return found

    def _ready(self) -> Symbols:
        if self._symbols is None:
            from probescope.collect.recorded.search import Search
            from probescope.collect.recorded.symbols import Symbols
            from probescope.collect.recorded.told import here

            search = Search(demangle="full" if self._demangle else "none", inline=True, lines=True)
            self._symbols = Symbols(here(), self._build_ids, self._machine.release, search)
        if len(self._tasks.kernel) != self._kernel_maps or not self._kernel_maps:
            self._kernel_maps = len(self._tasks.kernel)
            self._symbols.kernel_maps(self._tasks.kernel)
        return self._symbols

    # --- what a session asks of whoever follows processes

    @property
    def follows(self) -> bool:
        return False

    def start(self, pid: int, unwind_pids: Sequence[int] = ()) -> None:
        pass

    def preparation(self, pid: int) -> Callable[[], None] | None:
        return None

    def poll(self) -> bool:
        return False

    def losses(self) -> Iterator[Lost]:
        missing = self._symbols.missing if self._symbols is not None else {}
        count = sum(missing.values())
        if count:
            worst = sorted(missing, key=lambda m: -missing[m])[:3]
            about = f"addresses have no names: {', '.join(m or 'unmapped memory' for m in worst)}"
            yield Lost("names", count, about, "install their debug symbols, or ask where the recording was made")

    def close(self) -> None:
        pass


def _kernel_module(name: str) -> str:
    """As a running kernel calls it: nothing for its own code, a module without brackets."""
    return "" if name.startswith("[kernel.") else name.strip("[]")
