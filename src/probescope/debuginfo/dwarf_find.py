"""Finding in debug information without reading all of it: units by address, functions by address, types by name.

    address -> .debug_aranges -> unit            what that does not cover: the ranges of the units' root entries
    name    -> .debug_str, where it stands -> .debug_info, where that offset stands -> units -> their entries

A name is thus found by two searches for bytes, at the speed of memory, and by walking over the few units that they
lead to; no index is built and none is needed. Source of the layouts: DWARF 5, 6.1.2 (.debug_aranges).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_mentions import mentions
from probescope.debuginfo.dwarf_unit import Unit
from probescope.errors import DwarfError

MAX_RANGES = 1 << 22
CONTAINERS = frozenset({c.TAG_NAMESPACE, c.TAG_MODULE, *c.STRUCTS})
NAMED_TYPES = frozenset({c.TAG_TYPEDEF, c.TAG_ENUM, *c.STRUCTS})
_FUNCTION = frozenset({c.TAG_SUBPROGRAM})


class Finder:
    """What was found is remembered. Methods raise ``DwarfError``; one damaged unit does not hide the others."""

    def __init__(self, dwarf: DwarfFile) -> None:
        self.dwarf = dwarf
        self._ranges: list[tuple[int, int, int]] | None = None
        self._starts: list[int] = []
        self._rest: list[tuple[int, int, int]] | None = None
        self._functions: dict[tuple[Unit, bool], dict[int, int]] = {}
        self._types: dict[Unit, dict[str, list[int]]] = {}

    # --- by address ---------------------------------------------------------------------------------------------------

    def unit(self, address: int) -> Unit | None:
        """The unit (the full one, where it is split) whose code an address is in."""
        if self._ranges is None:
            self._ranges = sorted(_aranges(self.dwarf))
        found = _at(self._ranges, address)
        if found is None:
            found = _at(self._roots(), address)
        return self.dwarf.full(self.dwarf.unit(found)) if found is not None else None

    def _roots(self) -> list[tuple[int, int, int]]:
        """Ranges of the units that .debug_aranges does not know."""
        if self._rest is None:
            known = {start for _, _, start in self._ranges or ()}
            out: list[tuple[int, int, int]] = []
            for start in self.dwarf.starts():
                if start in known:
                    continue
                try:
                    root = self.dwarf.unit(start).root
                    if root.tag in (c.TAG_COMPILE_UNIT, c.TAG_SKELETON_UNIT):
                        out += [(low, high, start) for low, high in dwarf_ranges.of(root)]
                except DwarfError:
                    continue
                if len(out) > MAX_RANGES:
                    break
            self._rest = sorted(out)
        return self._rest

    def function(self, address: int) -> Die | None:
        """The function that is entered at an address."""
        unit = self.unit(address)
        if unit is None:
            return None
        at = self.functions(unit).get(address)
        if at is None:  # a method of a class that is local to a function
            at = self.functions(unit, inner=True).get(address)
        return unit.die(at) if at is not None else None

    def functions(self, unit: Unit, *, inner: bool = False) -> dict[int, int]:
        """Entry address -> position of the functions of a unit; with ``inner`` also of those inside of others."""
        inner = inner or nests(unit)
        found = self._functions.get((unit, inner))
        if found is None:
            found = self._functions[unit, inner] = {}
            for at, abbrev in unit.select(_FUNCTION, None if inner else CONTAINERS):
                if not any(a in (c.AT_LOW_PC, c.AT_RANGES) for a, _, _ in abbrev.attributes):
                    continue
                entry = entry_of(unit.die(at))
                if entry is not None:
                    found.setdefault(entry, at)
        return found

    # --- by name ------------------------------------------------------------------------------------------------------

    def types(self, name: str, near: Unit | None = None) -> Iterator[Die]:
        """Definitions of types of a name, without its keyword; with or without the namespaces that it is in. Those of
        ``near`` come first."""
        last = name.rpartition("::")[2] if "<" not in name else name
        seen: set[Unit] = set()
        for first in (() if near is None else (near,), self.units_with(last)):
            for unit in first:
                for part in self._with_types(unit):
                    if part not in seen:
                        seen.add(part)
                        yield from self._in_unit(part, name, last)

    def _with_types(self, unit: Unit) -> Iterator[Unit]:
        """A unit, and if it is alone in a file (.dwo) the type units beside it."""
        yield unit
        if unit.dwarf is not self.dwarf:
            yield from unit.dwarf.units(".debug_types")
            yield from unit.dwarf.units()

    def _in_unit(self, unit: Unit, name: str, last: str) -> Iterator[Die]:
        try:
            for at in self.type_names(unit).get(last, ()):
                die = unit.die(at)
                if not die.is_declaration and (name == last or unit.scope_of(at) + last == name):
                    yield die
        except DwarfError:
            return

    def type_names(self, unit: Unit) -> dict[str, list[int]]:
        """Name -> positions of the types of a unit."""
        found = self._types.get(unit)
        if found is None:
            found = self._types[unit] = {}
            for at, abbrev in unit.select(NAMED_TYPES, CONTAINERS):
                if any(a == c.AT_NAME for a, _, _ in abbrev.attributes):
                    found.setdefault(unit.die(at).name, []).append(at)
        return found

    def units_with(self, name: str) -> Iterator[Unit]:
        """Units that may hold a name, the likely ones first if that can be told."""
        yield from _mentioning(self.dwarf, name)
        yield from self.dwarf.units(".debug_types")
        shared = self.dwarf.companions.shared()
        if shared is not None:
            yield from _mentioning(shared, name)


def _mentioning(dwarf: DwarfFile, name: str) -> Iterator[Unit]:
    seen: set[int] = set()
    for start in mentions(dwarf, name):
        if start in seen:
            continue
        seen.add(start)
        try:
            yield dwarf.full(dwarf.unit(start))
        except DwarfError:
            continue


def entry_of(die: Die) -> int | None:
    """The address at which a function is entered; ``None`` if it has no code."""
    low = die.address(c.AT_LOW_PC)
    if low is not None:
        return low
    found = dwarf_ranges.of(die) if die.has(c.AT_RANGES) else []
    return found[0][0] if found else None


def nests(unit: Unit) -> bool:
    """Whether functions may be defined inside of others: anything but C and C++, whose lambdas are outside."""
    language = unit.root.uint(c.AT_LANGUAGE) or 0
    return language not in c.C_LANGUAGES and language not in c.CPP_LANGUAGES


def _at(ranges: list[tuple[int, int, int]], address: int) -> int | None:
    i = bisect_right(ranges, (address, 1 << 65, 0))
    if not i:
        return None
    low, high, start = ranges[i - 1]
    return start if low <= address < high else None


def _aranges(dwarf: DwarfFile) -> Iterator[tuple[int, int, int]]:
    return islice(_all_aranges(dwarf), MAX_RANGES)


def _all_aranges(dwarf: DwarfFile) -> Iterator[tuple[int, int, int]]:
    """(begin, end, offset of the unit) of .debug_aranges; nothing behind the first malformed set."""
    section = dwarf.section(".debug_aranges")
    if section is None:
        return
    little = "little" if section.little else "big"
    data = section.whole()
    at = 0
    while at + 12 <= len(data):
        width = 4
        length = int.from_bytes(data[at : at + 4], little)  # type: ignore[arg-type]
        start = at + 4
        if length == 0xFFFFFFFF:
            width, length, start = 8, int.from_bytes(data[at + 4 : at + 12], little), at + 12  # type: ignore[arg-type]
        end = start + length
        head = data[start : start + 2 + width + 2]
        if end > len(data) or len(head) < 4 + width or not length:
            return
        unit = int.from_bytes(head[2 : 2 + width], little)  # type: ignore[arg-type]
        size, segment = head[-2], head[-1]
        first = start + len(head)
        first += -(first - at) % (2 * size) if size else 0
        if size not in (4, 8) or segment:
            return
        yield from _pairs(data[first:end], size, section.little, unit)
        at = end


def _pairs(data: bytes, size: int, little: bool, unit: int) -> Iterator[tuple[int, int, int]]:
    import struct

    layout = struct.Struct(("<" if little else ">") + ("QQ" if size == 8 else "II"))
    for low, length in layout.iter_unpack(data[: len(data) // layout.size * layout.size]):
        if length:
            yield low, low + length, unit
