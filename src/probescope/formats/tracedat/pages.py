"""A CPU's ring-buffer pages, in blocks: read from their place in the file, or inflated chunk by chunk.

u32 count, count x (u32 packed size, u32 size, bytes)       chunks of a compressed buffer
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from probescope.errors import FormatError
from probescope.formats.perfdata.damage import Tally
from probescope.formats.tracedat.compression import Decompress
from probescope.formats.tracedat.container import Buffer, CpuData

MOST_CHUNK = 1 << 26
READ = 1 << 20


class PageReader:
    """``file`` may be shared: it is sought before each read. ``big``: byte order of sizes."""

    def __init__(self, file: BinaryIO, size: int, big: bool, decompress: Decompress | None, damage: Tally) -> None:
        self.file = file
        self.size = size
        self.order: str = "big" if big else "little"
        self.decompress = decompress
        self.damage = damage

    def at(self, offset: int, count: int) -> bytes:
        if not 0 <= offset < self.size:
            return b""
        self.file.seek(offset)
        return self.file.read(min(count, self.size - offset))

    def number(self, data: bytes) -> int:
        return int.from_bytes(data, "big" if self.order == "big" else "little")

    def blocks(self, buffer: Buffer, cpu: CpuData, pages: int) -> Iterator[bytes]:
        """Pieces of about so many whole pages. A page that is cut is left out, and counted."""
        want = pages * buffer.page_size
        held: list[bytes] = []
        have = 0
        for piece in self.pieces(buffer, cpu):
            held.append(piece)
            have += len(piece)
            if have >= want:
                whole = have // buffer.page_size * buffer.page_size
                data = held[0] if len(held) == 1 else b"".join(held)
                yield data[:whole]
                held = [data[whole:]] if whole < have else []
                have -= whole
        whole = have // buffer.page_size * buffer.page_size
        if whole < have:
            self.damage.add("cut", "the last page of a CPU is not whole", cpu.offset + cpu.size)
        if whole:
            yield b"".join(held)[:whole]

    def pieces(self, buffer: Buffer, cpu: CpuData) -> Iterator[bytes]:
        """All of a CPU's data, inflated; of a latency tracer's text likewise."""
        if not cpu.size:
            return
        if cpu.offset >= self.size or cpu.offset + cpu.size > self.size:
            missing = cpu.offset + cpu.size - max(self.size, cpu.offset)
            self.damage.add("cut", f"{missing} bytes of CPU {cpu.cpu} are missing", self.size)
        if buffer.compressed and self.decompress:
            yield from self._inflated(cpu)
            return
        at, end = cpu.offset, cpu.offset + cpu.size
        while at < end and (piece := self.at(at, min(READ, end - at))):
            yield piece
            at += len(piece)

    def _inflated(self, cpu: CpuData) -> Iterator[bytes]:
        at = cpu.offset
        count = self.number(self.at(at, 4))
        at += 4
        for _ in range(count):
            sizes = self.at(at, 8)
            packed, size = self.number(sizes[:4]), self.number(sizes[4:])
            at += 8
            if len(sizes) < 8 or at + packed > self.size or size > MOST_CHUNK:
                self.damage.add("chunk", "a compressed chunk is not whole: what follows it is lost", at)
                return
            try:
                assert self.decompress is not None
                yield self.decompress(self.at(at, packed), size)
            except FormatError as error:
                self.damage.add("chunk", f"a compressed chunk cannot be read: {error.what}", at)
            at += packed
