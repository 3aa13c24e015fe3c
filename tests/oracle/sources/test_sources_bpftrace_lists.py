"""Names and arguments of tracepoints as bpftrace lists them on this machine."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from probescope.model.probe import ProbeSpec
from probescope.sources import registry
from probescope.sources.context import ResolveContext

pytestmark = pytest.mark.skipif(shutil.which("bpftrace") is None, reason="needs bpftrace")


def bpftrace(*args: str) -> list[str]:
    return subprocess.run(
        ["bpftrace", *args], capture_output=True, text=True, check=True, timeout=300
    ).stdout.splitlines()


def test_the_same_tracepoints() -> None:
    """Protects `list`: nothing missing, nothing invented, the same names."""
    ours = list(registry.list_probes("tracepoint:*", ResolveContext()))
    assert ours == sorted(ours)
    assert set(ours) == set(bpftrace("-l", "tracepoint:*"))


def test_the_same_arguments() -> None:
    """Protects `list -v`: every declaration of every tracepoint."""
    theirs: dict[str, list[str]] = {}
    for line in bpftrace("-lv", "tracepoint:*"):
        if line.startswith(" "):
            theirs[next(reversed(theirs))].append(line.strip())
        else:
            theirs[line] = []
    ctx = ResolveContext(need_fields=False, max_probes=100_000)
    ours = {s.name: registry.describe(s, ctx) for s in registry.resolve(ProbeSpec("tracepoint", "*", "*"), ctx)}
    assert len(ours) > 1000
    assert ours == theirs


@pytest.mark.parametrize("pattern", ["tracepoint:*open*", "tracepoint:sched:*", "tracepoint:syscalls:*_readlink*"])
def test_the_same_matches(pattern: str) -> None:
    """Protects globs."""
    assert set(registry.list_probes(pattern, ResolveContext())) == set(bpftrace("-l", pattern))
