"""What surrounds an address: the function, blocks and inlined calls in it; their variables, and where each one is.

main                  [0x1000, 0x1100)      argc  DW_OP_reg5 until 0x1010, then DW_OP_fbreg -20
  block               [0x1020, 0x1080)      i     DW_OP_reg3
    inlined helper    [0x1030, 0x1050)      x     DW_OP_reg5
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_expr as ex
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.dwarf_constants import of_variable
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_find import CONTAINERS, Finder, entry_of
from probescope.debuginfo.dwarf_unit import Unit
from probescope.errors import DwarfError
from probescope.model.arch import Arch

MAX_DEPTH = 256
MAX_VARIABLES = 4096
_BLOCKS = (c.TAG_LEXICAL_BLOCK, c.TAG_INLINED, c.TAG_SUBPROGRAM)
_VARIABLES = (c.TAG_PARAM, c.TAG_VARIABLE)
_FUNCTION = frozenset({c.TAG_SUBPROGRAM})
_CODE = (c.TAG_SUBPROGRAM, c.TAG_INLINED)
_GLOBALS = frozenset({c.TAG_VARIABLE})


class Variable(NamedTuple):
    """``scope``: the entry that it belongs to."""

    name: str
    die: Die
    scope: Die

    @property
    def is_parameter(self) -> bool:
        return self.die.tag == c.TAG_PARAM


class Scopes:
    """Of one file. ``cfa``: where the canonical frame address of an instruction is, ``None`` if nobody knows.
    ``preamble``: bytes of a function's first instructions that change nothing. Raises ``DwarfError``."""

    def __init__(
        self, finder: Finder, arch: Arch, cfa: Callable[[int], ex.Near | None], preamble: Callable[[int], int]
    ) -> None:
        self.finder, self.arch, self._cfa, self._preamble = finder, arch, cfa, preamble
        self._chains: dict[int, tuple[Die, ...]] = {}

    def around(self, address: int) -> tuple[Die, ...]:
        """The function that has an address, and the blocks and inlined calls in it that do, outermost first."""
        found = self._chains.get(address)
        if found is None:
            found = self._chains[address] = tuple(self._around(address))
        return found

    def _around(self, address: int) -> Iterator[Die]:
        unit = self.finder.unit(address)
        die = _function_in(unit, address) if unit is not None else None
        for _ in range(MAX_DEPTH):
            if die is None:
                return
            yield die
            die = next((d for d in die.children(*_BLOCKS) if _has(d, address)), None)

    def begin(self, copy: Die, address: int) -> int:
        """The place in ``around`` of a copy of a function that is entered at an address. Compilers may name an entry
        that is not among the ranges of the copy: then it is the innermost one there."""
        chain = self.around(address)
        found = next((i for i, d in enumerate(chain) if d.key == copy.key), -1)
        if found < 0:
            self._chains[address] = (*chain, copy)
            found = len(chain)
        return found

    def function(self, address: int) -> Die | None:
        """The innermost function of an address, which may be inlined."""
        chain = self.around(address)
        return next((d for d in reversed(chain) if d.tag in (c.TAG_SUBPROGRAM, c.TAG_INLINED)), None)

    def function_at(self, address: int, owner: int) -> Die | None:
        """The function at place ``owner`` of ``around``, -1: the innermost."""
        chain = self.around(address)
        return chain[_start(chain, owner)] if chain else None

    # --- variables ----------------------------------------------------------------------------------------------------

    def variables(self, address: int, owner: int = -1) -> Iterator[Variable]:
        """All that are in scope: first those of the function at place ``owner`` of ``around`` (-1: of the innermost),
        from its innermost block on; then those of what is inlined there, and those of its callers."""
        chain = self.around(address)
        start = _start(chain, owner)
        end = next((i for i in range(start + 1, len(chain)) if chain[i].tag in _CODE), len(chain))
        scopes = (*reversed(chain[start:end]), *reversed(chain[end:]), *reversed(chain[:start]))
        for count, v in enumerate(v for scope in scopes for v in _declared_in(scope)):
            if count > MAX_VARIABLES:
                return
            yield v

    def own_variables(self, address: int, owner: int = -1) -> Iterator[Variable]:
        """Those of the function at place ``owner``, and of what is inlined in it there; outermost block first."""
        chain = self.around(address)
        for scope in chain[_start(chain, owner) :]:
            yield from _declared_in(scope)

    def global_variable(self, name: str, address: int) -> Variable | None:
        """Of the unit that an address is in; else of any that defines one."""
        unit, last = self.finder.unit(address), name.rpartition("::")[2]
        seen: set[Unit] = set()
        for candidate in ((unit,) if unit is not None else ()), self.finder.units_with(last):
            for each in candidate:
                if each in seen:
                    continue
                seen.add(each)
                for die in globals_of(each):
                    if die.full_name() == last and die.has(c.AT_LOCATION) and _scoped(die, name):
                        return Variable(name, die, each.root)
                if len(seen) > 64:
                    return None
        return None

    def place(self, variable: Variable, address: int) -> ex.Place | None:
        """Where a variable is at an instruction; ``None`` where it is nowhere, or only the program knows."""
        die = variable.die
        for d in die.lineage():
            value = of_variable(d) if d.has(c.AT_CONST_VALUE) else None
            if value is not None:
                return ex.Fixed(value)
        expression = self.expression(die, address)
        return self._evaluate(expression, die.unit, address) if expression else None

    def expression(self, die: Die, address: int) -> bytes | None:
        """The location that holds at an instruction. ``None``: there is none at all; empty: none here."""
        if not die.has(c.AT_LOCATION):
            return None
        whole = die.block(c.AT_LOCATION)
        if whole is not None:
            return whole
        parts = dwarf_ranges.locations(die, c.AT_LOCATION)
        for low, high, part in parts:
            if low <= address < high:
                return part
        function = next(iter(self.around(address)), None)
        if function is None or entry_of(function) != address:
            return b""
        # compilers tell of parameters from behind the call of __fentry__, or the endbr64
        last = address + self._preamble(address)
        return next((part for low, _, part in parts if address < low <= last), b"")

    def _evaluate(self, expression: bytes, unit: Unit, address: int) -> ex.Place | None:
        function = next(iter(self.around(address)), None)
        entry = function is not None and entry_of(function) == address
        cfa = ex.Near(self.arch.sp, self.arch.stack_args) if entry else self._cfa(address)
        moment = ex.Moment(cfa, entry, lambda i: unit.dwarf.indexed_address(unit, i))
        frame = self._frame(function, moment, address) if function is not None else None
        return ex.evaluate(expression, self.arch, frame=frame, moment=moment)

    def _frame(self, function: Die, moment: ex.Moment, address: int) -> ex.Near | None:
        base = function.block(c.AT_FRAME_BASE)
        if base is None:
            found = [p for low, high, p in dwarf_ranges.locations(function, c.AT_FRAME_BASE) if low <= address < high]
            base = found[0] if found else b""
        place = ex.evaluate(base, self.arch, moment=moment)
        if isinstance(place, ex.Held) and place.name:
            return ex.Near(place.name, 0)
        return place if isinstance(place, ex.Near) else None


def _start(chain: tuple[Die, ...], owner: int) -> int:
    if 0 <= owner < len(chain):
        return owner
    return max((i for i, d in enumerate(chain) if d.tag in _CODE), default=0)


def _declared_in(scope: Die) -> Iterator[Variable]:
    for die in scope.children(*_VARIABLES):
        name = die.full_name()
        if name:
            yield Variable(name, die, scope)


def globals_of(unit: Unit) -> Iterator[Die]:
    """Variables of a unit outside of functions."""
    for at, abbrev in unit.select(_GLOBALS, CONTAINERS):
        if any(a in (c.AT_NAME, c.AT_SPECIFICATION) for a, _, _ in abbrev.attributes):
            yield unit.die(at)


def _scoped(die: Die, name: str) -> bool:
    """Whether a variable is called so, with as many of the namespaces and classes around it as are named."""
    home = die.ref(c.AT_SPECIFICATION) or die
    full = home.unit.scope_of(home.at) + home.full_name()
    return full == name or full.endswith(f"::{name}")


def _has(die: Die, address: int) -> bool:
    return any(low <= address < high for low, high in dwarf_ranges.of(die))


def _function_in(unit: Unit, address: int) -> Die | None:
    for at, abbrev in unit.select(_FUNCTION, None):
        if not any(a in (c.AT_LOW_PC, c.AT_RANGES) for a, _, _ in abbrev.attributes):
            continue
        try:
            die = unit.die(at)
            if _has(die, address):
                return die
        except DwarfError:
            continue
    return None


def file_of(die: Die, lines: Callable[[Unit], list[str]]) -> str:
    """Path of the file that declares something; ``lines`` gives the paths of a unit by number. Empty if unknown."""
    found = die.inherited(c.AT_DECL_FILE)
    if found is None:
        return ""
    paths = lines(found.unit)
    number = found.uint(c.AT_DECL_FILE) or 0
    return paths[number] if number < len(paths) else ""


def line_of(die: Die) -> int:
    """Line that declares something, 0 if unknown."""
    found = die.inherited(c.AT_DECL_LINE)
    return (found.uint(c.AT_DECL_LINE) or 0) if found is not None else 0
