r"""Lines of perf script's text: a head for each event, then the frames of its stack, then an empty line.

    ls   25486/25487 [002] 20972.103351:     250000 cpu-clock:u:      7f04f3464b70 _start+0x0 (/usr/lib/ld.so)
    ls   25486 20972.103351: sched:sched_switch: prev_comm=ls ...
            ffffffff8177539a elf_load+0x28a ([kernel.kallsyms])
            7f04f3464b70 main (inlined)

Which columns there are is chosen by perf script -F; those of a head are found where they are.
Source: tools/perf/builtin-script.c (perf_sample__fprintf_start, process_event), util/evsel_fprintf.c.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD = re.compile(
    r"\s*(\S.{0,31}?)\s+(-?\d{1,10})(?:/(-?\d{1,10}))?\s+(?:\[(\d{1,5})\]\s+)?(?:[.\w]{1,8}\s+)??(\d{1,10})\.(\d{6,9}):\s+"
    r"(?:(\d{1,20})\s+)?([^\s\d][^\s]{0,255}|\d+[^\s\d:][^\s]{0,255}):(?:\s(.*))?$"
)
_FRAME = re.compile(
    r"\s*([0-9a-f]{1,16})\s+(.{1,2048}?)(?:\+0x([0-9a-f]{1,16}))?\s+\((.{1,4096}?)\)(?:\s+\([^)]*\))?\s*$"
)
_BARE = re.compile(r"\s*([0-9a-f]{4,16})\s*(.{0,2048}?)(?:\+0x([0-9a-f]{1,16}))?\s*$")
_SIDE = re.compile(r"\s*\S.{0,64}?\s(?:-?\d+(?:/-?\d+)?\s+)?(?:\[\d+\]\s+)?\d+\.\d+:\s+(?:\d+\s+)?PERF_RECORD_(\w+)")
_LOST = re.compile(r".{0,128}?PERF_RECORD_LOST(?:_SAMPLES)? lost (\d{1,18})")
_ASIDE = re.compile(r"\s*(?:#.*)?$")
_FACT = re.compile(r"# (hostname|os release|arch|nrcpus online|cpudesc|cmdline|perf version) : (.{1,4096}?)\s*$")


class PerfHead(NamedTuple):
    """``pid`` and ``cpu`` -1, ``period`` 0: not told. ``rest``: what follows the event's name."""

    comm: str
    pid: int
    tid: int
    cpu: int
    time: int
    digits: int
    period: int
    event: str
    rest: str


class TextFrame(NamedTuple):
    """As it was printed; ``inlined``: into the next frame."""

    address: int
    name: str
    offset: int
    module: str
    inlined: bool = False


def perf_head(line: str) -> PerfHead | None:
    found = _HEAD.match(line)
    if not found:
        return None
    comm, first, second, cpu, whole, part, period, event, rest = found.groups()
    if event.startswith("PERF_RECORD_"):
        return None
    time = min(int(whole) * 10**9 + int(part.ljust(9, "0")), (1 << 64) - 1)
    pid, tid = (_id(first), _id(second)) if second else (-1, _id(first))
    number = min(int(period or 0), (1 << 64) - 1)
    return PerfHead(comm, pid, tid, int(cpu) if cpu else -1, time, len(part), number, event, (rest or "").strip())


def _id(text: str) -> int:
    return max(-1, min(int(text), (1 << 31) - 1))


def frame(line: str) -> TextFrame | None:
    found = _FRAME.match(line)
    if found:
        address, name, offset, module = found.groups()
        inlined = module == "inlined"
        name = "" if name == "[unknown]" else name
        module = "" if inlined or module == "[unknown]" else module
        return TextFrame(int(address, 16), name, int(offset or "0", 16), module, inlined)
    found = _BARE.match(line)
    if found:
        name = found[2] if found[2] != "[unknown]" else ""
        return TextFrame(int(found[1], 16), name, int(found[3] or "0", 16), "")
    return None


def side(line: str) -> bool:
    """What happened between events (--show-mmap-events and the like)."""
    return "PERF_RECORD_" in line and _SIDE.match(line) is not None


def lost(line: str) -> int:
    found = _LOST.match(line) if "PERF_RECORD_LOST" in line else None
    return int(found[1]) if found else 0


def aside(line: str) -> bool:
    return _ASIDE.match(line) is not None


def fact(line: str) -> tuple[str, str] | None:
    """Of perf script --header: a name and what it is."""
    found = _FACT.match(line) if line.startswith("# ") else None
    return (found[1], found[2]) if found else None


def in_kernel(f: TextFrame) -> bool:
    """Addresses of the upper half; and of kernels that live elsewhere (s390), what is named so."""
    return f.address >> 63 == 1 or f.module.startswith(("[kernel", "[guest.kernel")) or f.module.endswith(".ko")
