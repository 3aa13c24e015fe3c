"""Names of events whose file does not tell them: from type and config, as users of perf write them."""

from __future__ import annotations

from probescope.formats.perfdata.attr import Attr
from probescope.kernel.uapi import perf as u

_HARDWARE = {number: name for name, number in u.HARDWARE_EVENTS.items()} | {0: "cycles", 4: "branches"}
_SOFTWARE = {number: name for name, number in u.SOFTWARE_EVENTS.items()} | {2: "faults"}
_CACHE = {
    0: "L1-dcache",
    1: "L1-icache",
    2: "LLC",
    3: "dTLB",
    4: "iTLB",
    5: "branch",
    6: "node",
}
_OPS = {0: "load", 1: "store", 2: "prefetch"}


_WHAT = {u.PERF_TYPE_HARDWARE: "hardware", u.PERF_TYPE_SOFTWARE: "software"}


def plain_name(attr: Attr) -> str:
    """``cycles:u``, ``cpu-clock:HG``, ``raw 0x1c2``; without looking at anything but the attribute."""
    if attr.type == u.PERF_TYPE_TRACEPOINT:
        return f"tracepoint:{attr.config}"
    if attr.type > u.PERF_TYPE_BREAKPOINT:
        return f"unknown attr type: {attr.type}"
    return _event(attr) + modifiers(attr)


def _event(attr: Attr) -> str:
    if attr.type == u.PERF_TYPE_HW_CACHE:
        return _cache(attr.config & 0xFF, attr.config >> 8 & 0xFF, attr.config >> 16 & 0xFF)
    if attr.type == u.PERF_TYPE_RAW:
        return f"raw {attr.config:#x}"
    if attr.type == u.PERF_TYPE_BREAKPOINT:
        access = "".join(letter for bit, letter in ((1, "r"), (2, "w"), (4, "x")) if attr.bp_type & bit)
        return f"mem:{attr.config1:#x}:{access}"
    known = _HARDWARE if attr.type == u.PERF_TYPE_HARDWARE else _SOFTWARE
    return known.get(attr.config & 0xFFFF_FFFF) or f"unknown-{_WHAT[attr.type]}"


def _cache(cache: int, op: int, result: int) -> str:
    for what, known in (("type", cache in _CACHE), ("op", op in _OPS), ("result", result < 2)):
        if not known:
            return f"unknown-ext-hardware-cache-{what}"
    return f"{_CACHE[cache]}-{_OPS[op]}{'-misses' if result else 's' if op < 2 else 'es'}"


def modifiers(attr: Attr) -> str:
    """As perf adds them: ``:u``, ``:k``, ``:ppH``. That guests are counted is told where nothing else is, that they are
    not only beside something else (tools/perf/util/evsel.c, evsel__add_modifiers)."""
    levels = ((u.FLAG_EXCLUDE_KERNEL, "k"), (u.FLAG_EXCLUDE_USER, "u"), (u.FLAG_EXCLUDE_HV, "h"))
    precise = attr.flags >> 15 & 3
    limited = any(attr.flags & bit for bit, _ in levels)
    letters = "".join(letter for bit, letter in levels if not attr.flags & bit) if limited else ""
    letters += "p" * precise
    host, guest = bool(attr.flags >> 19 & 1), bool(attr.flags >> 20 & 1)
    if host or guest == (limited or precise > 0):
        letters += "H" * (not host) + "G" * (not guest)
    return f":{letters}" if letters else ""
