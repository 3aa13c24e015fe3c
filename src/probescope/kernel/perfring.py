"""The ring of a perf event: mapped, read in place or linearised, walked.

    page 0            struct perf_event_mmap_page: data_head@1024 (the kernel's), data_tail@1032 (ours)
    page 1 ...        data, 2^n pages; a record may wrap around the end

    record            u32 type, u16 misc, u16 size (header included), body

A ring that overwrites (the event has FLAG_WRITE_BACKWARD and the mapping is read-only) grows downwards: data_head is
the start of the newest record, older ones follow, until one that is only partly there.

Source: include/uapi/linux/perf_event.h, kernel/events/ring_buffer.c.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Self

from probescope.kernel.fds import Fd
from probescope.kernel.fence import read_fence, write_fence
from probescope.kernel.host import Mapping, host
from probescope.kernel.uapi import perf as u

_HEADER = struct.Struct("=IHH")


class PerfRing:
    """The ring of ``event`` with 2^n data ``pages``. The event stays the caller's; the mapping keeps it running after
    its descriptor is closed, so close both. Raises KernelError (EPERM: more locked memory than perf_event_mlock_kb and
    RLIMIT_MEMLOCK allow)."""

    def __init__(self, event: Fd, pages: int, *, overwrite: bool = False) -> None:
        if pages <= 0 or pages & (pages - 1):
            raise ValueError(f"{pages} pages: a power of two is wanted")
        h = host()
        page = h.page_size
        self.event = event
        try:
            # the kernel overwrites old records when it may not see how far we have read
            self._map: Mapping = h.mmap(event, page * (1 + pages), write=not overwrite)
        except OSError as e:
            from probescope.kernel.advice import kernel_error

            raise kernel_error("mmap(perf event)", e.errno or 0, pages=pages) from None
        view = self._map.view
        self.size = page * pages
        self._data = view[page : page + self.size]
        self._head = view[u.MMAP_DATA_HEAD : u.MMAP_DATA_HEAD + 8].cast("Q")
        self._tail = view[u.MMAP_DATA_TAIL : u.MMAP_DATA_TAIL + 8].cast("Q")

    def fileno(self) -> int:
        return self.event.fileno()

    def available(self) -> int:
        return self._head[0] - self._tail[0]

    def consume(self) -> bytes:
        """Every complete record, in one piece, taken out of the ring."""
        head, tail = self._head[0], self._tail[0]
        length = head - tail
        if length <= 0:
            return b""
        read_fence()
        start = tail % self.size
        first = min(length, self.size - start)
        data = bytes(self._data[start : start + first])
        if first < length:
            data += bytes(self._data[: length - first])
        write_fence()
        self._tail[0] = head
        return data

    def unread(self) -> tuple[list[memoryview], int]:
        """What came since the last ``release``, as it lies in the ring (one piece, or two where it wraps; a record may
        be cut in two by that), and the place to ``release``. The pieces are valid until then."""
        head, tail = self._head[0], self._tail[0]
        if head == tail:
            return [], head
        read_fence()
        start = tail % self.size
        first = min(head - tail, self.size - start)
        pieces = [self._data[start : start + first]]
        if first < head - tail:
            pieces.append(self._data[: head - tail - first])
        return pieces, head

    def release(self, head: int) -> None:
        """Gives the kernel back the space of everything before ``head``."""
        write_fence()
        self._tail[0] = head

    def snapshot(self, *, until: int = -1) -> tuple[bytes, int]:
        """Of a ring that overwrites, and that is paused: its whole records, newest first, down to the one at ``until``
        (a place that an earlier snapshot gave; -1: all); and the place of the newest."""
        head = self._head[0]
        read_fence()
        start = head % self.size
        data = bytes(self._data[start:]) + bytes(self._data[:start])
        most = self.size if until < 0 else min(self.size, (until - head) % (1 << 64))
        end = 0
        for _, _, at, size in walk(data):
            if at + size > most:
                break
            end = at + size
        return data[:end], head

    def close(self) -> None:
        for view in (self._tail, self._head, self._data):
            view.release()
        self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def walk(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(type, misc, offset, size) of each record; offset and size with the header. Stops at a size that cannot be."""
    at, end = 0, len(data)
    while at + 8 <= end:
        kind, misc, size = _HEADER.unpack_from(data, at)
        if size < 8 or at + size > end:
            return
        yield kind, misc, at, size
        at += size
