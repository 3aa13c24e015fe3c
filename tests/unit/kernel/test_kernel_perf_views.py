"""Rings of perf events read where they lie: pieces that wrap, space given back, snapshots of rings that overwrite."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probescope.kernel.fake import FakeHost
from probescope.kernel.fds import Fd
from probescope.kernel.host import use_host
from probescope.kernel.perfring import PerfRing
from probescope.kernel.poller import Poller

PAGE = 4096


class Kernel:
    """The kernel's side of a ring of one page, forwards or backwards."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.memory = self.host.mapped[9, 0] = bytearray(2 * PAGE)
        self.head = 0

    def _store(self, at: int, data: bytes) -> None:
        for i, byte in enumerate(data):
            self.memory[PAGE + (at + i) % PAGE] = byte

    def put(self, data: bytes) -> None:
        self._store(self.head, data)
        self.head += len(data)
        struct.pack_into("<Q", self.memory, 1024, self.head)

    def put_before(self, data: bytes) -> None:
        self.head = (self.head - len(data)) % (1 << 64)
        self._store(self.head % PAGE, data)
        struct.pack_into("<Q", self.memory, 1024, self.head)

    @property
    def tail(self) -> int:
        return int(struct.unpack_from("<Q", self.memory, 1032)[0])


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    k = Kernel()
    with use_host(k.host):
        yield k


def record(number: int, size: int) -> bytes:
    return struct.pack("<IHHQ", 9, 0, size, number).ljust(size, b"\1")


@given(st.lists(st.lists(st.integers(1, 40).map(lambda n: 8 * n + 8), max_size=12), max_size=20))
def test_pieces_are_what_was_put(visits: list[list[int]]) -> None:
    """Any records, wherever the ring wraps: the pieces of each visit joined are what came since the last one; the
    kernel gets the space back with ``release``, not before."""
    kernel = Kernel()
    with use_host(kernel.host), PerfRing(Fd(9), 1) as ring:
        for sizes in visits:
            put = b"".join(record(n, max(size, 16)) for n, size in enumerate(sizes))[: PAGE - 8]
            before = kernel.tail
            kernel.put(put)
            pieces, head = ring.unread()
            assert b"".join(pieces) == put
            assert len(pieces) <= 2
            assert kernel.tail == before
            for piece in pieces:
                piece.release()
            ring.release(head)
            assert kernel.tail == kernel.head


def test_a_snapshot_is_whole_records_newest_first(kernel: Kernel) -> None:
    """What is half overwritten is left out."""
    with PerfRing(Fd(9), 1, overwrite=True) as ring:
        for number in range(10):
            kernel.put_before(record(number, 1000))
        data, head = ring.snapshot()
        assert [struct.unpack_from("<Q", data, at + 8)[0] for at in range(0, len(data), 1000)] == [9, 8, 7, 6]
        assert head == kernel.head


def test_a_snapshot_ends_where_the_last_one_began(kernel: Kernel) -> None:
    with PerfRing(Fd(9), 1, overwrite=True) as ring:
        kernel.put_before(record(0, 1000))
        _, head = ring.snapshot()
        kernel.put_before(record(1, 1000))
        data, _ = ring.snapshot(until=head)
        assert data == record(1, 1000)
        assert ring.snapshot(until=kernel.head)[0] == b""


def test_an_empty_ring_has_no_snapshot(kernel: Kernel) -> None:
    with PerfRing(Fd(9), 1, overwrite=True) as ring:
        assert ring.snapshot() == (b"", 0)


def test_who_hangs_up_is_told_once() -> None:
    """The writer of a pipe goes: the reader is told, and not watched any more."""
    reads, writes = os.pipe()
    poller = Poller()
    try:
        poller.add(reads)
        assert poller.wait(0) == []
        os.write(writes, b"x")
        assert poller.wait(1000) == [(reads, False)]
        os.close(writes)
        assert poller.wait(1000) == [(reads, True)]
        assert poller.watched == set()
        assert poller.wait(0) == []
    finally:
        poller.close()
        os.close(reads)
