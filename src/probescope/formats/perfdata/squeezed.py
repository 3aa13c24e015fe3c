"""Records that carry compressed ones.

COMPRESSED records carry one zstd stream; a record in it may begin in one and end in another. COMPRESSED2 (6.16) has a
u64 size of its data behind the header and is padded to 8 bytes; perf computes that record's u16 size without care:
where it overflowed, the padding is missing too, and what counts is the u64. If several records were squeezed through
one buffer, the u64 holds the sum of all, and the headers of the second and later ones lie within.

    0        8           16                          16 + data_size
    | 83, n  | data_size | zstd ....... (83, n2) .... |
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.blocks import SQUEEZED
from probescope.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

RUN = 1 << 14  # compressed bytes that are inflated at once, and lost at once where they are damaged
COMPRESSED2_MOST = 65519  # zstd bytes that one of them can carry


@dataclass(frozen=True, slots=True)
class Run:
    """COMPRESSED records and ends of rounds one after the other: what they carry together; how many there are; whether
    a round was the last; their bytes in the file."""

    data: bytes
    records: int
    rounds: int
    ended: bool
    size: int


def run_of(buffer: Bytes, start: int, big: bool) -> Run:
    """From ``start`` on, up to another record, one that is not whole, or enough of them."""
    if SQUEEZED is not None and not big:
        found = SQUEEZED(buffer[start : start + 2 * RUN].tobytes(), RUN)
        if found[4]:
            return Run(*found)
    view, at, end, unpack = buffer.data, start, len(buffer), struct.Struct(">IHH" if big else "<IHH").unpack_from
    pieces: list[memoryview] = []
    rounds = total = 0
    ended = False
    while at + 8 <= end:
        kind, _, size = unpack(view, at)
        if kind == r.COMPRESSED and size >= 8 and at + size <= end and total < RUN:
            pieces.append(view[at + 8 : at + size])
            total += size
        elif kind == r.FINISHED_ROUND and size == 8:
            rounds += 1
        else:
            break
        ended = kind == r.FINISHED_ROUND
        at += size
    return Run(b"".join(pieces), len(pieces), rounds, ended, at - start)


def complete_later(rest: bytearray, big: bool) -> bool:
    """Whether the record that ``rest`` begins with goes on behind it."""
    kind, _, size = struct.unpack_from(">IHH" if big else "<IHH", rest)
    return size >= 8 and not size & 7 and kind not in r.STOPS and size > len(rest)


def split_squeezed(data: bytes, big: bool) -> list[bytes]:
    """The zstd data of a COMPRESSED2 record that others lie in: cut at their headers, each of which tells where the
    next one is, up to the end exactly."""
    header = struct.pack(">IH" if big else "<IH", r.COMPRESSED2, 0)
    at = data.find(header, COMPRESSED2_MOST - 8)
    while at >= 0:
        pieces, here = [data[:at]], at
        while here + 16 <= len(data) and data[here : here + 6] == header:
            size = int.from_bytes(data[here + 6 : here + 8], "big" if big else "little")
            if size < 16 or here + size > len(data):
                break
            pieces.append(data[here + 16 : here + size])
            here += size
        if here == len(data):
            return pieces
        at = data.find(header, at + 1)
    return [data]
