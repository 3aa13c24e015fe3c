"""Debug information of the binaries that a program names: parameters of their functions, and their C and C++ types.

Nothing is read before it is asked for, and what is damaged or missing is told in the answers: a probe without it still
has its registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.debuginfo.binary import Binary, FunctionSite
from probescope.errors import DwarfError, ElfError, ProbeError
from probescope.model.types import Enum, Layout, Type
from probescope.sources.context import ResolveContext

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_find import Finder
    from probescope.debuginfo.dwarf_lines import Lines
    from probescope.debuginfo.dwarf_params import Signature
    from probescope.debuginfo.dwarf_types import DwarfTypes, Names

COPIES = (".isra.", ".constprop.", ".part.")
"""In names of functions that an optimiser copied and changed: they follow no calling convention."""
NONE = "the binary has no debug information"
HOW = "install its debug symbols, or build it with -g"


class Debug:
    """One binary's. ``reason``: why there is none, or why it ended early."""

    def __init__(self, binary: Binary, names: Names) -> None:
        from probescope.debuginfo.dwarf_find import Finder
        from probescope.debuginfo.dwarf_lines import Lines
        from probescope.debuginfo.dwarf_open import open_dwarf
        from probescope.debuginfo.dwarf_types import DwarfTypes
        from probescope.debuginfo.locate import stranger

        self.finder: Finder | None = None
        self.types: DwarfTypes | None = None
        self.lines: Lines | None = None
        self.reason = ""
        try:
            found = open_dwarf(binary)
        except (DwarfError, ElfError) as e:
            self.reason = f"its debug information is damaged: {e}"
            return
        if found is None:
            why = stranger(binary)
            self.reason = f"{NONE} of its own: {why}" if why else NONE
            return
        self.finder, self.lines = Finder(found), Lines(found)
        self.types = DwarfTypes(self.finder, names)

    def signature(self, f: FunctionSite, ctx: ResolveContext) -> Signature | None:
        """Of a function; ``None`` if nothing is known of it, for the ``reason``."""
        from probescope.debuginfo.dwarf_params import signature

        if self.finder is None or self.types is None:
            return None
        try:
            die = self.finder.function(f.address)
            if die is None:
                self.reason = self._without(f)
                return None
            convention = not any(c in f.name for c in COPIES)
            return signature(die, self.types, ctx.arch, convention=convention)
        except (DwarfError, ElfError, RecursionError) as e:
            self.reason = f"its debug information is damaged: {e}"
            return None

    def _without(self, f: FunctionSite) -> str:
        missing = self.finder.dwarf.missing if self.finder is not None else []
        if missing:
            return f"the split debug file {missing[0]} is not found"
        return f"its debug information does not know {f.name}"


class ProgramTypes:
    """A ``TypeTable`` over everything that was asked of binaries so far. ``kernel``: layouts that have their names
    already."""

    def __init__(self, kernel: Callable[[str], Layout | None] | None = None) -> None:
        self._kernel = kernel
        self._names: Names | None = None
        self._debug: dict[str, Debug] = {}

    def debug(self, binary: Binary) -> Debug:
        path = binary.elf.path
        if path not in self._debug:
            if self._names is None:
                from probescope.debuginfo.dwarf_types import Names

                self._names = Names(self._kernel)
            self._debug[path] = Debug(binary, self._names)
        return self._debug[path]

    def named_in(self, path: str, name: str, ctx: ResolveContext) -> Type | None:
        """What a name stands for in a binary; ``None`` if that does not know it, or cannot be read."""
        from probescope.sources.elf_places import open_binary

        try:
            types = self.debug(open_binary(path, ctx)).types
            return types.named(name) if types is not None else None
        except (DwarfError, ElfError, ProbeError, RecursionError):
            return None

    def enumerator_in(self, path: str, name: str, ctx: ResolveContext) -> tuple[Enum, int] | None:
        """A constant of an enumeration by the name that a binary gives it."""
        from probescope.sources.elf_places import open_binary

        try:
            types = self.debug(open_binary(path, ctx)).types
            return types.enumerator(name) if types is not None else None
        except (DwarfError, ElfError, ProbeError, RecursionError):
            return None

    # --- the TypeTable protocol ---------------------------------------------------------------------------------------

    def _tables(self) -> list[DwarfTypes]:
        return [d.types for d in self._debug.values() if d.types is not None]

    def layout(self, name: str) -> Layout | None:
        for table in self._tables():
            try:
                found = table.layout(name)
            except DwarfError:
                continue
            if found is not None:
                return found
        return None

    def named(self, name: str) -> Type | None:
        """Nothing: a name means something only in one binary."""
        return None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        return None

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        for table in self._tables():
            try:
                found = table.enum_values(name)
            except DwarfError:
                continue
            if found:
                return found
        return ()

    def names(self) -> list[str]:
        out: list[str] = []
        for table in self._tables():
            try:
                out += table.names()
            except DwarfError:
                continue
        return out


def program_types(ctx: ResolveContext) -> ProgramTypes:
    """The one of a context."""
    if ctx.programs is None:
        ctx.programs = ProgramTypes(ctx.types.layout if ctx.types is not None else None)
    found = ctx.programs
    assert isinstance(found, ProgramTypes)
    return found
