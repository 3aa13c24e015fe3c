"""Records of the kernel that are no samples -> SideRecords, one at a time: compared with samples there are few.

Every body ends with the trailer of ``layout.py`` where the event has sample_id_all; what a body holds comes from the
comments of enum perf_event_type in include/uapi/linux/perf_event.h (Linux 7.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from probescope.errors import FormatError
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.cursor import Cursor, text
from probescope.model.recording import (
    Ended,
    LostEvents,
    MappedFile,
    Named,
    OtherRecord,
    SideRecord,
    Started,
    Switched,
)


class Trailer(NamedTuple):
    """From where and when a record is; ``pid``, ``tid`` of the thread that ran then. ``event``: index of its kind."""

    time: int = 0
    cpu: int = -1
    pid: int = -1
    tid: int = -1
    event: int = -1


class Body(NamedTuple):
    """One record without header and trailer."""

    kind: int
    misc: int
    cursor: Cursor
    trailer: Trailer = Trailer()


def _mmap(b: Body) -> SideRecord:
    c, t = b.cursor, b.trailer
    pid, tid, start, size, offset = c.unpack("iiQQQ")
    return MappedFile(
        t.time,
        t.cpu,
        pid,
        tid,
        start,
        size,
        offset,
        text(c.bytes(c.left)),
        executable=not b.misc & r.MISC_MMAP_DATA,
    )


def _mmap2(b: Body) -> SideRecord:
    """Device, inode and generation, or (misc bit 14) size and bytes of a build id; protection; flags; path."""
    c, t = b.cursor, b.trailer
    pid, tid, start, size, offset = c.unpack("iiQQQ")
    device, inode, generation, build_id = (0, 0), 0, 0, b""
    if b.misc & r.MISC_MMAP_BUILD_ID:
        identity = c.bytes(24)
        build_id = identity[4 : 4 + min(identity[0], 20)]
    else:
        major, minor, inode, generation = c.unpack("IIQQ")
        device = (major, minor)
    protection, flags = c.unpack("II")
    return MappedFile(
        t.time,
        t.cpu,
        pid,
        tid,
        start,
        size,
        offset,
        text(c.bytes(c.left)),
        executable=bool(protection & 4),
        device=device,
        inode=inode,
        generation=generation,
        protection=protection,
        flags=flags,
        build_id=build_id,
    )


def _comm(b: Body) -> SideRecord:
    pid, tid = b.cursor.unpack("ii")
    name = text(b.cursor.bytes(b.cursor.left))
    return Named(b.trailer.time, b.trailer.cpu, pid, tid, name, exec=bool(b.misc & r.MISC_COMM_EXEC))


def _fork(b: Body) -> SideRecord:
    pid, ppid, tid, ptid, time = b.cursor.unpack("iiiiQ")
    kind = Started if b.kind == r.FORK else Ended
    return kind(b.trailer.time or time, b.trailer.cpu, pid, tid, ppid, ptid)


def _lost(b: Body) -> SideRecord:
    t = b.trailer
    if b.kind == r.LOST:
        b.cursor.u64()  # id: the caller put its index into the trailer
    kind = "lost" if b.kind == r.LOST else "lost_samples"
    return LostEvents(t.time, t.cpu, t.pid, t.tid, b.cursor.u64(), t.event, kind)


def _switch(b: Body) -> SideRecord:
    t = b.trailer
    other = b.cursor.unpack("ii") if b.kind == r.SWITCH_CPU_WIDE else (-1, -1)
    out = bool(b.misc & r.MISC_SWITCH_OUT)
    preempted = out and bool(b.misc & r.MISC_SWITCH_OUT_PREEMPT)
    return Switched(t.time, t.cpu, t.pid, t.tid, out, preempted, *other)


#: Plain fields of other records: a format and their names; what is left over goes by the name at the end.
_PLAIN: Mapping[int, tuple[str, tuple[str, ...], str]] = {
    r.THROTTLE: ("QQQ", ("time", "id", "stream_id"), ""),
    r.UNTHROTTLE: ("QQQ", ("time", "id", "stream_id"), ""),
    r.AUX: ("QQQ", ("aux_offset", "aux_size", "flags"), ""),
    r.ITRACE_START: ("ii", ("pid", "tid"), ""),
    r.KSYMBOL: ("QIHH", ("addr", "len", "ksym_type", "flags"), "name"),
    r.BPF_EVENT: ("HHI", ("type", "flags", "id"), "tag"),
    r.CGROUP: ("Q", ("id",), "path"),
    r.AUX_OUTPUT_HW_ID: ("Q", ("hw_id",), ""),
}


def _other(b: Body) -> SideRecord:
    layout, names, rest = _PLAIN[b.kind]
    values: dict[str, Any] = dict(zip(names, b.cursor.unpack(layout), strict=True))
    if rest == "tag":
        values[rest] = b.cursor.bytes(min(8, b.cursor.left)).hex()
    elif rest:
        values[rest] = text(b.cursor.bytes(b.cursor.left))
    return _named(b, values)


def _named(b: Body, values: dict[str, Any]) -> SideRecord:
    t = b.trailer
    pid, tid = values.pop("pid", t.pid), values.pop("tid", t.tid)
    time = t.time or values.get("time", 0)
    return OtherRecord(time, t.cpu, pid, tid, r.name_of(b.kind), values)


def _namespaces(b: Body) -> SideRecord:
    pid, tid, count = b.cursor.unpack("iiQ")
    pairs = [b.cursor.unpack("QQ") for _ in range(min(count, b.cursor.left // 16))]
    return _named(b, {"pid": pid, "tid": tid, "namespaces": tuple(pairs)})


def _text_poke(b: Body) -> SideRecord:
    addr, old, new = b.cursor.unpack("QHH")
    return _named(b, {"addr": addr, "old": b.cursor.bytes(old), "new": b.cursor.bytes(new)})


def _deferred(b: Body) -> SideRecord:
    cookie, count = b.cursor.unpack("QQ")
    return _named(b, {"cookie": cookie, "stack": b.cursor.unpack(f"{min(count, b.cursor.left // 8)}Q")})


def _read(b: Body) -> SideRecord:
    pid, tid = b.cursor.unpack("ii")
    return _named(b, {"pid": pid, "tid": tid, "values": b.cursor.unpack(f"{b.cursor.left // 8}Q")})


_READERS: Mapping[int, Callable[[Body], SideRecord]] = {
    r.MMAP: _mmap,
    r.MMAP2: _mmap2,
    r.COMM: _comm,
    r.FORK: _fork,
    r.EXIT: _fork,
    r.LOST: _lost,
    r.LOST_SAMPLES: _lost,
    r.SWITCH: _switch,
    r.SWITCH_CPU_WIDE: _switch,
    r.NAMESPACES: _namespaces,
    r.TEXT_POKE: _text_poke,
    r.CALLCHAIN_DEFERRED: _deferred,
    r.READ: _read,
    **dict.fromkeys(_PLAIN, _other),
}


def side_record(kind: int, misc: int, cursor: Cursor, trailer: Trailer) -> SideRecord | None:
    """``cursor``: of the body without trailer. None for a record of a type that is not known. Raises FormatError where
    the body is too short."""
    reader = _READERS.get(kind)
    return None if reader is None else reader(Body(kind, misc, cursor, trailer))


def body_of(record: bytes, big: bool, trailer_words: int) -> Cursor:
    """The bytes between header and trailer. Raises FormatError where a record has no room for its trailer."""
    end = len(record) - 8 * trailer_words
    if end < 8:
        raise FormatError(f"a record of {len(record)} bytes has no room for its trailer")
    return Cursor(record[8:end], big, "data")
