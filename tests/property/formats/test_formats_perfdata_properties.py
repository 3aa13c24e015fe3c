"""Random layouts, random samples, random chains of records: what was packed is what is read."""

from __future__ import annotations

import io

import formats_perfmaker as pm
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.formats.perfdata import open_perfdata, walk
from probescope.formats.perfdata.attr import Attr, parse_attr
from probescope.formats.perfdata.walk import _one_by_one

U64 = st.integers(0, (1 << 64) - 1)
I32 = st.integers(-(1 << 31), (1 << 31) - 1)
WORDS = st.lists(U64, max_size=4)


@st.composite
def events(draw: st.DrawFn) -> pm.Event:
    bits = draw(st.integers(0, (1 << 25) - 1)) & ~pm.WEIGHT_STRUCT
    return pm.Event(
        bits,
        (1,),
        read_format=draw(st.integers(0, 31)) & ~4,  # with ids a sample becomes several
        branch=draw(st.sampled_from([0, 1 << 17, 1 << 19, 1 << 17 | 1 << 19])),
        regs_user=draw(st.integers(0, 15)),
        regs_intr=draw(st.integers(0, 15)),
    )


@st.composite
def samples(draw: st.DrawFn, event: pm.Event) -> pm.Sample:
    """Only pieces have random sizes; a time is never 0 or all ones, which mean none."""
    branches = draw(st.lists(st.tuples(U64, U64, st.just(0)), max_size=3))
    dump = draw(st.binary(max_size=4)) * 8
    return pm.Sample(
        *(draw(x) for x in (U64, I32, I32, st.integers(1, 1 << 62), U64)),
        id=1,
        stream_id=draw(U64),
        cpu=draw(st.integers(0, 1 << 20)),
        period=draw(U64),
        reads=reads(draw, event.read_format),
        stack=draw(WORDS),
        raw=draw(st.binary(max_size=3)) * 8 + b"abcd",
        branches=branches,
        hw_index=draw(U64),
        counters=[0] * len(branches),
        regs=[draw(U64) for _ in range(event.regs_user.bit_count())] if draw(st.booleans()) else [],
        dump=dump,
        dump_used=draw(st.integers(0, len(dump))),
        weight=draw(U64),
        transaction=draw(U64),
        regs_intr=[draw(U64) for _ in range(event.regs_intr.bit_count())],
        cgroup=draw(U64),
        aux=bytes(draw(st.integers(0, 3)) * 8),
    )


def reads(draw: st.DrawFn, form: int) -> list[int]:
    once = (form & 3).bit_count()
    each = 1 + (form >> 2 & 1) + (form >> 4 & 1)
    members = draw(st.integers(0, 3)) if form & 8 else 1
    rest = [draw(U64) for _ in range(once + each * members)]
    return [members, *rest] if form & 8 else rest


@settings(max_examples=150)
@given(st.data(), st.booleans())
def test_any_layout_comes_back(data: st.DataObject, big: bool) -> None:
    """The parts of samples are where the bits of the event say, whatever the bits."""
    event = data.draw(events())
    wanted = data.draw(st.lists(samples(event), min_size=1, max_size=4))
    m = pm.PerfMaker([event], big=big)
    for one in wanted:
        pm.add_sample(m, event, one)
    recording = open_perfdata(io.BytesIO(m.build()))
    found = [(batch, i) for batch in recording.batches() for i in range(batch.count)]
    assert recording.damage == ()
    assert len(found) == len(wanted)
    if event.sample_type & pm.TIME:
        wanted.sort(key=lambda s: s.time)
    for (batch, i), one in zip(found, wanted, strict=True):
        same(event.sample_type, batch, i, one)


NUMBERS = {
    "ip": pm.IP,
    "addr": pm.ADDR,
    "stream_id": pm.STREAM_ID,
    "weight": pm.WEIGHT,
    "transaction": pm.TRANSACTION,
    "cgroup": pm.CGROUP,
}


def same(bits: int, batch, i: int, one: pm.Sample) -> None:
    assert batch.time[i] == (one.time if bits & pm.TIME else 0)
    assert (batch.pid[i], batch.tid[i]) == ((one.pid, one.tid) if bits & pm.TID else (-1, -1))
    assert batch.cpu[i] == (one.cpu if bits & pm.CPU else -1)
    assert batch.period[i] == (one.period if bits & pm.PERIOD else 1)
    for name, bit in NUMBERS.items():
        assert (name in batch.numbers) == bool(bits & bit)
        assert name not in batch.numbers or batch.numbers[name][i] == getattr(one, name)
    pieces = (
        (pm.READ, batch.reads, one.reads),
        (pm.CALLCHAIN, batch.stacks, one.stack),
        (pm.RAW, batch.raw, one.raw),
        (pm.REGS_USER, batch.registers, one.regs),
        (pm.STACK_USER, batch.stack_dumps, one.dump[: one.dump_used]),
        (pm.REGS_INTR, batch.registers_intr, one.regs_intr),
        (pm.BRANCH, batch.branches, [list(b) for b in one.branches]),
    )
    for bit, piece, values in pieces:
        assert (piece is not None) == bool(bits & bit)
        assert piece is None or piece.piece(i).tolist() == list(values)


SIZES = st.sampled_from([1, 1, 2, 5, 13, 16, 17, 40, 200, 1000])
KINDS = st.sampled_from([9, 9, 9, 1, 3, 68, 10])


@settings(max_examples=60)
@given(st.lists(st.tuples(SIZES, KINDS), min_size=2, max_size=60), st.integers(0, 2**32), st.integers(0, 20))
def test_lanes_find_what_steps_find(pattern: list[tuple[int, int]], seed: int, faults: int) -> None:
    """Walking in lanes is a guess that is proven: on any bytes, also wrong ones, it gives what single steps give."""
    r = np.random.default_rng(seed)
    words = r.integers(0, 1 << 63, 40_000, dtype=np.uint64)
    # payloads full of what looks like records, so that guesses go wrong
    words[r.integers(0, len(words), 8000)] = np.uint64(9 | 2 << 32 | 24 << 48)
    at = 0
    while at < len(words):
        size, kind = pattern[at % len(pattern)]
        words[at] = np.uint64(kind | 1 << 32 | size * 8 << 48)
        at += size
    for place in r.integers(5000, len(words), faults):
        words[place] = r.choice(np.array([0, 71 | 48 << 48, 9 | 12 << 48, (1 << 64) - 8], np.uint64))
    places, end = _one_by_one(words, 0, len(words))
    found, heads, stop = walk.walk(words)
    assert stop == end
    assert found.tolist() == places.tolist()
    assert (heads == words[found]).all()


RUN = st.tuples(SIZES, st.integers(1, 400), st.sampled_from([0, 1, 3, 7, 90]))


@settings(max_examples=60)
@given(st.lists(RUN, min_size=1, max_size=8), st.integers(0, 2**32), st.integers(0, 3), st.booleans())
def test_runs_find_what_steps_find(runs: list[tuple[int, int, int]], seed: int, faults: int, dense: bool) -> None:
    """Records of one size, with ends of rounds after every few of them, among payloads that look like such ends."""
    r = np.random.default_rng(seed)
    ending = np.uint64(68 | 8 << 48)
    words: list[np.uint64] = []
    for size, count, every in runs:
        for i in range(count):
            payload = r.integers(0, 1 << 63, size - 1, dtype=np.uint64)
            if dense and size > 2 and i % 5 == 0:
                payload[int(r.integers(size - 1))] = ending
            words += [np.uint64(9 | int(r.integers(1, 3)) << 32 | size * 8 << 48), *payload]
            if every and i % every == 0:
                words.append(ending)
        if len(words) > 60_000:
            break
    heads = np.array(words, np.uint64)
    for place in r.integers(0, len(heads), faults):
        heads[place] = r.choice(np.array([0, 71 | 48 << 48, 9 | 12 << 48, (1 << 64) - 8], np.uint64))
    places, end = _one_by_one(heads, 0, len(heads))
    found, of_them, stop = walk.walk(heads)
    assert stop == end
    assert found.tolist() == places.tolist()
    assert (of_them == heads[found]).all()


@given(st.builds(Attr, *[st.integers(0, 255)] * 21, flags=U64), st.booleans(), st.sampled_from([64, 96, 128, 144, 160]))
def test_attributes_come_back(attr: Attr, big: bool, size: int) -> None:
    """As far as the size reaches, in both byte orders."""
    again = parse_attr(attr.pack(big, size), big)
    assert again.size == size
    assert again.pack(big) == attr.pack(big, size)
    assert (again.flags, again.config, again.config1) == (attr.flags, attr.config, attr.config1)
