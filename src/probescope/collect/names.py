"""Symbols and stack tables of a session: ``finish.Symbols`` and ``finish.Stacks``."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from probescope.ir.program import Program
from probescope.ir.walk import clause_nodes
from probescope.model.output import Frame, Lost
from probescope.model.site import UprobeAttach
from probescope.model.types import Opaque
from probescope.model.unwind import STACK_HEAD, UNWOUND
from probescope.plan.witness import prints_containers

if TYPE_CHECKING:
    from probescope.collect.kernel_side import KernelSide
    from probescope.collect.processes import Processes
    from probescope.collect.unwinding import Unwinding
    from probescope.debuginfo.symbolize import KernelSymbols
    from probescope.debuginfo.vmlinux import KernelLines
    from probescope.kernel.bpf_map import Map

VMLINUX = "BPFTRACE_VMLINUX"


NAMELESS: dict[str, tuple[str, str]] = {
    "kernel": (
        "addresses of the kernel have no names: /proc/kallsyms hides them (kernel.kptr_restrict)",
        "CAP_SYSLOG shows them, unless kernel.kptr_restrict is 2: add +syslog to the capabilities, or run as root",
    ),
    "foreign": (
        "addresses have no names: they are of other users' processes, whose mappings cannot be read",
        "add CAP_SYS_PTRACE, or run as root",
    ),
    "unseen": (
        "addresses have no names: their processes ended, and perf_event_open, which tells of mappings, is refused",
        "add CAP_PERFMON; a filter of system calls (seccomp) may forbid it as well",
    ),
}


class Names:
    """``start`` begins to follow processes, if the program ever names a user address."""

    def __init__(self, program: Program, kernel: KernelSide | None) -> None:
        self._program = program
        self._kernel = kernel
        self._kernel_symbols: KernelSymbols | None = None
        self._kernel_lines: KernelLines | None = None
        self._processes: Processes | None = None
        self._unwinding: Unwinding | None = None
        self._tables: dict[Opaque, Map | None] = {}
        self._unwound: dict[Opaque, Map | None] = {}
        self._hidden = 0  # addresses of the kernel that have no name because this user may not see any

    def start(self, pid: int, unwind_pids: Sequence[int] = ()) -> None:
        """``pid``: the only process that can appear, 0 for all. ``unwind_pids``: others whose stacks are unwound from
        the start."""
        if prints_containers(self._program):
            from probescope.kernel.cgroups import snapshot

            snapshot()
        if names_user_code(self._program):
            self._followed().start([pid] if pid else [])
            maps = self._kernel.unwind_maps() if self._kernel else {}
            if maps:
                from probescope.collect.unwinding import Unwinding

                always = self._program.settings.unwind == "always"
                self._unwinding = Unwinding(maps, self._followed(), always=always)
                probed = (
                    set() if pid else {s.attach.path for s in self._program.sites if isinstance(s.attach, UprobeAttach)}
                )
                self._unwinding.start((pid, *unwind_pids), probed)

    def preparation(self, pid: int) -> Callable[[], None] | None:
        """What wants to be done when the program of ``-c`` is about to begin, if anything."""
        unwinding = self._unwinding
        if unwinding is None or not pid:
            return None

        def prepare() -> None:
            self._followed().poll()
            unwinding.prepare(pid)

        return prepare

    @property
    def follows(self) -> bool:
        return self._processes is not None and self._processes.follows

    def poll(self) -> bool:
        """Takes in what happened to processes; whether there is more to do at once."""
        more = self._processes is not None and self._processes.poll()
        if self._unwinding is not None:
            self._unwinding.poll()
        return more

    def losses(self) -> Iterator[Lost]:
        missed = self._processes.missed if self._processes is not None else 0
        if missed:
            about = "changes of processes were missed: some user frames may have no names"
            yield Lost("processes", missed, about, "trace one process (-p)")
        yield from self._nameless()
        if self._unwinding is not None:
            yield from self._unwinding.losses()

    def _nameless(self) -> Iterator[Lost]:
        """Who sees numbers instead of names should know that it is for want of privileges."""
        counts = {**(self._processes.nameless if self._processes is not None else {}), "kernel": self._hidden}
        for whose, count in counts.items():
            if count:
                about, hint = NAMELESS[whose]
                yield Lost("names", count, about, hint)

    def close(self) -> None:
        if self._unwinding is not None:
            self._unwinding.close()
            self._unwinding = None
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
        found = Frame(*self._kernel_symbols.symbolize([address])[0])
        if not found.symbol and self._kernel_symbols.table.restricted:
            self._hidden += 1
        return found

    def user(self, pid: int, address: int) -> Frame:
        return self._followed().symbol(pid, address)

    def sources(self, frame: Frame, pid: int, *, user: bool, caller: bool) -> tuple[Frame, ...]:
        if user:
            return self._followed().sources(pid, frame, caller)
        if self._kernel_symbols is None or not frame.symbol or frame.module:
            return (frame,)  # hidden, or in a module
        from probescope.collect.source_frames import frames_of, kernel_lines, looked_up

        if self._kernel_lines is None:
            self._kernel_lines = kernel_lines(self._kernel_symbols.table.address, os.environ.get(VMLINUX, ""))
        return frames_of(frame, self._kernel_lines.frames(looked_up(frame, caller)), str)

    def file_frame(self, pid: int, address: int) -> Frame:
        return self._followed().file_frame(pid, address)

    def _followed(self) -> Processes:
        if self._processes is None:
            from probescope.collect.processes import Processes

            self._processes = Processes(demangle=self._program.settings.cpp_demangle)
        return self._processes

    # --- stacks
    # ---------------------------------------------------------------------------------------------------------

    def addresses(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        if stack_id >= UNWOUND:
            return self._frames(type_, stack_id)
        if type_ not in self._tables:
            self._tables[type_] = self._kernel.stack_map(type_) if self._kernel else None
        held = self._tables[type_]
        row = held.lookup(struct.pack("=I", stack_id)) if held is not None else None
        if row is None:
            return None
        words = struct.unpack(f"={len(row) // 8}Q", row)
        return words[: words.index(0)] if 0 in words else words

    def _frames(self, type_: Opaque, stack_id: int) -> tuple[int, ...] | None:
        """Of a stack that a program unwound itself."""
        if type_ not in self._unwound:
            self._unwound[type_] = self._kernel.stack_map(type_, unwound=True) if self._kernel else None
        held = self._unwound[type_]
        row = held.lookup(struct.pack("=I", stack_id)) if held is not None else None
        if row is None:
            return None
        count = min(struct.unpack_from("=I", row, 8)[0], (len(row) - STACK_HEAD) // 8)
        return struct.unpack_from(f"={count}Q", row, STACK_HEAD)


def names_user_code(program: Program) -> bool:
    """Whether any value of the program is a user stack or symbol."""
    types = [getattr(n, "type", None) for c in program.clauses for n in clause_nodes(c)]
    return any(isinstance(t, Opaque) and t.kind in ("ustack", "usym") for t in types)
