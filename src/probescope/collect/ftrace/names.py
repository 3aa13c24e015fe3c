"""Names of this kernel's functions and of threads, for what ftrace records."""

from __future__ import annotations

from contextlib import suppress

from probescope.collect.ftrace.parameters import Parameters, described, parameters
from probescope.collect.host import kernel_symbols
from probescope.errors import KernelError
from probescope.kernel import tracefs

MOST_KEPT = 1 << 16


class Names:
    def __init__(self) -> None:
        self._functions: dict[int, str] = {}
        self._comms: dict[int, str] = {0: "<idle>"}
        self._parameters: dict[int, Parameters] = {}

    def function(self, address: int) -> str:
        """As the kernel's %ps: its name, and the module behind it; hexadecimal where there is none."""
        found = self._functions.get(address)
        if found is None:
            if len(self._functions) >= MOST_KEPT:
                self._functions.clear()
            symbol = kernel_symbols().lookup(address)
            name = f"{symbol[0]} [{symbol[2]}]" if symbol and symbol[2] else symbol[0] if symbol else f"{address:#x}"
            found = self._functions[address] = name
        return found

    def of_kernel(self, address: int) -> bool:
        return True

    def arguments(self, address: int, values: tuple[int, ...]) -> str:
        """``name=value``, as the types of the function's parameters say; without types, all registers."""
        if address not in self._parameters:
            self._parameters[address] = parameters(self.function(address))
        return described(self._parameters[address], values)

    def interrupts(self) -> tuple[int, int]:
        """Where the code lies that interrupts enter by; two zeros where the kernel does not tell."""
        ends = [kernel_symbols().address(f"__irqentry_text_{end}") or 0 for end in ("start", "end")]
        return ends[0], ends[1]

    def learn(self, tids: set[int]) -> None:
        """Names of threads that have none yet, from saved_cmdlines: ``PID COMM`` a line."""
        if tids <= self._comms.keys():
            return
        with suppress(KernelError):
            for line in tracefs.read("saved_cmdlines").splitlines():
                pid, _, comm = line.strip().partition(" ")
                if pid.isdigit():
                    self._comms[int(pid)] = comm
        for tid in tids - self._comms.keys():
            self._comms[tid] = "<...>"

    def comm(self, tid: int) -> str:
        return self._comms.get(tid, "<...>")
