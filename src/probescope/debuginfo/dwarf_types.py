"""Types of DWARF as ``model.types``: what values of a program are, and the layouts of its structs.

    DW_TAG_typedef count_t -> DW_TAG_base_type "int", 4, signed        Int(4, signed)
    DW_TAG_pointer_type    -> DW_TAG_structure_type "Foo"              Pointer(Struct("struct Foo"), user)

References of C++ are pointers, classes are structs, and names have their namespaces: ``struct ns::Foo``. Several
definitions of one name (in units of a program, in programs, in the kernel) that differ are told apart by ``Names``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from probescope.debuginfo import cbase
from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.btf_types import sized_integer
from probescope.debuginfo.dwarf_constants import enumerators, has_negative, last_index
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_find import Finder
from probescope.debuginfo.dwarf_layout import definition, layout_of, outline_of
from probescope.debuginfo.dwarf_unit import Unit
from probescope.errors import DwarfError
from probescope.model.types import (
    BOOL,
    CHAR,
    I64,
    U8,
    U32,
    VOID,
    Array,
    Enum,
    Int,
    Layout,
    Pointer,
    Struct,
    Type,
)

MAX_DEPTH = 64
MAX_COUNT = 1 << 28
MAX_DIMENSIONS = 16
MAX_LOOKED_AT = 32
"""Units that are searched for a constant."""
_KEYWORDS = {c.TAG_STRUCT: "struct", c.TAG_CLASS: "struct", c.TAG_UNION: "union", c.TAG_ENUM: "enum"}
_ENUMERATIONS = frozenset({c.TAG_ENUM, c.TAG_ENUMERATOR})
_SIGNED = frozenset({c.ATE_SIGNED, c.ATE_SIGNED_CHAR})
_INTEGERS = frozenset({c.ATE_SIGNED, c.ATE_SIGNED_CHAR, c.ATE_UNSIGNED, c.ATE_UNSIGNED_CHAR, c.ATE_UTF})


class Names:
    """Full names of structs and enums for all binaries of a program. The first definition of a name gets it; one that
    looks different gets a number: ``struct Foo#2``. ``taken``: the kernel's layout of a name, if it has any."""

    def __init__(self, taken: Callable[[str], Layout | None] | None = None) -> None:
        self._taken = taken
        self._looks: dict[str, list[object]] = {}

    def choose(self, name: str, look: Callable[[], object]) -> str:
        """``look``: what tells definitions apart; asked only where there are several."""
        known = self._looks.get(name)
        kernel = self._taken(name) if known is None and self._taken is not None else None
        if known is None:
            known = self._looks[name] = [look_of(kernel)] if kernel is not None else [look]
            if kernel is None:
                return name
        mine = look()
        for i, other in enumerate(known):
            if (other() if callable(other) else other) == mine:
                return name if not i else f"{name}#{i + 1}"
        known.append(mine)
        return f"{name}#{len(known)}"


def look_of(layout: Layout | None) -> object:
    """The same as ``outline_of`` gives for the same struct."""
    if layout is None:
        return None
    return layout.size, tuple((m.name, 8 * m.offset + m.bit_offset, m.bit_size) for m in layout.members)


class DwarfTypes:
    """A ``TypeTable`` over one binary's debug information. ``near``: the unit whose types come first."""

    def __init__(self, finder: Finder, names: Names | None = None) -> None:
        self.finder = finder
        self.unique = names or Names()
        self.near: Unit | None = None
        self._types: dict[tuple[int, str, int], Type] = {}
        self._homes: dict[str, Die] = {}
        self._layouts: dict[str, Layout | None] = {}
        self._named: dict[str, Type | None] = {}

    # --- the protocol -------------------------------------------------------------------------------------------------

    def layout(self, name: str) -> Layout | None:
        """Of a struct by the name that ``type_of`` gave it; ``None`` for names that did not come up yet."""
        if name not in self._layouts:
            die = self._homes.get(name)
            if die is None:
                return None
            self._layouts[name] = self._find_layout(name, die)
        return self._layouts[name]

    def home(self, name: str) -> Die | None:
        """The entry of a struct by the name that ``type_of`` gave it, where it is defined."""
        die = self._homes.get(name)
        return definition(self, die) if die is not None and die.is_declaration else die

    def _find_layout(self, name: str, die: Die) -> Layout | None:
        if die.is_declaration:
            die = definition(self, die)
        return None if die.is_declaration else layout_of(self, die, name)

    def named(self, name: str) -> Type | None:
        """``struct Foo``, ``enum Color``, a typedef's name; of C++ also ``ns::Foo``. With stars if wanted."""
        base, stars = cbase.split_stars(name)
        if base not in self._named:
            self._named[base] = cbase.builtin(base) or self._look_up(base)
        found = self._named[base]
        return cbase.pointers(found, stars, "user") if found is not None else None

    def _look_up(self, name: str) -> Type | None:
        keyword, _, bare = name.partition(" ") if name.startswith(("struct ", "union ", "enum ")) else ("", "", name)
        bare = bare.partition("#")[0]
        for die in self.finder.types(bare, self.near):
            if not keyword or _KEYWORDS.get(die.tag) == keyword:
                return self.type_of(die)
        return None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        """A constant of an enumeration: of the unit at hand, else of one that mentions the name."""
        first = () if self.near is None else (self.near,)
        for unit in (*first, *islice(self.finder.units_with(name), MAX_LOOKED_AT)):
            found = self._enumerator_in(unit, name)
            if found is not None:
                return found
        return None

    def _enumerator_in(self, unit: Unit, name: str) -> tuple[Enum, int] | None:
        home = 0
        for at, abbrev in unit.select(_ENUMERATIONS):
            if abbrev.tag == c.TAG_ENUM:
                home = at
            elif home and unit.die(at).name == name:
                t, value = self.type_of(unit.die(home)), dict(enumerators(unit.die(home))).get(name)
                return (t, value) if isinstance(t, Enum) and value is not None else None
        return None

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        """By the name without its keyword."""
        die = self._homes.get(f"enum {name}")
        if die is None:
            return ()
        return tuple((text, value or 0) for text, value in enumerators(die))

    def names(self) -> list[str]:
        """Of the unit at hand, and of what was named already."""
        out = [*self._homes]
        if self.near is not None:
            for name, places in self.finder.type_names(self.near).items():
                keyword = _KEYWORDS.get(self.near.die(places[0]).tag, "")
                out.append(f"{keyword} {name}".strip())
        return out

    # --- types --------------------------------------------------------------------------------------------------------

    def type_of(self, die: Die | None, depth: int = 0) -> Type:
        """What values of a type are. Functions are ``void``."""
        if die is None:
            return VOID
        found = self._types.get(die.key)
        if found is None:
            if depth > MAX_DEPTH:
                raise die.unit.error("types are nested too deep, or in a circle", die.at)
            found = self._types[die.key] = self._make(die, depth + 1)
        return found

    def _make(self, die: Die, depth: int) -> Type:
        tag = die.tag
        if tag == c.TAG_BASE:
            return base_type(die)
        if tag in c.QUALIFIERS or tag in (c.TAG_TYPEDEF, c.TAG_SUBRANGE):
            return self._named_by(die, depth)
        if tag in c.REFERENCES:
            size = die.uint(c.AT_BYTE_SIZE) or die.unit.format.address
            target = self.type_of(die.type(), depth)
            if tag != c.TAG_POINTER and isinstance(target, Array):
                target = target.element  # a[2] of int (&a)[3] is its third element
            return Pointer(target, "user", size)
        if tag in c.STRUCTS:
            return Struct(self._claim(die, f"{_KEYWORDS[tag]} "))
        if tag == c.TAG_ENUM:
            return self._enum(die, depth)
        if tag == c.TAG_ARRAY:
            return self._array(die, depth)
        if tag == c.TAG_PTR_TO_MEMBER:
            return I64
        return Pointer(VOID, "user") if tag == c.TAG_UNSPECIFIED and die.name != "void" else VOID

    def _named_by(self, die: Die, depth: int) -> Type:
        target = die.type()
        if die.tag == c.TAG_TYPEDEF and target is not None and target.tag in _KEYWORDS and not target.has(c.AT_NAME):
            keyword = "" if target.tag == c.TAG_ENUM else die.name  # known by the typedef's name alone
            found = self._types.get(target.key)
            if found is None:
                found = self._types[target.key] = self._nameless(target, die, keyword, depth)
            return found
        return self.type_of(target, depth)

    def _nameless(self, target: Die, typedef: Die, name: str, depth: int) -> Type:
        if not name:
            return self._enum(target, depth, typedef)
        full = typedef.unit.scope_of(typedef.at) + name
        return Struct(self._keep(full, target))

    def _claim(self, die: Die, keyword: str, label: Die | None = None) -> str:
        named = label or die
        name = named.name or f"(anonymous {die.unit.offset + die.at:#x})"
        return self._keep(keyword + named.unit.scope_of(named.at) + name, die)

    def _keep(self, full: str, die: Die) -> str:
        if die.is_declaration:
            self._homes.setdefault(full, die)
            return full
        known = self._homes.get(full)
        if known is not None and known.is_declaration:
            del self._homes[full]
            self._layouts.pop(full, None)
        unique = self.unique.choose(full, lambda: self._look(die))
        self._homes.setdefault(unique, die)
        return unique

    def _look(self, die: Die) -> object:
        try:
            return outline_of(die)
        except DwarfError:
            return die.key

    def _enum(self, die: Die, depth: int, label: Die | None = None) -> Type:
        size = die.uint(c.AT_BYTE_SIZE) or 4
        under = self.type_of(die.type(), depth) if die.has(c.AT_TYPE) else None
        signed = under.signed if isinstance(under, Int) else has_negative(die)
        name = self._claim(die, "enum ", label)
        return Enum(name.removeprefix("enum "), size if size in (1, 2, 4, 8) else 4, signed)

    def _array(self, die: Die, depth: int) -> Type:
        out = self.type_of(die.type(), depth)
        for dimension in reversed(list(die.children(c.TAG_SUBRANGE, c.TAG_ENUM))[:MAX_DIMENSIONS]):
            out = Array(out, count_of(dimension))
        return out


def base_type(die: Die) -> Type:
    size = die.uint(c.AT_BYTE_SIZE) or 0
    encoding = die.uint(c.AT_ENCODING) or 0
    if encoding == c.ATE_BOOLEAN:
        return BOOL if size == 1 else sized_integer(size, False)
    if encoding not in _INTEGERS:
        return cbase.floating(size) if encoding == c.ATE_FLOAT else Array(U8, size)
    name = die.name
    if size == 1 and name == "char":
        return CHAR  # whatever sign the compiler gave it
    if encoding == c.ATE_UTF and size == 4:
        return U32
    return sized_integer(size, encoding in _SIGNED)


def count_of(dimension: Die) -> int:
    """Elements; 0 where that is not known while compiling."""
    count = dimension.uint(c.AT_COUNT)
    if count is None:
        upper = last_index(dimension)
        count = upper + 1 if upper is not None else 0
    return count if 0 <= count <= MAX_COUNT else 0
