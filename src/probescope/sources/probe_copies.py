"""Functions that a glob means and that are inlined: debug information alone knows their names and where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_find import CONTAINERS, nests
from probescope.debuginfo.dwarf_lines import ends_with
from probescope.debuginfo.dwarf_named import names_of
from probescope.debuginfo.dwarf_places import SEARCHED, Spot
from probescope.errors import DwarfError, ProbeError
from probescope.frozen import replace
from probescope.sources.globs import matches
from probescope.sources.probe_inside import is_deep

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_die import Die
    from probescope.debuginfo.dwarf_unit import Unit
    from probescope.model.probe_def import Place
    from probescope.sources.probe_debug import DebugPlaces, SourceTexts

_FUNCTIONS = frozenset({c.TAG_SUBPROGRAM})


def spots(debug: DebugPlaces, place: Place, texts: SourceTexts | None) -> list[Spot]:
    """Where the copies are entered, or what ``place`` names in them. Raises ``DwarfError``. Nothing where debug
    information is so large that walking over all of its functions takes minutes: of the kernel and of browsers."""
    info = debug.finder.dwarf.section(".debug_info")
    if info is None or info.size > SEARCHED or place.ret:
        return []
    out: list[Spot] = []
    for die in _matching(debug, place):
        out += _inside(debug, place, die, texts) if is_deep(place) else _entries(debug, place, die)
    return out


def _matching(debug: DebugPlaces, place: Place) -> Iterator[Die]:
    for unit in debug.finder.dwarf.units():
        try:
            found = list(_inlined(debug.finder.dwarf.full(unit)))
        except DwarfError:
            continue
        for die in found:
            named = any(matches(place.function, name) for name in names_of(die))
            if named and (not place.file or ends_with(debug.lines.path_of(die), place.file)):
                yield die


def _inlined(unit: Unit) -> Iterator[Die]:
    """Entries that inlined copies refer to."""
    for at, abbrev in unit.select(_FUNCTIONS, None if nests(unit) else CONTAINERS):
        if any(a == c.AT_INLINE for a, _, _ in abbrev.attributes):
            yield unit.die(at)


def _entries(debug: DebugPlaces, place: Place, die: Die) -> Iterator[Spot]:
    for spot, copy in debug.functions.entries(die, inlined=True, skip=False):
        if spot.inlined:
            at = spot.address + place.offset
            yield spot._replace(address=at, owner=debug.scopes.begin(copy, at))


def _inside(debug: DebugPlaces, place: Place, die: Die, texts: SourceTexts | None) -> list[Spot]:
    name = die.full_name()
    if place.line is None and not place.label and not place.lazy:  # FUNCTION@FILE
        return list(_entries(debug, place, die))
    try:
        return [s._replace(name=name) for s in debug.inside(replace(place, function=name), [die], texts)]
    except ProbeError:  # it has no such line
        return []
