"""Tables of types beside BTF: those that a script declares, laid out as the C compiler would, and several in turn.

struct s { char a; int b:3; int c:30; short d; };        natural alignment of the System V ABIs, x86-64 and AArch64:
byte  0    1    2    3    4    5    6    7    8    9
a    bbb..         cccccccccccccccc..   d          a @0; b bits 8-10 of the int at 0; c does not fit there: @4
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from probescope.debuginfo import cbase
from probescope.debuginfo.cdecls import CEnum, CMember, CStruct, CType, CTypedef, Declaration
from probescope.debuginfo.clayout import LayoutBuilder
from probescope.errors import LimitError, UsageError
from probescope.frozen import dataclass
from probescope.model.abi import size_align
from probescope.model.types import (
    VOID,
    Array,
    Bool,
    Enum,
    Int,
    Layout,
    Opaque,
    Pointer,
    Space,
    Struct,
    Type,
    TypeTable,
)

MAX_DEPTH = 64
MAX_SIZE = 1 << 31


@dataclass(frozen=True, slots=True)
class _Sized:
    layout: Layout
    align: int


class ChainTable:
    """Several tables, asked in turn: the first that knows a name answers."""

    def __init__(self, *tables: TypeTable) -> None:
        self.tables = tables

    def layout(self, name: str) -> Layout | None:
        return next((found for t in self.tables if (found := t.layout(name)) is not None), None)

    def named(self, name: str) -> Type | None:
        return next((found for t in self.tables if (found := t.named(name)) is not None), None)

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        return next((found for t in self.tables if (found := t.enumerator(name)) is not None), None)

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        return next((found for t in self.tables if (found := t.enum_values(name))), ())

    def names(self) -> list[str]:
        return [n for t in self.tables for n in t.names()]


class LazyTable:
    """A table that is loaded on first use: a script that names no type of the kernel never reads BTF."""

    def __init__(self, load: Callable[[], TypeTable | None]) -> None:
        self._load: Callable[[], TypeTable | None] | None = load
        self._table: TypeTable | None = None

    @property
    def table(self) -> TypeTable | None:
        if self._load is not None:
            load, self._load = self._load, None
            self._table = load()
        return self._table

    def layout(self, name: str) -> Layout | None:
        return self.table.layout(name) if self.table is not None else None

    def named(self, name: str) -> Type | None:
        return self.table.named(name) if self.table is not None else None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        return self.table.enumerator(name) if self.table is not None else None

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        return self.table.enum_values(name) if self.table is not None else ()

    def names(self) -> list[str]:
        return self.table.names() if self.table is not None else []


class ScriptTypes:
    """The types that a script declares; ``outer`` is asked for what a declaration refers to and does not define itself.

    Layouts are computed on first use. Raises UsageError for a type that lacks a size where one is needed, LimitError
    for one that is too large. ``space``: where pointers in these structs point ("none": where the struct came from).
    """

    def __init__(
        self, declarations: Iterable[Declaration] = (), outer: TypeTable | None = None, space: Space = "none"
    ) -> None:
        self._outer = outer
        self._space: Space = space
        self._structs: dict[str, CStruct] = {}
        self._enums: dict[str, CEnum] = {}
        self._typedefs: dict[str, CTypedef] = {}
        self._constants: dict[str, tuple[str, int]] = {}
        self._sized: dict[str, _Sized] = {}
        self._open: list[str] = []
        for d in declarations:
            self.add(d)

    def add(self, declaration: Any) -> None:
        """A later declaration of a name replaces an earlier one; a forward one replaces nothing."""
        if declaration is None:
            return
        if hasattr(declaration, "members"):
            self._add_struct(declaration)
        elif hasattr(declaration, "values"):
            self._add_enum(declaration)
        else:
            self._typedefs[declaration.name] = declaration
            self.add(declaration.inline)

    def _add_struct(self, d: CStruct) -> None:
        if d.members is not None:
            self._structs[f"{d.keyword} {d.name}"] = d
            for m in d.members:
                self.add(m.inline)

    def _add_enum(self, d: CEnum) -> None:
        if d.values is not None:
            self._enums[d.name] = d
            self._constants.update((e.name, (d.name, e.value)) for e in d.values)

    # --- the protocol -------------------------------------------------------------------------------------------------

    def layout(self, name: str) -> Layout | None:
        if name in self._structs:
            return self._compute(name).layout
        t = self._typedefs.get(name)
        target = self.type_of(t.type) if t is not None else None
        if isinstance(target, Struct):
            return self.layout(target.name) or (self._outer.layout(target.name) if self._outer else None)
        return None

    def named(self, name: str) -> Type | None:
        base, stars = cbase.split_stars(name)
        found = self._own(base)
        return None if found is None else cbase.pointers(found, stars, self._space)

    def _own(self, name: str) -> Type | None:
        if name in self._structs:
            return Struct(name)
        if name.startswith("enum ") and name[5:] in self._enums:
            return self._enum(self._enums[name[5:]])
        return self.type_of(self._typedefs[name].type) if name in self._typedefs else None

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        found = self._constants.get(name)
        return None if found is None else (self._enum(self._enums[found[0]]), found[1])

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        d = self._enums.get(name)
        return tuple((e.name, e.value) for e in d.values or ()) if d is not None else ()

    def names(self) -> list[str]:
        return [*self._structs, *(f"enum {n}" for n in self._enums), *self._typedefs]

    # --- types --------------------------------------------------------------------------------------------------------

    def type_of(self, t: CType, depth: int = 0) -> Type:
        """A declared type as a value's type. An unknown typedef raises UsageError; an unknown struct is only a name."""
        if depth > MAX_DEPTH:
            raise LimitError(f"C types nested more than {MAX_DEPTH} deep")
        if hasattr(t, "target"):
            space: Space = "user" if "user" in getattr(t, "tags", ()) else self._space
            return Pointer(self.type_of(t.target, depth + 1), space)
        if hasattr(t, "element"):
            return Array(self.type_of(t.element, depth + 1), t.count or 0)
        if hasattr(t, "result"):
            return VOID
        if hasattr(t, "keyword"):
            return self._tagged(t.keyword, t.name)
        return self._base(t.name, depth)

    def _tagged(self, keyword: str, name: str) -> Type:
        if keyword != "enum":
            return Struct(f"{keyword} {name}")
        if name in self._enums:
            return self._enum(self._enums[name])
        outer = self._outer.named(f"enum {name}") if self._outer else None
        return outer if outer is not None else Enum(name)

    def _base(self, name: str, depth: int) -> Type:
        if name in self._typedefs:
            return self.type_of(self._typedefs[name].type, depth + 1)
        found = cbase.builtin(name)
        if found is None and self._outer is not None:
            found = self._outer.named(name)
        if found is None:
            raise UsageError(f"unknown type {name}")
        return found

    def _enum(self, d: CEnum) -> Enum:
        values = [e.value for e in d.values or ()] or [0]
        low, high = min(values), max(values)
        base = cbase.builtin(d.base) if d.base else None
        if isinstance(base, Int):
            return Enum(d.name, base.size, base.signed)
        sizes = (1, 2, 4, 8) if d.packed else (4, 8)
        fits = (n for n in sizes if high < 1 << (8 * n - (low < 0)) and low >= -(1 << (8 * n - 1)))
        return Enum(d.name, next(fits, 8), low < 0)

    # --- layouts ------------------------------------------------------------------------------------------------------

    def _compute(self, name: str) -> _Sized:
        found = self._sized.get(name)
        if found is not None:
            return found
        if name in self._open:
            raise UsageError(f"{name} contains itself")
        if len(self._open) > MAX_DEPTH:
            raise LimitError(f"structs nested more than {MAX_DEPTH} deep")
        self._open.append(name)
        try:
            d = self._structs[name]
            builder = LayoutBuilder(name, d.keyword == "union", d.packed)
            for m in d.members or ():
                self._place(builder, m)
            layout, align = builder.finish(d.align)
        finally:
            self._open.pop()
        if layout.size > MAX_SIZE:
            raise LimitError(f"{name} has {layout.size} bytes, more than the {MAX_SIZE} that are handled")
        self._sized[name] = _Sized(layout, align)
        return self._sized[name]

    def _place(self, builder: LayoutBuilder, m: CMember) -> None:
        t = self.type_of(m.type)
        size, align = self.size_align(t)
        if m.bits is not None:
            if m.bits < 0 or m.bits > 8 * size or not isinstance(t, Int | Enum | Bool):
                raise UsageError(f"bit field {m.name} of {m.bits} bits does not fit its type {t}")
            builder.bits(m.name, t, m.bits, size, m.align)
        elif not m.name and isinstance(t, Struct):
            builder.lift(self._layout_of(t.name).layout, size, max(align, m.align))
        else:
            tags = tuple((m.name, tag) for tag in getattr(m.type, "tags", ()))
            builder.member(m.name, t, size, align, m.align, tags)

    def _layout_of(self, name: str) -> _Sized:
        if name in self._structs:
            return self._compute(name)
        layout = self._outer.layout(name) if self._outer is not None else None
        if layout is None:
            raise UsageError(f"{name} is not defined: its size is not known")
        return _Sized(layout, self._outer_align(layout))

    def _outer_align(self, layout: Layout) -> int:
        """BTF does not tell alignments: the greatest natural one that agrees with the size and the members' offsets."""
        natural = max((self._member_align(m.type) for m in layout.members), default=1)
        while natural > 1 and layout.size % natural:
            natural //= 2
        return natural

    def _member_align(self, t: Type) -> int:
        try:
            return self.size_align(t)[1]
        except UsageError:
            return 1

    def size_align(self, t: Type) -> tuple[int, int]:
        """Bytes, and alignment in bytes."""
        if isinstance(t, Struct):
            sized = self._layout_of(t.name)
            return sized.layout.size, sized.align
        if isinstance(t, Array):
            size, align = self.size_align(t.element)
            return size * t.count, align
        if isinstance(t, Int | Enum | Pointer):
            return t.size, t.size
        if isinstance(t, Bool):
            return 1, 1
        if isinstance(t, Opaque) and t.kind in ("float", "double"):
            return size_align(t)
        raise UsageError(f"{t} has no size")
