"""Time off the CPU, as perf record --off-cpu writes it: one sample for each thread and stack, at the end of the file.

The event ``offcpu-time`` is of the kind bpf-output and never fires by itself; it is opened like any other for its
numbers and its place in the header. A program in the kernel sums waits up (``Waiting``), and what it has found becomes

    SAMPLE  identifier  ip  pid tid  time  [cpu]  period: ns  nr=1+n  PERF_CONTEXT_USER  n addresses  [cgroup]

with times from 2^64 - 2^32 on, so that these samples come last wherever they lie. Source: what perf report makes of
files of perf 6.0 and later; perf-record(1), --off-cpu.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from probescope.formats.perfdata import records as r
from probescope.formats.perfdata.encode import record
from probescope.frozen import dataclass
from probescope.kernel.perf_attr import PerfAttr
from probescope.kernel.uapi import perf as u
from probescope.model.recording import OFF_CPU, SUMMED_TIME
from probescope.sources.perf_events import Counter

_USER_MODE = 2
SAMPLED = (
    u.PERF_SAMPLE_IDENTIFIER
    | u.PERF_SAMPLE_IP
    | u.PERF_SAMPLE_TID
    | u.PERF_SAMPLE_TIME
    | u.PERF_SAMPLE_CPU
    | u.PERF_SAMPLE_PERIOD
    | u.PERF_SAMPLE_CALLCHAIN
    | u.PERF_SAMPLE_CGROUP
)
"""Parts that these samples may have, in the order in which they lie."""
MOST_FRAMES = 127


@dataclass(frozen=True, slots=True)
class Waited:
    """``ns`` that thread ``tid`` spent off the CPU after it left with this stack, innermost address first; in
    ``cgroup``."""

    pid: int
    tid: int
    ns: int
    stack: tuple[int, ...] = ()
    cgroup: int = 0


class Waiting(Protocol):
    """What sums waits up. ``start`` is given processes and threads, none for everybody, ``poll`` called now and then,
    ``stop`` once. All raise KernelError."""

    def start(self, pids: Sequence[int], tids: Sequence[int]) -> None: ...

    def poll(self) -> None: ...

    def stop(self) -> Iterable[Waited]: ...

    def close(self) -> None: ...


def counter() -> Counter:
    return Counter(OFF_CPU, PerfAttr(u.PERF_TYPE_SOFTWARE, u.PERF_COUNT_SW_BPF_OUTPUT, 1, flags=u.FLAG_FREQ))


def sampled(common: int, *, cgroups: bool) -> int:
    """The sample type of the event, where all events have the parts ``common``."""
    own = u.PERF_SAMPLE_PERIOD | u.PERF_SAMPLE_CALLCHAIN | (u.PERF_SAMPLE_CGROUP if cgroups else 0)
    return (common | own) & SAMPLED


def samples(sample_type: int, event_id: int, found: Iterable[Waited]) -> Iterator[bytes]:
    """Records of the event."""
    for i, one in enumerate(found):
        if one.ns > 0:
            yield _sample(sample_type, event_id, SUMMED_TIME + i, one)


def _sample(sample_type: int, event_id: int, time: int, one: Waited) -> bytes:
    stack = one.stack[:MOST_FRAMES]
    parts = (
        (u.PERF_SAMPLE_IDENTIFIER, (event_id,)),
        (u.PERF_SAMPLE_IP, (stack[0] if stack else 0,)),
        (u.PERF_SAMPLE_TID, ((one.tid & 0xFFFFFFFF) << 32 | one.pid & 0xFFFFFFFF,)),
        (u.PERF_SAMPLE_TIME, (time,)),
        (u.PERF_SAMPLE_CPU, (0,)),
        (u.PERF_SAMPLE_PERIOD, (one.ns,)),
        (u.PERF_SAMPLE_CALLCHAIN, (1 + len(stack), u.PERF_CONTEXT_USER, *stack)),
        (u.PERF_SAMPLE_CGROUP, (one.cgroup,)),
    )
    words = [w for bit, values in parts if sample_type & bit for w in values]
    return record(r.SAMPLE, _USER_MODE, struct.pack(f"={len(words)}Q", *words), sys.byteorder == "big")
