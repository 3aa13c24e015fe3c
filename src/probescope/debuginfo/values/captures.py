"""Recipes for values of one binary, and what they bring back as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.values import shapes as sh
from probescope.debuginfo.values.rust import is_reference
from probescope.debuginfo.values.vtypes import VType, VTypes
from probescope.errors import DwarfError, ElfError
from probescope.model.capture import Capture, Compared, Hit, Pieces, Word
from probescope.model.fetch import Deref, Fetch, Immediate, Register, behind
from probescope.model.types import Opaque, Struct, Type, is_float

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary
    from probescope.debuginfo.dwarf_types import DwarfTypes

AT_GO_RUNTIME_TYPE = 0x2904
MAX_DESCRIBED = 1 << 18
_GO_TYPES = frozenset({c.TAG_BASE, c.TAG_STRUCT, c.TAG_POINTER, c.TAG_TYPEDEF, c.TAG_ARRAY, c.TAG_SUBROUTINE})
_NUMBERS = ("bool", "char", "enum", "float", "int", "uint")


class Captures:
    """``later``: (task, address, size) to bytes that a process has now."""

    def __init__(
        self, types: DwarfTypes, binary: Binary | None, later: Callable[[int, int, int], bytes | None] | None = None
    ) -> None:
        self.types, self.vtypes = types, VTypes(types)
        self._binary, self._later = binary, later
        self._vtables: dict[int, str] | None = None
        self._described: dict[int, Die] | None = None

    # --- at the probe -------------------------------------------------------------------------------------------------

    def of(self, t: Type | None, die: Die | None, x: Fetch) -> Capture | None:
        """For a value that ``x`` gives: of ``die`` if it is that of a variable. ``None`` for numbers and pointers,
        which need none. Raises ``DwarfError``."""
        found = self._type(t, die)
        if found is None:
            return None
        if found.kind == "reference" or (found.kind == "pointer" and is_reference(found)):
            found, x = found.target, behind(x)
        elif not self._worth(found):
            return None
        if not found.size:
            return None
        root = _root(x, found.size)
        if root is None:
            return None
        return self._planned(found, root)

    def _type(self, t: Type | None, die: Die | None) -> VType | None:
        if die is not None:
            return self.vtypes.of(die)
        if isinstance(t, Opaque) and is_float(t):
            return self.vtypes.floating(t.kind)
        home = self.types.home(t.name) if isinstance(t, Struct) else None
        return self.vtypes.of(home) if home is not None else None

    def _worth(self, t: VType) -> bool:
        from probescope.debuginfo.values import registry

        if registry.find(t.name) is not None or sh.shape_of(t) is not None or t.kind in ("struct", "union", "float"):
            return True
        if t.kind == "array":
            return (t.target.kind == "float" or t.target.kind not in _NUMBERS) and self._worth(t.target)
        return t.kind in ("bool", "char", "enum") and (t.is_cpp or t.is_rust or t.is_go)

    def _planned(self, t: VType, root: Fetch) -> Capture:
        from probescope.debuginfo.values import registry
        from probescope.debuginfo.values.recipe import ROOT_BYTES, Recipe, Spot

        recipe = Recipe()
        recipe.value(t, Spot(0, 0, 0))
        if registry.find(t.name) is not None:
            recipe.pointers(t, Spot(0, 0, 0))
        size, steps = min(t.size, ROOT_BYTES), tuple(recipe.steps)
        return Capture(root, size, steps, recipe.speculative, lambda hit: self.show(t, hit), compared(t))

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def show(self, t: VType, hit: Hit) -> str:
        """``~`` before what had to be read after the probe."""
        from probescope.debuginfo.values.memory import Memory
        from probescope.debuginfo.values.show import Printer

        later = self._later
        memory = Memory(hit.segments, (lambda a, n: later(hit.task, a, n)) if later is not None else None)
        shift = hit.shift
        known = shift is not None

        def dynamic(address: int) -> VType | str | None:
            return self._class_of(address - (shift or 0)) if known else None

        def described(address: int) -> VType | str | None:
            return self._described_at(address - (shift or 0)) if known else None

        address = hit.segments[0].address if hit.segments else 0
        text = Printer(dynamic, described).show(t, address, memory)
        return f"~{text}" if memory.late else text

    def _class_of(self, address: int) -> VType | str | None:
        """By the vtable that an object points into, two words behind its beginning."""
        if self._vtables is None:
            self._vtables = self._read_vtables()
        name = self._vtables.get(address - 16)
        if name is None:
            return None
        return self.vtypes.named(name) or name

    def _read_vtables(self) -> dict[int, str]:
        from probescope.debuginfo.demangle import demangle

        out: dict[int, str] = {}
        if self._binary is None:
            return out
        for elf in (self._binary.elf, self._binary.debug):
            if elf is None:
                continue
            try:
                for s in elf.symbols().match("_ZTV*", functions=False):
                    out.setdefault(s.address, demangle(s.name).removeprefix("vtable for "))
            except ElfError:
                continue
        return out

    def _described_at(self, address: int) -> VType | None:
        if self._described is None:
            try:
                self._described = self._read_described()
            except DwarfError:
                self._described = {}
        found = self._described.get(address)
        return self.vtypes.of(found) if found is not None else None

    def _read_described(self) -> dict[int, Die]:
        """Types of Go by their descriptors: DW_AT_go_runtime_type counts from runtime.types."""
        out: dict[int, Die] = {}
        start = self._binary.elf.symbols().find("runtime.types") if self._binary is not None else None
        base = start.address if start is not None else 0
        dwarf = self.types.finder.dwarf
        for unit in dwarf.units():
            full = dwarf.full(unit)
            if full.root.uint(c.AT_LANGUAGE) != c.GO:
                continue
            for at, abbrev in full.select(_GO_TYPES):
                if not any(a == AT_GO_RUNTIME_TYPE for a, _, _ in abbrev.attributes):
                    continue
                die = full.die(at)
                value = die.address(AT_GO_RUNTIME_TYPE) or die.uint(AT_GO_RUNTIME_TYPE) or 0
                if value:
                    out.setdefault(value if value >= base else base + value, die)
                if len(out) > MAX_DESCRIBED:
                    return out
        return out


def compared(t: VType, at: int = 0) -> Compared | None:
    """Of texts, and of numbers that have words: characters, enumerations."""
    shape = sh.shape_of(t)
    match shape:
        case sh.Text(pointer=pointer, length=length, unit=1):
            return Compared(pointer=Word(0, at + pointer), length=Word(0, at + length) if length >= 0 else None)
        case sh.Inline(at=inner, type=of):
            return compared(of, at + inner)
        case None if t.kind in _NUMBERS and t.kind != "float" and t.size in (1, 2, 4, 8):
            return Compared(number=Word(0, at, t.size), signed=t.kind == "int")
        case _:
            return None


def _root(x: Fetch, size: int) -> Fetch | None:
    match x:
        case Deref() | Pieces():
            return x
        case Register() | Immediate(value=int()) if size <= 8:
            return Pieces(((x, size),))
        case _:
            return None
