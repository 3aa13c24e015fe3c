"""Kernels before 5.8 have no BPF ring buffer: events come through perf's rings, and nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from collect_programs import work

import probescope
from probescope.kernel.features.answer import Answer
from probescope.kernel.host import host
from probescope.model.output import Text


@pytest.fixture(autouse=True)
def no_ring_buffer() -> Iterator[None]:
    """This kernel, as if it had none."""
    known = host().cache.setdefault("features", {})
    before = known.get("map:ringbuf")
    known["map:ringbuf"] = Answer("map:ringbuf", False, "as if", 22)
    yield
    if before is None:
        del known["map:ringbuf"]
    else:
        known["map:ringbuf"] = before


def test_collect_events_through_perf_rings() -> None:
    """Short and long values, in the order of the one CPU that they come from."""
    program = f'uprobe:{work()}:text {{ printf("%d %s|", arg0 > 0, str(arg0)); }}'
    with probescope.run(program, command=f"{work()} text 300") as session:
        texts = "".join(session.texts()).split("|")
    words = ["alpha", "beta", "a text that is a good deal longer than sixty-four bytes, to be cut somewhere"]
    assert sorted(texts) == sorted(["", *(f"1 {words[i % 3]}" for i in range(300))])
    assert session.lost == {}


def test_collect_columns_through_perf_rings() -> None:
    program = "tracepoint:syscalls:sys_enter_getpgid /pid == cpid/ { print((n=args.pid, c=comm)); }"
    with probescope.run(program, command=f"{work()} getpgid 2000") as session:
        rows = [v for b in session.batches() for v in b.columns["n"].tolist()]
    assert sorted(rows) == list(range(2000))


def test_collect_losses_through_perf_rings() -> None:
    """Received + lost = produced, here too."""
    calls = 100_000
    program = (
        "config = { perf_rb_pages = 2 } tracepoint:syscalls:sys_enter_getppid /pid == cpid/ "
        '{ printf("%lld\\n", nsecs); }'
    )
    with probescope.run(program, command=f"{work()} getppid {calls}") as session:
        received = sum(isinstance(o, Text) for o in session)
    assert received + session.lost.get("ring_full", 0) == calls


def test_collect_exit_through_perf_rings() -> None:
    """The rings of two CPUs are read one after the other: what was printed elsewhere just before may be missed."""
    program = (
        "tracepoint:syscalls:sys_enter_getpgid /pid == cpid/ "
        '{ printf("%d", args.pid); if (args.pid == 2) { exit(6); } }'
    )
    with probescope.run(program, command=f"{work()} getpgid 100") as session:
        assert set(session.texts()) <= {"0", "1", "2"}
    assert session.exit_code == 6
