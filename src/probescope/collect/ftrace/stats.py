"""per_cpu/cpuN/stats: what went through the buffer of a CPU, and what was lost of it.

    entries: 12          that are there, unread             overrun: 0           written over before they were read
    bytes: 912           of them                            commit overrun: 0    dropped, events in the middle of events
    read events: 30      that were taken out                dropped events: 0    dropped, in buffers that do not wrap

Source: Documentation/trace/ftrace.rst; tracing_stats_read of kernel/trace/trace.c.
"""

from __future__ import annotations

from collections.abc import Iterable

from probescope.kernel import tracefs

DROPPED = ("commit overrun", "dropped events")
LOST = ("overrun", *DROPPED)


def numbers(text: str) -> dict[str, int]:
    """Those that are whole numbers: times are not."""
    told = (line.partition(":") for line in text.splitlines())
    return {name: int(value) for name, _, value in told if value.strip().isdecimal()}


def total(base: str, cpus: Iterable[int], names: Iterable[str] = LOST) -> int:
    """Of the buffer whose folder is ``base``. Raises KernelError."""
    found = [numbers(tracefs.read(f"per_cpu/cpu{cpu}/stats", base)) for cpu in cpus]
    return sum(one.get(name, 0) for one in found for name in names)
