"""Who sees numbers instead of names is told why, where it is for want of privileges."""

from __future__ import annotations

import errno

import pytest

from probescope.collect import processes as module
from probescope.collect.names import Names
from probescope.collect.processes import Processes
from probescope.collect.sideband import Missed
from probescope.errors import KernelError, PermissionDenied
from probescope.ir.program import Program
from probescope.kernel import procfs

GONE, OTHERS = 4_000_001, 4_000_002


def refused(*_: object) -> None:
    raise PermissionDenied("perf_event_open", errno.EPERM)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One process that is gone, and one of another user."""

    def maps(pid: int) -> list[procfs.MapEntry]:
        if pid == OTHERS:
            raise KernelError("open /proc/PID/maps", errno.EACCES)
        return []

    monkeypatch.setattr(procfs, "maps", maps)
    monkeypatch.setattr(procfs, "alive", lambda pid: pid == OTHERS)
    monkeypatch.setattr(procfs, "pids", list)
    return monkeypatch


def test_collect_processes_of_others(machine: pytest.MonkeyPatch) -> None:
    """A mapping that may not be read is the reason, with or without perf's side-band; one that ended is not."""
    p = Processes()
    assert p.symbol(OTHERS, 0x1234).symbol == ""
    assert p.symbol(GONE, 0x1234).symbol == ""
    assert p.nameless == {"foreign": 1, "unseen": 0}


def test_collect_processes_that_ended_unseen(machine: pytest.MonkeyPatch) -> None:
    """Where perf_event_open is refused, nobody tells of mappings of short-lived processes."""
    machine.setattr(module, "SideBand", refused)
    p = Processes()
    p.start()
    assert p.symbol(GONE, 0x1234).symbol == ""
    assert p.nameless == {"foreign": 0, "unseen": 1}


def test_collect_names_are_told_with_what_helps(machine: pytest.MonkeyPatch) -> None:
    """Counted by reason, each with its own way out; nothing where nothing is hidden."""
    names = Names(Program(()), None)
    assert list(names.losses()) == []
    for _ in range(3):
        names.user(OTHERS, 0x1234)
    machine.setattr("probescope.kernel.machine.kallsyms", lambda: b"0000000000000000 T vfs_read\n" * 300)
    assert names.kernel(0xFFFFFFFF81000000).symbol == ""
    told = {lost.count: lost for lost in names.losses()}
    assert sorted(told) == [1, 3]
    assert "kptr_restrict" in told[1].about
    assert "CAP_SYS_PTRACE" in told[3].hint


def test_collect_an_address_that_is_no_symbol_is_no_loss(machine: pytest.MonkeyPatch) -> None:
    """Where /proc/kallsyms can be read, a number without a name is just that."""
    machine.setattr("probescope.kernel.machine.kallsyms", lambda: b"ffffffff81000000 T _text\n")
    names = Names(Program(()), None)
    assert names.kernel(0xFFFF888000000000).symbol == ""
    assert list(names.losses()) == []


class Quiet:
    """A side-band that tells of nothing, or of what was missed."""

    def __init__(self) -> None:
        self.told: list[Missed] = []

    def changes(self) -> list[Missed]:
        told, self.told = self.told, []
        return told


def test_collect_addresses_that_lie_nowhere_cost_nothing(machine: pytest.MonkeyPatch) -> None:
    """Walks by frame pointers find numbers by the hundred that are no code: the mappings of a process are read again
    for the first, and for one after the side-band has missed something."""
    read: list[int] = []

    def maps(pid: int) -> list[procfs.MapEntry]:
        read.append(pid)
        return [procfs.MapEntry(0x1000, 0x2000, "r-xp", 0, 8, 42, "/bin/x", False)]

    machine.setattr(procfs, "maps", maps)
    machine.setattr(procfs, "pids", list)
    quiet = Quiet()
    machine.setattr(module, "SideBand", lambda: quiet)
    p = Processes()
    p.start()
    for address in range(0x7000, 0x7100):
        assert p.symbol(OTHERS, address).symbol == ""
    before = len(read)
    assert before <= 3
    quiet.told.append(Missed(1))
    for address in range(0x7000, 0x7100):
        p.symbol(OTHERS, address)
    assert len(read) == before + 1
