"""What prints or clears a map, or ends, is never lost, however full the ring is."""

from __future__ import annotations

import re

import pytest
from collect_programs import work
from collect_run import run

CALLS = 300_000
GETPPID = "tracepoint:syscalls:sys_enter_getppid /pid == cpid/"
TINY = "config = { perf_rb_pages = 1 }"
COUNTED = re.compile(r"^@c: (\d+)$", re.MULTILINE)


def test_exit_ends_although_the_ring_is_full() -> None:
    """Each call prints more than the ring has room for by the time that the last one asks for the end."""
    program = f"""{TINY} {GETPPID} {{
        @n++; printf("%s %s %s\\n", probe, comm, probe);
        if (@n == {CALLS - 5}) {{ exit(42); }}
    }}"""
    done = run(program, "-c", f"{work()} getppid {CALLS}", "--via", "bpf")
    assert done.code == 42
    assert f"@n: {CALLS - 5}" in done.out, "nothing is done after exit()"
    assert "events were lost" in done.err, "the ring was not full: the test shows nothing"


@pytest.mark.parametrize("what", ["clear", "zero"])
def test_clear_is_done(what: str) -> None:
    """Asked for five calls before the end, while the ring is full: at most these five are in the map afterwards."""
    program = f"""{TINY} {GETPPID} {{
        @n++; @c = count(); printf("%s %s %s\\n", probe, comm, probe);
        if (@n == {CALLS - 5}) {{ {what}(@c); }}
    }}"""
    done = run(program, "-c", f"{work()} getppid {CALLS}")
    assert f"@n: {CALLS}" in done.out
    assert "events were lost" in done.err, "the ring was not full: the test shows nothing"
    assert sum(map(int, COUNTED.findall(done.out))) <= 5


def test_values_arrive() -> None:
    """The numbers of print(@m, top, div) and exit() go with what is put off; negative ones too."""
    program = f"""{TINY} {GETPPID} {{
        @n++; @k[@n % 3] = 3000; printf("%s %s %s\\n", probe, comm, probe);
        if (@n == {CALLS - 5}) {{ print(@k, 1, 1000); exit(-3); }}
    }}"""
    done = run(program, "-c", f"{work()} getppid {CALLS}", "--via", "bpf")
    assert done.code == (-3) & 0xFF
    assert len(re.findall(r"^@k\[\d\]: 3$", done.out, re.MULTILINE)) == 1
