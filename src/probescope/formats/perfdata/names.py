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


def plain_name(attr: Attr) -> str:
    """``cycles:u``, ``cpu-clock``, ``raw 0x1c2``; without looking at anything but the attribute."""
    return _event(attr) + modifiers(attr)


def _event(attr: Attr) -> str:
    known = {u.PERF_TYPE_HARDWARE: _HARDWARE, u.PERF_TYPE_SOFTWARE: _SOFTWARE}.get(attr.type, {})
    if attr.type == u.PERF_TYPE_HW_CACHE:
        cache, op, result = attr.config & 0xFF, attr.config >> 8 & 0xFF, attr.config >> 16 & 0xFF
        if cache in _CACHE and op in _OPS and result < 2:
            return f"{_CACHE[cache]}-{_OPS[op]}{'-misses' if result else 's' if op < 2 else 'es'}"
    if attr.type == u.PERF_TYPE_RAW:
        return f"r{attr.config:x}"
    if attr.type == u.PERF_TYPE_BREAKPOINT:
        access = "".join(letter for bit, letter in ((1, "r"), (2, "w"), (4, "x")) if attr.bp_type & bit)
        return f"mem:{attr.config1:#x}:{access}"
    if attr.type == u.PERF_TYPE_TRACEPOINT:
        return f"tracepoint:{attr.config}"
    return known.get(attr.config & 0xFFFF_FFFF) or f"type{attr.type}:{attr.config:#x}"


def modifiers(attr: Attr) -> str:
    """As perf adds them: ``:u``, ``:k``, ``:ppH``; empty where nothing is excluded."""
    excluded = [bool(attr.flags & bit) for bit in (u.FLAG_EXCLUDE_USER, u.FLAG_EXCLUDE_KERNEL, u.FLAG_EXCLUDE_HV)]
    letters = "".join(letter for letter, out in zip("ukh", excluded, strict=True) if not out) if any(excluded) else ""
    if letters == "uk":
        letters = ""
    letters += "p" * (attr.flags >> 15 & 3)
    host, guest = attr.flags >> 19 & 1, attr.flags >> 20 & 1
    letters += "G" * (host and not guest) + "H" * (guest and not host and bool(letters))
    return f":{letters}" if letters else ""
