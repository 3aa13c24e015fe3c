"""Small recordings of ftrace made by hand: pages of either byte order and width of longs, in files of either version.

Pages are put together here from the kernel's own layout (include/linux/ring_buffer.h), not by the code under test.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from probescope.formats.tracedat.writer import Head, Pages, write_tracedat

COMMON = (
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)
TICK = (
    "name: tick\nID: 300\nformat:\n" + COMMON + "\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:int small;\toffset:12;\tsize:4;\tsigned:1;\n"
    "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n"
    '\nprint fmt: "n=%u small=%d name=%s kind=%s", REC->n, REC->small, __get_str(name), '
    '__print_symbolic(REC->n & 1, { 0, "even" }, { 1, "odd" })\n'
)
PRINT = (
    "name: print\nID: 5\nformat:\n" + COMMON + "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
    '\nprint fmt: "%ps: %s", (void *)REC->ip, REC->buf\n'
)


@dataclass
class Maker:
    """``events``: (cpu, time in ns, thread, n). ``lost``: pages of these CPUs begin after so many lost events, -1: not
    told."""

    version: int = 7
    big: bool = False
    long_size: int = 8
    compression: str = "none"
    page_size: int = 4096
    clock: str = "local"
    options: tuple[tuple[int, bytes], ...] = ()
    lost: dict[int, int] = field(default_factory=dict)

    @property
    def order(self) -> str:
        return ">" if self.big else "<"

    def record(self, tid: int, n: int) -> bytes:
        name = f"tick {n}".encode() + b"\0"
        head = struct.pack(self.order + "HBBi", 300, 1 if n % 3 else 0, n % 2, tid)
        body = struct.pack(self.order + "IiI", n, -(n % 7), len(name) << 16 | 20) + name
        return head + body + bytes(-len(body) % 4)

    def word(self, kind: int, delta: int) -> bytes:
        return struct.pack(self.order + "I", kind << 27 | delta if self.big else delta << 5 | kind)

    def event(self, data: bytes, delta: int) -> bytes:
        """With a time extension where the delta needs one; long records tell their size in a word of their own."""
        out = b""
        if delta >> 27:
            out = self.word(30, delta & 0x7FFFFFF) + struct.pack(self.order + "I", delta >> 27)
            delta = 0
        if len(data) > 28 * 4 or len(data) % 8:
            return out + self.word(0, delta) + struct.pack(self.order + "I", len(data) + 4) + data
        return out + self.word(len(data) // 4, delta) + data

    def pages(self, cpu: int, events: Sequence[tuple[int, int, int]]) -> bytes:
        """(time, thread, n) of one CPU, times ascending."""
        out, data, start, last = b"", b"", 0, 0
        room = self.page_size - 8 - self.long_size
        for time, tid, n in events:
            piece = self.event(self.record(tid, n), time - last if data else 0)
            if len(data) + len(piece) > room:
                out += self.page(cpu if not out else -1, start, data)
                data = b""
            if not data:
                start, piece = time, self.event(self.record(tid, n), 0)
            data, last = data + piece, time
        return out + (self.page(cpu if not out else -1, start, data) if data else b"")

    def page(self, cpu: int, start: int, data: bytes) -> bytes:
        commit, after = len(data), b""
        layout = self.order + ("Q" if self.long_size == 8 else "I")
        if cpu in self.lost:
            commit |= 1 << 31
            if self.lost[cpu] >= 0:
                commit |= 1 << 30
                after = struct.pack(layout, self.lost[cpu])
        page = struct.pack(self.order + "Q", start) + struct.pack(layout, commit) + data + after
        return page.ljust(self.page_size, b"\0")

    def head(self) -> Head:
        data_at = 8 + self.long_size
        header_page = (
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
            f"\tfield: local_t commit;\toffset:8;\tsize:{self.long_size};\tsigned:1;\n"
            f"\tfield: char data;\toffset:{data_at};\tsize:{self.page_size - data_at};\tsigned:1;\n"
        )
        return Head(
            self.version,
            self.big,
            self.long_size,
            self.page_size,
            self.compression,
            header_page,
            "# compressed entry header\n",
            {"ftrace": (PRINT,), "test": (TICK,)},
            b"ffffffff81000000 T startup\nffffffff81001000 T later\n",
            b"",
            b"7 seven\n8 eight\n",
            self.clock,
            self.options,
        )

    def build(self, *buffers: tuple[str, Sequence[tuple[int, int, int, int]]]) -> bytes:
        """(name, events) of the top buffer and of instances."""
        out: list[Pages] = []
        for name, events in buffers:
            cpus = sorted({cpu for cpu, *_ in events} | {0})
            of = {cpu: [(time, tid, n) for c, time, tid, n in events if c == cpu] for cpu in cpus}
            out.append(Pages(name, {cpu: [self.pages(cpu, found)] for cpu, found in of.items()}))
        file = io.BytesIO()
        write_tracedat(file, self.head(), out)
        return file.getvalue()


def events(count: int, cpus: int = 2) -> list[tuple[int, int, int, int]]:
    """(cpu, time, thread, n): times 1 us apart but for one jump that needs a time extension."""
    return [(i % cpus, 1_000_000_000 + i * 1000 + (i > count // 2) * 10**9, 7 + i % 3, i) for i in range(count)]
