"""Functions by name, wherever they are defined: with code of their own, or inlined into others.

    "foo" -> .debug_str, where it stands -> .debug_info, where that offset stands -> right before, a function's entry?

An entry begins a few bytes before its name; how many, and with which code, the unit's abbreviations tell. So units that
only call a function, of which there are hundreds, are not walked over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.dwarf_abbrev import Abbrev
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import Finder, entry_of
from probescope.debuginfo.dwarf_mentions import mentions, needles, needles_of_shared, split_starts
from probescope.debuginfo.dwarf_unit import Unit
from probescope.errors import DwarfError

MAX_INSTANCES = 1 << 14
_FUNCTIONS = frozenset({c.TAG_SUBPROGRAM})
_CODE = frozenset({c.TAG_SUBPROGRAM, c.TAG_INLINED})
_NAMES = (c.AT_NAME, c.AT_LINKAGE_NAME, c.AT_MIPS_LINKAGE_NAME)
_INLINED = (1, 3)  # DW_INL_inlined, DW_INL_declared_inlined
_OWN, _HERE = frozenset({c.FORM_STRP}), frozenset({c.FORM_STRING})
_MOVED = frozenset({c.FORM_GNU_STRP_ALT, c.FORM_STRP_SUP})


class Instance(NamedTuple):
    """One place where a function's code is: ``die`` its entry there, ``address`` where it is entered. ``inlined``: into
    another function."""

    die: Die
    address: int
    inlined: bool


def definitions(finder: Finder, name: str) -> Iterator[Die]:
    """Entries that define functions of a name (plain, or as symbol tables have it); those that only declare one are
    left out. Raises ``DwarfError``."""
    seen: set[tuple[int, str, int]] = set()
    for unit in _units(finder, name):
        try:
            found = list(_in_unit(unit, name))
        except DwarfError:
            continue
        for die in found:
            if die.key not in seen:
                seen.add(die.key)
                yield die


def abstract_of(die: Die) -> Die:
    """What instances of a function refer to: its abstract entry if it has one, else itself."""
    origin = die.ref(c.AT_ABSTRACT_ORIGIN)
    return origin if origin is not None else die


def is_abstract(die: Die) -> bool:
    return die.uint(c.AT_INLINE) in _INLINED


def instances(finder: Finder, function: Die, *, inlined: bool = True) -> list[Instance]:
    """All places of a function's code, in the order of the debug information."""
    out: list[Instance] = []
    own = entry_of(function)
    if own is not None:
        out.append(Instance(function, own, inlined=False))
    target = abstract_of(function)
    if not is_abstract(target):
        return out
    for unit in _users(finder, target):
        for die in _referring(unit, target):
            address = _entered(die) if not _again(die, target) else 0
            if address and all(i.address != address or i.die.tag != die.tag for i in out):
                out.append(Instance(die, address, die.tag == c.TAG_INLINED))
            if len(out) >= MAX_INSTANCES:
                break
    out = [i for i in out if inlined or not i.inlined]
    return sorted(out, key=lambda i: i.die.unit.offset + i.die.at)


def _again(die: Die, target: Die) -> bool:
    """Whether it stands for a part of a copy that has an entry of its own: as if the line that declares the function
    called it."""
    line = die.uint(c.AT_CALL_LINE)
    return line is not None and line == target.uint(c.AT_DECL_LINE) and _file(die, target)


def _file(die: Die, target: Die) -> bool:
    return die.unit is target.unit and die.uint(c.AT_CALL_FILE) == target.uint(c.AT_DECL_FILE)


def _entered(die: Die) -> int | None:
    """Where it is entered; 0 or ``None`` if the linker left it out, or it has no code."""
    at = die.address(c.AT_ENTRY_PC)
    if at is not None:
        return at
    ranges = dwarf_ranges.of(die)
    if not ranges:
        return die.address(c.AT_LOW_PC)
    relative = die.uint(c.AT_ENTRY_PC)  # version 5: counted from the base of its ranges
    return ranges[0][0] + relative if relative is not None and not die.has(c.AT_RANGES) else ranges[0][0]


def _users(finder: Finder, target: Die) -> Iterator[Unit]:
    yield target.unit
    if target.unit.root.tag != c.TAG_PARTIAL_UNIT and not _linked_whole(target.unit):
        return
    info = finder.dwarf.section(".debug_info")
    if info is None or target.unit.section.name != info.name:
        return
    starts, seen = finder.dwarf.starts(), {target.unit.offset} if target.unit.dwarf is finder.dwarf else set[int]()
    needle = (target.unit.offset + target.at).to_bytes(4, "little" if finder.dwarf.elf.little else "big")
    for at in info.find(needle):
        i = bisect_right(starts, at)
        if i:
            yield from _once(finder.dwarf, starts[i - 1], seen)


def _linked_whole(unit: Unit) -> bool:
    """By link-time optimisation, where entries of one unit are used by others."""
    return "lto" in unit.root.text(c.AT_PRODUCER) or unit.root.name == "<artificial>"


def _referring(unit: Unit, target: Die) -> Iterator[Die]:
    same = unit is target.unit
    for at, abbrev in unit.select(_CODE):
        if all(a != c.AT_ABSTRACT_ORIGIN for a, _, _ in abbrev.attributes):
            continue
        die = unit.die(at)
        form, value = die.attributes[c.AT_ABSTRACT_ORIGIN]
        if form in c.UNIT_REFS:
            if same and value == target.at:
                yield die
        elif (origin := die.ref(c.AT_ABSTRACT_ORIGIN)) is not None and origin.key == target.key:
            yield die


# --- by name ----------------------------------------------------------------------------------------------------------


def _units(finder: Finder, name: str) -> Iterator[Unit]:
    """Units in which a function of that name is defined, as far as that can be told. Methods of C++ are named where
    their class declares them: for such names all units that mention one are likely."""
    dwarf, last = finder.dwarf, name.rpartition("::")[2]
    seen: set[int] = set()
    found = False
    for start in _likely(dwarf, last):
        found = True
        yield from _once(dwarf, start, seen)
    shared = dwarf.companions.shared()
    if shared is not None:
        others: set[int] = set()
        for start in _likely(shared, last):
            yield from _once(shared, start, others)
    if not found or last != name:
        for start in mentions(dwarf, last):
            yield from _once(dwarf, start, seen)


def _once(dwarf: DwarfFile, start: int, seen: set[int]) -> Iterator[Unit]:
    """The unit there, if it was not seen yet and is not damaged."""
    if start not in seen:
        seen.add(start)
        try:
            yield dwarf.full(dwarf.unit(start))
        except DwarfError:
            return


def _likely(dwarf: DwarfFile, name: str) -> Iterator[int]:
    info, raw = dwarf.section(".debug_info"), name.encode("utf-8", "surrogateescape") + b"\0"
    own, moved = needles(dwarf, raw), needles_of_shared(dwarf, raw)
    # where names are told by numbers (DW_FORM_strx), or entries are in other files, of some units at least
    elsewhere = dwarf.suffix or dwarf.section(".debug_str_offsets") is not None or split_starts(dwarf)
    if info is None or own is None or moved is None or elsewhere:
        yield from mentions(dwarf, name)
        return
    for forms, wanted in ((_OWN, own), (_MOVED, moved), (_HERE, [raw])):
        heads: dict[tuple[int, tuple[int, int, int]], list[tuple[int, bytes]]] = {}
        for needle in wanted:
            yield from _with_heads(dwarf, info, needle, forms, heads)


def _with_heads(
    dwarf: DwarfFile,
    info: Section,
    needle: bytes,
    forms: frozenset[int],
    heads: dict[tuple[int, tuple[int, int, int]], list[tuple[int, bytes]]],
) -> Iterator[int]:
    """Units where a name stands and the beginning of a function's entry before it. ``heads``: those known, by table of
    abbreviations."""
    starts = dwarf.starts()
    for at in info.find(needle):
        i = bisect_right(starts, at)
        try:
            unit = dwarf.unit(starts[i - 1]) if i else None
            if unit is None or unit.format.offset != 4:
                continue
            key = (unit.abbrev_at, unit.format.key)
            if key not in heads:
                heads[key] = list(_heads(unit, forms))
        except DwarfError:
            continue
        before = info.read(max(at - 16, 0), min(at, 16))
        if any(before[len(before) - back :][: len(code)] == code for back, code in heads[key]):
            yield unit.offset


def _heads(unit: Unit, forms: frozenset[int]) -> Iterator[tuple[int, bytes]]:
    """(bytes from the beginning of an entry to its name, code at its beginning) of functions that are defined; (0, no
    code) where that is told nowhere, as of what clang puts behind places: then any entry may be one."""
    for abbrev in unit.abbrevs.all().values():
        if abbrev.tag != c.TAG_SUBPROGRAM or any(a == c.AT_DECLARATION for a, _, _ in abbrev.attributes):
            continue
        code = _uleb(abbrev.code)
        for back in _before_names(unit, abbrev, forms):
            near = 0 <= back <= 16 - len(code)
            yield (back + len(code), code) if near else (0, b"")


def _before_names(unit: Unit, abbrev: Abbrev, forms: frozenset[int]) -> Iterator[int]:
    """Bytes before each of the names; -1 if their number varies."""
    at = 0
    for attribute, kind, _ in abbrev.attributes:
        if attribute in _NAMES and kind in forms:
            yield at
        size = unit.format.size(kind)
        at = at + size if size is not None and size >= 0 and at >= 0 else -1


def _uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def _in_unit(unit: Unit, name: str) -> Iterator[Die]:
    for at, abbrev in unit.select(_FUNCTIONS):
        attributes = {a for a, _, _ in abbrev.attributes}
        if c.AT_DECLARATION in attributes or not attributes & {*_NAMES, c.AT_SPECIFICATION}:
            continue
        die = unit.die(at)
        if name in names_of(die):
            yield die


def names_of(die: Die) -> set[str]:
    """What a function is called: its name, with the namespaces around it, and as symbol tables have it."""
    out: set[str] = set()
    for d in die.lineage():
        for attribute in _NAMES:
            if d.has(attribute):
                text = d.text(attribute)
                out.add(text)
                if attribute == c.AT_NAME and (scope := d.unit.scope_of(d.at)):
                    out.add(scope + text)
    return out
