"""Order of time: rounds, the window, records without a time; and what may lie between records."""

from __future__ import annotations

import io
import random

import formats_perfmaker as pm
import pytest
from backports import zstd

from probescope.formats.perfdata import open_perfdata, order, squeezed, stream

EVENT = pm.Event(pm.TIME | pm.PERIOD, (7,))


def times(m: pm.PerfMaker) -> tuple[list[int], list[int], dict[str, int]]:
    recording = open_perfdata(io.BytesIO(m.build()))
    got, numbers = [], []
    for batch in recording.batches():
        got += batch.time.tolist()
        numbers += batch.period.tolist()
    return got, numbers, {d.kind: d.count for d in recording.damage}


def add(m: pm.PerfMaker, *when: int) -> pm.PerfMaker:
    for time in when:
        pm.add_sample(m, EVENT, pm.Sample(time=time, period=time))
    return m


def test_rounds_as_drawn() -> None:
    """The example in the docstring of ``order``: what is in one batch and what waits."""
    m = add(pm.PerfMaker([EVENT]), 1, 4, 6, 2, 3, 7).round()
    add(m, 9, 8, 12).round()
    got, _, damage = times(m)
    assert got == [1, 2, 3, 4, 6, 7, 8, 9, 12]
    assert damage == {}


def test_equal_times_keep_the_order_of_the_file() -> None:
    m = pm.PerfMaker([EVENT])
    for period, time in enumerate((5, 3, 5, 3, 5)):
        pm.add_sample(m, EVENT, pm.Sample(time=time, period=period))
    assert times(m)[1] == [1, 3, 0, 2, 4]


def test_without_times_the_order_is_that_of_the_file() -> None:
    event = pm.Event(pm.PERIOD, (7,))
    m = pm.PerfMaker([event])
    for period in (3, 1, 2):
        pm.add_sample(m, event, pm.Sample(period=period))
    assert times(m)[1] == [3, 1, 2]


def test_records_without_a_time_come_when_they_are_read() -> None:
    """perf delivers them at once: behind what earlier rounds let go, before what still waits."""
    m = add(pm.PerfMaker([EVENT]), 1, 2).round()
    add(m, 5).round()
    pm.add_sample(m, EVENT, pm.Sample(time=0, period=99))
    add(m, 7).round()
    assert times(m)[1] == [1, 2, 99, 5, 7]


@pytest.mark.parametrize("packed", [False, True])
def test_two_rings_of_many_rounds(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rings emptied one after the other, at random lengths, in pieces of 4 KiB: all in order, none is late."""
    monkeypatch.setattr(stream, "PIECE", 1 << 12)
    r = random.Random(4)
    m = pm.PerfMaker([EVENT])
    rings = [sorted(r.randrange(1, 1 << 30) for _ in range(2000)) for _ in range(2)]
    deflate = zstd.ZstdCompressor(1)
    last, done = 0, [0, 0]
    while min(done) < 2000:
        last += r.randrange(1 << 26)
        inner = pm.PerfMaker([EVENT])
        for ring, late in ((0, 0), (1, 1 << 24)):  # the second is read a little later, and holds more by then
            to = next((i for i, time in enumerate(rings[ring]) if time > last + late), 2000)
            add(inner, *rings[ring][done[ring] : to])
            done[ring] = max(done[ring], to)
        if packed:
            piece = deflate.compress(bytes(inner.data), zstd.ZstdCompressor.FLUSH_BLOCK)
            m.data += m.pack("IHH", 81, 0, 8 + len(piece)) + piece
        else:
            m.data += inner.data
        m.round()
    got, _, damage = times(m)
    assert got == sorted(rings[0] + rings[1])
    assert damage == {}


def test_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rounds the older half goes when the window is full; what comes later than that is counted."""
    monkeypatch.setattr(stream, "PIECE", 1 << 10)
    monkeypatch.setattr(order, "WINDOW", 1 << 13)
    near = [i + (3 if i % 5 == 0 else 0) for i in range(1, 3000)]
    got, _, damage = times(add(pm.PerfMaker([EVENT]), *near))
    assert got == sorted(near)
    assert damage == {}
    got, _, damage = times(add(pm.PerfMaker([EVENT]), *near, 1))
    assert sorted(got) == sorted([*near, 1])
    assert damage == {"order": 1}


def test_times_of_a_far_future(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged time makes later records look late, as it does in perf: all are given, and what came late is told."""
    monkeypatch.setattr(stream, "PIECE", 1 << 12)
    m = pm.PerfMaker([EVENT])
    for i in range(1, 2000):
        add(m, i)
        if i % 100 == 0:
            add(m, 1 << 62).round()
    got, _, damage = times(m)
    assert sorted(got) == [*range(1, 2000), *[1 << 62] * 19]
    assert damage.keys() == {"order"}


# --- what lies between records ----------------------------------------------------------------------------------------


def test_aux_data_are_skipped_and_counted() -> None:
    m = add(pm.PerfMaker([EVENT]), 1)
    m.add(71, m.pack("QQQIIII", 100, 0, 0, 0, 1, 0, 0))
    m.data += b"\x09" * 100
    add(m, 2)
    recording = open_perfdata(io.BytesIO(m.build()))
    assert [t for b in recording.batches() for t in b.time.tolist()] == [1, 2]
    assert recording.aux_bytes == 100
    assert recording.stats["AUXTRACE"] == 1
    assert recording.damage == ()


@pytest.mark.parametrize("big", [False, True])
def test_tracing_data_in_a_pipe(big: bool) -> None:
    """The record has 12 bytes: everything behind it lies at odd places."""
    event = pm.Event(pm.TIME | pm.PERIOD, (7,), type=2, config=42)
    m = pm.PerfMaker([event], big=big, pipe=True)
    data = tracing_data(m, 42)
    m.data += m.pack("IHHI", 66, 0, 12, len(data)) + data + bytes(-len(data) % 8)
    for i in range(3000):
        pm.add_sample(m, event, pm.Sample(time=1 + i, period=i))
    recording = open_perfdata(io.BytesIO(m.build()))
    assert sum(b.count for b in recording.batches()) == 3000
    assert [e.name for e in recording.events] == ["sched:thing"]
    assert recording.machine.page_size == 4096
    assert recording.damage == ()


def tracing_data(m: pm.PerfMaker, number: int) -> bytes:
    text = f"name: thing\nID: {number}\nformat:\n".encode()
    out = b"\x17\x08\x44tracing0.6\0" + bytes([m.big, 8]) + m.pack("I", 4096)
    for name in (b"header_page\0", b"header_event\0"):
        out += name + m.pack("Q", 3) + b"abc"
    out += m.pack("I", 0) + m.pack("I", 1) + b"sched\0" + m.pack("IQ", 1, len(text)) + text
    return out + m.pack("I", 3) + b"sym" + m.pack("I", 2) + b"pf" + m.pack("Q", 4) + b"1 sh"


def test_features_of_old_pipes_are_not_padded() -> None:
    event = EVENT
    m = pm.PerfMaker([event], pipe=True)
    body = m.pack("Q", 3) + m.string("host")
    m.data += m.pack("IHH", 80, 0, 8 + len(body)) + body
    add(m, 1, 2)
    recording = open_perfdata(io.BytesIO(m.build()))
    assert sum(b.count for b in recording.batches()) == 2
    assert recording.machine.hostname == "host"
    assert recording.damage == ()


def packed(count: int, step: int) -> tuple[list[bytes], pm.PerfMaker]:
    """Samples as pieces of one zstd stream, cut where records are not."""
    m = add(pm.PerfMaker([EVENT]), *range(1, count + 1))
    stream_ = zstd.ZstdCompressor(1)
    flush = zstd.ZstdCompressor.FLUSH_BLOCK
    return [stream_.compress(bytes(m.data[at : at + step]), flush) for at in range(0, len(m.data), step)], m


def test_compressed2_is_padded() -> None:
    pieces, _ = packed(500, 1001)
    m = pm.PerfMaker([EVENT])
    for piece in pieces:
        m.add(83, m.pack("Q", len(piece)) + piece).round()
    got, _, damage = times(m)
    assert got == list(range(1, 501))
    assert damage == {}


def test_compressed2_whose_size_overflowed() -> None:
    """65,519 bytes of data make a record of 65,536, which a u16 holds as 0; then the padding is missing."""
    r = random.Random(1)
    noise = pm.Event(pm.TIME | pm.RAW, (7,))
    inner = pm.PerfMaker([noise])
    for i in range(1, 200):
        pm.add_sample(inner, noise, pm.Sample(time=i, raw=r.randbytes(4 + 8 * 80)))
    whole = zstd.ZstdCompressor(1).compress(bytes(inner.data), zstd.ZstdCompressor.FLUSH_BLOCK)
    assert len(whole) > 65519 + 100
    m = pm.PerfMaker([noise])
    m.data += m.pack("IHHQ", 83, 0, 0, 65519) + whole[:65519]
    m.add(83, m.pack("Q", len(whole) - 65519) + whole[65519:])
    got, _, damage = times_of(m)
    assert (got, damage) == (list(range(1, 200)), {})
    # two of them squeezed through one buffer: the first tells the sum, the second its own size and no length
    rest = whole[65519:]
    total = 65519 + 16 + len(rest)
    m = pm.PerfMaker([noise])
    m.data += m.pack("IHHQ", 83, 0, (16 + total + 7 & ~7) & 0xFFFF, total) + whole[:65519]
    m.data += m.pack("IHHQ", 83, 0, 16 + len(rest), 0xDEAD) + rest
    pm.add_sample(m, noise, pm.Sample(time=500, raw=b"abcd"))
    got, _, damage = times_of(m)
    assert (got, damage) == ([*range(1, 200), 500], {})


def times_of(m: pm.PerfMaker) -> tuple[list[int], int, dict[str, int]]:
    recording = open_perfdata(io.BytesIO(m.build()))
    got = [t for b in recording.batches() for t in b.time.tolist()]
    return got, 0, {d.kind: d.count for d in recording.damage}


def test_damaged_zstd_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was inflated before the damage stays, to the next ``RUN`` bytes; what is not compressed does too."""
    monkeypatch.setattr(squeezed, "RUN", 1)
    pieces, _ = packed(500, 2000)
    m = pm.PerfMaker([EVENT])
    for i, piece in enumerate(pieces):
        data = b"\xff" * len(piece) if i == 3 else piece
        m.data += m.pack("IHH", 81, 0, 8 + len(data)) + data
    add(m, 9999)
    got, _, damage = times_of(m)
    assert got[-1] == 9999
    assert 200 < len(got) < 501
    assert damage["compressed"] >= 1


def test_a_directory_is_merged(tmp_path) -> None:
    """`perf record --threads`: attributes in data, samples in data.0 and on; none tells rounds of the others."""
    for number in range(2):
        (tmp_path / f"data.{number}").write_bytes(bytes(add(pm.PerfMaker([EVENT]), *range(1 + number, 4000, 2)).data))
    m = add(pm.PerfMaker([EVENT]), 1)
    (tmp_path / "data").write_bytes(m.build())
    with open_perfdata(str(tmp_path)) as recording:
        got = [t for b in recording.batches() for t in b.time.tolist()]
    assert got == sorted([1, *range(1, 4000)])
    assert recording.damage == ()


@pytest.mark.parametrize("big", [False, True])
def test_many_small_pieces_take_time_that_grows_with_their_number(big: bool) -> None:
    """Records between empty AUX data, and records of odd sizes, of which a file has few: 20,000 of each, in seconds."""
    import time

    event = pm.Event(pm.TIME, (7,))
    m = pm.PerfMaker([event], big=big)
    sample = m.record(9, m.pack("Q", 5))
    m.data += (sample + m.record(71, m.pack("QQQIIII", 0, 0, 0, 0, 1, 0, 0))) * 20_000
    m.data += (sample + m.pack("IHH", 9, 0, 9) + b"x") * 20_000
    start = time.monotonic()
    recording = open_perfdata(io.BytesIO(m.build()))
    assert 20_000 < sum(batch.count for batch in recording.batches()) <= 40_000
    assert [d.kind for d in recording.damage] == ["size"]
    assert time.monotonic() - start < 30


def test_records_of_bpf_programs_that_grew() -> None:
    """Kernels (6.18) give KSYMBOL and BPF_EVENT records the trailer's size once more for each further event that gets
    one; what lies behind the trailer is left over from before, and no time: it must not let everything else go."""
    event = pm.Event(pm.TID | pm.TIME | pm.IDENTIFIER, (7,))
    m = pm.PerfMaker([event])
    end = pm.trailer(m, event, pm.Sample(pid=3, tid=4, time=20, id=7))
    garbage = b"\xee" * len(end)
    symbol = m.pack("QIHH", 0x1000, 20, 1, 0) + b"bpf_prog_0123456\0".ljust(24, b"\0")
    for body in (symbol, m.pack("HHI", 1, 0, 9) + bytes(8)):
        pm.add_sample(m, event, pm.Sample(time=10, id=7))
        m.add(17 if body is symbol else 18, body + end + garbage)
        m.round()
        pm.add_sample(m, event, pm.Sample(time=30, id=7))
        pm.add_sample(m, event, pm.Sample(time=25, id=7))
        m.round()
    recording = open_perfdata(io.BytesIO(m.build()))
    sides = [record for batch in recording.batches() for _, record in batch.between]
    assert [(s.time, s.pid, s.tid) for s in sides] == [(20, 3, 4)] * 2
    assert sides[0].values["name"] == "bpf_prog_0123456"
