"""The walk from record to record, in a form that mypyc makes machine code of (hatch_build.py does where it can).

Interpreted it is slower than ``walk``'s numpy, which takes its place wherever this is not compiled: ``blocks`` decides.
Both give the same, and tests hold them together.

     63        48 47     32 31                0
    | size       | misc    | type              |      the first word of a record, as in ``walk``
"""

from __future__ import annotations

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64


def chain(data: bytes, begin: i64, end: i64, time_at: i64) -> tuple[bytes, bytes, bytes, bytes, bytes, int]:
    """``data``: bytes of a little-endian file, in which a record begins at byte ``begin``; what is before byte ``end``
    counts, both multiples of 8. ``time_at``: word of a sample that holds its time, 0 if there is none. Little-endian i8
    numbers, places counted in words:

        places of the kernel's records, the words at their ``time_at`` (0 behind the end), which of them are no samples
        (by number), places of perf's own records, places of the ends of rounds

    and the place of the first that is no record: see ``walk.walk``. Types: see ``records``.

    The next record's place is known when this one's size is, which has to come from memory. Most samples are like the
    one before: that this one is so too is compared, not looked up, and the processor does not wait to go on."""
    places, times, others, own, rounds = BytesWriter(), BytesWriter(), BytesWriter(), BytesWriter(), BytesWriter()
    at: i64 = begin
    count: i64 = 0
    if end > len(data):  # noqa: PLR1730 - min() makes objects of both
        end = len(data)
    end &= -8
    last: i64 = end - 8 * (time_at + 1)
    back: i64 = 8 * time_at
    same: i64 = 0  # the last sample's head, its size, and how far others like it are whole, their times too
    step: i64 = 0
    far: i64 = -1
    while at < end:
        head = read_i64_le(data, at)
        if head == same and at <= far:
            write_i64_le(places, at >> 3)
            if back:
                write_i64_le(times, read_i64_le(data, at + back))
            count += 1
            at += step
            continue
        size: i64 = (head >> 48) & 0xFFFF
        kind: i64 = head & 0xFFFFFFFF
        if size & 7 or size == 0 or at + size > end:
            break
        if kind < 64:
            write_i64_le(places, at >> 3)
            if back:
                time: i64 = 0
                if at <= last:
                    time = read_i64_le(data, at + back)
                write_i64_le(times, time)
            if kind == 9:
                same, step, far = head, size, end - size
                if far > last:  # noqa: PLR1730
                    far = last
            else:
                write_i64_le(others, count)
            count += 1
        elif kind == 68:
            write_i64_le(rounds, at >> 3)
        elif kind == 66 or kind == 71 or kind == 81 or kind == 83:  # noqa: PLR1714 - compiled, a comparison each
            break
        else:
            write_i64_le(own, at >> 3)
        at += size
    return places.getvalue(), times.getvalue(), others.getvalue(), own.getvalue(), rounds.getvalue(), int(at >> 3)


def squeezed(data: bytes, most: i64) -> tuple[bytes, int, int, bool, int]:
    """``data``: of a little-endian file from the start of a record on. What the COMPRESSED records there carry, put
    together, past ends of rounds, until that is ``most`` bytes or another record comes, or one that goes on behind the
    last byte; how many records and how many rounds; whether a round was the last; and where the next record begins."""
    out = BytesWriter()
    at: i64 = 0
    records: i64 = 0
    rounds: i64 = 0
    end: i64 = len(data)
    ended = False
    while at + 8 <= end:
        head = read_i64_le(data, at)
        size: i64 = (head >> 48) & 0xFFFF
        kind: i64 = head & 0xFFFFFFFF
        if kind == 81 and size >= 8 and at + size <= end and len(out) < most:
            out.write(data[at + 8 : at + size])
            records += 1
            ended = False
        elif kind == 68 and size == 8:
            rounds += 1
            ended = True
        else:
            break
        at += size
    return out.getvalue(), int(records), int(rounds), ended, int(at)
