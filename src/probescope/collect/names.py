"""Symbols and stack tables of a session: ``finish.Symbols`` and ``finish.Stacks``."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.ir.program import Program
from probescope.ir.walk import clause_nodes
from probescope.model.output import Frame, Lost
from probescope.model.types import Opaque

if TYPE_CHECKING:
    from probescope.collect.kernel_side import KernelSide
    from probescope.collect.processes import Processes
    from probescope.debuginfo.symbolize import KernelSymbols
    from probescope.kernel.bpf_map import Map


class Names:
    """``start`` begins to follow processes, if the program ever names a user address."""

    def __init__(self, program: Program, kernel: KernelSide | None) -> None:
        self._program = program
        self._kernel = kernel
        self._kernel_symbols: KernelSymbols | None = None
        self._processes: Processes | None = None
        self._tables: dict[Opaque, Map | None] = {}

    def start(self, pid: int) -> None:
        """``pid``: the only process that can appear, 0 for all."""
        if names_user_code(self._program):
            self._followed().start([pid] if pid else [])

    @property
    def follows(self) -> bool:
        return self._processes is not None and self._processes.follows

    def poll(self) -> bool:
        """Takes in what happened to processes; whether there is more to do at once."""
        return self._processes is not None and self._processes.poll()

    def losses(self) -> Iterator[Lost]:
        missed = self._processes.missed if self._processes is not None else 0
        if missed:
            about = "changes of processes were missed: some user frames may have no names"
            yield Lost("processes", missed, about, "trace one process (-p)")

    def close(self) -> None:
        if self._processes is not None:
            self._processes.close()
            self._processes = None

    # --- symbols
    # --------------------------------------------------------------------------------------------------------

    def kernel(self, address: int) -> Frame:
        if self._kernel_symbols is None:
            from probescope.debuginfo.symbolize import KernelSymbols
            from probescope.kernel.machine import kallsyms

            self._kernel_symbols = KernelSymbols(kallsyms)
        return Frame(*self._kernel_symbols.symbolize([address])[0])

    def user(self, pid: int, address: int) -> Frame:
        return self._followed().symbol(pid, address)

    def _followed(self) -> Processes:
        if self._processes is None:
            from probescope.collect.processes import Processes

            self._processes = Processes(demangle=self._program.settings.cpp_demangle)
        return self._processes

    # --- stacks
    # ---------------------------------------------------------------------------------------------------------

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        if type_ not in self._tables:
            self._tables[type_] = self._kernel.stack_map(type_) if self._kernel else None
        held = self._tables[type_]
        row = held.lookup(struct.pack("=I", stack_id)) if held is not None else None
        if row is None:
            return None
        words = struct.unpack(f"={len(row) // 8}Q", row)
        return words[: words.index(0)] if 0 in words else words


def names_user_code(program: Program) -> bool:
    """Whether any value of the program is a user stack or symbol."""
    types = [getattr(n, "type", None) for c in program.clauses for n in clause_nodes(c)]
    return any(isinstance(t, Opaque) and t.kind in ("ustack", "usym") for t in types)
