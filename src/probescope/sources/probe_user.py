"""Probe definitions in programs and libraries, with and without debug information."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from probescope.debuginfo import dwarf_expr as ex
from probescope.debuginfo.binary import Binary, FunctionSite
from probescope.debuginfo.dwarf_cfa import Frames
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_open import open_dwarf
from probescope.debuginfo.dwarf_places import Spot
from probescope.debuginfo.go_program import open_go
from probescope.debuginfo.locate import stranger
from probescope.errors import DwarfError, ElfError, ProbeError, ScriptError
from probescope.frozen import replace
from probescope.model.arch import Arch
from probescope.model.fetch import Absolute, Deref, Fetch, FetchArg, FetchType, Immediate, Register
from probescope.model.probe_def import ArgDef, Place, ProbeDef
from probescope.model.probe_found import FoundArg, FoundProbe
from probescope.model.site import Constant, Field, Reg, RegMem
from probescope.sources import elf_places, probe_copies, probe_cpp, probe_inside
from probescope.sources.context import ResolveContext
from probescope.sources.elf_places import open_binary
from probescope.sources.globs import is_glob
from probescope.sources.probe_args import CannotFetch, Value
from probescope.sources.probe_debug import DebugPlaces, SourceTexts
from probescope.sources.probe_go import GoPlaces
from probescope.sources.probe_resolve import Surroundings, arguments
from probescope.sources.uprobe import inlined_hints

HOW = "install its debug symbols, or build it with -g"


class ProgramTarget:
    """A binary as ``probe_debug.Target``. ``inlined``: whether copies in other functions count."""

    def __init__(
        self,
        path: str,
        ctx: ResolveContext,
        *,
        inlined: bool = True,
        texts: SourceTexts | None = None,
        fetch: Callable[[str], str] | None = None,
    ) -> None:
        self.binary: Binary = open_binary(path, ctx)
        self.ctx, self.arch, self.inlined, self.texts = ctx, ctx.arch, inlined, texts
        self.label = path
        self._fetch = fetch
        self.reason = f"{path} has no debug information"
        self._frames: Frames | None = None
        self._debug: DebugPlaces | None = None
        self._looked = self._go_looked = False
        self._go: GoPlaces | None = None

    @property
    def go(self) -> GoPlaces | None:
        """Of a program that Go made."""
        if not self._go_looked:
            self._go_looked = True
            found = open_go(self.binary.elf)
            self._go = GoPlaces(found, self.binary, self.arch) if found is not None else None
        return self._go

    @property
    def debug(self) -> DebugPlaces | None:
        """``None`` without debug information, for the ``reason``."""
        if not self._looked:
            self._looked = True
            self._debug = self._opened()
        return self._debug

    def _opened(self) -> DebugPlaces | None:
        try:
            dwarf = open_dwarf(self.binary) or self._fetched()
            if dwarf is None and (why := stranger(self.binary)):
                self.reason += f" of its own: {why}"
        except (DwarfError, ElfError) as e:
            self.reason = f"the debug information of {self.label} is damaged: {e}"
            return None
        return DebugPlaces(dwarf, self, binary=self.binary) if dwarf is not None else None

    def _fetched(self) -> DwarfFile | None:
        path = self._fetch(self.binary.elf.build_id()) if self._fetch is not None else ""
        return open_dwarf(Binary(path)) if path else None

    # --- what debug information asks ----------------------------------------------------------------------------------

    def static(self, address: int, near: int) -> Fetch:
        """A place of the file: the kernel counts it from where the code of the probe is mapped."""
        shift = near - elf_places.offset_of(self.binary, near)
        return Absolute(address - shift, in_file=True)

    def symbol_addresses(self, name: str) -> list[int]:
        found = [f.address for f in elf_places.definitions(self.binary, name)]
        if self.binary.elf.symtab() is None and self.binary.debug is not None:
            local = self.binary.debug.symbols().find_all(name)
            found += [s.address for s in local if s.is_defined and s.is_function and s.address not in found]
        if not found:
            found = [f.address for f in self.binary.demangled(name)]
        return found

    def cfa(self, address: int) -> ex.Near | None:
        if self._frames is None:
            self._frames = Frames(self.binary.elf, self.binary.debug, self.arch, self._start_of)
        return self._frames.cfa(address)

    def preamble(self, address: int) -> int:
        try:
            code = self.binary.elf.read_vaddr(address, len(elf_places.ENDBR64))
        except ElfError:
            return 0
        return len(code) if code == elf_places.ENDBR64 else 0

    def _start_of(self, address: int) -> int | None:
        offset = self.binary.elf.to_offset(address)
        found = self.binary.function_at(offset) if offset is not None else None
        return found[0].address if found is not None else None

    # --- definitions --------------------------------------------------------------------------------------------------

    def resolve(self, d: ProbeDef) -> list[FoundProbe]:
        """Raises ``ProbeError`` or ``ScriptError``."""
        if d.place.sdt:
            return self._usdt(d)
        if self.go is not None:
            d = replace(d, place=self.go.place(d.place))
        wants = any((not a.every and _has_variables(a)) or a.every for a in d.args)
        if self._is_glob(d.place.function):
            return at_each(self._placed(d, self._globbed(d)), lambda s: replace(self._at(d, s), base=s.name))
        spots = self._placed(d, self._spots(d, wants))
        several = probe_cpp.overloads(d.place.function, spots, self.binary)
        try:
            found = at_each(spots, lambda s: self._at(d, s))
        except ScriptError as e:
            raise probe_cpp.hinted(e, d.place.function, several) from None
        return probe_cpp.told(found, d.place.function, several)

    def _is_glob(self, name: str) -> bool:
        """Unless it is a name: ``main.(*T).Run`` of Go, ``ns::f(char*)``, ``ns::T::operator*`` of C++."""
        if not is_glob(name) or (self.go is not None and self.go.is_name(name)):
            return False
        if probe_cpp.is_operator(name):
            return False
        return not (any(c in name for c in "(<{") and self.binary.demangled(name))

    def _placed(self, d: ProbeDef, spots: list[Spot]) -> list[Spot]:
        return self.go.spots(d.place, spots) if self.go is not None else spots

    def _globbed(self, d: ProbeDef) -> list[Spot]:
        matching = self.binary.functions(d.place.function) or probe_cpp.matching(d.place.function, self.binary)
        functions = [f for f in matching if elf_places.is_code(self.binary, f.address)]
        copies = self._copies(d.place)
        if not functions and not copies:
            raise ProbeError(f"no function of {self.label} matches '{d.place.function}'")
        out: dict[int, Spot] = {}
        if functions and probe_inside.is_deep(d.place):
            try:
                out = {s.address: s for s in self._inside(d.place, functions)}
            except ProbeError:
                if not copies:
                    raise
        elif functions:
            copies = [*(Spot(f.address + d.place.offset, f.name, f.address) for f in functions), *copies]
        for s in copies:
            out.setdefault(s.address, s)
        return list(out.values())

    def _copies(self, place: Place) -> list[Spot]:
        """Of functions that are inlined. Go tells itself what is."""
        if not self.inlined or self.debug is None or self.go is not None:
            return []
        try:
            return probe_copies.spots(self.debug, place, self.texts)
        except DwarfError as e:
            raise ProbeError(f"the debug information of {self.label} is damaged: {e}") from e

    def _spots(self, d: ProbeDef, wants: bool) -> list[Spot]:
        place = d.place
        if self.go is not None and place.line is not None:
            try:
                return self.go.at_line(place)  # debug information of Go does not tell where functions are declared
            except ProbeError:  # debug information tells lines of the file: where a function begins it does not know
                if self.debug is None or self.go.is_name(place.function):
                    raise
        if self.debug is not None:
            try:
                spots = self.debug.spots(place, inlined=self.inlined, skip=wants and self.go is None, texts=self.texts)
            except DwarfError as e:
                raise ProbeError(f"the debug information of {self.label} is damaged: {e}") from e
            if spots:
                return spots
        if place.address is not None:
            return [self._by_address(place.address)]
        found = self._symbols(place.function)
        if not found and (self.debug is not None or not probe_inside.is_deep(place)):
            raise self._unknown(place.function)
        if probe_inside.is_deep(place):
            return self._inside(place, found)
        return [Spot(f.address + place.offset, f.name, f.address) for f in found]

    def _inside(self, place: Place, functions: list[FunctionSite]) -> list[Spot]:
        if self.debug is None:
            raise ProbeError(f"{self.reason}: there are no lines", hints=[HOW])
        try:
            return probe_inside.spots(self.debug, place, [(f.name, f.address) for f in functions], self.texts)
        except DwarfError as e:
            raise ProbeError(f"the debug information of {self.label} is damaged: {e}") from e

    def _symbols(self, name: str) -> list[FunctionSite]:
        found = elf_places.definitions(self.binary, name)
        if not found:  # of C++ and Rust: a name without what is around it, or without parameters
            found = self.binary.demangled(name)
        return [f for f in found if elf_places.is_code(self.binary, f.address)]

    def _by_address(self, address: int) -> Spot:
        offset = elf_places.offset_of(self.binary, address)
        found = self.binary.function_at(offset)
        return Spot(address, found[0].name, found[0].address) if found else Spot(address, "", address)

    def _unknown(self, name: str) -> ProbeError:
        symbols = self.binary.elf.symbols()
        if any(not s.is_defined for s in symbols.find_all(name)):
            hints = [f"it calls that function in a library: {', '.join(self.binary.elf.needed()[:6])}"]
            return ProbeError(f"{self.label} does not define {name}", hints=hints)
        if any(s.is_defined for s in symbols.find_all(name)):
            return ProbeError(f"{name} in {self.label} is data, not a function")
        hints = inlined_hints(name, self.binary, self.label) or probe_cpp.elsewhere(name, self.binary)
        hints = hints or self.binary.suggestions(name)
        hints += self.debug.finder.dwarf.lost() if self.debug is not None else []
        return ProbeError(f"there is no function {name} in {self.label}", hints=hints)

    def _at(self, d: ProbeDef, spot: Spot) -> FoundProbe:
        where = f"{spot.name}+{spot.address - spot.entry}" if spot.name else f"{spot.address:#x}"
        notes: list[str] = []
        symbol = self._by_address(spot.address)
        start = spot.entry if spot.inlined or not symbol.name else symbol.entry
        if spot.address != start and (not spot.inlined or d.place.address is not None):
            if spot.inlined and symbol.name:
                start, where = symbol.entry, f"{symbol.name}+{spot.address - symbol.entry}"
            if d.place.ret and d.place.address is not None and spot.address - start > self.preamble(start):
                hints = ["the kernel would change a word of its stack that is no return address"]
                raise ProbeError(
                    f"{where} is inside of a function: only where it is entered can %return be", hints=hints
                )
            note = elf_places.check_boundary(self.binary, start, spot.address, where)
            notes += [note] if note else []
        if elf_places.cost(self.binary, spot.address) == "refused":
            raise ProbeError(f"the kernel takes no probe on the instruction at {where}")
        offset = elf_places.offset_of(self.binary, spot.address)
        path, offset = self.binary.elf.in_file(offset)
        if self.go is not None:
            d = self.go.asked(d, spot, self.debug)
        args, lost = arguments(d, self._around(d, spot))
        if not d.args and d.place.function == probe_cpp.THROW and spot.address == symbol.entry and not d.place.ret:
            args = (probe_cpp.thrown(self.binary, self.arch),)
        name = spot.name or symbol.name
        return FoundProbe(
            path, "", offset, d.place.ret and not spot.returns, args, name, spot.address - spot.entry, spot.address,
            line=spot.line, inlined=spot.inlined, lost=lost, notes=tuple(notes), returns=spot.returns,
            base=self._event_base(d, spot),
        )  # fmt: skip

    def _event_base(self, d: ProbeDef, spot: Spot) -> str:
        """Of names of Go, where everything has dots."""
        f = self.go.function(spot.address) if self.go is not None and not spot.inlined else None
        return re.sub(r"\W+", "_", f.name).strip("_") if f is not None else ""

    def _around(self, d: ProbeDef, spot: Spot) -> Surroundings:
        debug, at = self.debug, spot.address
        go = self.go if self.go is not None and self.go.function(at) is not None else None

        def variable(name: str) -> Value:
            found = go.value(name, spot, debug) if go is not None else None
            if found is not None:
                return found
            if name.startswith("$"):
                raise CannotFetch(f"{self.label} is no program of Go: it has no goroutines")
            if debug is None:
                raise CannotFetch(f"{self.reason}: {name} is not known", f"$arg1 to $arg6 are its arguments; {HOW}")
            return debug.variable(name, at, spot.owner)

        def every(kind: str) -> Iterable[str]:
            if debug is None:
                raise ProbeError(f"{self.reason}: its variables are not known", hints=[f"$arg1 to $arg6; {HOW}"])
            if go is not None and kind == "params":
                return go.names(kind, spot, debug)
            return debug.names_at(kind, at, spot.owner)

        def static(name: str) -> Fetch:
            found = self.binary.elf.symbols().find(name)
            if found is None:
                raise CannotFetch(f"{self.label} has no symbol {name}")
            return self.static(found.address, at)

        table = debug.types if debug is not None else None
        entered = at == spot.entry and not spot.inlined
        capture = debug.capture if debug is not None else None
        arch = go.arch if go is not None else self.arch
        entered = entered or (go is not None and go.is_entry(spot))
        ret = d.place.ret and not spot.returns
        result = (lambda: debug.returned(spot.entry)) if debug is not None and go is None else None
        return Surroundings(arch, variable, table, entered, ret, every, static, capture, result)

    def function_names(self) -> list[str]:
        return sorted({f.name for f in self.binary.functions() if elf_places.is_code(self.binary, f.address)})

    # --- USDT ---------------------------------------------------------------------------------------------------------

    def _usdt(self, d: ProbeDef) -> list[FoundProbe]:
        from probescope.debuginfo import usdt

        place = d.place
        probes = usdt.read(self.binary.elf)
        wanted = [p for p in probes if p.name == place.sdt and place.provider in ("", p.provider)]
        if not wanted:
            names = sorted({f"%sdt_{p.provider}:{p.name}" for p in probes})
            hints = [f"it has {', '.join(names[:8])}"] if names else ["it has none at all"]
            raise ProbeError(f"{self.label} has no USDT probe {place}", hints=hints)
        out = []
        for p in wanted:
            own = tuple(_operand(f, n) if f is not None else None for n, f in enumerate(p.args, 1))
            around = replace(self._around(d, Spot(p.address, "", p.address)), entry=False, operands=own)
            args, lost = arguments(d, around)
            _, offset = self.binary.elf.in_file(p.pc)
            counter = self.binary.elf.in_file(p.semaphore)[1] if p.semaphore else 0
            out.append(
                FoundProbe(
                    self.label,
                    "",
                    offset,
                    False,
                    args or (() if d.args else tuple(a for a in own if a)),
                    p.name,
                    address=p.address,
                    ref_ctr=counter,
                    lost=lost,
                    base=p.name,
                )
            )
        return out


def at_each(spots: list[Spot], find: Callable[[Spot], FoundProbe]) -> list[FoundProbe]:
    """At every place. Of several (overloads, inlined copies) those that lack what is asked for are left out, and told.
    Raises what the first one does where none is left."""
    out: list[FoundProbe] = []
    problems: list[ScriptError] = []
    for spot in spots:
        try:
            out.append(find(spot))
        except ScriptError as e:
            problems.append(e)
    if problems and not out:
        raise problems[0]
    lost = tuple(f"left out at one of {len(spots)} places: {e.diagnostics[0].message}" for e in problems)
    return [replace(f, lost=(*f.lost, *lost)) if not i else f for i, f in enumerate(out)]


def _operand(f: Field, number: int) -> FoundArg | None:
    """An argument of a USDT probe, as its note tells."""
    name = f"arg{number}"
    match f.where:
        case Reg(name=register, size=size, signed=signed):
            return FoundArg(FetchArg(name, Register(register), FetchType("s" if signed else "u", 8 * size)), f.type)
        case RegMem(reg=reg, offset=offset, size=size, signed=signed, index="") if reg:
            return FoundArg(FetchArg(name, Deref(Register(reg), offset), FetchType("s" if signed else "u", 8 * size)))
        case Constant(value=value):
            return FoundArg(FetchArg(name, Immediate(value), FetchType("s" if value < 0 else "u", 64)), f.type)
        case _:
            return None


def _has_variables(a: ArgDef) -> bool:
    from probescope.model.probe_def import Var

    x = a.x
    while x is not None and not isinstance(x, Var):
        x = getattr(x, "x", None)
    return x is not None


__all__ = ["Arch", "ProgramTarget"]
