"""The BPF ring buffer (5.8), read from user space without system calls.

    page 0            consumer position (ours to write)        mapped on its own, writable
    page 1            producer position (the kernel's)         mapped read-only, with the data behind it
    page 2 ...        data, ``size`` bytes, mapped twice in a row: a record that wraps around is still one slice

    record            u32 length | BUSY (bit 31) | DISCARD (bit 30)
                      u32 page offset (the kernel's own)
                      payload, padded to a multiple of 8

Positions only grow; a record lies at ``position & (size - 1)``. Records are reserved in order and committed out of
order: reading stops at the first busy one. Source: kernel/bpf/ringbuf.c.
"""

from __future__ import annotations

import sys
from typing import Self

from probescope.kernel.fence import read_fence, write_fence
from probescope.kernel.host import FdLike, Mapping, host
from probescope.kernel.records import NOTHING, Records
from probescope.kernel.uapi.bpf import BPF_RINGBUF_BUSY_BIT, BPF_RINGBUF_DISCARD_BIT, BPF_RINGBUF_HDR_SZ

_HEADER = BPF_RINGBUF_HDR_SZ
_LENGTH = BPF_RINGBUF_DISCARD_BIT - 1
_WORTH_IT = 256  # rows of one size that are handed out before going on to the others


class RingBuffer:
    """Reads the ring of a BPF_MAP_TYPE_RINGBUF map of ``size`` bytes (its max_entries). The map stays the caller's.
    Raises KernelError when it cannot be mapped."""

    def __init__(self, ring: FdLike, size: int) -> None:
        h = host()
        page = h.page_size
        self.size = size
        self._ring = ring
        try:
            self._consumer_map: Mapping = h.mmap(ring, page, write=True)
            try:
                self._producer_map: Mapping = h.mmap(ring, page + 2 * size, offset=page)
            except OSError:
                self._consumer_map.close()
                raise
        except OSError as e:
            from probescope.kernel.advice import kernel_error

            raise kernel_error("mmap(ring buffer)", e.errno or 0, size=size) from None
        # casts to u64 and u32 read and write whole words, as the kernel's own accesses do
        self._consumer = self._consumer_map.view[:8].cast("Q")
        self._producer = self._producer_map.view[:8].cast("Q")
        self._data = self._producer_map.view[page : page + 2 * size]
        self._words = self._data.cast("I")

    def fileno(self) -> int:
        """For poll and epoll: readable when the producer woke its readers."""
        return self._ring.__index__()

    @property
    def produced(self) -> int:
        """How many bytes were ever put in, those not yet committed included."""
        return self._producer[0]

    @property
    def consumed(self) -> int:
        return self._consumer[0]

    def available(self) -> int:
        """Bytes between the reader and the producer, records not yet committed included."""
        return self._producer[0] - self._consumer[0]

    def wait(self, timeout_ms: int) -> bool:
        """Sleeps until the program wakes us, or the time is over. True if there may be something to read."""
        return bool(host().poll([self.fileno()], timeout_ms)) or self.available() > 0

    def consume(self, limit: int = 1 << 24) -> Records:
        """A copy of the complete records that are there, about ``limit`` bytes at most, taken out of the ring.
        Discarded ones are left out of ``offsets``. Empty when nothing is complete."""
        records, end = self._peek(limit)
        if end:
            write_fence()
            self._consumer[0] += end
        return records

    def close(self) -> None:
        for view in (self._words, self._data, self._producer, self._consumer):
            view.release()
        self._producer_map.close()
        self._consumer_map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _peek(self, limit: int) -> tuple[Records, int]:
        """The records, and the bytes that they occupy with the discarded ones."""
        position = self._consumer[0]
        available = min(self._producer[0] - position, self.size)
        if available < _HEADER:
            return NOTHING, 0
        read_fence()  # nothing of the data is read before the position that covers it
        start = position & (self.size - 1)
        head = self._words[start // 4]
        if head & BPF_RINGBUF_BUSY_BIT:
            return NOTHING, 0
        stride = ((head & _LENGTH) + _HEADER + 7) & ~7
        rows = min(available, limit) // stride
        if rows > 1 and not head & BPF_RINGBUF_DISCARD_BIT:
            same = _equal_rows(self._words[start // 4 : (start + rows * stride) // 4 : stride // 4].tobytes(), head)
            if same * 2 >= rows or same >= _WORTH_IT:
                end = same * stride
                offsets = range(_HEADER, end + 1, stride)  # an empty payload begins where its record ends
                return Records(bytes(self._data[start : start + end]), offsets, _HEADER), end
        return self._walk(start, available, limit)

    def _walk(self, start: int, available: int, limit: int) -> tuple[Records, int]:
        words = self._words[start // 4 : (start + available) // 4]
        offsets: list[int] = []
        found, discard = offsets.append, BPF_RINGBUF_DISCARD_BIT
        at, last, stop = 0, 0, min(available, limit + _HEADER)
        while at < stop:
            head = words[at >> 2]
            last = at
            if head < discard:  # committed, the usual case
                found(at + _HEADER)
                at += (head + _HEADER + 7) & ~7
            elif head & BPF_RINGBUF_BUSY_BIT:
                break
            else:
                at += ((head & _LENGTH) + _HEADER + 7) & ~7
        if at > available:  # cannot be, unless the page is not a ring
            at = last
            if offsets and offsets[-1] > last:
                offsets.pop()
        return Records(bytes(self._data[start : start + at]), offsets, _HEADER), at


def _equal_rows(column: bytes, head: int) -> int:
    """How many headers from the first on equal ``head``: committed records of one size. Comparisons run in C, so a
    hundred thousand records cost microseconds."""
    rows = len(column) // 4
    wanted = head.to_bytes(4, sys.byteorder) * rows
    if column == wanted:
        return rows
    low, high = 1, rows - 1  # the first `low` are equal, and no more than `high` can be
    while low < high:
        middle = (low + high + 1) // 2
        if column[: 4 * middle] == wanted[: 4 * middle]:
            low = middle
        else:
            high = middle - 1
    return low
