"""Addresses to functions and source lines, through the calls that the compiler inlined.

    address -> unit -> its line table                         where the instruction itself comes from
                    -> its functions by range -> entries of inlined calls around the address, outermost first

    main            [0x1000, 0x1100)                   main  prog.c:40  <- where the outer call stands (AT_call_line)
      inlined outer [0x1010, 0x1040)   for 0x1020:     outer prog.c:31  <- where the inner call stands
        inlined inner [0x1018, 0x1028)                 inner prog.c:12  <- the row of the line table

What is read of a file are the units that addresses lie in; of a unit once its line program and its functions with code,
of a function once the calls inside it. Measured for a kernel of 590 MB: 15 ms for the first address of a unit, 10 us
for another one of the same function, 0.3 us for one asked before; at most 250 MB of memory, 64 of them of the file
(more where sections are compressed: such are unpacked whole). Source: DWARF 5, 3.3.8.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import CONTAINERS, Finder, nests
from probescope.debuginfo.dwarf_lines import Lines
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_rows import LineTable
from probescope.debuginfo.dwarf_unit import Unit, skip
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.leb128 import uleb
from probescope.errors import DwarfError, ElfError

MAX_CALLS = 1 << 16
"""Inlined calls of one function that are looked at."""
MAX_SPANS = 1 << 18
"""Ranges of all of them together, and of the functions of a unit."""
MAX_DEPTH = 512
MAX_KEPT_ROWS = 1 << 21
"""Rows of line tables that are kept, 16 bytes each; the units asked for longest ago are forgotten first."""
MAX_KEPT_UNITS = 1 << 12
MAX_KEPT_ANSWERS = 1 << 16
_FUNCTION = frozenset({c.TAG_SUBPROGRAM})
_CODE = frozenset({c.AT_LOW_PC, c.AT_RANGES})


class SourceFrame(NamedTuple):
    """``function``: as symbol tables have it, maybe mangled; empty where no function is told (assembler). ``file`` as
    far as the line table tells it, "" if unknown; ``line`` and ``column`` from 1, 0 if unknown. ``inlined``: it has no
    frame of its own, the next one called it."""

    function: str
    file: str
    line: int
    column: int
    inlined: bool


class Inlines:
    """Of one object file; addresses are virtual ones of that file. What is damaged is as good as absent: nothing is
    raised."""

    def __init__(self, dwarf: DwarfFile, finder: Finder | None = None) -> None:
        self.dwarf = dwarf
        self._finder = finder or Finder(dwarf)
        self._lines = Lines(dwarf)
        self._units: OrderedDict[Unit, _UnitCode] = OrderedDict()
        self._rows = 0
        self._answers: dict[int, tuple[SourceFrame, ...]] = {}
        self._names: dict[int, tuple[SourceFrame, ...]] = {}

    def frames(self, address: int, *, lines: bool = True) -> tuple[SourceFrame, ...]:
        """Innermost first; the last one is not inlined. Empty where nothing is known of the address. Without ``lines``
        functions alone: tables of lines, which cost the most, are not read."""
        answers = self._answers if lines else self._names
        found = answers.get(address)
        if found is None:
            try:
                code = self._code(address, lines=lines)
                found = code.frames(address, lines=lines) if code is not None else ()
            except DwarfError:
                found = ()
            if len(answers) >= MAX_KEPT_ANSWERS:
                answers.clear()
            answers[address] = found
        return found

    def many(self, addresses: Iterable[int]) -> dict[int, tuple[SourceFrame, ...]]:
        """Of each address, in ascending order: so each unit is read once, however many there are."""
        return {a: self.frames(a) for a in sorted(set(addresses))}

    def _code(self, address: int, *, lines: bool) -> _UnitCode | None:
        unit = self._finder.unit(address)
        if unit is None:
            return None
        found = self._units.get(unit)
        if found is None:
            found = self._units[unit] = _UnitCode(unit)
        else:
            self._units.move_to_end(unit)
        if lines and not found.lined:
            found.read_lines(self._lines)
            self._rows += found.rows
        while (self._rows > MAX_KEPT_ROWS or len(self._units) > MAX_KEPT_UNITS) and len(self._units) > 1:
            _, old = self._units.popitem(last=False)
            self._rows -= old.rows
        return found


def open_inlines(path: str, root: str = "", elf: ElfFile | None = None) -> Inlines | None:
    """Of a binary or its separate debug file; ``None`` where there is no debug information, or none that can be read.
    ``path`` as inside ``root``; ``elf``: the binary, where it is open already."""
    try:
        dwarf = open_dwarf(Binary(path, root, elf=elf))
    except (ElfError, DwarfError):
        return None
    return Inlines(dwarf) if dwarf is not None else None


class _UnitCode:
    """The line table and the functions of a unit. Where one of them is damaged, the other still answers."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._table: LineTable | None = None
        self._functions = _Functions(unit)
        self.lined = False

    def read_lines(self, lines: Lines) -> None:
        self.lined = True
        try:
            program = lines.of_unit(self._unit)
            if program is not None:
                self._table = LineTable(program, (self._unit.skeleton or self._unit).root.text(c.AT_COMP_DIR))
        except DwarfError:
            pass

    @property
    def rows(self) -> int:
        return len(self._table) if self._table is not None else 0

    def frames(self, address: int, *, lines: bool) -> tuple[SourceFrame, ...]:
        table = self._table if lines else None
        file, line, column = (table.at(address) if table is not None else None) or ("", 0, 0)
        function = self._functions.at(address)
        if function is None:
            return (SourceFrame("", file, line, column, False),) if file else ()
        out: list[SourceFrame] = []
        for call in reversed(function.calls_at(address)):
            out.append(SourceFrame(call.name, file, line, column, True))
            file, line, column = self._path(call.file) if lines else "", call.line, call.column
        out.append(SourceFrame(function.name, file, line, column, False))
        return tuple(out)

    def _path(self, file: int) -> str:
        return self._table.path(file) if self._table is not None else ""


class _Functions:
    """Those of a unit by address: first those outside of any other, then, if asked for what they do not cover, all."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._by_range: dict[bool, list[tuple[int, int, int]]] = {}
        self._made: dict[int, _Function] = {}

    def at(self, address: int) -> _Function | None:
        for inner in (True,) if nests(self._unit) else (False, True):
            found = self._search(inner, address)
            if found is not None:
                if found not in self._made:
                    self._made[found] = _Function(self._unit.die(found))
                return self._made[found]
        return None

    def _search(self, inner: bool, address: int) -> int | None:
        if inner not in self._by_range:
            self._by_range[inner] = sorted(self._ranges(inner))
        ranges = self._by_range[inner]
        i = bisect_right(ranges, (address, 1 << 65, 0)) - 1
        return ranges[i][2] if i >= 0 and ranges[i][0] <= address < ranges[i][1] else None

    def _ranges(self, inner: bool) -> Iterator[tuple[int, int, int]]:
        """(begin, end, position) of all that has code; begin 0 is code that the linker left out."""
        spans = 0
        for at, abbrev in self._unit.select(_FUNCTION, None if inner else CONTAINERS):
            if not any(a in _CODE for a, _, _ in abbrev.attributes):
                continue
            try:
                found = dwarf_ranges.of(self._unit.die(at))
            except DwarfError:
                continue
            yield from ((low, high, at) for low, high in found if low)
            spans += len(found)
            if spans > MAX_SPANS:
                return


class _Function:
    """``calls``: the inlined ones in the order of their entries, each before those inside it."""

    def __init__(self, die: Die) -> None:
        self._die = die
        self.name = name_of(die)
        self._calls: list[_Call] | None = None

    def calls_at(self, address: int) -> list[_Call]:
        """Those around an address, outermost first."""
        if self._calls is None:
            self._calls = _calls(self._die)
        calls, out = self._calls, []
        i, end = 0, len(calls)
        while i < end:
            call = calls[i]
            if any(low <= address < high for low, high in call.ranges):
                out.append(call)
                i, end = i + 1, call.behind
            else:
                i = call.behind
        return out


class _Call:
    """``behind``: number of the first call that is not inside it. ``file``: its number in the line table."""

    __slots__ = ("_die", "_name", "behind", "column", "file", "line", "ranges")

    def __init__(self, die: Die) -> None:
        self._die: Die | None = die
        self._name = ""
        self.ranges = dwarf_ranges.of(die)
        self.behind = 0
        self.file, self.line, self.column = (
            die.uint(a) or 0 for a in (c.AT_CALL_FILE, c.AT_CALL_LINE, c.AT_CALL_COLUMN)
        )

    @property
    def name(self) -> str:
        if self._die is not None:
            self._name, self._die = name_of(self._die), None
        return self._name


def _calls(function: Die) -> list[_Call]:
    """One walk over what is below the entry of a function; functions inside of it are others."""
    try:
        return _walk(function.unit, function)
    except (IndexError, DwarfError):
        return []


def _walk(unit: Unit, function: Die) -> list[_Call]:
    data, get, limit = unit.data, unit.abbrevs.get, unit.size
    calls: list[_Call] = []
    open_calls: list[_Call | None] = []  # of each level below the function: the call that it belongs to
    at = function.end if function.abbrev.children else limit
    spans = 0
    open_calls.append(None)
    while at < limit and open_calls:
        start = at
        code, at = uleb(data, at)
        if not code:
            closed = open_calls.pop()
            if closed is not None:
                closed.behind = len(calls)
            continue
        abbrev = get(code)
        if abbrev.tag == c.TAG_SUBPROGRAM:
            at = unit.behind(start)
            continue
        call = _Call(unit.die(start)) if abbrev.tag == c.TAG_INLINED else None
        at = at + abbrev.fixed if abbrev.fixed >= 0 else skip(abbrev, data, at)
        if call is not None:
            calls.append(call)
            call.behind = len(calls)
            spans += len(call.ranges)
        if abbrev.children:
            open_calls.append(call)
        if len(calls) > MAX_CALLS or len(open_calls) > MAX_DEPTH or spans > MAX_SPANS:
            break
    for call in open_calls:
        if call is not None:
            call.behind = len(calls)
    return calls


def name_of(die: Die) -> str:
    """The name that symbol tables have: of C++ the mangled one. Empty if it is told nowhere, or damaged."""
    try:
        for d in die.lineage():
            for attribute in (c.AT_LINKAGE_NAME, c.AT_MIPS_LINKAGE_NAME, c.AT_NAME):
                if d.has(attribute):
                    return d.text(attribute)
    except DwarfError:
        pass
    return ""
