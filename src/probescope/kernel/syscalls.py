"""Numbers of the system calls that this room makes itself, by machine.

Sources: arch/x86/entry/syscalls/syscall_64.tbl; scripts/syscall.tbl (the generic table, which AArch64 uses).
"""

from __future__ import annotations

from collections.abc import Mapping

from probescope.errors import LimitError
from probescope.kernel.host import host

NUMBERS: Mapping[str, Mapping[str, int]] = {
    "x86_64": {
        "bpf": 321,
        "capget": 125,
        "perf_event_open": 298,
        "pidfd_open": 434,
        "pidfd_getfd": 438,
        "getpid": 39,
        "getppid": 110,
        "gettid": 186,
        "process_vm_readv": 310,
        "kcmp": 312,
        "prctl": 157,
        "ptrace": 101,
    },
    "aarch64": {
        "bpf": 280,
        "capget": 90,
        "perf_event_open": 241,
        "pidfd_open": 434,
        "pidfd_getfd": 438,
        "getpid": 172,
        "getppid": 173,
        "gettid": 178,
        "process_vm_readv": 270,
        "kcmp": 272,
        "prctl": 167,
        "ptrace": 117,
    },
}


def number(name: str) -> int:
    """The number of the call on this host. Raises LimitError on a machine that has no table."""
    h = host()
    cached: int | None = h.cache.get("nr_" + name)
    if cached is None:
        table = NUMBERS.get(h.machine)
        if table is None:
            raise LimitError(f"no system call table for {h.machine}", hints=["x86_64 and aarch64 are supported"])
        cached = h.cache["nr_" + name] = table[name]
    return cached
