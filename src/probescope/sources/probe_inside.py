"""Lines, labels and patterns of functions that are known by their addresses: those that a glob names, and those whose
name only a symbol table has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from probescope.debuginfo.dwarf_lines import ends_with
from probescope.debuginfo.dwarf_named import abstract_of, is_abstract
from probescope.debuginfo.dwarf_places import Spot
from probescope.errors import ProbeError
from probescope.frozen import replace

if TYPE_CHECKING:
    from probescope.model.probe_def import Place
    from probescope.sources.probe_debug import DebugPlaces, SourceTexts


def is_deep(place: Place) -> bool:
    """Whether debug information alone can tell the place of a function."""
    return bool(place.line is not None or place.lazy or place.label or place.file)


def spots(
    debug: DebugPlaces, place: Place, functions: Iterable[tuple[str, int]], texts: SourceTexts | None
) -> list[Spot]:
    """Where ``place`` is in each of the functions (name, address); in some it may be missing. Raises ``ProbeError`` if
    it is in none, ``DwarfError``."""
    out: dict[int, Spot] = {}
    failed: list[ProbeError] = []
    for name, address in functions:
        try:
            for s in _inside(debug, replace(place, function=name), address, texts):
                out.setdefault(s.address, s._replace(name=name))
        except ProbeError as e:
            failed.append(e)
    if out:
        return list(out.values())
    if len(failed) == 1:
        raise failed[0]
    what = f"has no code at '{place}'" if failed else f"does not tell lines of {place.function}"
    raise ProbeError(f"the debug information of {debug.target.label} {what}")


def _inside(debug: DebugPlaces, place: Place, address: int, texts: SourceTexts | None) -> list[Spot]:
    die = debug.finder.function(address)
    if die is None:
        what = "it has no lines, and no file is known" if place.file else "it has no lines"
        raise ProbeError(f"the debug information of {debug.target.label} does not know {place.function}: {what}")
    abstract = abstract_of(die)
    die = abstract if is_abstract(abstract) else die
    path = debug.lines.path_of(die)
    if place.file and not ends_with(path, place.file):
        hints = [f"it is in {path}"] if path else []
        raise ProbeError(f"{place.function} of {debug.target.label} is not in {place.file}", hints=hints)
    if place.line is None and not place.label and not place.lazy:
        return [Spot(address + place.offset, place.function, address)]
    return debug.inside(place, [die], texts)
