"""Probe definitions in Go programs: entries that fire once a call, returns without return probes, arguments and
results by Go's own convention, goroutines."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from probescope.debuginfo import go_abi
from probescope.debuginfo.dwarf_lines import ends_with
from probescope.debuginfo.dwarf_places import Spot
from probescope.debuginfo.go_program import GoProgram
from probescope.debuginfo.gopclntab import GoFunction
from probescope.errors import DwarfError, ElfError, ProbeError
from probescope.frozen import replace
from probescope.model.arch import Arch
from probescope.model.fetch import Deref, Known, Register
from probescope.model.probe_def import ArgDef, Place, ProbeDef, Var
from probescope.model.types import I64
from probescope.sources import go_code
from probescope.sources.probe_args import CannotFetch, Value

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary
    from probescope.sources.probe_debug import DebugPlaces

GOID, RESULT = "$goid", "$retval"
IN_FLOAT = "is in a floating-point register, which probes cannot read"


class GoPlaces:
    def __init__(self, program: GoProgram, binary: Binary, arch: Arch) -> None:
        self.program, self._binary = program, binary
        self.arch = go_abi.go_arch(arch, program.registers)
        self._values: dict[int, tuple[list[go_abi.GoValue], list[go_abi.GoValue]]] = {}

    def function(self, address: int) -> GoFunction | None:
        """``None`` for code that Go did not compile."""
        return self.program.table.at(address)

    def _code(self, f: GoFunction) -> bytes:
        try:
            return self._binary.elf.read_vaddr(f.address, min(f.size, go_code.MAX_CODE))
        except ElfError:
            return b""

    # --- places -------------------------------------------------------------------------------------------------------

    def spots(self, place: Place, spots: list[Spot]) -> list[Spot]:
        """Entries behind the check of the stack; for a return, where the function returns. Raises ``ProbeError``."""
        out: list[Spot] = []
        for s in spots:
            f = self.function(s.address) if not s.inlined else None
            if f is None or place.line is not None or place.offset or place.label or place.lazy:
                out.append(s)
            elif place.ret:
                out += [s._replace(address=f.address + at, entry=f.address, returns=True) for at in self._returns(f)]
            elif place.address is None:
                out.append(s._replace(address=self._behind(f, f.address), entry=f.address))
            else:
                out.append(s)
        return out

    def place(self, place: Place) -> Place:
        """``main.work:5`` looks like a line of a file; it is one of a function, if there is one of that name."""
        if not place.function and place.file and self.is_name(place.file):
            return replace(place, function=place.file, file="")
        if place.function and place.file:
            return self._of_file(place)
        return place

    def _of_file(self, place: Place) -> Place:
        """``main.work@work.go`` without the file, which debug information of Go does not tell. Raises ``ProbeError``
        if the function is in another one. Where a function is entered its own file is told, also if its first line is a
        call that was inlined: the compiler leaves a mark of the caller's line before such code. What is inlined further
        on comes from other files, which are not where the function is."""
        known = [f for f in self.program.table.functions if f.name == place.function]
        files = sorted({file for f in known for _, file, _ in islice(self.program.table.lines(f), 1)})
        if known and not any(ends_with(file, place.file) for file in files):
            hints = [f"it is in {', '.join(files[:4])}"] if files else []
            raise ProbeError(f"{place.function} is not in {place.file}", hints=hints)
        return replace(place, file="") if known else place

    def is_name(self, name: str) -> bool:
        return any(f.name == name for f in self.program.table.functions)

    def at_line(self, place: Place) -> list[Spot]:
        """By the runtime's own table: where code of a line begins, once in each function. Raises ``ProbeError``."""
        table, wanted = self.program.table, place.line or 0
        out: list[Spot] = []
        near: set[int] = set()
        for f in table.functions:
            if place.function:
                if f.name != place.function:
                    continue
            elif not any(ends_with(file, place.file) for file in table.files(f)):
                continue
            pieces = list(table.lines(f))
            own = pieces[0][1] if place.function and pieces else ""  # lines of what is inlined count in other files
            rows = [(a, n) for a, file, n in pieces if (file == own if own else ends_with(file, place.file))]
            first = rows[0][1] if place.function and rows else 0
            line = wanted + first
            near.update(n - first for _, n in rows)
            out += [Spot(self._behind(f, a), f.name, f.address, line=line) for a, n in rows if n == line][:1]
        if out:
            return out
        around = [n for n in sorted(near) if n < wanted][-1:] + [n for n in sorted(near) if n > wanted][:1]
        hints = [f"line {n} has code: {place.function or place.file}:{n}" for n in around]
        raise ProbeError(f"there is no code at line {wanted} of {place.function or place.file}", hints=hints)

    def _behind(self, f: GoFunction, address: int) -> int:
        return f.address + go_code.behind_check(self._code(f)) if address == f.address else address

    def _returns(self, f: GoFunction) -> list[int]:
        found = go_code.returns(self._code(f))
        if found is None:
            raise ProbeError(f"the code of {f.name} cannot be followed: where it returns is not known")
        if not found:
            raise ProbeError(f"{f.name} never returns", hints=["it ends in a panic, a jump, or runs for ever"])
        if len(found) > go_code.MAX_RETURNS:
            raise ProbeError(f"{f.name} returns at {len(found)} places, more than {go_code.MAX_RETURNS}")
        return found

    # --- values -------------------------------------------------------------------------------------------------------

    def is_entry(self, spot: Spot) -> bool:
        f = self.function(spot.address)
        return f is not None and spot.address <= f.address + go_code.behind_check(self._code(f))

    def _known(self, entry: int, debug: DebugPlaces | None) -> tuple[list[go_abi.GoValue], list[go_abi.GoValue]]:
        if entry not in self._values:
            die = debug.finder.function(entry) if debug is not None else None
            found: tuple[list[go_abi.GoValue], list[go_abi.GoValue]] = [], []
            if die is not None and debug is not None:
                with suppress(DwarfError):
                    found = go_abi.values(die, debug.captures.vtypes, self.arch, self.program.registers)
            self._values[entry] = found
        return self._values[entry]

    def value(self, name: str, spot: Spot, debug: DebugPlaces | None) -> Value | None:
        """Of a parameter at an entry, a result at a return, a goroutine's number. ``None``: debug information is to be
        asked. Raises ``CannotFetch``."""
        if name == GOID:
            return self._goid(debug)
        given, results = self._known(spot.entry, debug)
        if spot.returns:
            return self._result(name, results, debug)
        if not self.is_entry(spot):
            return None
        found = next((v for v in given if v.name == name), None)
        return self._as_value(found, debug) if found is not None and debug is not None else None

    def _result(self, name: str, results: list[go_abi.GoValue], debug: DebugPlaces | None) -> Value:
        if name == RESULT and (debug is None or not results):
            if debug is not None:
                raise CannotFetch("this function returns nothing")
            if not self.program.registers:
                raise CannotFetch("what it returns is on the stack, and nothing tells where")
            return Value(Register(go_abi.INTEGERS[0]), None)
        found = next((v for v in results if name in (RESULT, v.name, v.name.lstrip("~"))), None)
        if found is None or debug is None:
            raise CannotFetch(
                f"{name} is gone when the function returns",
                "$retval is what it returns; a probe at its entry has the parameters",
            )
        return self._as_value(found, debug)

    def _as_value(self, v: go_abi.GoValue, debug: DebugPlaces) -> Value:
        if v.x is None:
            raise CannotFetch(f"{v.name} {IN_FLOAT}")
        return Value(v.x, debug.types.type_of(v.die), die=v.type.die)

    def _goid(self, debug: DebugPlaces | None) -> Value:
        at = self.program.goid(debug.types if debug is not None else None)
        if at is None or not self.program.registers or self.arch.name != "x86_64":
            raise CannotFetch("where the number of a goroutine is, is not known for this program")
        return Value(Deref(Register(go_abi.G), at), I64)

    def names(self, kind: str, spot: Spot, debug: DebugPlaces | None) -> list[str]:
        """What ``$params`` stand for; results are none of them."""
        given, results = self._known(spot.entry, debug)
        return [v.name for v in (results if spot.returns else given) if v.name and v.x is not None]

    def asked(self, d: ProbeDef, spot: Spot, debug: DebugPlaces | None) -> ProbeDef:
        """With ``$retval`` as all the results that there are."""
        if not spot.returns:
            return d
        results = self._known(spot.entry, debug)[1]
        args: list[ArgDef] = []
        for a in d.args:
            if not (isinstance(a.x, Known) and a.x.kind == "retval"):
                args.append(a)
            elif len(results) < 2 or a.type is not None:
                args.append(replace(a, x=Var(RESULT, span=a.x.span)))
            else:
                start = a.name or "retval"
                names = [
                    (v.name, v.name if not v.name.startswith("~") else f"{start}{i}") for i, v in enumerate(results)
                ]
                args += [replace(a, name=shown, x=Var(n, span=a.x.span)) for n, shown in names]
        return replace(d, args=tuple(args))
