"""What was there before the recording, as the records that the kernel would have written had we been there: the kernel
and its modules, tasks with their names, parents and mappings. Their time is 0: before everything.

    MMAP    i32 pid, tid  u64 start, size, offset  path
    MMAP2   i32 pid, tid  u64 start, size, offset  u32 major, minor  u64 inode, generation  u32 protection, flags  path
    FORK    i32 pid, parent  i32 tid, parent's tid  u64 time          COMM    i32 pid, tid  name
    NAMESPACES  i32 pid, tid  u64 n  n x (u64 device, u64 inode)      CGROUP  u64 id  path

Each ends with the trailer of the event that they are said to be of (layout.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from probescope.errors import PermissionDenied
from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.layout import Layout
from probescope.kernel import cgroups, kernel_maps, procfs
from probescope.kernel.uapi.perf import NAMESPACES

KERNEL_MODE, USER_MODE = 1, 2
_TASK = struct.Struct("=iiiiQ")
_MMAP2 = struct.Struct("=iiQQQIIQQII")


class Start:
    """Makes records with the trailer of ``layout``, said to be of the event ``event_id``."""

    def __init__(self, layout: Layout, event_id: int) -> None:
        self._trailer = trailer(layout, event_id)

    def _record(self, kind: int, misc: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 8) + self._trailer
        return struct.pack("=IHH", kind, misc, 8 + len(body)) + body

    def kernel(self) -> Iterator[bytes]:
        """The kernel's text and its modules. Nothing where addresses are hidden from us."""
        for m in kernel_maps.kernel_maps():
            body = struct.pack("=iiQQQ", -1, 0, m.start, m.size, m.offset) + _text(m.path, 4096)
            yield self._record(r.MMAP, KERNEL_MODE, body)

    def bpf_programs(self) -> Iterator[bytes]:
        """Those that are loaded."""
        from probescope.collect.recorder.bpf_programs import bodies

        for kind, body in bodies():
            yield self._record(kind, KERNEL_MODE, body)

    def tasks(
        self, pids: Iterable[int], *, maps: bool = True, data: bool = False, namespaces: bool = False
    ) -> Iterator[bytes]:
        """Of each process its threads and mappings: those that can be executed, all with ``data``. Processes that may
        not be looked at, or are gone, have no mappings."""
        for pid in pids:
            parent = procfs.parent(pid)
            for tid in procfs.threads(pid):
                name = procfs.thread_comm(pid, tid)
                if name:
                    above = (parent, parent) if tid == pid else (pid, pid)
                    yield self._record(r.FORK, 0, _TASK.pack(pid, above[0], tid, above[1], 0))
                    yield self._record(r.COMM, 0, struct.pack("=ii", pid, tid) + _text(name, 16))
            if namespaces:
                yield self._namespaces(pid)
            if maps:
                yield from self._maps(pid, data)

    def _maps(self, pid: int, data: bool) -> Iterator[bytes]:
        try:
            found = procfs.maps(pid) if data else procfs.executable_maps(pid)
        except PermissionDenied:
            return
        for m in found:
            protection = sum(bit for letter, bit in zip("rwx", (1, 2, 4), strict=True) if letter in m.permissions)
            flags = 1 if "s" in m.permissions else 2
            device = (m.device >> 20, m.device & 0xFFFFF)
            head = _MMAP2.pack(pid, pid, m.start, m.end - m.start, m.offset, *device, m.inode, 0, protection, flags)
            misc = USER_MODE | (0 if m.executable else r.MISC_MMAP_DATA)
            yield self._record(r.MMAP2, misc, head + _text(m.path or "//anon", 4096))

    def _namespaces(self, pid: int) -> bytes:
        known = procfs.namespaces(pid)
        body = struct.pack("=iiQ", pid, pid, len(NAMESPACES))
        for kind in NAMESPACES:
            body += struct.pack("=QQ", procfs.namespace_device(pid, kind), known.get(kind, 0))
        return self._record(r.NAMESPACES, 0, body)

    def cgroups(self) -> Iterator[bytes]:
        for number, path in cgroups.all_cgroups():
            yield self._record(r.CGROUP, 0, struct.pack("=Q", number) + _text(path, 4096))


def trailer(layout: Layout, event_id: int) -> bytes:
    """Without a time."""
    words = {"id": event_id, "identifier": event_id, "stream_id": event_id}
    return b"".join(struct.pack("=Q", words.get(name, 0)) for name, _ in layout.trailer)


def _text(text: str, most: int) -> bytes:
    """With its zero, padded to 8 bytes."""
    raw = text.encode("utf-8", "surrogateescape")[: most - 1] + b"\0"
    return raw + bytes(-len(raw) % 8)
