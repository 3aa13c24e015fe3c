"""Both rings, byte by byte: what is complete comes out once and in order; what is not stays."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.kernel.bpf_map import map_create
from probescope.kernel.fake import FakeHost
from probescope.kernel.fds import Fd
from probescope.kernel.host import use_host
from probescope.kernel.perfbuf import PerfBuffer, samples
from probescope.kernel.perfring import PerfRing, walk
from probescope.kernel.ringbuf import RingBuffer

SIZE, PAGE = 4096, 4096
BUSY, DISCARD = 1 << 31, 1 << 30


class Producer:
    """The kernel's side of a BPF ring of 4096 bytes, mapped twice."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.memory = self.host.mapped[9, PAGE] = bytearray(PAGE + 2 * SIZE)
        self.position = 0
        self.at: list[int] = []

    @property
    def consumed(self) -> int:
        return struct.unpack_from("<Q", self.host.mapped[9, 0])[0]

    def _store(self, position: int, data: bytes) -> None:
        for i, byte in enumerate(data):
            where = (position + i) % SIZE
            self.memory[PAGE + where] = self.memory[PAGE + SIZE + where] = byte

    def put(self, payload: bytes, flags: int = 0) -> None:
        self.at.append(self.position)
        self._store(self.position, struct.pack("<II", len(payload) | flags, 3) + payload)
        self.position += (len(payload) + 15) & ~7
        struct.pack_into("<Q", self.memory, 0, self.position)

    def commit(self, index: int, length: int, flags: int = 0) -> None:
        self._store(self.at[index], struct.pack("<I", length | flags))


@pytest.fixture
def producer():
    p = Producer()
    with use_host(p.host):
        yield p


def ring() -> RingBuffer:
    return RingBuffer(9, SIZE)


def test_records_of_one_size_are_a_table(producer):
    """The fast path: offsets are a range, so a decoder may take the block as rows of 24 bytes."""
    for i in range(5):
        producer.put(struct.pack("<QI", i, 7))
    with ring() as r:
        records = r.consume()
        assert records.stride == 24
        assert [struct.unpack("<QI", bytes(v)) for v in records] == [(i, 7) for i in range(5)]
        assert producer.consumed == producer.position
        assert len(r.consume()) == 0


def test_mixed_sizes_and_discarded_records(producer):
    """Discarded records take room and give nothing."""
    for payload, flags in ((b"one", 0), (b"gone", DISCARD), (b"three is longer", 0), (b"", 0)):
        producer.put(payload, flags)
    with ring() as r:
        assert [bytes(v) for v in r.consume()] == [b"one", b"three is longer", b""]
        assert producer.consumed == producer.position


def test_reading_stops_at_a_busy_record_and_goes_on_after_its_commit(producer):
    """Records are committed out of order: one behind a busy one must wait for it."""
    producer.put(b"first...")
    producer.put(b"second..", BUSY)
    producer.put(b"third...")
    with ring() as r:
        assert [bytes(v) for v in r.consume()] == [b"first..."]
        assert len(r.consume()) == 0
        producer.commit(1, 8)
        assert [bytes(v) for v in r.consume()] == [b"second..", b"third..."]


def test_a_record_that_wraps_around_is_one_piece(producer):
    """Thanks to the second mapping."""
    with ring() as r:
        producer.put(bytes(SIZE - 48))
        r.consume()
        producer.put(bytes(range(100)))
        assert [bytes(v) for v in r.consume()] == [bytes(range(100))]


def test_limit_never_stalls(producer):
    """A record larger than the limit still comes; the others one by one."""
    for n in (100, 40, 40):
        producer.put(bytes(n))
    with ring() as r:
        taken = []
        while records := list(r.consume(limit=8)):
            taken += [len(v) for v in records]
        assert taken == [100, 40, 40]


def test_empty_records_come_out_like_others(producer):
    """Also when all of them are empty, and read as rows of one size."""
    for _ in range(3):
        producer.put(b"")
    with ring() as r:
        assert [bytes(v) for v in r.consume()] == [b"", b"", b""]


def test_only_discarded_records_are_consumed_too(producer):
    """Else the reader would spin on them for ever."""
    producer.put(b"x", DISCARD)
    producer.put(b"yy", DISCARD)
    with ring() as r:
        assert len(r.consume()) == 0
        assert producer.consumed == producer.position
        assert not r.available()


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from(["ok", "ok", "ok", "discard", "busy"])), min_size=1, max_size=40
    ),
    st.sampled_from([1, 64, 1 << 20]),
)
def test_any_mix_comes_out_whole_and_in_order(plan, limit):
    """Against a list: everything up to the first busy record, each once, whatever the sizes and the limit."""
    p = Producer()
    with use_host(p.host), ring() as r:
        expected: list[bytes] = []
        stuck = False
        for i, (length, kind) in enumerate(plan):
            if p.position - p.consumed + length + 16 > SIZE:
                break
            payload = bytes([i % 256]) * length
            p.put(payload, {"ok": 0, "discard": DISCARD, "busy": BUSY}[kind])
            stuck = stuck or kind == "busy"
            if not stuck and kind == "ok":
                expected.append(payload)
        got: list[bytes] = []
        while True:
            before = p.consumed
            got += [bytes(v) for v in r.consume(limit)]
            if p.consumed == before:
                break
        assert got == expected


# --- perf rings ----------------------------------------------------------------------------------------------------


def perf_ring(host: FakeHost, content: bytes, head: int, tail: int) -> PerfRing:
    memory = host.mapped[5, 0] = bytearray(PAGE) + bytearray(content)
    struct.pack_into("<QQ", memory, 1024, head, tail)
    return PerfRing(Fd(5), len(content) // PAGE)


def record(kind: int, body: bytes, misc: int = 0) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def test_a_perf_ring_that_wraps_is_linearised():
    """The last record lies half at the end and half at the start of the data."""
    with use_host(FakeHost()) as host:
        data = record(9, b"A" * 16) + record(9, b"B" * 24)
        tail = PAGE - 30
        content = bytearray(PAGE)
        for i, byte in enumerate(data):
            content[(tail + i) % PAGE] = byte
        with perf_ring(host, bytes(content), tail + len(data), tail) as r:
            assert [(k, size) for k, _, _, size in walk(r.consume())] == [(9, 24), (9, 32)]
            assert r.consume() == b""
            assert struct.unpack_from("<Q", host.mapped[5, 0], 1032)[0] == tail + len(data)


@pytest.mark.parametrize("pages", [0, 3, -1])
def test_perf_rings_take_powers_of_two(pages):
    """The kernel says EINVAL to others; saying it here names the number."""
    with use_host(FakeHost()), Fd(5) as event, pytest.raises(ValueError, match="power of two"):
        PerfRing(event, pages)


@pytest.mark.parametrize("size", [0, 7, 9, 65535])
def test_walk_survives_impossible_sizes(size):
    """A record that is shorter than its header or longer than the data ends the walk: no hang, no overrun."""
    good = record(9, b"12345678")
    assert [at for _, _, at, _ in walk(good + struct.pack("<IHH", 9, 0, size))] == [0]


def test_samples_and_losses():
    """Raw samples: u32 length then payload; PERF_RECORD_LOST counts; other records are passed over."""
    raw = struct.pack("<I", 12) + b"payload12345"
    data = record(9, raw) + record(2, struct.pack("<QQ", 1, 41)) + record(3, bytes(8)) + record(9, raw)
    records = samples(data)
    assert records.lost == 41
    assert [bytes(v) for v in records] == [b"payload12345"] * 2
    assert samples(b"") is None


def test_a_sample_that_lies_about_its_length_is_left_out():
    """A length beyond the record would read into the next one."""
    assert samples(record(9, struct.pack("<I", 1000) + b"short...")) is None


@given(st.binary(min_size=16, max_size=200), st.integers(0, SIZE))
def test_a_page_that_is_not_a_ring_is_survived(junk, claimed):
    """Memory that something else wrote: no exception, no reading past what the producer claims, no endless loop."""
    p = Producer()
    p._store(0, junk)
    claimed &= ~7
    struct.pack_into("<Q", p.memory, 0, claimed)
    with use_host(p.host), ring() as r:
        for _ in range(100):
            before = p.consumed
            for payload in r.consume():
                assert len(payload) <= 2 * SIZE
            assert before <= p.consumed <= claimed + SIZE
            if p.consumed == before:
                break
        else:
            pytest.fail("it goes on for ever")


def test_a_cpu_that_went_offline_is_passed_over():
    """Between reading the list of CPUs and opening its event."""
    host = FakeHost({"/sys/devices/system/cpu/online": "0-1\n", "/sys/devices/system/cpu/possible": "0-1\n"})

    def opened(call):
        if call.args[2] == 1:
            raise OSError(errno.ENODEV, "offline")
        return 40

    host.on("perf_event_open", opened)
    host.on("ioctl", lambda _: 0)
    host.on("bpf", lambda _: 41)
    with use_host(host), map_create(4, 4, 4, 2) as array, PerfBuffer(array, 1) as buffer:
        assert buffer.filenos() == [40]
