"""perf.data files byte by byte, in any layout, written with nothing but struct: for the tests of the reader.

``PerfMaker`` lays a file out as Documentation/perf.data-file-format.txt and the comments of enum perf_event_type in
include/uapi/linux/perf_event.h say, in either byte order, as a file of version 1 or 2 or as a pipe. ``sample_body``
packs the parts of one sample, one after the other: what the reader must find again.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH, REGS_USER, STACK_USER = (
    1 << n for n in range(14)
)
WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR, AUX, CGROUP, DATA_PAGE, CODE_PAGE, WEIGHT_STRUCT = (
    1 << n for n in range(14, 25)
)
SAMPLE_ID_ALL = 1 << 18
MMAP_BIT, COMM_BIT = 1 << 8, 1 << 9
ROUND, COMPRESSED, COMPRESSED2 = 68, 81, 83


@dataclass
class Event:
    """One entry of the attribute table. ``flags``: first C bit field lowest."""

    sample_type: int = TID | TIME
    ids: Sequence[int] = ()
    flags: int = SAMPLE_ID_ALL
    type: int = 1
    config: int = 0
    period: int = 1
    read_format: int = 0
    branch: int = 0
    regs_user: int = 0
    regs_intr: int = 0
    size: int = 136
    tail: bytes = b""

    def attr(self, order: str) -> bytes:
        data = bytearray(max(self.size, 136))
        struct.pack_into(
            order + "IIQQQQ",
            data,
            0,
            self.type,
            self.size,
            self.config,
            self.period,
            self.sample_type,
            self.read_format,
        )
        flags = [self.flags >> i & 1 for i in range(64)]
        for i, bit in enumerate(flags):
            data[40 + i // 8] |= bit << (7 - i % 8 if order == ">" else i % 8)
        struct.pack_into(order + "QQ", data, 72, self.branch, self.regs_user)
        struct.pack_into(order + "Q", data, 96, self.regs_intr)
        return bytes(data[: self.size - len(self.tail)]) + self.tail


@dataclass
class PerfMaker:
    events: Sequence[Event]
    big: bool = False
    version: int = 2
    pipe: bool = False
    features: Mapping[int, bytes] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)
    unfinished: bool = False

    @property
    def order(self) -> str:
        return ">" if self.big else "<"

    def pack(self, layout: str, *values: int) -> bytes:
        return struct.pack(self.order + layout, *values)

    def record(self, kind: int, body: bytes = b"", misc: int = 0, size: int | None = None) -> bytes:
        body += bytes(-len(body) % 8)
        return self.pack("IHH", kind, misc, (8 + len(body) if size is None else size) & 0xFFFF) + body

    def add(self, kind: int, body: bytes = b"", misc: int = 0) -> PerfMaker:
        self.data += self.record(kind, body, misc)
        return self

    def round(self) -> PerfMaker:
        return self.add(ROUND)

    def string(self, text: str) -> bytes:
        raw = text.encode() + b"\0"
        raw += bytes(-len(raw) % 64)
        return self.pack("I", len(raw)) + raw

    def build(self) -> bytes:
        return self._pipe() if self.pipe else self._file()

    def _magic(self) -> bytes:
        magic = b"PERFFILE" if self.version == 1 else b"PERFILE2"
        return magic[::-1] if self.big and self.version == 2 else magic

    def _pipe(self) -> bytes:
        out = self._magic() + self.pack("Q", 16)
        for event in self.events:
            out += self.record(64, event.attr(self.order) + self.pack(f"{len(event.ids)}Q", *event.ids))
        for number, data in self.features.items():
            out += self.record(80, self.pack("Q", number) + data)
        return out + bytes(self.data)

    def _file(self) -> bytes:
        entry = max(event.size for event in self.events) + 16
        ids_at = 104
        ids = b"".join(self.pack(f"{len(e.ids)}Q", *e.ids) for e in self.events)
        attrs_at = ids_at + len(ids)
        attrs = b""
        for event in self.events:
            attrs += event.attr(self.order).ljust(entry - 16, b"\0") + self.pack("QQ", ids_at, 8 * len(event.ids))
            ids_at += 8 * len(event.ids)
        data_at = attrs_at + len(attrs)
        at = data_at + len(self.data) + 16 * len(self.features)
        table = b""
        for number in sorted(self.features):
            table += self.pack("QQ", at, len(self.features[number]))
            at += len(self.features[number])
        bits = sum(1 << number for number in self.features)
        size = 0 if self.unfinished else len(self.data)
        header = self.pack("8Q", 104, entry, attrs_at, len(attrs), data_at, size, 0, 0)
        header += self.pack("4Q", *(bits >> 64 * i & (1 << 64) - 1 for i in range(4)))
        whole = self._magic() + header + ids + attrs + bytes(self.data)
        return whole if self.unfinished else whole + table + b"".join(self.features[n] for n in sorted(self.features))


@dataclass
class Sample:
    """What a sample holds; only what its event's bits ask for is packed."""

    ip: int = 0
    pid: int = 0
    tid: int = 0
    time: int = 0
    addr: int = 0
    id: int = 0
    stream_id: int = 0
    cpu: int = 0
    period: int = 1
    reads: Sequence[int] = ()
    stack: Sequence[int] = ()
    raw: bytes = b""
    branches: Sequence[tuple[int, int, int]] = ()
    hw_index: int = 0
    counters: Sequence[int] = ()
    regs: Sequence[int] = ()
    dump: bytes = b""
    dump_used: int = 0
    weight: int = 0
    data_src: int = 0
    transaction: int = 0
    regs_intr: Sequence[int] = ()
    phys_addr: int = 0
    cgroup: int = 0
    data_page: int = 0
    code_page: int = 0
    aux: bytes = b""


def sample_body(m: PerfMaker, e: Event, s: Sample) -> bytes:
    """The parts in the order in which the kernel writes them (perf_output_sample)."""
    words = {IDENTIFIER: s.id, IP: s.ip, TIME: s.time, ADDR: s.addr, ID: s.id, STREAM_ID: s.stream_id, PERIOD: s.period}
    out = b""
    for bit in (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD):
        if e.sample_type & bit:
            pair = {TID: (s.pid, s.tid), CPU: (s.cpu, 0)}.get(bit)
            out += m.pack("ii", *pair) if pair else m.pack("Q", words[bit])
    parts = {
        READ: lambda: m.pack(f"{len(s.reads)}Q", *s.reads),
        CALLCHAIN: lambda: m.pack(f"{len(s.stack) + 1}Q", len(s.stack), *s.stack),
        RAW: lambda: m.pack("I", len(s.raw)) + s.raw,
        BRANCH: lambda: _branches(m, e, s),
        REGS_USER: lambda: m.pack("Q", 2 if s.regs else 0) + m.pack(f"{len(s.regs)}Q", *s.regs),
        STACK_USER: lambda: m.pack("Q", len(s.dump)) + (s.dump + m.pack("Q", s.dump_used) if s.dump else b""),
        WEIGHT: lambda: m.pack("Q", s.weight),
        WEIGHT_STRUCT: lambda: m.pack("Q", s.weight),
        DATA_SRC: lambda: m.pack("Q", s.data_src),
        TRANSACTION: lambda: m.pack("Q", s.transaction),
        REGS_INTR: lambda: m.pack("Q", 2 if s.regs_intr else 0) + m.pack(f"{len(s.regs_intr)}Q", *s.regs_intr),
        PHYS_ADDR: lambda: m.pack("Q", s.phys_addr),
        CGROUP: lambda: m.pack("Q", s.cgroup),
        DATA_PAGE: lambda: m.pack("Q", s.data_page),
        CODE_PAGE: lambda: m.pack("Q", s.code_page),
        AUX: lambda: m.pack("Q", len(s.aux)) + s.aux,
    }
    for bit, part in parts.items():
        if e.sample_type & bit:
            out += part()
    return out


def _branches(m: PerfMaker, e: Event, s: Sample) -> bytes:
    out = m.pack("Q", len(s.branches))
    if e.branch & 1 << 17:
        out += m.pack("Q", s.hw_index)
    for source, target, flags in s.branches:
        out += m.pack("QQQ", source, target, flags)
    if e.branch & 1 << 19:
        out += m.pack(f"{len(s.branches)}Q", *s.counters)
    return out


def trailer(m: PerfMaker, e: Event, s: Sample) -> bytes:
    """What records other than samples end with, with sample_id_all."""
    out = b""
    words = {TIME: s.time, ID: s.id, STREAM_ID: s.stream_id, IDENTIFIER: s.id}
    for bit in (TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER):
        if e.sample_type & bit:
            pair = {TID: (s.pid, s.tid), CPU: (s.cpu, 0)}.get(bit)
            out += m.pack("ii", *pair) if pair else m.pack("Q", words[bit])
    return out


def add_sample(m: PerfMaker, e: Event, s: Sample, misc: int = 2) -> PerfMaker:
    return m.add(9, sample_body(m, e, s), misc)


def add_name(m: PerfMaker, e: Event, pid: int, name: str, event_id: int = 0) -> PerfMaker:
    """A COMM record of a process, at time 1."""
    return m.add(
        3, m.pack("ii", pid, pid) + padded(name) + trailer(m, e, Sample(pid=pid, tid=pid, id=event_id, time=1))
    )


def padded(text: str) -> bytes:
    raw = text.encode() + b"\0"
    return raw + bytes(-len(raw) % 8)
