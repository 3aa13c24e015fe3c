"""Records found by the compiled walk and by numpy's."""

from __future__ import annotations

import io
import tempfile

import formats_perfmaker as pm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.formats.perfdata import blocks, mapped, open_perfdata, stream, summing
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.buffers import Buffer

chain = pytest.importorskip("probescope.formats.perfdata.chain", reason="librt is not installed")

KINDS = [r.SAMPLE, r.SAMPLE, r.SAMPLE, r.MMAP2, r.COMM, r.FINISHED_ROUND, r.EVENT_UPDATE, r.AUXTRACE, 40000, 1 << 31]
RECORDS = st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.integers(1, 6), st.integers(1, 40))


@given(
    st.lists(RECORDS, max_size=30),
    *(st.integers(0, most) for most in (5, 3, 7, 2**32, 2)),
)
@settings(max_examples=200, deadline=None)
def test_compiled_walk_finds_what_numpy_finds(
    runs: list[tuple[int, int, int, int]], time_at: int, first: int, cut: int, seed: int, faults: int
) -> None:
    """A recording must read the same whether or not a C compiler was there when probescope was installed: the same
    records, sorted the same way, up to the same first one that is none, also where bytes are damaged, or are not to be
    looked at behind some place."""
    random = np.random.default_rng(seed)
    words: list[int] = [0] * first
    for kind, misc, size, times in runs:
        for _ in range(times):
            words += [kind | misc << 32 | size << 51, *random.integers(0, 1 << 62, size - 1).tolist()]
    data = np.array(words, np.uint64)
    for _ in range(faults if len(data) else 0):
        data[int(random.integers(len(data)))] = int(random.integers(0, 1 << 62))
    whole, end_at = data.tobytes(), max(first, len(data) - cut)
    data = data[:end_at]
    buffer = Buffer.of(data)
    count = len(data) - first
    at, _, others, own, rounds, end = blocks._walked(buffer, first, count)
    found = blocks._chained(chain.chain(whole, first * 8, end_at * 8, time_at), 0, time_at)
    for mine, theirs in zip(found, (at, None, others, own, rounds, end + first), strict=True):
        if theirs is not None:
            np.testing.assert_array_equal(mine, theirs)
    assert (found[1] is None) == (time_at == 0)
    if found[1] is not None:
        behind = np.append(data, np.zeros(6, np.uint64))
        np.testing.assert_array_equal(found[1], behind[at + time_at])


@pytest.mark.parametrize("compiled", [True, False])
def test_a_recording_reads_the_same_either_way(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times, samples and what is between them do not depend on which walk there is."""
    monkeypatch.setattr(blocks, "CHAIN", chain.chain if compiled else None)
    event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.CALLCHAIN, (7,))
    m = pm.PerfMaker([event])
    for i in range(200):
        pm.add_sample(m, event, pm.Sample(i, 1, 1, 1000 - i, stack=tuple(range(i % 5))))
        if i % 50 == 0:
            m.add(3, m.pack("ii", 1, 1) + pm.padded(f"x{i}") + pm.trailer(m, event, pm.Sample(pid=1, tid=1, time=900)))
            m.round()
    recording = open_perfdata(io.BytesIO(m.build()))
    found = list(recording.batches())
    assert sum(batch.count for batch in found) == 200
    assert np.concatenate([batch.time for batch in found]).tolist() == list(range(801, 1001))
    assert [side.comm for batch in found for _, side in batch.between] == ["x0", "x50", "x100", "x150"]
    assert recording.stats == {"COMM": 4, "SAMPLE": 200, "FINISHED_ROUND": 4}


heaps = pytest.importorskip("probescope.formats.perfdata.heaps", reason="librt is not installed")


def sums(recording, summed: bool) -> tuple[dict[tuple[int, ...], list[int]], int]:
    """Numbers and weights by all that heaps keep apart, and by how much had happened before; and how many rows."""
    out: dict[tuple[int, ...], list[int]] = {}
    before = rows = 0
    for batch in recording.batches(summed=summed):
        places = np.array([at for at, _ in batch.between])
        happened = before + places.searchsorted(np.arange(batch.count), "right")
        before, rows = before + len(places), rows + batch.count
        many = batch.numbers.get("samples", np.ones(batch.count, np.int64))
        modes = batch.numbers["misc"] & 7
        columns = (batch.event, batch.pid, batch.tid, batch.numbers["ip"], modes, happened, many, batch.period)
        for *key, samples, weight in zip(*(c.tolist() for c in columns), strict=True):
            found = out.setdefault(tuple(key), [0, 0])
            found[0], found[1] = found[0] + samples, found[1] + weight
    return out, rows


@given(st.integers(0, 2**32), st.booleans(), st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_heaps_hold_what_lies_in_them(seed: int, raw: bool, faults: int) -> None:
    """What is put together must add up to what it was made of, and never be of both sides of a change of names or
    memory; samples that are too short, or of no event, are counted as they are without it."""
    random = np.random.default_rng(seed)
    kinds = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.PERIOD | (pm.RAW if raw else 0)
    events = [pm.Event(kinds, (7,)), pm.Event(kinds, (8, 9))]
    m = pm.PerfMaker(events)
    for i in range(3000):
        event = events[int(random.integers(2))]
        who = int(random.integers(1, 4))
        period, record = int(random.integers(1, 5)), b"abcd" + bytes(i % 2 * 8)
        sample = pm.Sample(i % 3, who, who, 1000 + i, id=event.ids[0], period=period, raw=record)
        pm.add_sample(m, event, sample)
        if random.integers(400) == 0:
            m.add(3, m.pack("ii", who, who) + pm.padded(f"x{i}") + pm.trailer(m, event, sample))
        if i % 100 == 0:
            m.round()
    data = bytearray(m.build())
    for _ in range(faults):
        data[int(random.integers(len(data) // 2, len(data)))] ^= 1 << int(random.integers(8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "CHAIN", chain.chain)
        patch.setattr(summing, "compiled", lambda _: heaps)
        plain, together = open_perfdata(io.BytesIO(data)), open_perfdata(io.BytesIO(data))
        one, rows = sums(plain, False)
        other, fewer = sums(together, True)
    assert one == other
    assert plain.damage == together.damage
    assert plain.stats == together.stats
    assert faults or fewer < rows / 4


@given(st.integers(0, 2**32), st.integers(0, 3), st.sampled_from([0, 3, 8, 1000]), st.booleans())
@settings(max_examples=15, deadline=None)
def test_mapped_files_read_as_copies_of_them(seed: int, faults: int, cut: int, summed: bool) -> None:
    """Large files are looked at where the kernel keeps them, in pieces, without a copy: the same samples, sums and
    damage as of one that is read, wherever pieces begin and the file ends."""
    random = np.random.default_rng(seed)
    event = pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.PERIOD | pm.RAW, (7,))
    m = pm.PerfMaker([event])
    for i in range(600):
        raw = bytes(int(random.integers(1, 9)) * 8 - 4) if random.integers(20) == 0 else b"abcd"
        sample = pm.Sample(i % 3, 1, int(random.integers(1, 4)), 1000 - i % 7 + i, id=7, period=2, raw=raw)
        pm.add_sample(m, event, sample)
        if random.integers(6) == 0:
            m.round()
        if random.integers(60) == 0:
            m.add(3, m.pack("ii", 1, 1) + pm.padded(f"x{i}") + pm.trailer(m, event, sample))
    data = bytearray(m.build())
    for _ in range(faults):
        data[int(random.integers(len(data) // 2, len(data)))] ^= 1 << int(random.integers(8))
    data = data[: len(data) - cut]
    with pytest.MonkeyPatch.context() as patch, tempfile.NamedTemporaryFile() as file:
        patch.setattr(blocks, "CHAIN", chain.chain)
        patch.setattr(summing, "compiled", lambda _: heaps)
        patch.setattr(stream, "PIECE", int(random.integers(1 << 9, 1 << 14)))
        file.write(data)
        file.flush()
        patch.setattr(mapped, "LEAST", 0)
        with open_perfdata(file.name) as there, open_perfdata(file.name) as copied:
            assert any(b.buffer.compiled()[1] == data for _, b in there._blocks())
            mine = sums(there, summed)[0]
            patch.setattr(mapped.Mapped, "whole", lambda _: None)
            assert mine == sums(copied, summed)[0]
            assert there.stats == copied.stats
            assert there.damage == copied.damage


@pytest.mark.parametrize("layouts", [1, 2])
def test_compiled_loops_find_stack_dumps_where_they_lie(layouts: int) -> None:
    """Stacks are unwound from the file's own bytes: one that is looked for a word further leads somewhere else, and is
    believed."""
    kinds = pm.IDENTIFIER | pm.TIME | pm.TID | pm.REGS_USER | pm.STACK_USER
    events = [pm.Event(kinds, (7,), regs_user=3), pm.Event(kinds | pm.PERIOD, (8,), regs_user=3)][:layouts]
    m = pm.PerfMaker(events)
    for i in range(50):
        dump = i.to_bytes(8, "little") * (1 + i % 5)
        pm.add_sample(m, event := events[i % layouts], pm.Sample(
            pid=1, tid=1, time=100 - i, id=event.ids[0], regs=(i, i), dump=dump, dump_used=len(dump),
        ))  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, tempfile.NamedTemporaryFile() as file:
        patch.setattr(mapped, "LEAST", 0)
        file.write(m.build())
        file.flush()
        with open_perfdata(file.name) as recording:
            (batch,) = recording.batches()
            dumps = batch.stack_dumps
            assert dumps is not None
            assert dumps.source is not None
            found = dumps.source()
            assert found is not None
            pieces = zip(dumps.start.tolist(), dumps.size.tolist(), strict=True)
            data, first = found
            seen = [data[first + at : first + at + size] for at, size in pieces]
            assert seen == [i.to_bytes(8, "little") * (1 + i % 5) for i in reversed(range(50))]
            del data, found


PACKED = st.tuples(st.sampled_from([81, 81, 81, 68, 9]), st.integers(0, 60))


@given(st.lists(PACKED, min_size=1, max_size=300), st.sampled_from([1, 100, 1 << 14]))
@settings(max_examples=100, deadline=None)
def test_compiled_loop_takes_out_what_compressed_records_carry(records: list[tuple[int, int]], most: int) -> None:
    """A byte of a zstd stream too many or too few, and nothing behind it can be read: the payloads come one after the
    other, up to the first record that is no part of the run."""
    data, carried, places = b"", [b""], [0]
    going = True
    for kind, size in records:
        payload = b"" if kind == 68 else bytes(range(size))
        going = going and kind != 9 and not (kind == 81 and len(b"".join(carried)) >= most)
        data += (kind | (8 + len(payload)) << 48).to_bytes(8, "little") + payload
        if going:
            places.append(len(data))
            carried.append(payload)
    found, pieces, rounds, ended, at = chain.squeezed(data, most)
    assert (found, at) == (b"".join(carried), places[-1])
    kinds = [kind for kind, _ in records[: len(places) - 1]]
    assert (pieces, rounds) == (kinds.count(81), kinds.count(68))
    assert ended == (kinds[-1:] == [68])
    cut, *_, there = chain.squeezed(data[:-1], most)
    assert found.startswith(cut)
    assert there <= at
