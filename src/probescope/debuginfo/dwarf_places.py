"""Places of functions, lines, labels and patterns of source code, as addresses.

    main            its entry; of code without optimisation behind the setting up of its frame, if variables are wanted
    main:5          the fifth line from the one that declares it, wherever the compiler put code of it
    file.c:120      that line, in every unit that has it
    main;x=*        lines of the function whose text matches

What counts as code of a line is what debuggers stop at: rows of the line table that begin a statement, the entry of a
function for the line that declares it, the entry of an inlined call for the line where the call is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import CONTAINERS, Finder, entry_of, nests
from probescope.debuginfo.dwarf_lines import Lines, ends_with
from probescope.debuginfo.dwarf_named import abstract_of, definitions, instances, is_abstract
from probescope.debuginfo.dwarf_nesting import below
from probescope.debuginfo.dwarf_rows import run, unpacked
from probescope.debuginfo.dwarf_scope import line_of
from probescope.debuginfo.dwarf_unit import Unit
from probescope.errors import DwarfError

MAX_UNITS = 4096
_LEVEL = re.compile(r"(?<=\s)-O(\w?)(?=\s|$)")
SEARCHED = 1 << 25
"""Bytes of .debug_info that are searched for more functions of a name that symbol tables know already."""
_CODE = frozenset({c.TAG_SUBPROGRAM, c.TAG_INLINED})
_INLINED = frozenset({c.TAG_INLINED})
_INSIDE = frozenset({c.TAG_INLINED, c.TAG_LEXICAL_BLOCK})
"""What is part of a function: others that are defined in it are not."""


class Spot(NamedTuple):
    """``entry``: where the function (or its inlined copy) that has the address begins; ``name`` of it. ``owner``: whose
    variables come first, as a place among what is around the address; -1: the innermost function.
    ``returns``: the function returns by the instruction there."""

    address: int
    name: str
    entry: int
    inlined: bool = False
    line: int = 0
    owner: int = -1
    returns: bool = False


class CodeLine(NamedTuple):
    """Code at ``address`` comes from ``line`` of the file ``path``."""

    path: str
    line: int
    address: int


class SourceLines:
    """Code by line, of units, as they are asked for."""

    def __init__(self, dwarf: DwarfFile, finder: Finder) -> None:
        self.dwarf, self.finder, self._lines = dwarf, finder, Lines(dwarf)
        self._rows: dict[Unit, list[CodeLine]] = {}
        self._paths: dict[Unit, list[str]] = {}
        self._first: dict[Unit, dict[int, tuple[str, int]]] = {}

    def paths(self, unit: Unit) -> list[str]:
        """Of the unit's files, by their numbers."""
        found = self._paths.get(unit)
        if found is None:
            program = self._lines.of_unit(unit)
            folder = (unit.skeleton or unit).root.text(c.AT_COMP_DIR)
            count = len(program.files) if program is not None else 0
            found = [program.path(i, folder) for i in range(count)] if program is not None else []
            self._paths[unit] = found
        return found

    def path_of(self, die: Die, attribute: int = c.AT_DECL_FILE) -> str:
        """Of the file that declares something (or calls it)."""
        found = die.inherited(attribute)
        paths = self.paths(found.unit) if found is not None else []
        number = (found.uint(attribute) or 0) if found is not None else 0
        return paths[number] if number < len(paths) else ""

    def rows(self, unit: Unit) -> list[CodeLine]:
        """Statements of the line table, in its order."""
        found = self._rows.get(unit)
        if found is None:
            found = self._rows[unit] = list(self._read(unit))
        return found

    def _read(self, unit: Unit) -> Iterator[CodeLine]:
        program = self._lines.of_unit(unit)
        if program is None:
            return
        paths, table = self.paths(unit), run(program)
        for address, place in zip(table.addresses, table.places, strict=True):
            file, line, _ = unpacked(place)
            if place & 1 and address and line and file < len(paths):
                yield CodeLine(paths[file], line, address)

    def shown(self, row: CodeLine, unit: Unit) -> bool:
        """Whether the line is the one that people call the address by. Several lines may share one: of a function's
        entry it is the line that declares the function, else the first that the table has."""
        first = self._first.get(unit)
        if first is None:
            first = self._first[unit] = {}
            for r in self.rows(unit):
                first.setdefault(r.address, (r.path, r.line))
            for die in _code_dies(unit):
                entry = _entry(die) if die.tag == c.TAG_SUBPROGRAM else 0
                if entry:
                    first[entry] = (self.path_of(die), line_of(die))
        return first.get(row.address, (row.path, row.line)) == (row.path, row.line)

    def of_unit(self, unit: Unit) -> Iterator[CodeLine]:
        """All that a probe may mean by a line of the unit."""
        yield from self.rows(unit)
        for die in _code_dies(unit):
            yield from self._declared(die)

    def _declared(self, die: Die) -> Iterator[CodeLine]:
        entry = _entry(die)
        if not entry:
            return
        if die.tag == c.TAG_INLINED:
            yield CodeLine(self.path_of(die, c.AT_CALL_FILE), die.uint(c.AT_CALL_LINE) or 0, entry)
        else:
            yield CodeLine(self.path_of(die), line_of(die), entry)

    def of_function(self, function: Die) -> Iterator[CodeLine]:
        """Those of one function, without those of others that are inlined there."""
        inlined = list(below(function, _INLINED, _INSIDE))
        spans = [(dwarf_ranges.of(d), d) for d in inlined]
        own, decl, path = dwarf_ranges.of(function), line_of(function), self.path_of(function)
        for row in self.rows(function.unit):
            if not _in(own, row.address):
                continue
            inner = next((d for ranges, d in spans if _in(ranges, row.address)), None)
            if (
                inner is None
                or self._called_at(inner, row, path)
                or (line_of(inner) == decl and self.path_of(inner) == path)
            ):
                yield row
        for die in (function, *inlined):
            yield from self._declared(die)

    def _called_at(self, inner: Die, row: CodeLine, path: str) -> bool:
        return self.path_of(inner, c.AT_CALL_FILE) == path and inner.uint(c.AT_CALL_LINE) == row.line

    def units_of(self, file: str) -> Iterator[Unit]:
        """Units with code of a file."""
        wanted = set(self._lines.candidates(file.rpartition("/")[2]))
        for unit in self.dwarf.units():
            try:
                at = unit.root.uint(c.AT_STMT_LIST)
                if at in wanted:
                    yield self.dwarf.full(unit)
            except DwarfError:
                continue


def _code_dies(unit: Unit) -> Iterator[Die]:
    for at, abbrev in unit.select(_CODE):
        if any(a in (c.AT_LOW_PC, c.AT_RANGES, c.AT_ENTRY_PC) for a, _, _ in abbrev.attributes):
            yield unit.die(at)


def _entry(die: Die) -> int:
    at = die.address(c.AT_ENTRY_PC)
    return at if at is not None else entry_of(die) or 0


def _in(ranges: Iterable[tuple[int, int]], address: int) -> bool:
    return any(low <= address < high for low, high in ranges)


# --- functions --------------------------------------------------------------------------------------------------------


class Functions:
    """``symbols``: addresses of the functions that symbol tables know by a name."""

    def __init__(self, lines: SourceLines, symbols: Callable[[str], list[int]]) -> None:
        self.lines, self.finder, self._symbols = lines, lines.finder, symbols

    def named(self, name: str, file: str = "") -> list[Die]:
        """Definitions; of one that is inlined in places, the entry that all of these refer to. ``file``: which one."""
        return list(self.each(name, file))

    def each(self, name: str, file: str = "") -> Iterator[Die]:
        """The same as they are found: what a header defines has one in hundreds of units."""
        found: set[tuple[int, str, int]] = set()
        for candidate in self._candidates(name):
            abstract = abstract_of(candidate)
            die = abstract if is_abstract(abstract) else candidate
            if die.key not in found and (not file or ends_with(self.lines.path_of(die), file)):
                found.add(die.key)
                yield die

    def _candidates(self, name: str) -> Iterator[Die]:
        known = False
        for address in self._symbols(name):
            die = self.finder.function(address)
            if die is not None:
                known = True
                yield die
        info = self.finder.dwarf.section(".debug_info")
        if not known or (info is not None and info.size <= SEARCHED):
            yield from definitions(self.finder, name)

    def entries(self, die: Die, *, inlined: bool, skip: bool) -> Iterator[tuple[Spot, Die]]:
        """Where a function is entered, and the debug information's entry of each copy. ``skip``: behind the code that
        sets up its frame, if nothing says where variables are before that."""
        name = die.full_name()
        for i in instances(self.finder, die, inlined=inlined):
            at = i.address
            if skip and not i.inlined and not optimised(i.die):
                at = self._behind_prologue(i.die, at)
            yield Spot(at, name, i.address, i.inlined, line_of(die)), i.die

    def _behind_prologue(self, die: Die, entry: int) -> int:
        ranges = dwarf_ranges.of(die)
        rows = sorted({r.address for r in self.lines.rows(die.unit) if _in(ranges, r.address)})
        after = [a for a in rows if a > entry]
        return after[0] if after else entry

    def at_line(self, units: Iterable[Unit], file: str, lines: set[int]) -> Iterator[CodeLine]:
        """Code of lines of a file, each address once."""
        seen: set[int] = set()
        for unit in units:
            for row in self.lines.of_unit(unit):
                if row.line in lines and row.address not in seen and ends_with(row.path, file):
                    seen.add(row.address)
                    yield row


def optimised(function: Die) -> bool:
    """Whether places of variables are told by instruction, from the first one on. Compilers tell how they were called;
    where they do not, the places of parameters show it."""
    flags = _LEVEL.findall(function.unit.root.text(c.AT_PRODUCER))
    if flags:
        return str(flags[-1]) != "0"
    params = [p for p in function.children(c.TAG_PARAM) if p.has(c.AT_LOCATION)]
    return not any(p.block(c.AT_LOCATION) is not None for p in params)


def names(dwarf: DwarfFile, finder: Finder) -> Iterator[str]:
    """Names of all functions with code, of every unit: a walk over all debug information."""
    for unit in dwarf.units():
        try:
            yield from _names_in(dwarf.full(unit))
        except DwarfError:
            continue


def _names_in(unit: Unit) -> Iterator[str]:
    for at, abbrev in unit.select(frozenset({c.TAG_SUBPROGRAM}), None if nests(unit) else CONTAINERS):
        if any(a in (c.AT_LOW_PC, c.AT_RANGES) for a, _, _ in abbrev.attributes):
            yield unit.die(at).full_name()
