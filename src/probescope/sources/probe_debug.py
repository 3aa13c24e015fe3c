"""Probe definitions by debug information: places to addresses, variables to registers and memory.

The same for programs and for the kernel; what differs (how a place is written, where static memory is) is told by a
``Target``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_expr as ex
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_die import Die, plain
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_find import Finder, entry_of
from probescope.debuginfo.dwarf_lines import ends_with
from probescope.debuginfo.dwarf_nesting import below
from probescope.debuginfo.dwarf_params import signature
from probescope.debuginfo.dwarf_places import CodeLine, Functions, SourceLines, Spot
from probescope.debuginfo.dwarf_scope import Scopes, Variable, line_of
from probescope.debuginfo.dwarf_types import DwarfTypes, Names
from probescope.debuginfo.values.captures import Captures
from probescope.errors import ProbeError
from probescope.kernel.process_memory import read_process
from probescope.model.arch import Arch
from probescope.model.capture import Capture, Pieces
from probescope.model.fetch import Deref, Fetch, Immediate, Register, Sum
from probescope.model.probe_def import Place
from probescope.model.types import VOID
from probescope.sources import probe_floats
from probescope.sources.probe_args import CannotFetch, Value

NOT_HERE = "has no place at this instruction: the compiler does not keep it there"
OPTIMISED_OUT = "was optimised out: the compiler kept it nowhere"
NOT_ONE = "is not in one register or in one place of memory"

_LABELS, _BLOCKS = frozenset({c.TAG_LABEL}), frozenset({c.TAG_LEXICAL_BLOCK})


class Target(Protocol):
    """What owns the debug information."""

    @property
    def arch(self) -> Arch: ...

    @property
    def label(self) -> str:
        """How messages call it."""
        ...

    def static(self, address: int, near: int) -> Fetch:
        """Static memory, for a probe at ``near``."""
        ...

    def symbol_addresses(self, name: str) -> list[int]: ...

    def cfa(self, address: int) -> ex.Near | None: ...

    def preamble(self, address: int) -> int:
        """Bytes at the beginning of a function that change nothing: endbr64, the call of __fentry__."""
        ...


class DebugPlaces:
    """Raises ``DwarfError`` where it is damaged."""

    def __init__(
        self, dwarf: DwarfFile, target: Target, names: Names | None = None, binary: Binary | None = None
    ) -> None:
        self.target = target
        self.most = 0  # places of one definition; 0: as many as there are
        self.finder = Finder(dwarf)
        self.lines = SourceLines(dwarf, self.finder)
        self.functions = Functions(self.lines, target.symbol_addresses)
        self.types = DwarfTypes(self.finder, names)
        self.captures = Captures(self.types, binary, read_process)
        self.scopes = Scopes(self.finder, target.arch, target.cfa, target.preamble)

    # --- places -------------------------------------------------------------------------------------------------------

    def spots(
        self, place: Place, *, inlined: bool = True, skip: bool = False, texts: SourceTexts | None = None
    ) -> list[Spot]:
        """Where a definition points to. Raises ``ProbeError`` with what there is instead."""
        if place.address is not None:
            return [self._spot(place.address)]
        if not place.function:
            return self._in_file(place, texts)
        if place.line is None and not place.label and not place.lazy:
            return self._entries(place, inlined=inlined, skip=skip)
        dies = self.functions.named(place.function, place.file)
        return self.inside(place, dies, texts) if dies else []

    def inside(self, place: Place, dies: list[Die], texts: SourceTexts | None) -> list[Spot]:
        """A line, a label or a pattern in functions. Raises ``ProbeError`` if none has it."""
        if place.line is not None:
            return self._at_lines(place, dies)
        if place.label:
            return list(self._labels(place, dies))
        return list(self._lazy(place, dies, texts))

    def _entries(self, place: Place, *, inlined: bool, skip: bool) -> list[Spot]:
        out: list[Spot] = []
        plain = skip and not place.offset and not place.ret
        for n, die in enumerate(self.functions.each(place.function, place.file)):
            if self.most and n > self.most and not out:
                return []  # what a header defines, and nobody has code of
            for spot, copy in self.functions.entries(die, inlined=inlined and not place.ret, skip=plain):
                at = spot.address + place.offset
                out.append(spot._replace(address=at, owner=self.scopes.begin(copy, at)))
            if self.most and len(out) > self.most and len(_once(out)) > self.most:
                hints = [f"--max-probes {8 * self.most} takes more; FUNCTION@FILE those of one file", "--no-inlines"]
                raise ProbeError(
                    f"'{place}' stands for more than {self.most} places: it is inlined in many", hints=hints
                )
        return _once(out)

    def _spot(self, address: int, row: CodeLine | None = None) -> Spot:
        """``row``: the line that the address is of."""
        chain = self.scopes.around(address)
        owner = self._owner(chain, row)
        if not chain:
            return Spot(address, "", address, line=row.line if row is not None else 0)
        die = chain[owner]
        line = row.line if row is not None else 0
        return Spot(address, die.full_name(), entry_of(die) or address, die.tag == c.TAG_INLINED, line, owner)

    def _owner(self, chain: tuple[Die, ...], row: CodeLine | None) -> int:
        """The function that a line is written in: of those around, which may be inlined from other files, the one that
        begins last before it in the same file. Without a line the innermost one."""
        functions = [i for i, d in enumerate(chain) if d.tag in (c.TAG_SUBPROGRAM, c.TAG_INLINED)]
        if row is not None:
            same = [i for i in functions if self.lines.path_of(chain[i]) == row.path]
            before = [i for i in same if 0 < line_of(chain[i]) <= row.line]
            if before:
                return max(before, key=lambda i: (line_of(chain[i]), i))
        return max(functions, default=-1)

    def _at_lines(self, place: Place, dies: list[Die]) -> list[Spot]:
        out: list[Spot] = []
        for die in dies:
            line, file = line_of(die) + (place.line or 0), self.lines.path_of(die)
            found = self.functions.at_line([die.unit], file, {line})
            out += [self._spot(row.address, row)._replace(name=die.full_name()) for row in found]
        if not out:
            raise self._no_code(place, dies)
        return _once(out)

    def _no_code(self, place: Place, dies: list[Die]) -> ProbeError:
        die, wanted = dies[0], place.line or 0
        first, file = line_of(die), self.lines.path_of(die)
        known = sorted({r.line - first for i in self.code_of(die) for r in self.lines.of_function(i) if r.path == file})
        after, before = [n for n in known if n > wanted][:1], [n for n in known if n < wanted][-1:]
        hints = [f"line {n} has code: {place.function}:{n}" for n in (*before, *after)]
        return ProbeError(f"there is no code at line {wanted} of {place.function}", hints=hints)

    def code_of(self, die: Die) -> list[Die]:
        """The entries of a function's own code, or of all inlined copies if it has none."""
        from probescope.debuginfo.dwarf_named import instances

        found = instances(self.finder, die)
        own = [i.die for i in found if not i.inlined]
        return own or [i.die for i in found]

    def _in_file(self, place: Place, texts: SourceTexts | None) -> list[Spot]:
        units = list(self.lines.units_of(place.file))
        if not units:
            raise ProbeError(f"no code of {self.target.label} comes from a file {place.file}")
        paths = sorted({p for u in units for p in self.lines.paths(u) if ends_with(p, place.file)})
        if len(paths) > 1:
            raise ProbeError(f"{place.file} may be any of {', '.join(paths[:6])}", hints=["write more of the path"])
        if place.lazy:
            rows = list(self.functions.at_line(units, paths[0], _matching(place, paths, texts)))
            if not rows:
                raise ProbeError(f"no line of {place.file} with code matches '{place.lazy}'")
            return _once([self._spot(r.address, r) for r in rows])
        found = list(self.functions.at_line(units, place.file, {place.line or 0}))
        if not found:
            known = sorted({r.line for u in units for r in self.lines.rows(u) if ends_with(r.path, place.file)})
            near = [n for n in known if n > (place.line or 0)][:1], [n for n in known if n < (place.line or 0)][-1:]
            hints = [f"line {n} has code: {place.file}:{n}" for n in (*near[1], *near[0])]
            raise ProbeError(f"there is no code at line {place.line} of {place.file}", hints=hints)
        return _once([self._spot(r.address, r) for r in found])

    def _labels(self, place: Place, dies: list[Die]) -> Iterator[Spot]:
        known: list[str] = []
        found = False
        for die in dies:
            for code in self.code_of(die):
                for label in below(code, _LABELS, _BLOCKS):
                    name, address = label.full_name(), label.address(c.AT_LOW_PC)
                    known.append(name)
                    if name == place.label and address:
                        found = True
                        yield Spot(address, die.full_name(), entry_of(code) or address, line=line_of(label))
        if not found:
            hints = [f"it has {', '.join(dict.fromkeys(known))}"] if known else ["it has no labels that are known"]
            raise ProbeError(f"{place.function} has no label {place.label} with code", hints=hints)

    def _lazy(self, place: Place, dies: list[Die], texts: SourceTexts | None) -> Iterator[Spot]:
        found = False
        for die in dies:
            file = self.lines.path_of(die)
            wanted = _matching(place, [file], texts)
            for code in self.code_of(die):
                for row in self.lines.of_function(code):
                    if row.path == file and row.line in wanted:
                        found = True
                        yield self._spot(row.address, row)._replace(name=die.full_name())
        if not found:
            raise ProbeError(f"no line of {place.function} with code matches '{place.lazy}'")

    def described(self, address: int) -> str:
        """``work@src/work.c`` where it is entered, ``work:5@src/work.c`` at a line; empty where nothing is known."""
        chain = self.scopes.around(address)
        if not chain:
            return ""
        function, entry = chain[0], entry_of(chain[0]) or 0
        name, path = function.full_name(), self.lines.path_of(function)
        if address == entry:
            return f"{name}@{path}"
        rows = (r for r in self.lines.rows(function.unit) if r.address == address and r.path == path)
        row = next((r for r in rows if self.lines.shown(r, function.unit)), None)
        where = f"{name}:{row.line - line_of(function)}" if row is not None else f"{name}+{address - entry}"
        return f"{where}@{path}"

    # --- variables ----------------------------------------------------------------------------------------------------

    def variable(self, name: str, address: int, owner: int = -1) -> Value:
        """The value of a variable at an instruction, those of the function ``Spot.owner`` first. Raises
        ``CannotFetch``."""
        found = [v for v in self.scopes.variables(address, owner) if v.name == name]
        same = [v for v in found if v.scope.key == found[0].scope.key or _origin(v) == _origin(found[0])]
        for v in same:  # of other functions around only where this one has none of that name
            if self.scopes.place(v, address) is not None:
                return self.value_of(v, address)
        if found:
            return self.value_of(found[0], address)
        static = self.scopes.global_variable(name, address)
        if static is None:
            raise self._unknown(name, address)
        return self.value_of(static, address)

    def names_at(self, kind: str, address: int, owner: int = -1) -> list[str]:
        """What ``$vars`` or ``$params`` stand for. Parameters are those of the function alone, not of what is inlined
        in it."""
        found = self.scopes.own_variables(address, owner)
        if kind == "vars":
            return [v.name for v in found]
        own = self.scopes.function_at(address, owner)
        return [v.name for v in found if v.is_parameter and own is not None and v.scope.key == own.key]

    def _unknown(self, name: str, address: int) -> CannotFetch:
        from probescope.diagnostics import nearest

        names = list(dict.fromkeys(v.name for v in self.scopes.variables(address)))
        die = self.scopes.function(address)
        where = die.full_name() if die is not None else "this place"
        hints = [f"did you mean {n}?" for n in nearest(name, names)]
        hints = hints or ([f"there are {', '.join(names[:16])}"] if names else ["it has no variables"])
        return CannotFetch(f"{where} has no variable {name}", *hints, *self.finder.dwarf.lost())

    def value_of(self, v: Variable, address: int) -> Value:
        self.types.near = v.die.unit
        kind = v.die.type()
        t = self.types.type_of(kind) if kind is not None else VOID
        return Value(self._passed(v, address) or self._fetch(v, address), t, die=plain(kind))

    def _passed(self, v: Variable, address: int) -> Fetch | None:
        """Of a parameter that is said to be in the function's own frame, where that is not there yet: compilers name
        one place for the whole of a small function. It is where the calling convention has it."""
        chain, place = self.scopes.around(address), self.scopes.place(v, address)
        if not (v.is_parameter and chain and v.scope.key == chain[0].key and entry_of(chain[0]) == address):
            return None
        arch = self.target.arch
        own = isinstance(place, ex.Near) and place.register == arch.sp and place.offset < arch.stack_args
        if not own and not (isinstance(place, ex.Pieces) and any(not isinstance(p, ex.Held) for p, _ in place.parts)):
            return None
        found = next((p for p in signature(chain[0], self.types, arch).parameters if p.name == v.name), None)
        return probe_floats.fetched(found.where) if found is not None else None

    def returned(self, address: int) -> Value | None:
        """What the function returns that has the address; ``None`` where that is not known. Raises ``CannotFetch``."""
        function = self.scopes.function(address)
        return probe_floats.returned(function, self.types, self.target.arch) if function is not None else None

    def capture(self, value: Value) -> Capture | None:
        """How all of a value is had. Raises ``DwarfError``."""
        return self.captures.of(value.type, value.die, value.x)

    def _fetch(self, v: Variable, address: int) -> Fetch:
        place = self.scopes.place(v, address)
        match place:
            case ex.Held(name=name) if name:
                return Register(name)
            case ex.Near(register=register, offset=offset) if register:
                return Deref(Register(register), offset)
            case ex.Behind(register=register, offset=offset, inner=inner) if register:
                return Deref(Deref(Register(register), offset), inner)
            case ex.Sum(register=register, offset=offset) if register:
                return Sum(Register(register), offset)
            case ex.Loaded(register=register, offset=offset, plus=plus) if register:
                return Sum(Deref(Register(register), offset), plus)
            case ex.Fixed(value=value):
                return Immediate(value)
            case ex.Static(address=at):
                return self.target.static(at, address)
            case ex.Pieces(parts=parts) if all(isinstance(p, ex.Held) and p.name for p, _ in parts):
                return Pieces(tuple((Register(p.name), n) for p, n in parts if isinstance(p, ex.Held)))
            case _:
                how = [probe_floats.HOW] if isinstance(place, ex.Held) else []
                raise CannotFetch(f"{v.name} {self._lost(v, address, place)}", *(self._instead(v) or how))

    def _lost(self, v: Variable, address: int, place: ex.Place | None) -> str:
        if isinstance(place, ex.Held):
            return f"is {probe_floats.WHY}"
        if place is not None:
            return NOT_ONE
        expression = self.scopes.expression(v.die, address)
        if expression is None:
            return OPTIMISED_OUT
        return "is calculated from values that only the running program has" if expression else NOT_HERE

    def _readable(self, v: Variable, address: int) -> bool:
        place = self.scopes.place(v, address)
        return place is not None and not (isinstance(place, ex.Held) and not place.name)

    def _instead(self, v: Variable) -> list[str]:
        """Where in the function it can be had."""
        from probescope.debuginfo.dwarf_ranges import locations

        if v.die.block(c.AT_LOCATION) is not None or not v.die.has(c.AT_LOCATION):
            return []
        scope = self.scopes.around(next(iter(r[0] for r in locations(v.die, c.AT_LOCATION)), 0))
        function = scope[0] if scope else None
        if function is None:
            return []
        name, entry = function.full_name(), entry_of(function) or 0
        for low, high, _ in locations(v.die, c.AT_LOCATION):
            for row in self.lines.rows(function.unit):
                if low <= row.address < high and self._readable(v, row.address):
                    return [f"it is known at {name}+{row.address - entry} (line {row.line})"]
        return []


def _origin(v: Variable) -> tuple[int, str, int]:
    """Which variable of the source it is."""
    return list(v.die.lineage())[-1].key


def _once(spots: list[Spot]) -> list[Spot]:
    seen: dict[int, Spot] = {}
    for s in spots:
        seen.setdefault(s.address, s)
    return list(seen.values())


SourceTexts = Callable[[str], list[str]]
"""Lines of a source file by the path that debug information has. Raises ``ProbeError`` where it cannot be read."""


def _matching(place: Place, paths: list[str], texts: SourceTexts | None) -> set[int]:
    """Numbers of lines whose text matches a pattern, blanks left out of both."""
    from fnmatch import translate
    from re import compile as pattern

    if texts is None or not paths:
        raise ProbeError("patterns need the source code")
    accepts = pattern(translate("".join(place.lazy.split()))).match
    return {i for i, line in enumerate(texts(paths[0]), 1) if accepts("".join(line.split()))}
