"""Symbols and stacks of recorded events: ``finish.Symbols`` and ``finish.Stacks``.

User addresses belong to an address space (its number is what stands beside a stack or an address in a value), which
outlives its process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from probescope.model.output import Frame, Lost
from probescope.model.types import Opaque

if TYPE_CHECKING:
    from probescope.collect.recorded.symbols import Symbols
    from probescope.collect.recorded.tasks import Tasks
    from probescope.collect.stream.stacks import StackTable
    from probescope.model.recording import Machine


class RecordedNames:
    """``build_ids``: of the recording, hex by path. Files are read when a name is first asked for."""

    def __init__(self, tasks: Tasks, table: StackTable, machine: Machine, build_ids: Mapping[str, str]) -> None:
        self._tasks, self._table, self._machine, self._build_ids = tasks, table, machine, build_ids
        self._symbols: Symbols | None = None
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

    def _frame(self, space: int, address: int) -> Frame:
        key = (space, address)
        found = self._known.get(key)
        if found is None:
            symbols = self._ready()
            known = self._tasks.spaces[space] if 0 <= space < len(self._tasks.spaces) else None
            f = symbols.frame(known, address, kernel=space < 0)
            module = _kernel_module(f.module) if f.kernel else f.module
            found = self._known[key] = Frame(address, f.name, f.offset, module)
        return found

    def _ready(self) -> Symbols:
        if self._symbols is None:
            from probescope.collect.recorded.symbols import Symbols
            from probescope.collect.recorded.told import here

            self._symbols = Symbols(here(), self._build_ids, self._machine.release)
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
