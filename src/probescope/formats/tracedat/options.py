"""Options of trace.dat by number, and what is made of some of them.

Source: trace-cmd's Documentation/trace-cmd/trace-cmd.dat.v7.5.txt.
"""

from __future__ import annotations

import re
import struct

from probescope.frozen import dataclass, field

DONE, DATE, CPUSTAT, BUFFER, TRACECLOCK, UNAME, HOOK, OFFSET, CPUCOUNT, VERSION, PROCMAPS, TRACEID = range(12)
TIME_SHIFT, GUEST, TSC2NSEC, STRINGS, HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, KALLSYMS = range(12, 20)
PRINTK, CMDLINES, BUFFER_TEXT, BTF_FILE, LAST_BOOT_INFO, MODULES_FILE = range(20, 26)

#: What something is made of; the others are kept as bytes.
USED = {
    DATE,
    BUFFER,
    TRACECLOCK,
    UNAME,
    OFFSET,
    CPUCOUNT,
    VERSION,
    TIME_SHIFT,
    TSC2NSEC,
    HEADER_INFO,
    FTRACE_EVENTS,
} | {
    EVENT_FORMATS,
    KALLSYMS,
    PRINTK,
    CMDLINES,
    BUFFER_TEXT,
}
NAMES = {
    CPUSTAT: "CPUSTAT",
    HOOK: "HOOK",
    PROCMAPS: "PROCMAPS",
    TRACEID: "TRACEID",
    GUEST: "GUEST",
    STRINGS: "STRINGS",
    BTF_FILE: "BTF_FILE",
    LAST_BOOT_INFO: "LAST_BOOT_INFO",
    MODULES_FILE: "MODULES_FILE",
}

MOST_OPTIONS = 1 << 14
MOST_SAMPLES = 1 << 20
#: Clocks that count nanoseconds; times of others are printed as they are.
NANOSECONDS = {"", "local", "global", "uptime", "perf", "tai", "tsc2nsec"}


@dataclass(frozen=True, slots=True)
class Shift:
    """How a guest's CPU differs from its host: at ``time``, ``offset`` ns to add after ``* scaling >> fraction``."""

    time: int
    offset: int
    scaling: int = 1
    fraction: int = 0


@dataclass(frozen=True, slots=True)
class Times:
    """From recorded times to nanoseconds: shifts of each CPU (``interpolated`` between samples), then ``* mult >>
    shift`` of a TSC, or of ``hz`` counts a second, then ``offset`` ns."""

    offset: int = 0
    mult: int = 0
    shift: int = 0
    interpolated: bool = False
    shifts: tuple[tuple[Shift, ...], ...] = field(default=())
    hz: int = 0


def text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def cpu_count(options: list[tuple[int, bytes]], order: str) -> int:
    return max([struct.unpack(order + "I", d[:4])[0] for n, d in options if n == CPUCOUNT and len(d) >= 4], default=0)


def chosen_clock(listed: str) -> str:
    """``local [global] uptime`` -> ``global``."""
    found = re.search(r"\[\s*([\w-]{1,64})\s*\]", listed)
    return found[1] if found else ""


def in_nanoseconds(clock: str) -> bool:
    return clock in NANOSECONDS or clock.startswith("mono") or clock == "boot"


def times_of(options: list[tuple[int, bytes]], order: str) -> Times:
    offset = mult = shift = 0
    shifts: tuple[tuple[Shift, ...], ...] = ()
    interpolated = False
    for number, data in options:
        if number in {DATE, OFFSET}:
            found = re.match(rb"\s*([-+]?)(0[xX][0-9a-fA-F]{1,16}|\d{1,20})", data)
            value = int(found[2], 16 if found[2][:2].lower() == b"0x" else 10) if found else 0
            offset += (-value if found and found[1] == b"-" else value) * (1000 if number == DATE else 1)
        elif number == TSC2NSEC and len(data) >= 16:
            mult, shift, _ = struct.unpack_from(order + "IIQ", data)
        elif number == TIME_SHIFT and len(data) >= 16:
            interpolated = bool(struct.unpack_from(order + "I", data, 8)[0] & 1)
            shifts = _shifts(data, order)
    return Times(offset, mult, min(shift, 63), interpolated, shifts)


def _shifts(data: bytes, order: str) -> tuple[tuple[Shift, ...], ...]:
    """``u64 id, u32 flags, u32 CPUs, CPUs x (u32 n, n x u64 time, n x s64 offset, n x u64 scaling), CPUs x n x u64
    fraction`` (the last since 3.1); as much as there is."""
    at, cpus = 16, struct.unpack_from(order + "I", data, 12)[0]
    raw: list[list[tuple[int, ...]]] = []
    for _ in range(min(cpus, len(data) // 4)):
        if at + 4 > len(data):
            break
        n = struct.unpack_from(order + "I", data, at)[0]
        at += 4
        if n > MOST_SAMPLES or at + 24 * n > len(data):
            break
        raw.append([struct.unpack_from(f"{order}{n}{kind}", data, at + 8 * n * i) for i, kind in enumerate("QqQ")])
        at += 24 * n
    out: list[tuple[Shift, ...]] = []
    for columns in raw:
        n = len(columns[0])
        fractions: tuple[int, ...] = (0,) * n
        if at + 8 * n <= len(data):
            fractions = struct.unpack_from(f"{order}{n}Q", data, at)
            at += 8 * n
        by_time = {
            time: Shift(time, off, sc, min(fr, 63)) for time, off, sc, fr in zip(*columns, fractions, strict=True)
        }
        out.append(tuple(by_time[time] for time in sorted(by_time)))
    return tuple(out)
