"""What a memory access found where, as perf-script(1) prints it from PERF_SAMPLE_DATA_SRC.

          68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A

    63..46 45..43 42..40 39..38 37     36..33  32..26 25..24 23..19 18..5 4..0
           hops   blk    snoopx remote lvl_num dtlb   lock   snoop  lvl   op

Source: union perf_mem_data_src of include/uapi/linux/perf_event.h; the words are those of perf 6.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

LONGEST = 99
"""Characters, of all of it: perf's room."""
_OPS = ("N/A", "LOAD", "STORE", "PFETCH", "EXEC")
_LEVELS = (
    *(None, None, None, "L1", "LFB/MAB", "L2", "L3", "Local RAM", "Remote RAM (1 hop)", "Remote RAM (2 hops)"),
    *("Remote Cache (1 hop)", "Remote Cache (2 hops)", "I/O", "Uncached"),
)
_LEVEL_NUMBERS = {
    1: "L1",
    2: "L2",
    3: "L3",
    4: "L4",
    5: "L2 MHB",
    6: "Memory-side Cache",
    8: "Uncached",
    9: "CXL",
    10: "I/O",
    11: "Any cache",
    12: "LFB/MAB",
    13: "RAM",
    14: "PMEM",
}
_NO_LEVEL = (0, 15)
_HOPS = ("", "core, same node ", "node, same socket ", "socket, same board ", "board ", *("(null) ",) * 3)
_SNOOPS = ("N/A", "None", "Hit", "Miss", "HitM", "Fwd", "Peer")
_TLB = ("N/A", None, None, "L1", "L2", "Walker", "Fault")


def _listed(bits: int, names: Sequence[str | None]) -> str:
    return " or ".join(name for i, name in enumerate(names) if name is not None and bits >> i & 1)


def operation(source: int) -> str:
    """One, of several the first."""
    return next((name for i, name in enumerate(_OPS) if source >> i & 1), "No")


def level(source: int) -> str:
    """Which memory had it. Newer kernels tell it by number, and how far that was."""
    bits = source >> 5 & 0x3FFF
    found = "hit" if bits & 2 else "miss" if bits & 4 else ""
    number = source >> 33 & 15
    if number not in _NO_LEVEL:
        remote = "Remote " if source >> 37 & 1 else ""
        name = _LEVEL_NUMBERS.get(number, f"Unknown level {number}")
        return f"{remote}{_HOPS[source >> 43 & 7]}{name} {found}"
    names = _listed(bits, _LEVELS)
    return f"{names} {found}" if names else "N/A"


def snoop(source: int) -> str:
    """Whether another cache had it."""
    bits = source >> 19 & 31 | (source >> 38 & 3) << 5
    return _listed(bits, _SNOOPS) or "N/A"


def tlb(source: int) -> str:
    bits = source >> 26 & 0x7F
    return (_listed(bits, _TLB) or "N/A") + " hit" * (bits >> 1 & 1) + " miss" * (bits >> 2 & 1)


def lock(source: int) -> str:
    return "N/A" if source >> 24 & 1 else "Yes" if source >> 25 & 1 else "No"


def blocked(source: int) -> str:
    """What the access had to wait for."""
    bits = source >> 40 & 7
    if bits & 1 or not bits:
        return " N/A"
    return " Data" * (bits >> 1 & 1) + " Addr" * (bits >> 2)


@lru_cache(1 << 14)
def told(source: int) -> str:
    """The number and what it means."""
    parts = (
        f"|OP {operation(source)}|LVL {level(source)}|SNP {snoop(source)}|TLB {tlb(source)}|LCK {lock(source)}"
        f"|BLK {blocked(source)}"
    )
    return f"{source:16x} {parts[:LONGEST]}"[:LONGEST]
