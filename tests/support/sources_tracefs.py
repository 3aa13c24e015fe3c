"""What a kernel itself says of its tracepoints and system calls: the judge of tests, on this machine and in others."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

from probescope.kernel.tracefs import Instance
from probescope.model import syscalls
from probescope.model.arch import by_name
from probescope.model.probe import ProbeSpec
from probescope.model.site import CtxBytes, CtxLoad, DataLoc, TracepointAttach
from probescope.sources import registry
from probescope.sources.context import ResolveContext

TRACEFS = Path("/sys/kernel/tracing")

# Calls that would end, stop, or lock up the child, or that answer only when somebody comes.
SKIPPED = {
    "exit",
    "exit_group",
    "pause",
    "fork",
    "vfork",
    "clone",
    "rt_sigreturn",
    "reboot",
    "vhangup",
    "sync",
    "sigaltstack",
    "arch_prctl",
    "restart_syscall",
    "uretprobe",
    "uprobe",
    "rseq",
    "set_robust_list",
    "rt_sigsuspend",
    "select",
    "pselect6",
    "poll",
    "ppoll",
    "munlockall",
    "close_range",
    "swapoff",
    "shutdown",
}


def check_formats() -> int:
    """No field is lost, each lies where tracefs says. The number of tracepoints."""
    ctx = ResolveContext(max_probes=100_000)
    sites = registry.resolve(ProbeSpec("tracepoint", "*", "*"), ctx)
    for site in sites:
        assert isinstance(site.attach, TracepointAttach)
        directory = TRACEFS / "events" / site.attach.category / site.attach.event
        lines = re.findall(r"field:([^;]*);\toffset:(\d+);\tsize:(\d+)", (directory / "format").read_text())
        assert site.attach.id == int((directory / "id").read_text())
        assert [f.where.offset for f in site.fields] == [int(o) for _, o, size in lines if size != "0"]  # type: ignore[attr-defined]
        for f, (text, _, size) in zip(site.fields, [x for x in lines if x[2] != "0"], strict=True):
            assert re.search(rf"\b{f.name}\b", text)
            match f.where:
                case CtxLoad(size=n):
                    assert n == int(size) or (site.attach.category == "syscalls" and n < 8)
                case CtxBytes(size=n):
                    assert n == int(size)
                case DataLoc():
                    assert size == "4"
    return len(sites)


def check_syscall_numbers() -> int:
    """Which tracepoint fires for each number of our table: how many were seen. A child makes every call with nonsense
    arguments, and a private tracefs instance notes which ``sys_enter_*`` fired."""
    machine = by_name(os.uname().machine)
    assert machine is not None
    numbers = {n: name for name, n in syscalls.numbers(machine.name).items() if name not in SKIPPED}
    with Instance("syscalls") as private:
        instance = Path(private.path)
        for events in ("raw_syscalls", "syscalls"):
            private.write(f"events/{events}/enable", "1")
        child = os.fork()
        if not child:
            _make_calls(sorted(numbers))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        private.write("tracing_on", "0")  # before reading, which would feed itself
        seen = _fired(instance, child)
    known = {syscalls.event_name(name, machine.name): n for n, name in numbers.items()}
    wrong = {e: n for e, n in seen.items() if e in known and known[e] != n}
    assert not wrong
    assert not [e for e in seen if e not in known and e not in SKIPPED]
    return len(seen)


def _make_calls(numbers: list[int]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    bad = ctypes.c_long(-1)
    for n in numbers:
        libc.syscall(ctypes.c_long(n), bad, bad, bad, bad, bad, bad)


def _fired(instance: Path, pid: int) -> dict[str, int]:
    """Name in the tracepoint to number: each call leaves ``sys_enter: NR 257 (...)`` and ``sys_openat(dfd: ...)``, in
    that order."""
    text = (instance / "trace").read_text()
    pairs = re.findall(rf"-{pid}\s[^\n]*: sys_enter: NR (\d+) [^\n]*\n[^\n]*-{pid}\s[^\n]*: sys_(\w+)\(", text)
    return {name: int(number) for number, name in pairs}
