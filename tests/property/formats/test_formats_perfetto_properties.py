"""Perfetto's packets, written as columns and read back one by one by another decoder."""

from __future__ import annotations

import io
from collections import Counter, defaultdict

import numpy as np
from formats_exports import NAMES, Made, made
from formats_protobuf import message, signed
from hypothesis import given
from hypothesis import strategies as st

from probescope.formats.perfetto import TYPED, PerfettoWriter, System
from probescope.formats.protobuf import utf8
from probescope.formats.protocolumns import Message, varints

U64 = st.integers(0, (1 << 64) - 1)
I64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.lists(U64, min_size=1, max_size=20))
def test_varints_of_one_width(values: list[int]) -> None:
    rows = varints(np.array(values, np.uint64))
    for row, value in zip(rows, values, strict=True):
        assert sum((int(b) & 0x7F) << 7 * i for i, b in enumerate(row)) == value
        assert [bool(b & 0x80) for b in row] == [True] * (len(row) - 1) + [False]


@given(st.lists(st.tuples(U64, I64, NAMES, NAMES), min_size=1, max_size=10))
def test_messages_within_messages(rows: list[tuple[int, int, str, str]]) -> None:
    count = len(rows)
    inner = Message(count).number(2, np.array([r[1] for r in rows], np.int64)).texts(300, [r[2] for r in rows])
    outer = Message(count).number(1, np.array([r[0] for r in rows], np.uint64)).message(5, inner)
    outer.texts(6, [r[3] for r in rows]).literal(7, b"same").constant(8, 9)
    found = message(Message(count).message(1, outer).bytes())[1]
    assert len(found) == count
    for data, (a, b, c, d) in zip(found, rows, strict=True):
        got = message(data)
        within = message(got[5][0])
        assert (got[1][0], signed(within[2][0]), within[300][0]) == (a, b, utf8(c))
        assert (got[6][0], got[7][0], got[8][0]) == (utf8(d), b"same", 9)


def packets(data: bytes) -> list[dict]:
    return [message(p) for p in message(data)[1]]


@given(made())
def test_samples_refer_to_what_came_before_them(m: Made) -> None:
    """Times, threads, stacks by name, and counters that grow by each sample's weight."""
    out = io.BytesIO()
    writer = PerfettoWriter(out, System("6.1", "x86_64"))
    sessions = [writer.samples(m.table, measure, i, {}) for i, measure in enumerate(m.measures)]
    for batch in m.batches():
        for i, session in enumerate(sessions):
            mine = batch.event == i
            some = type(batch)(*(getattr(batch, n)[mine] for n in ("time", "owner", "node", "weight", "event", "cpu")))
            tids = np.array([m.table.owners[o].tid for o in some.owner.tolist()], np.int32)
            session.write(some, tids, tids, np.full(len(tids), 2))
    told: list[tuple] = []
    names, frames, stacks = defaultdict(dict), defaultdict(dict), defaultdict(lambda: {0: ()})
    for p in packets(out.getvalue()):
        sequence = p[10][0]
        for data in map(message, p.get(12, [])):
            for s in map(message, data.get(5, [])):
                names[sequence][s[1][0]] = s[2][0]
            for f in map(message, data.get(6, [])):
                frames[sequence][f[1][0]] = names[sequence][f[2][0]]
            for c in map(message, data.get(7, [])):
                stacks[sequence][c[1][0]] = tuple(frames[sequence][i] for i in c[2])
        told.extend(
            (sequence, p[8][0], s[1][0], s[3][0], stacks[sequence][s[4][0]], s[6][0])
            for s in map(message, p.get(66, []))
        )
    totals: Counter = Counter()
    expected: list[tuple] = []
    for s in m.samples:
        cpu = max(s.cpu, 0)
        totals[s.event, cpu] += s.weight
        stack = tuple(utf8(f.name) for f in s.stack)
        expected.append((2 + s.event, s.time, cpu, s.owner.tid & 0xFFFFFFFF, stack, totals[s.event, cpu]))
    assert sorted(told) == sorted(expected)


EVENTS = st.lists(st.tuples(U64, st.integers(0, 1 << 22), NAMES, I64, U64), min_size=1, max_size=8)


@given(EVENTS, st.sampled_from(["sched:sched_wakeup", "my:event"]))
def test_events_keep_their_fields(rows: list[tuple], name: str) -> None:
    out = io.BytesIO()
    writer = PerfettoWriter(out, System())
    fields = {
        "comm": [r[2] for r in rows],
        "pid": np.array([r[3] for r in rows], np.int64),
        "other": np.array([r[4] for r in rows], np.uint64),
    }
    writer.events(name, 3, np.array([r[0] for r in rows], np.uint64), np.array([r[1] for r in rows], np.int32), fields)
    (bundle,) = (message(p[1][0]) for p in packets(out.getvalue()) if 1 in p)
    assert bundle[1] == [3]
    for data, (time, tid, text, a, b) in zip(bundle[2], rows, strict=True):
        event = message(data)
        assert (event[1][0], event[2][0]) == (time, tid)
        if name in TYPED:
            inner = message(event[17][0])
            assert (inner[1][0], signed(inner[2][0])) == (utf8(text), a)
            continue
        inner = message(event[327][0])
        assert inner[1] == [b"event"]
        got = {f[1][0]: f for f in map(message, inner[2])}
        assert (got[b"comm"][3][0], signed(got[b"pid"][4][0]), got[b"other"][5][0]) == (utf8(text), a, b)
