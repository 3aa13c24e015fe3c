"""Values -> bytes of perf.data: features and records, the other way round from ``features`` and ``sideband``."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from probescope.errors import InternalError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.features import ClockData, CpuTopology, EventDescription, Group, NumaNode
from probescope.model.recording import (
    Ended,
    LostEvents,
    MappedFile,
    Named,
    SideRecord,
    Started,
    Switched,
)

if TYPE_CHECKING:
    from probescope.formats.perfdata.layout import Layout
    from probescope.formats.perfdata.meta import BuildId

MOST_RECORD = 65528  # bytes: a multiple of 8 that a u16 can hold


class Encoder:
    """Appends to ``data`` in one byte order."""

    def __init__(self, big: bool) -> None:
        self.big = big
        self.order = ">" if big else "<"
        self.data = bytearray()

    def pack(self, layout: str, *values: int) -> Encoder:
        self.data += struct.pack(self.order + layout, *values)
        return self

    def string(self, text: str) -> Encoder:
        """Zero-terminated and padded to 64 bytes, as perf does."""
        raw = text.encode("utf-8", "surrogateescape") + b"\0"
        raw = raw.ljust((len(raw) + 63) & ~63, b"\0")
        self.pack("I", len(raw))
        self.data += raw
        return self

    def strings(self, texts: Iterable[str]) -> Encoder:
        texts = tuple(texts)
        self.pack("I", len(texts))
        for text in texts:
            self.string(text)
        return self


def _events(e: Encoder, value: tuple[EventDescription, ...]) -> None:
    size = max((one.attr.size for one in value), default=128)
    e.pack("II", len(value), size)
    for one in value:
        e.data += one.attr.pack(e.big, size)
        e.pack("I", len(one.ids)).string(one.name).pack(f"{len(one.ids)}Q", *one.ids)


def _topology(e: Encoder, value: CpuTopology) -> None:
    e.strings(value.cores).strings(value.threads)
    for cpu in value.cpus:
        e.pack("ii", cpu.core, cpu.socket)
    if value.dies:
        e.strings(value.dies)
        for cpu in value.cpus:
            e.pack("i", cpu.die)


def _numa(e: Encoder, value: tuple[NumaNode, ...]) -> None:
    e.pack("I", len(value))
    for node in value:
        e.pack("IQQ", node.node, node.total, node.free).string(node.cpus)


def _numbered(e: Encoder, value: Mapping[int, str]) -> None:
    e.pack("I", len(value))
    for number, name in value.items():
        e.pack("I", number).string(name)


def _groups(e: Encoder, value: tuple[Group, ...]) -> None:
    e.pack("I", len(value))
    for group in value:
        e.string(group.name).pack("II", group.leader, group.members)


def _clock(e: Encoder, value: ClockData) -> None:
    e.pack("IIQQ", 1, value.clockid, value.wall_ns, value.ns)


def _caps(e: Encoder, value: Mapping[str, str]) -> None:
    e.pack("I", len(value))
    for name, text in value.items():
        e.string(name).string(text)


def _string(e: Encoder, value: str) -> None:
    e.string(value)


_FEATURES: Mapping[str, Callable[[Encoder, Any], object]] = {
    **dict.fromkeys(("HOSTNAME", "OSRELEASE", "VERSION", "ARCH", "CPUDESC", "CPUID"), _string),
    "NRCPUS": lambda e, v: e.pack("II", *v),
    "TOTAL_MEM": lambda e, v: e.pack("Q", v),
    "CMDLINE": lambda e, v: e.strings(v),
    "EVENT_DESC": _events,
    "CPU_TOPOLOGY": _topology,
    "NUMA_TOPOLOGY": _numa,
    "PMU_MAPPINGS": _numbered,
    "GROUP_DESC": _groups,
    "BRANCH_STACK": lambda e, _: e,
    "SAMPLE_TIME": lambda e, v: e.pack("QQ", *v),
    "CLOCKID": lambda e, v: e.pack("Q", v),
    "CLOCK_DATA": _clock,
    "COMPRESSED": lambda e, v: e.pack("IIIII", *v),
    "CPU_PMU_CAPS": _caps,
}


def encode_feature(name: str, value: Any, big: bool = False) -> bytes:
    """``value`` as ``features.parse_feature`` gives it; bytes of any feature stay as they are."""
    if isinstance(value, bytes):
        return value
    encoder = _FEATURES.get(name)
    if encoder is None:
        raise InternalError(f"no feature {name} can be written from a value")
    e = Encoder(big)
    encoder(e, value)
    return bytes(e.data)


def encode_build_ids(build_ids: Iterable[BuildId], big: bool = False) -> bytes:
    """Kernel and modules are told from user files by their names, as perf's misc bits want it."""
    data = bytearray()
    for one in build_ids:
        kernel = one.path.startswith("[kernel") or one.path.endswith((".ko", "]_text"))
        e = Encoder(big).pack("i", one.pid)
        e.data += one.build_id[:20].ljust(20, b"\0") + bytes([min(len(one.build_id), 20), 0, 0, 0])
        e.data += _path(one.path)
        data += record(r.HEADER_BUILD_ID, r.MISC_BUILD_ID_SIZE | (1 if kernel else 2), bytes(e.data), big)
    return bytes(data)


def record(kind: int, misc: int, body: bytes, big: bool = False) -> bytes:
    """Header and body, padded to 8 bytes."""
    body += bytes(-len(body) % 8)
    if len(body) + 8 > MOST_RECORD:
        raise InternalError(f"a record of {len(body) + 8} bytes")
    return struct.pack(">IHH" if big else "<IHH", kind, misc, len(body) + 8) + body


def _path(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")[:4095] + b"\0"
    return raw + bytes(-len(raw) % 8)


# --- records of the kernel, from what they mean


def _mapped(e: Encoder, m: MappedFile) -> tuple[int, int]:
    e.pack("iiQQQ", m.pid, m.tid, m.start, m.size, m.offset)
    if m.protection or m.build_id or m.inode:
        misc = r.MISC_MMAP_BUILD_ID if m.build_id else 0
        if m.build_id:
            e.data += bytes([min(len(m.build_id), 20), 0, 0, 0]) + m.build_id[:20].ljust(20, b"\0")
        else:
            e.pack("IIQQ", *m.device, m.inode, m.generation)
        e.pack("II", m.protection, m.flags)
        e.data += _path(m.path)
        return r.MMAP2, misc
    e.data += _path(m.path)
    return r.MMAP, 0 if m.executable else r.MISC_MMAP_DATA


def _named(e: Encoder, n: Named) -> tuple[int, int]:
    e.pack("ii", n.pid, n.tid)
    raw = n.comm.encode("utf-8", "surrogateescape")[:15] + b"\0"
    e.data += raw + bytes(-len(raw) % 8)
    return r.COMM, r.MISC_COMM_EXEC if n.exec else 0


def _forked(e: Encoder, s: Started | Ended) -> tuple[int, int]:
    e.pack("iiiiQ", s.pid, s.parent, s.tid, s.parent_tid, s.time)
    return (r.FORK if isinstance(s, Started) else r.EXIT), 0


def _lost(e: Encoder, lost: LostEvents) -> tuple[int, int]:
    if lost.kind == "lost_samples":
        e.pack("Q", lost.count)
        return r.LOST_SAMPLES, 0
    e.pack("QQ", 0, lost.count)
    return r.LOST, 0


def _switched(e: Encoder, s: Switched) -> tuple[int, int]:
    misc = (r.MISC_SWITCH_OUT if s.out else 0) | (r.MISC_SWITCH_OUT_PREEMPT if s.preempted else 0)
    if s.other_tid < 0 and s.other_pid < 0:
        return r.SWITCH, misc
    e.pack("ii", s.other_pid, s.other_tid)
    return r.SWITCH_CPU_WIDE, misc


_SIDES: tuple[tuple[type[SideRecord], Callable[[Encoder, Any], tuple[int, int]]], ...] = (
    (MappedFile, _mapped),
    (Named, _named),
    (Started, _forked),
    (Ended, _forked),
    (LostEvents, _lost),
    (Switched, _switched),
)


def encode_side(side: SideRecord, layout: Layout, event_id: int, *, cpumode: int = 2, big: bool = False) -> bytes:
    """A record of the kernel with the trailer that ``layout`` wants. ``cpumode``: 1 for what is of the kernel, 2 for
    what is of users. Raises InternalError for OtherRecord: what it was cannot be told."""
    e = Encoder(big)
    for kind, encoder in _SIDES:
        if isinstance(side, kind):
            number, misc = encoder(e, side)
            break
    else:
        raise InternalError(f"a {type(side).__name__} cannot be written")
    words = {"time": side.time, "id": event_id, "identifier": event_id, "stream_id": event_id}
    for name, _ in layout.trailer:
        if name == "tid":
            e.pack("ii", side.pid, side.tid)
        elif name == "cpu":
            e.pack("iI", max(side.cpu, 0), 0)
        else:
            e.pack("Q", words[name])
    return record(number, misc | cpumode, bytes(e.data), big)
