"""Names of functions that were probed one by one, by the numbers that we give them."""

from __future__ import annotations


class ProbedNames:
    """A probe, as ``probe`` reads in programs, or the number of a system call."""

    def __init__(self) -> None:
        self._numbers: dict[str | int, int] = {}
        self._names: list[str] = [""]
        self._kernel: list[bool] = [False]
        self._comms: dict[int, str] = {}

    def number(self, probe: str | int) -> int:
        found = self._numbers.get(probe)
        if found is None:
            name, kernel = _system_call(probe) if isinstance(probe, int) else _short(probe)
            found = self._numbers.get(name, 0)
            if not found:
                found = self._numbers[name] = len(self._names)
                self._names.append(name)
                self._kernel.append(kernel)
            self._numbers[probe] = found
        return found

    def function(self, number: int) -> str:
        return self._names[number]

    def arguments(self, number: int, values: tuple[int, ...]) -> str:
        return ", ".join(map(hex, values))

    def of_kernel(self, number: int) -> bool:
        return self._kernel[number]

    def interrupts(self) -> tuple[int, int]:
        return 0, 0

    def called(self, comms: dict[int, str]) -> None:
        """Threads told their names."""
        self._comms |= comms

    def learn(self, tids: set[int]) -> None:
        from probescope.kernel.procfs import comm

        for tid in tids - self._comms.keys():
            self._comms[tid] = comm(tid) or "<...>"

    def comm(self, tid: int) -> str:
        return self._comms.get(tid, "<...>")


def _short(probe: str) -> tuple[str, bool]:
    """The function's name, as people read it: without parameters; whether it is the kernel's."""
    from probescope.debuginfo.demangle import demangle, without_parameters

    name = probe.split(":", 2)[-1].removeprefix("cpp:").strip('"')
    return without_parameters(demangle(name)), not probe.startswith(("uprobe:", "uretprobe:"))


def _system_call(number: int) -> tuple[str, bool]:
    from probescope.kernel.host import host
    from probescope.model.syscalls import names

    return f"sys_{names(host().machine).get(number, number)}", True
