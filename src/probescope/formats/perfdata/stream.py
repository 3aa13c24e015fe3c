"""The data section of one file as blocks of whole records: read in pieces, decompressed, AUX data skipped.

    file:   | rec | rec | COMPRESSED ....... | ROUND | COMPRESSED ..... | AUXTRACE | payload ........ | rec |
    block:  | rec | rec |   (walked where they lie)
            | records out of any number of COMPRESSED, one after the other |   rounds: where ROUNDs came between
            | rec |

What COMPRESSED records hold: see ``squeezed``.

Memory: one piece, one inflated piece, and a record; whatever the file holds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.blocks import LARGE, Block, block_of, merged
from probescope.formats.perfdata.buffers import ROOM, Buffer, Pool
from probescope.formats.perfdata.damage import Tally
from probescope.formats.perfdata.squeezed import COMPRESSED2_MOST, complete_later, run_of, split_squeezed
from probescope.formats.perfdata.zstd import Inflate

if TYPE_CHECKING:
    from typing import Any

    from probescope.formats.perfdata.mapped import Mapped

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

PIECE = 1 << 22
LARGE_PIECE = 1 << 24
"""Where records are large and most of their bytes are not looked at: so many, that columns of them are worth it."""
SHORT = 1 << 10
MOST_ODD = 4096  # a pipe of an old perf has some dozens
SMALL = 256  # records
MOST_MERGED = 4096


#: Told of a record of perf's own that lies in no block: type, misc, body, place in the file.
Special = Callable[[int, int, bytes, int], None]


class Stream:
    """``file`` from ``start`` on, ``size`` bytes or to the end (-1), or ``source`` from there on. ``told`` gets records
    that lie in no block, and TRACING_DATA's payload.
    Iterating yields blocks; counts of what stays inside (COMPRESSED, AUXTRACE...) are in ``counts``."""

    def __init__(
        self,
        file: BinaryIO,
        start: int,
        size: int,
        big: bool,
        tally: Tally,
        told: Special,
        pool: Pool,
        source: Mapped | None = None,
    ) -> None:
        self.file, self.big, self.tally, self.told = file, big, tally, told
        self.left = size if size >= 0 else 1 << 62
        self.place = start  # in the file, of the next byte to be read
        self.counts: dict[int, int] = {}
        self.aux_bytes = 0
        self.pool = pool
        self.buffer: Bytes = np.zeros(0, np.uint8)
        self.whole: Buffer | None = None
        self.at = 0  # in the buffer
        self.reach = PIECE
        self.odds = 0
        self.header = struct.Struct(">IHH" if big else "<IHH")
        self.inflate = Inflate()
        self.flat = bytearray()
        self.flat_base = 0
        self.round_marks: list[int] = []
        self.time_at = 0  # word of samples that holds their time, if it is the same of all
        self.large = False  # records are, as far as is known
        self.ended = False
        self.source = source
        if source is not None:
            self.buffer, self.at, self.place = source.data, start, len(source.data)
            self.whole = Buffer(source.data, 0, False, source)
            self.left, self.ended = 0, True

    # --- bytes

    def fill(self, wanted: int) -> bool:
        """Have ``wanted`` bytes at ``at``; False if the file ends before."""
        kept = len(self.buffer) - self.at
        if kept >= wanted:
            return True
        if self.ended:
            return False
        size = max(wanted, PIECE)
        fresh = self.pool.bytes(ROOM + kept + min(size, self.left))
        fresh[ROOM : ROOM + kept] = self.buffer[self.at :]
        view = fresh.data
        have = ROOM + kept
        while have < len(fresh):
            got = read_into(self.file, view[have:])
            if not got:
                self.ended = True
                break
            have += got
            self.left -= got
        self.ended = self.ended or self.left <= 0
        self.place += have - kept - ROOM
        self.buffer, self.at, self.whole = fresh[:have], ROOM, None
        return have - ROOM >= wanted

    @property
    def here(self) -> int:
        """Place in the file of the byte at ``at``."""
        return self.place - (len(self.buffer) - self.at)

    def skip(self, count: int) -> int:
        """Past ``count`` bytes; how many there were."""
        held = min(count, len(self.buffer) - self.at)
        self.at += held
        done = held
        while done < count and self.fill(1):
            step = min(count - done, len(self.buffer) - self.at)
            self.at += step
            done += step
        return done

    def take(self, count: int) -> bytes:
        data = self.buffer[self.at : self.at + count].tobytes()
        self.at += count
        return data

    # --- records

    def __iter__(self) -> Iterator[Block]:
        """Small blocks of one buffer, between which only AUX data were, as one."""
        small: list[Block] = []
        for block in self.blocks():
            if small and (block.buffer is not small[0].buffer or len(small) >= MOST_MERGED):
                yield merged(small)
                small = []
            if len(block) >= SMALL or len(block.rounds):
                if small:
                    yield merged(small)
                    small = []
                yield block
            else:
                small.append(block)
        if small:
            yield merged(small)

    def blocks(self) -> Iterator[Block]:
        while self.fill(8):
            ahead = min(self.at + max(PIECE, self.reach), len(self.buffer))
            if self.source is not None and not self.source.there(ahead):
                self.tally.add("cut", "the file became shorter while it was read", self.here)
                self.at = len(self.buffer)
                break
            kind, misc, size = self.header.unpack_from(self.buffer.data, self.at)
            if kind == r.FINISHED_ROUND and size == 8 and self.flat:
                yield from self.packed()
            elif kind in r.STOPS:
                yield from self.special(kind, misc, size)
            elif size < 8 or size & 7:
                yield from self.flatten()
                if not self.odd(kind, misc, size):
                    break
            else:
                yield from self.flatten()
                if not self.fill(size):
                    break
                yield from self.plain(size)
        yield from self.flatten(last=True)
        if self.at < len(self.buffer):
            self.tally.add("cut", "the last record is cut", self.here)

    def count(self, kind: int, times: int = 1) -> None:
        if times:
            self.counts[kind] = self.counts.get(kind, 0) + times

    def plain(self, size: int) -> Iterator[Block]:
        """The records that lie in the buffer, up to one that needs care; the first has ``size`` bytes. Where many need
        care, only what is near is looked at."""
        reach = min(max(self.reach, size), len(self.buffer) - self.at) & ~7
        if self.at % 8:
            buffer, at = Buffer(self.buffer[self.at : self.at + reach].copy(), 0, self.big), 0
        else:
            if self.whole is None:
                self.whole = Buffer(self.buffer, ROOM, self.big)
            buffer, at = self.whole, self.at
        block, words = self.block(buffer, at // 8, reach // 8, (), self.here - at)
        self.at += words * 8
        most = LARGE_PIECE if self.large and self.source is not None else PIECE
        self.reach = min(self.reach * 2, most) if reach - words * 8 < 1 << 16 else SHORT
        if words:
            yield block

    def block(self, buffer: Buffer, first: int, count: int, marks: Sequence[int], base: int) -> tuple[Block, int]:
        """Of ``count`` words from ``first`` on; and how many of them records fill. ``marks``: bytes of it before the
        ends of rounds outside."""
        block, end = block_of(buffer, first, count, base, self.time_at, large=self.large)
        self.large = end > LARGE * len(block)
        if marks:
            block.ended(np.array(marks, np.int64) // 8 + first)
        return block, end

    def odd(self, kind: int, misc: int, size: int) -> bool:
        """A record whose size is no multiple of 8. False: nothing more can be found behind it."""
        if size < 8:
            self.tally.add("size", f"a record of {size} bytes, after which nothing can be found", self.here)
            self.at = len(self.buffer)
            return False
        start = self.here
        self.odds += 1
        if self.odds > MOST_ODD:
            self.tally.add("size", "too many records of odd sizes: this is something else", start)
            self.at = len(self.buffer)
            return False
        if not self.fill(size):
            return False
        body = self.take(size)[8:]
        self.count(kind)
        if kind >= r.USER_START:  # up to 4.16 features in pipes are not padded
            self.told(kind, misc, body, start)
        else:
            self.tally.add("size", f"a record of {size} bytes, which is no multiple of 8", start)
        return True

    def special(self, kind: int, misc: int, size: int) -> Iterator[Block]:
        start = self.here
        if kind == r.COMPRESSED2:
            yield from self.compressed2(size)
        elif size < 8 or not self.fill(size):
            self.tally.add("cut" if size >= 8 else "size", f"a record of {size} bytes", start)
            self.at, self.ended, self.left = len(self.buffer), True, 0
        elif kind == r.COMPRESSED:
            yield from self.packed()
        else:
            yield from self.flatten()
            self.count(kind)
            self.payload(kind, misc, self.take(size)[8:], start)

    def payload(self, kind: int, misc: int, body: bytes, start: int) -> None:
        """What follows AUXTRACE is counted and skipped; what follows TRACING_DATA is told."""
        layout, least = ("Q", 8) if kind == r.AUXTRACE else ("I", 4)
        if len(body) < least:
            self.tally.add("size", f"a {r.name_of(kind)} record of {len(body) + 8} bytes", start)
            return
        follows = struct.unpack_from((">" if self.big else "<") + layout, body)[0]
        if kind == r.AUXTRACE:
            skipped = self.skip(follows)
            self.aux_bytes += skipped
            if skipped < follows:
                self.tally.add("cut", "AUX data are cut", start)
            return
        follows = (follows + 7) & ~7
        if follows > 1 << 28 or not self.fill(follows):
            self.tally.add("tracing-data", f"{follows} bytes of tracing data are announced", start)
            return
        self.told(kind, misc, self.take(follows), start)

    # --- compression

    def packed(self) -> Iterator[Block]:
        """A run of COMPRESSED records and rounds, inflated at once: many a recording has a round for each few records.
        Only the round at its end is kept; that one counts for all before it."""
        start = self.here
        run = run_of(self.buffer, self.at, self.big)
        self.at += run.size
        self.count(r.COMPRESSED, run.records)
        self.count(r.FINISHED_ROUND, run.rounds)
        yield from self.inflated(run.data, start)
        if run.ended:
            self.round_marks.append(len(self.flat))

    def compressed2(self, size: int) -> Iterator[Block]:
        start = self.here
        if not self.fill(16):
            self.at, self.ended, self.left = len(self.buffer), True, 0
            self.tally.add("cut", "a COMPRESSED2 record is cut", start)
            return
        self.count(r.COMPRESSED2)
        follows = struct.unpack_from(">Q" if self.big else "<Q", self.buffer.data, self.at + 8)[0]
        total = (16 + follows + 7) & ~7
        overflowed = total > size
        if overflowed and (total & 0xFFFF != size or follows > 1 << 24):
            self.tally.add("compressed", f"a COMPRESSED2 record of {follows} in {size} bytes", start)
            self.at += max(size, 8) if self.fill(size) else 8
            return
        whole = 16 + follows if overflowed else size
        if not self.fill(whole):
            self.tally.add("cut", "a COMPRESSED2 record is cut", start)
            whole = len(self.buffer) - self.at
        data = self.take(whole)[16:]
        pieces = split_squeezed(data, self.big) if follows > COMPRESSED2_MOST else [data[:follows]]
        for piece in pieces:
            yield from self.inflated(piece, start)

    def inflated(self, data: bytes, start: int) -> Iterator[Block]:
        try:
            for out in self.inflate.feed(data):
                if not self.flat:
                    self.flat_base = start
                self.flat += out
                if len(self.flat) >= PIECE:
                    yield from self.flatten()
        except ValueError as error:
            self.tally.add("compressed", f"zstd data that cannot be read: {error}", start)
            yield from self.flatten(last=True)

    def flatten(self, last: bool = False) -> Iterator[Block]:
        """The records that were decompressed so far; what begins one that is not complete yet stays."""
        if self.flat:
            count = len(self.flat) // 8 * 8
            data = self.pool.bytes(ROOM + count)
            data[ROOM:] = np.frombuffer(self.flat, np.uint8, count)
            buffer = Buffer(data, ROOM, self.big)
            block, words = self.block(buffer, ROOM // 8, count // 8, self.round_marks, self.flat_base - ROOM)
            rest = self.flat[words * 8 :]
            if len(rest) >= 8 and not complete_later(rest, self.big):
                self.tally.add("size", "a record of impossible size among decompressed ones", self.flat_base)
                rest = bytearray()
            self.round_marks = []
            self.flat = rest
            if words:
                yield block
        if last and self.flat:
            self.tally.add("cut", "the last decompressed record is cut", self.flat_base)
            self.flat = bytearray()


def read_into(file: BinaryIO, view: memoryview) -> int:
    into = getattr(file, "readinto", None)
    if into is not None:
        return int(into(view) or 0)
    data = file.read(len(view))
    view[: len(data)] = data
    return len(data)
