"""Random records into pages of a ring buffer, and read back by the reader: the same bytes, times and losses."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracedat.encode import pages
from probescope.formats.tracedat.ring import Layout, decode
from probescope.model.recording import Ragged

RECORDS = st.lists(
    st.tuples(
        st.integers(1, 40).flatmap(lambda n: st.binary(min_size=4 * n, max_size=4 * n)),
        st.one_of(st.integers(0, 1000), st.integers(0, 1 << 40)),
    ),
    min_size=1,
    max_size=60,
)


@given(RECORDS, st.booleans(), st.sampled_from([4, 8]), st.sampled_from([256, 4096]), st.data())
def test_records_come_back(records: list, big: bool, word: int, page: int, data: st.DataObject) -> None:
    layout = Layout(big, page, 8, word, 8 + word)
    sizes = np.array([len(b) for b, _ in records], np.int64)
    values = np.frombuffer(b"".join(b for b, _ in records), np.uint8)
    times = np.cumsum([d for _, d in records]).astype(np.uint64) + np.uint64(5)
    raw = Ragged(values, np.cumsum(sizes) - sizes, sizes)
    places = data.draw(st.sets(st.integers(0, len(records) - 1), max_size=3))
    lost = [(p, data.draw(st.integers(0, 1 << 20))) for p in sorted(places)]
    out = b"".join(pages(raw, np.arange(len(records)), times, layout, lost))
    assert len(out) % page == 0
    tally = Tally()
    block = decode(out, layout, tally)
    assert tally.listed() == ()
    got = [bytes(block.values[s : s + n]) for s, n in zip(block.start.tolist(), block.size.tolist(), strict=True)]
    room = page - layout.data_at
    fits = [len(b) + (8 if len(b) > 112 else 4) <= room for b, _ in records]
    assert got == [b for (b, _), f in zip(records, fits, strict=True) if f]
    assert block.time.tolist() == [t for t, f in zip(times.tolist(), fits, strict=True) if f]
    if all(fits):
        # a full page has no room for the number: then it is only told that some are missing
        assert [place for place, _ in block.lost] == sorted(places)
        assert all(n in {-1, count} for (_, n), (_, count) in zip(block.lost, lost, strict=True))
