"""What is told of losses, when, and with which numbers in the hints."""

from __future__ import annotations

import struct

import pytest

from probescope.bpf.unit import Counter, Object
from probescope.collect import losses
from probescope.collect.losses import Losses, of_clauses
from probescope.diagnostics import Source, Span
from probescope.ir.program import Clause, MapDecl, Program
from probescope.model.types import I64

SPAN = Span(1, 3, 1, 9)
MAP = MapDecl("x", I64, I64, max_entries=10)
PROGRAM = Program((Clause(4, (), (), span=SPAN),), maps=(MAP,), source=Source("s.bt", ""))
COUNTERS = (Counter("ring_full", 0, "", SPAN), Counter("map_full", 0, "x", SPAN), Counter("read", 0, "", SPAN))


class Kernel:
    """The counters map, and how often the kernel refused to run a program."""

    value_size = 24

    def __init__(self) -> None:
        self.words = [0, 0, 0]
        self.missed = 0

    def lookup(self, key: bytes) -> bytes:
        return struct.pack("=3Q", *self.words)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def told(kernel: Kernel) -> Losses:
    return Losses(PROGRAM, Object((), (), COUNTERS), kernel, lambda: kernel.missed, 4096)  # type: ignore[arg-type]


def test_collect_nothing_lost_nothing_told(told: Losses) -> None:
    assert list(told.urgent()) == []
    assert list(told.final(everything=True)) == []


def test_collect_losses_at_the_end(kernel: Kernel, told: Losses) -> None:
    """Each once, with its place, count and what to write; failed reads only when asked for."""
    kernel.words = [5, 7, 9]
    ring, full = told.final()
    assert (ring.kind, ring.count, ring.place) == ("ring_full", 5, "s.bt:1:3-9")
    assert "perf_rb_pages = 4 " in ring.hint
    assert (full.kind, full.count, full.about) == ("map_full", 7, "updates were dropped: @x was full")
    assert "max_map_keys = 40 " in full.hint
    assert list(told.final()) == []
    (read,) = told.final(everything=True)
    assert (read.kind, read.count) == ("read", 9)


def test_collect_a_full_ring_is_told_at_once_but_not_all_the_time(
    kernel: Kernel, told: Losses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads the stream must know of the hole; once a second is enough. What is told adds up to all."""
    now = [10**9]
    monkeypatch.setattr(losses.time, "monotonic_ns", lambda: now[0])
    kernel.words = [5, 7, 0]
    (first,) = told.urgent()
    kernel.words = [8, 7, 0]
    assert list(told.urgent()) == []
    now[0] += losses.EVERY_NS
    (second,) = told.urgent()
    kernel.words = [9, 7, 0]
    third = next(iter(told.final()))
    assert [x.count for x in (first, second, third)] == [5, 3, 1]
    assert third.about.endswith("(9 in all)")


def test_collect_runs_that_the_kernel_refused(kernel: Kernel, told: Losses) -> None:
    """Only those since the session counts."""
    kernel.missed = 100
    told.begin()
    assert list(told.final()) == []
    kernel.missed = 103
    (lost,) = told.final()
    assert (lost.kind, lost.count) == ("missed", 3)


def test_collect_losses_of_clauses_in_user_space() -> None:
    """The evaluator counts by kind and clause; the place is the clause's."""
    errors = {("read", 4): 2, ("loop", 4): 1}
    (lost,) = of_clauses(PROGRAM, errors, {}, everything=False)
    assert (lost.kind, lost.count, lost.place) == ("loop", 1, "s.bt:1:3-9")
    assert len(list(of_clauses(PROGRAM, errors, {}, everything=True))) == 2
