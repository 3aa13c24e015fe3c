"""How large rings are, when they wake us, and how much may wait to be written."""

from __future__ import annotations

from probescope.collect.recorder.opening import DATA, RingEvent
from probescope.frozen import replace
from probescope.kernel.host import host
from probescope.kernel.machine import available_memory, online_cpus, sysctl_int
from probescope.kernel.privileges import privileges
from probescope.kernel.uapi import perf as u

_MANY_CPUS = 64
_ALL_RINGS = 1 << 26
"""Bytes in the rings of all CPUs, where they are not many."""
_LARGE = 1 << 20
"""Bytes of a ring that we ask to be woken for at a quarter. The kernel does it at half, which is enough of a small
one."""

_LEAST_WAITING, _MOST_WAITING = 1 << 26, 1 << 30


def default_pages(*, overwrite: bool = False) -> int:
    """As many pages a CPU as every user may lock, less the one in front: 128 as kernels come. More for those who may
    lock more, since nobody gets a CPU at any moment: 16 times as many on a few CPUs, 4 times on ``_MANY_CPUS``, and
    where all of a ring is kept at the end (``overwrite``)."""
    page = host().page_size
    kib = (sysctl_int("kernel.perf_event_mlock_kb") or 516) - page // 1024
    pages = _power_of_two(min(max(kib * 1024 // page, 1), 1 << 12))
    cpus = len(online_cpus())
    if not privileges().may("ipc_lock") or cpus > _MANY_CPUS:
        return pages
    if overwrite:
        return pages * 4
    return max(pages * 4, min(pages * 16, _power_of_two(_ALL_RINGS // cpus // page)))


def _power_of_two(most: int) -> int:
    return 1 << most.bit_length() - 1


def woken_early(e: RingEvent, pages: int) -> RingEvent:
    """Of a large ring."""
    size = pages * host().page_size
    if e.ring != DATA or e.attr.wakeup or size < _LARGE:
        return e
    return replace(e, attr=replace(e.attr, flags=e.attr.flags | u.FLAG_WATERMARK, wakeup=size // 4))


def most_waiting() -> int:
    """Bytes that may wait in memory for a disk that stands still: an eighth of what is free now. Two seconds of all
    that one CPU can put into its ring, where there is enough."""
    return min(max((available_memory() or 0) // 8, _LEAST_WAITING), _MOST_WAITING)
