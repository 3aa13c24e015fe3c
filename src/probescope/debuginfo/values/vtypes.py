"""Types of debug information as values need them: what ``model.types`` leaves out for programs in C.

Names with their scopes and template arguments, base classes, references, variants of Rust's enums, float types. Made of
the debug information's own entries when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_constants import enumerators, of_variant
from probescope.debuginfo.dwarf_die import Die, plain
from probescope.debuginfo.dwarf_layout import bit_place, definition
from probescope.debuginfo.dwarf_types import DwarfTypes, count_of
from probescope.errors import DwarfError
from probescope.frozen import dataclass
from probescope.model.types import FLOATS

Kind = Literal[
    "int", "uint", "bool", "char", "float", "pointer", "reference", "struct", "union", "array", "enum", "func", "void"
]
MAX_MEMBERS = 512
MAX_DEPTH = 24
TAG_TEMPLATE_TYPE = 0x2F
TAG_VARIANT, TAG_VARIANT_PART = 0x19, 0x33
AT_DISCR, AT_DISCR_VALUE, AT_GO_KIND = 0x15, 0x16, 0x2900
_BASE: dict[int, Kind] = {
    c.ATE_BOOLEAN: "bool",
    c.ATE_FLOAT: "float",
    c.ATE_SIGNED: "int",
    c.ATE_UNSIGNED: "uint",
    c.ATE_SIGNED_CHAR: "char",
    c.ATE_UNSIGNED_CHAR: "char",
    c.ATE_UTF: "char",
}
_KINDS: dict[int, Kind] = {
    c.TAG_STRUCT: "struct",
    c.TAG_CLASS: "struct",
    c.TAG_UNION: "union",
    c.TAG_ENUM: "enum",
    c.TAG_ARRAY: "array",
    c.TAG_POINTER: "pointer",
    c.TAG_REFERENCE: "reference",
    c.TAG_RVALUE_REFERENCE: "reference",
    c.TAG_SUBROUTINE: "func",
    c.TAG_PTR_TO_MEMBER: "int",
}


@dataclass(frozen=True, slots=True)
class VMember:
    """``base``: a base class. ``bits``: (width, shift) of a bit field in its type."""

    name: str
    offset: int
    type: VType
    base: bool = False
    bits: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """``values`` of the discriminant that mean it; none: all that no other has."""

    name: str
    values: tuple[int, ...]
    type: VType
    offset: int


@dataclass(frozen=True, slots=True)
class Variants:
    """``at``, ``size``: of the discriminant; ``size`` 0: there is only one variant."""

    at: int
    size: int
    all: tuple[Variant, ...]

    def chosen(self, tag: int) -> Variant | None:
        exact = next((v for v in self.all if tag in v.values), None)
        return exact or next((v for v in self.all if not v.values), None)


class VTypes:
    """Of one binary."""

    def __init__(self, types: DwarfTypes) -> None:
        self.types = types
        self._known: dict[tuple[int, str, int], VType] = {}
        self._void = VType(self, None)

    def of(self, die: Die | None) -> VType:
        """Typedefs and qualifiers left out. Raises ``DwarfError``."""
        found = plain(die)
        if found is None:
            return self._void
        if found.is_declaration and found.tag in c.STRUCTS:
            found = definition(self.types, found)
        known = self._known.get(found.key)
        if known is None:
            known = self._known[found.key] = VType(self, found)
        return known

    def floating(self, name: str) -> VType:
        """``float`` or ``double`` of C."""
        out = VType(self, None)
        out.kind, out.name, out.size = "float", name, FLOATS[name]
        return out

    def named(self, name: str) -> VType | None:
        """A struct by its name."""
        return next((self.of(d) for d in self.types.finder.types(name) if d.tag in c.STRUCTS), None)


class VType:
    """``name``: as the language writes it, scopes included. ``size`` in bytes, 0 if unknown."""

    __slots__ = ("_members", "die", "home", "kind", "language", "name", "size")

    def __init__(self, home: VTypes, die: Die | None) -> None:
        self.home, self.die = home, die
        self._members: tuple[VMember, ...] | None = None
        self.kind: Kind = "void"
        self.name, self.size, self.language = "void", 0, 0
        if die is None:
            return
        self.kind = (
            _BASE.get(die.uint(c.AT_ENCODING) or 0, "uint") if die.tag == c.TAG_BASE else _KINDS.get(die.tag, "void")
        )
        self.language = die.unit.root.uint(c.AT_LANGUAGE) or 0
        name = die.name
        self.name = die.unit.scope_of(die.at) + name if name else ""
        self.size = die.uint(c.AT_BYTE_SIZE) or (die.unit.format.address if die.tag in c.REFERENCES else 0)
        if self.kind == "array" and not self.size:
            self.size = self.count * self.target.size

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def base_name(self) -> str:
        """Without template arguments and scopes: ``basic_string``."""
        return (self.die.name if self.die is not None else "").partition("<")[0].rpartition("::")[2]

    @property
    def is_cpp(self) -> bool:
        return self.language in c.CPP_LANGUAGES

    @property
    def is_rust(self) -> bool:
        return self.language == c.RUST

    @property
    def is_go(self) -> bool:
        return self.language == c.GO

    @property
    def target(self) -> VType:
        """Of a pointer, a reference, an array."""
        return self.home.of(self.die.type() if self.die is not None else None)

    @property
    def count(self) -> int:
        """Elements of an array, of all its dimensions."""
        if self.die is None:
            return 0
        out = 1
        for dimension in list(self.die.children(c.TAG_SUBRANGE, c.TAG_ENUM))[:16]:
            out *= count_of(dimension)
        return min(out, 1 << 28)

    # --- members ------------------------------------------------------------------------------------------------------

    @property
    def members(self) -> tuple[VMember, ...]:
        """Bases first, as they are declared."""
        if self._members is None:
            self._members = ()  # a struct that contains itself has no members
            self._members = tuple(self._read_members())
        return self._members

    def _read_members(self) -> Iterator[VMember]:
        if self.die is None or self.kind not in ("struct", "union"):
            return
        for count, m in enumerate(self.die.children(c.TAG_MEMBER, c.TAG_INHERITANCE)):
            if count > MAX_MEMBERS:
                return
            place = bit_place(m)
            if place is None or m.is_declaration or (m.flag(c.AT_EXTERNAL) and not m.has(c.AT_MEMBER_LOCATION)):
                continue
            t = self.home.of(m.type())
            bits = m.uint(c.AT_BIT_SIZE)
            if bits and t.size:
                unit = 8 * t.size
                yield VMember(m.name, place // unit * t.size, t, bits=(bits, place % unit))
            else:
                yield VMember(m.name, place // 8, t, m.tag == c.TAG_INHERITANCE)

    def member(self, name: str) -> VMember | None:
        """Also of bases, and of members without a name; ``offset`` from the beginning of this one."""
        return next((VMember(m.name, at, m.type, m.base, m.bits) for at, m in self.flat() if m.name == name), None)

    def flat(self, at: int = 0, depth: int = 0) -> Iterator[tuple[int, VMember]]:
        """(offset, member), members of bases and of what has no name among them."""
        for m in self.members:
            if m.base or not m.name:
                if depth < MAX_DEPTH:
                    yield from m.type.flat(at + m.offset, depth + 1)
            else:
                yield at + m.offset, m

    def deep(self, *names: str, kind: str = "") -> VMember | None:
        """The first member of a name anywhere inside, breadth first, then in that the next one. ``kind``: of what."""
        offset, current = 0, self
        found: VMember | None = None
        for name in names:
            found = _search(current, name, kind if name == names[-1] else "")
            if found is None:
                return None
            offset, current = offset + found.offset, found.type
        return VMember(found.name, offset, found.type) if found is not None else None

    def parameters(self) -> tuple[VType, ...]:
        """Types that a template was made with."""
        if self.die is None:
            return ()
        found = self.die.children(TAG_TEMPLATE_TYPE)
        return tuple(self.home.of(p.type()) for _, p in zip(range(16), found, strict=False))

    def parameter(self, index: int = 0) -> VType | None:
        found = self.parameters()
        return found[index] if index < len(found) else None

    def align(self, depth: int = 0) -> int:
        """The natural one."""
        if self.kind == "array":
            return self.target.align(depth + 1) if depth < MAX_DEPTH else 1
        if self.kind in ("struct", "union"):
            inner = (m.type.align(depth + 1) for m in self.members) if depth < MAX_DEPTH else ()
            return max(inner, default=1)
        return max(n for n in (1, 2, 4, 8, 16) if n <= max(self.size, 1))

    # --- enumerations and variants ------------------------------------------------------------------------------------

    def enumerators(self) -> dict[int, str]:
        if self.die is None:
            return {}
        out: dict[int, str] = {}
        for _, (name, value) in zip(range(4096), enumerators(self.die), strict=False):
            if value is not None:
                out.setdefault(value & (1 << 8 * max(self.size, 1)) - 1, name)
        return out

    def variants(self) -> Variants | None:
        """Of an enum of Rust; ``None`` for anything else. Source: DWARF 5, 5.7.10."""
        if self.die is None or self.kind != "struct":
            return None
        part = next(self.die.children(TAG_VARIANT_PART), None)
        if part is None:
            return None
        tag = part.ref(AT_DISCR)
        size = self.home.of(tag.type()).size if tag is not None else 0
        at = (bit_place(tag) or 0) // 8 if tag is not None else 0
        return Variants(at, size, tuple(v for _, v in zip(range(1024), self._variants(part, tag, size), strict=False)))

    def _variants(self, part: Die, tag: Die | None, size: int) -> Iterator[Variant]:
        for v in part.children(TAG_VARIANT):
            m = next(v.children(c.TAG_MEMBER), None)
            if m is None:
                continue
            value = of_variant(v, AT_DISCR_VALUE, tag.type() if tag is not None else None)
            values = (value & (1 << 8 * size) - 1,) if value is not None and size else ()
            yield Variant(m.name, values, self.home.of(m.type()), (bit_place(m) or 0) // 8)


def _search(t: VType, name: str, kind: str) -> VMember | None:
    level: list[tuple[int, VType]] = [(0, t)]
    for _ in range(MAX_DEPTH):
        below: list[tuple[int, VType]] = []
        for offset, owner in level:
            for m in owner.members:
                if m.name == name and (not kind or m.type.kind == kind):
                    return VMember(m.name, offset + m.offset, m.type)
                if m.type.kind in ("struct", "union") and len(below) < MAX_MEMBERS:
                    below.append((offset + m.offset, m.type))
        level = below
    return None


def first_pointer(t: VType, depth: int = 0) -> VMember | None:
    """The first pointer anywhere inside, depth first."""
    for m in t.members:
        if m.type.kind in ("pointer", "reference"):
            return m
        if m.type.kind in ("struct", "union") and depth < MAX_DEPTH:
            inner = first_pointer(m.type, depth + 1)
            if inner is not None:
                return VMember(inner.name, m.offset + inner.offset, inner.type)
    return None


__all__ = ["DwarfError", "VMember", "VType", "VTypes", "Variant", "Variants", "first_pointer"]
