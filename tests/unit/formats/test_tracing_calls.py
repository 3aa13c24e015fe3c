"""Totals of function graphs, against sums done by hand and by a plain walk over stacks."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from probescope.formats.tracing.call_totals import CallTotals
from probescope.formats.tracing.calls import ENTRY, RETURN, CallColumns, CallReader
from probescope.formats.tracing.event_format import parse_event_format
from probescope.model.recording import EventBatch, Ragged


def columns(rows):
    """Rows of (tid, kind, func, depth, duration)."""
    tid, kind, func, depth, duration = np.array(rows, np.int64).reshape(-1, 5).T
    at = np.arange(len(rows))
    none = np.zeros(len(rows), np.uint64)
    f = func.astype(np.uint64)
    return CallColumns(at, kind, tid, tid, none, f, depth, duration.astype(np.uint64), None, none)


def summed(*batches):
    totals = CallTotals()
    for rows in batches:
        totals.add(columns(rows))
    return totals


NESTED = [
    (7, ENTRY, 1, 0, 0),
    (7, ENTRY, 2, 1, 0),
    (8, ENTRY, 2, 0, 0),
    (7, ENTRY, 3, 2, 0),
    (7, RETURN, 3, 2, 10),
    (7, RETURN, 2, 1, 30),
    (8, RETURN, 2, 0, 500),
    (7, ENTRY, 3, 1, 0),
    (7, RETURN, 3, 1, 5),
    (7, RETURN, 1, 0, 100),
]


def test_totals_and_own_times():
    """1: 100 in all, 100 - 30 - 5 of its own. 2: 30 + 500, 20 + 500. 3: 10 + 5."""
    found = {t.func: (t.calls, t.total, t.own, t.least, t.most) for t in summed(NESTED).functions()}
    assert found == {1: (1, 100, 65, 100, 100), 2: (2, 530, 520, 30, 500), 3: (2, 15, 15, 5, 10)}


def test_it_does_not_matter_how_the_rows_come():
    for cut in range(1, len(NESTED)):
        parts = summed(NESTED[:cut], NESTED[cut:])
        assert parts.functions() == summed(NESTED).functions(), cut
        assert sorted(parts.paths()) == sorted(summed(NESTED).paths()), cut


def test_a_batch_of_other_events_only():
    """Between two that have calls: nothing changes, and nobody stumbles."""
    assert summed(NESTED[:3], [], NESTED[3:]).functions() == summed(NESTED).functions()
    assert summed([]).functions() == []


def test_paths_and_callers():
    totals = summed(NESTED)
    assert sorted(totals.paths()) == [
        ((1,), 1, 65),
        ((1, 2), 1, 20),
        ((1, 2, 3), 1, 10),
        ((1, 3), 1, 5),
        ((2,), 1, 500),
    ]
    assert totals.callers() == {(0, 1): (1, 100), (1, 2): (1, 30), (0, 2): (1, 500), (2, 3): (1, 10), (1, 3): (1, 5)}


def test_returns_without_entries_count():
    found = summed([(7, RETURN, 4, 1, 9), (7, RETURN, 1, 0, 20)]).functions()
    assert {t.func: (t.calls, t.total, t.own) for t in found} == {4: (1, 9, 9), 1: (1, 20, 11)}


def test_histograms_are_by_powers_of_two():
    """0, 1, 2-3, 4-7 ns are buckets 0 to 3."""
    rows = [(7, RETURN, 1, 0, n) for n in (0, 1, 2, 3, 4, 7, 8)]
    hist = summed(rows).functions()[0].hist
    assert hist[:5] == (1, 1, 2, 2, 1)


@st.composite
def calls(draw):
    """A thread's well-formed calls, as rows, and their (func, calls, total, own)."""
    rows, sums = [], {}

    def call(tid, depth):
        func = draw(st.integers(1, 4))
        rows.append((tid, ENTRY, func, depth, 0))
        inner = sum(call(tid, depth + 1) for _ in range(draw(st.integers(0, 3 if depth < 3 else 0))))
        own = draw(st.integers(0, 50))
        rows.append((tid, RETURN, func, depth, inner + own))
        s = sums.setdefault(func, [0, 0, 0])
        s[0] += 1
        s[1] += inner + own
        s[2] += own
        return inner + own

    for tid in draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)):
        call(tid, 0)
    return rows, {f: tuple(s) for f, s in sums.items()}


@given(calls(), st.integers(0, 200))
def test_any_calls_in_two_pieces(made, cut):
    rows, expected = made
    parts = [p for p in (rows[:cut], rows[cut:]) if p]
    found = {t.func: (t.calls, t.total, t.own) for t in summed(*parts).functions()}
    assert found == expected


ENTRY_FORMAT = """name: funcgraph_entry
ID: 11
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:unsigned long func;	offset:8;	size:8;	signed:0;
	field:unsigned long depth;	offset:16;	size:8;	signed:0;
	field:unsigned long args[];	offset:24;	size:0;	signed:0;

print fmt: "--> %ps (%lu)", (void *)REC->func, REC->depth
"""


def test_what_stands_behind_an_entry():
    """Nothing, six arguments, those and the address it returns to, or that alone: told by the record's size, as
    print_graph_entry of Linux 7 does."""
    behind = [(), (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 99), (98,)]
    records = [struct.pack("=HBBiQQ", 11, 0, 0, 7, 0x1000 + i, i) for i in range(4)]
    records = [r + struct.pack(f"={len(b)}Q", *b) for r, b in zip(records, behind, strict=True)]
    size = np.array([len(r) for r in records])
    raw = Ragged(np.frombuffer(b"".join(records), np.uint8), np.cumsum(size) - size, size)
    zero = np.zeros(4, np.int32)
    batch = EventBatch(4, zero, np.arange(4, dtype=np.uint64), zero, zero, zero + 7, zero, raw=raw)
    c = CallReader((parse_event_format(ENTRY_FORMAT, "ftrace"),)).columns(batch)
    assert c.func.tolist() == [0x1000, 0x1001, 0x1002, 0x1003]
    assert c.depth.tolist() == [0, 1, 2, 3]
    assert c.args is not None
    assert c.args.tolist() == [[0] * 6, [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [0] * 6]
    assert c.from_.tolist() == [0, 0, 99, 98]
    assert c.value is None
