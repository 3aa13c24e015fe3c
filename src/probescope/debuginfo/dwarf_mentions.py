r"""Which units mention a name: a search for bytes instead of an index.

.debug_str       ...\0struct_name\0...      at 0x1234: the string, or the tail of a longer one
.debug_info      ... 34 12 00 00 ...        an entry that refers to it; short names stand there themselves
.debug_str_offsets  ... 34 12 00 00 ...     in the part of a unit that refers to its strings by number

Strings that dwz moved to the shared file are referred to by their offsets there, in the same way. Units whose entries
are in other files (.dwo) may have any name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.errors import DwarfError

MAX_PLACES = 64
"""Places in .debug_str at which a name may stand (linkers share tails of strings) before all units are likely."""


def mentions(dwarf: DwarfFile, name: str) -> Iterator[int]:
    """Starts of units that a name may be in, some of them repeatedly; found as they are asked for."""
    starts, info = dwarf.starts(), dwarf.section(".debug_info")
    if info is None:
        return
    raw = name.encode("utf-8", "surrogateescape") + b"\0"
    own, moved = needles(dwarf, raw), needles_of_shared(dwarf, raw)
    if own is None or moved is None:
        yield from starts
        return
    for needle in (*own, *moved):
        yield from _owners(info, needle, starts)
    yield from _by_number(dwarf, own, starts)
    yield from _owners(info, raw, starts)
    yield from split_starts(dwarf)


def needles(dwarf: DwarfFile, raw: bytes) -> list[bytes] | None:
    """What stands where a string of .debug_str is referred to, whole strings before tails of others; ``None`` if there
    are too many."""
    strings = dwarf.section(".debug_str")
    places = list(islice(strings.find(raw), MAX_PLACES + 1)) if strings is not None else []
    if strings is None or len(places) > MAX_PLACES:
        return [] if strings is None else None
    places.sort(key=lambda at: at > 0 and strings.read(at - 1, 1) != b"\0")
    return [at.to_bytes(4, "little" if dwarf.elf.little else "big") for at in places]


def needles_of_shared(dwarf: DwarfFile, raw: bytes) -> list[bytes] | None:
    shared = dwarf.companions.shared()
    return needles(shared, raw) if shared is not None else []


def _owners(section: Section, needle: bytes, starts: list[int]) -> Iterator[int]:
    for at in section.find(needle):
        i = bisect_right(starts, at)
        if i:
            yield starts[i - 1]


def split_starts(dwarf: DwarfFile) -> list[int]:
    """Units whose entries are in other files. Each may be compiled in its own way: where any can be split (addresses of
    those are in .debug_addr) all are looked at, else the first one."""
    starts = dwarf.starts()
    return [at for at in (starts if dwarf.section(".debug_addr") is not None else starts[:1]) if _is_split(dwarf, at)]


def _is_split(dwarf: DwarfFile, start: int) -> bool:
    try:
        root = dwarf.unit(start).root
    except DwarfError:
        return False
    return root.has(c.AT_DWO_NAME) or root.has(c.AT_GNU_DWO_NAME)


def _by_number(dwarf: DwarfFile, needles: list[bytes], starts: list[int]) -> Iterator[int]:
    section = dwarf.section(".debug_str_offsets")
    if section is None or not needles:
        return
    bases: list[tuple[int, int]] = []
    for start in starts:
        try:
            base = dwarf.unit(start).root.uint(c.AT_STR_OFFSETS_BASE)
        except DwarfError:
            continue
        if base is not None:
            bases.append((base, start))
    bases.sort()
    for needle in needles:
        for at in section.find(needle):
            i = bisect_right(bases, (at, 1 << 64))
            if i:
                yield bases[i - 1][1]
