"""Tracepoints of this machine's kernel: what tracefs says and what really fires."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sources_tracefs
from work import instructions

from probescope.errors import ProbeError
from probescope.model.probe import ProbeSpec
from probescope.model.types import CHAR, I32, Pointer, String
from probescope.sources import registry
from probescope.sources.context import ResolveContext

TRACEFS = Path("/sys/kernel/tracing")


def test_every_format_of_this_kernel() -> None:
    """Protects the parser on two thousand real formats: no field is lost, each lies where tracefs says."""
    assert sources_tracefs.check_formats() > 1000


def test_syscall_numbers_are_those_that_fire() -> None:
    """Protects the table of numbers: this kernel is asked which tracepoint fires for each of them."""
    assert sources_tracefs.check_syscall_numbers() > 250


def test_everyday_fields() -> None:
    """Protects the arguments that most programs use."""
    ctx = ResolveContext()
    (openat,) = registry.resolve(ProbeSpec("tracepoint", "syscalls", "sys_enter_openat"), ctx)
    assert openat.name == "tracepoint:syscalls:sys_enter_openat"
    filename, dfd = openat.field("filename"), openat.field("dfd")
    assert filename is not None
    assert filename.type == Pointer(CHAR, "user")
    assert dfd is not None
    assert dfd.type == I32
    (switch,) = registry.resolve(ProbeSpec("tracepoint", "sched", "sched_switch"), ctx)
    comm = switch.field("prev_comm")
    assert comm is not None
    assert comm.type == String(16)


@pytest.mark.parametrize(
    ("target", "name", "hint"),
    [
        ("syscall", "sys_enter_openat", "did you mean tracepoint:syscalls:sys_enter_openat?"),
        ("sched", "sched_swich", "did you mean tracepoint:sched:sched_switch?"),
        ("sched", "zzz", "probescope list 'tracepoint:sched:*' shows what this category has"),
        ("zzz*", "zzz", "probescope list 'tracepoint:*' shows them all"),
        ("..", "..", "no category '..'"),
    ],
)
def test_unknown_tracepoints(target: str, name: str, hint: str) -> None:
    """Protects the hint, and that names cannot leave the events directory."""
    with pytest.raises(ProbeError) as e:
        registry.resolve(ProbeSpec("tracepoint", target, name), ResolveContext())
    assert e.value.hints[0].startswith(hint)


def test_resolving_reads_little() -> None:
    """Protects start-up: 1,900 instructions of Python for each entry of a system call among hundreds, 5,500 for one
    tracepoint alone."""

    def resolving(category: str, name: str) -> Callable[[], object]:
        return lambda: registry.resolve(ProbeSpec("tracepoint", category, name), ResolveContext())

    resolving("sched", "sched_switch")()
    entries = registry.resolve(ProbeSpec("tracepoint", "syscalls", "sys_enter_*"), ResolveContext())
    assert len(entries) > 300
    assert instructions(resolving("syscalls", "sys_enter_*")) < 4_000 * len(entries)
    assert instructions(resolving("raw_syscalls", "sys_enter")) < 12_000
