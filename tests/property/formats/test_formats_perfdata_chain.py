"""Records found by the compiled walk and by numpy's."""

from __future__ import annotations

import io

import formats_perfmaker as pm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.formats.perfdata import blocks, open_perfdata
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.buffers import Buffer

chain = pytest.importorskip("probescope.formats.perfdata.chain", reason="librt is not installed")

KINDS = [r.SAMPLE, r.SAMPLE, r.SAMPLE, r.MMAP2, r.COMM, r.FINISHED_ROUND, r.EVENT_UPDATE, r.AUXTRACE, 40000, 1 << 31]
RECORDS = st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.integers(1, 6), st.integers(1, 40))


@given(st.lists(RECORDS, max_size=30), st.integers(0, 5), st.integers(0, 3), st.integers(0, 2**32), st.integers(0, 2))
@settings(max_examples=200, deadline=None)
def test_compiled_walk_finds_what_numpy_finds(
    runs: list[tuple[int, int, int, int]], time_at: int, first: int, seed: int, faults: int
) -> None:
    """A recording must read the same whether or not a C compiler was there when probescope was installed: the same
    records, sorted the same way, up to the same first one that is none, also where bytes are damaged."""
    random = np.random.default_rng(seed)
    words: list[int] = [0] * first
    for kind, misc, size, times in runs:
        for _ in range(times):
            words += [kind | misc << 32 | size << 51, *random.integers(0, 1 << 62, size - 1).tolist()]
    data = np.array(words, np.uint64)
    for _ in range(faults if len(data) else 0):
        data[int(random.integers(len(data)))] = int(random.integers(0, 1 << 62))
    buffer = Buffer.of(data)
    count = len(data) - first
    at, _, others, own, rounds, end = blocks._walked(buffer, first, count)
    found = blocks._chained(chain.chain(data[first:].tobytes(), time_at), first, time_at)
    for mine, theirs in zip(found, (at, None, others, own, rounds, end), strict=True):
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
