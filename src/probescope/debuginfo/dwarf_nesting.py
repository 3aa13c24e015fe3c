"""What lies in what: names of namespaces and classes around an entry, and all entries of some kinds below one.

Each is one way through the bytes of a unit, however deep entries are nested: damaged ones hold each other in thousands.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_unit import Unit, skip
from probescope.debuginfo.leb128 import uleb

MAX_TEXT = 1 << 12
"""Characters of the names of all that is around an entry."""
MAX_SCOPES = 256
"""Namespaces and classes in each other."""
_SCOPES = frozenset({c.TAG_NAMESPACE, c.TAG_MODULE, *c.STRUCTS})


class Scoped:
    """Of one unit. Raises ``DwarfError``."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._scopes = _scopes(unit)
        self._texts: dict[int, str] = {}

    def around(self, at: int) -> str:
        """``ns::Class::``"""
        i = bisect_left(self._scopes, (at,)) - 1
        while i >= 0 and at >= self._scopes[i][1]:
            i = self._scopes[i][2]
        return self._text(i)

    def _text(self, i: int) -> str:
        """Names of a scope and of those around it, put together when they are asked for."""
        todo: list[int] = []
        while i >= 0 and i not in self._texts:
            todo.append(i)
            i = self._scopes[i][2]
        text = self._texts.get(i, "")
        for inner in reversed(todo):
            name = self._unit.die(self._scopes[inner][0]).name
            text = self._texts[inner] = f"{text}{name}::"[-MAX_TEXT:] if name else text
        return text


def _scopes(unit: Unit) -> list[tuple[int, int, int]]:
    """(begin, end, which one is around it), by begin."""
    if unit.root.uint(c.AT_LANGUAGE) in c.C_LANGUAGES or not unit.root.abbrev.children:
        return []
    try:
        return _walk(unit)
    except IndexError:
        raise unit.error("an entry is cut") from None


def _walk(unit: Unit) -> list[tuple[int, int, int]]:
    """What is no scope, or nested deeper than anybody writes it, is passed at once."""
    data, get, at, limit = unit.data, unit.abbrevs.get, unit.root.end, unit.size
    out: list[tuple[int, int, int]] = []
    around: list[int] = []
    while at < limit:
        code, start = uleb(data, at)
        abbrev = get(code) if code else None
        if abbrev is None:
            if not around:
                break
            begin, _, outer = out[around[-1]]
            out[around.pop()] = (begin, at, outer)
            at = start
        elif abbrev.children and abbrev.tag in _SCOPES and len(around) < MAX_SCOPES:
            out.append((at, limit, around[-1] if around else -1))
            around.append(len(out) - 1)
            at = skip(abbrev, data, start)
        else:
            at = unit.behind(at)
    return out


def below(die: Die, wanted: frozenset[int], into: frozenset[int]) -> Iterator[Die]:
    """Entries of ``wanted`` tags below one, each before those below it; looking into those of ``into``. Raises
    ``DwarfError``."""
    unit = die.unit
    data, get, at, depth = unit.data, unit.abbrevs.get, die.end, int(die.abbrev.children)
    while depth and at < unit.size:
        start = at
        try:
            code, at = uleb(data, start)
            abbrev = get(code) if code else None
            if abbrev is None:
                depth -= 1
            elif abbrev.tag in into:
                at = skip(abbrev, data, at)
                depth += abbrev.children
            else:
                at = unit.behind(start)
        except IndexError:
            raise unit.error("an entry is cut", start) from None
        if abbrev is not None and abbrev.tag in wanted:
            yield Die(unit, start, data)
