r"""Which units mention a name: a search for bytes instead of an index.

.debug_str       ...\0struct_name\0...      at 0x1234: the string, or the tail of a longer one
.debug_info      ... 34 12 00 00 ...        an entry that refers to it; short names stand there themselves
.debug_str_offsets  ... 34 12 00 00 ...     in the part of a unit that refers to its strings by number
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
    strings = dwarf.section(".debug_str")
    places = list(islice(strings.find(raw), MAX_PLACES + 1)) if strings is not None else []
    if len(places) > MAX_PLACES or _is_split(dwarf, starts):
        yield from starts
        return
    if strings is not None:  # whole strings before tails of others
        places.sort(key=lambda at: at > 0 and strings.read(at - 1, 1) != b"\0")
    needles = [at.to_bytes(4, "little" if dwarf.elf.little else "big") for at in places]
    for needle in needles:
        yield from _owners(info, needle, starts)
    yield from _by_number(dwarf, needles, starts)
    yield from _owners(info, raw, starts)


def _owners(section: Section, needle: bytes, starts: list[int]) -> Iterator[int]:
    for at in section.find(needle):
        i = bisect_right(starts, at)
        if i:
            yield starts[i - 1]


def _is_split(dwarf: DwarfFile, starts: list[int]) -> bool:
    """Whether the entries are in other files, to judge by the first unit."""
    try:
        root = dwarf.unit(starts[0]).root if starts else None
    except DwarfError:
        return False
    return root is not None and (root.has(c.AT_DWO_NAME) or root.has(c.AT_GNU_DWO_NAME))


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
