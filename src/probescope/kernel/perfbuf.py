"""Events through a BPF_MAP_TYPE_PERF_EVENT_ARRAY: the way out for kernels before the BPF ring buffer (5.8).

One bpf-output event and one ring a CPU; the map's slot of each CPU holds its event. A sample is

    u32 type=9, u16 misc, u16 size | u32 n | n bytes: what bpf_perf_event_output() gave, padded so that 4 + n is a
    multiple of 8

and a PERF_RECORD_LOST is  header | u64 id | u64 count.
"""

from __future__ import annotations

import errno
import struct
from typing import Self

from probescope.errors import KernelError
from probescope.kernel.bpf_map import Map
from probescope.kernel.fds import Fd
from probescope.kernel.host import host
from probescope.kernel.machine import online_cpus
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.perf_event import perf_event_open
from probescope.kernel.perfring import PerfRing, walk
from probescope.kernel.records import Records
from probescope.kernel.uapi import perf as u

_PAYLOAD = 12  # header of 8, u32 length


class PerfBuffer:
    """Opens the events, fills ``array`` (a perf_event_array with a slot for each possible CPU) and reads them.
    ``pages`` a CPU, 2^n. Raises KernelError. CPUs that come online later have no event: what programs emit there is
    refused with ENOENT and they count it."""

    def __init__(self, array: Map, pages: int = 64, *, wakeup: int = 1) -> None:
        self._rings: list[PerfRing] = []
        self._events: list[Fd] = []
        attr = PerfAttr(
            u.PERF_TYPE_SOFTWARE, u.PERF_COUNT_SW_BPF_OUTPUT, 1, sample_type=u.PERF_SAMPLE_RAW, wakeup=wakeup
        )
        try:
            for cpu in online_cpus():
                try:
                    event = perf_event_open(attr, cpu=cpu, what=f"perf:bpf-output:cpu{cpu}")
                except KernelError as e:
                    if e.errno == errno.ENODEV:  # it went offline since the list was read
                        continue
                    raise
                self._events.append(event)
                self._rings.append(PerfRing(event, pages))
                event.enable()
                array.update(struct.pack("=I", cpu), struct.pack("=I", event.fileno()))
        except BaseException:
            self.close()
            raise

    def filenos(self) -> list[int]:
        """For poll: one descriptor a CPU."""
        return [e.fileno() for e in self._events]

    def wait(self, timeout_ms: int) -> bool:
        return bool(host().poll(self.filenos(), timeout_ms))

    def consume(self) -> list[Records]:
        """What each CPU has, in the order of CPUs; those with nothing are left out. ``lost`` counts dropped records."""
        return [r for ring in self._rings if (data := ring.consume()) and (r := samples(data))]

    def close(self) -> None:
        for ring in self._rings:
            ring.close()
        for event in self._events:
            event.close()
        self._rings, self._events = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def samples(data: bytes) -> Records | None:
    """The raw samples of one ring's bytes, and how many were lost; None if there is neither. A payload's length
    includes its padding."""
    offsets: list[int] = []
    lost = 0
    for kind, _, at, size in walk(data):
        if kind == u.PERF_RECORD_SAMPLE and size >= _PAYLOAD:
            if 4 + struct.unpack_from("=I", data, at + 8)[0] + 8 <= size:
                offsets.append(at + _PAYLOAD)
        elif kind == u.PERF_RECORD_LOST and size >= 24:
            lost += struct.unpack_from("=Q", data, at + 16)[0]
    return Records(data, offsets, 4, lost) if offsets or lost else None
