"""BTF as a table of types: C names to ``model.types``.

A struct is known by its full name (``struct file``), one that only a typedef names by that (``atomic_t``), and one
without any name by its number: ``struct (anonymous 1234)``; its layout is found by that name too. Pointers read from
the kernel's types point into kernel memory, those that carry the tag ``user`` (``__user``) into the process's.
"""

from __future__ import annotations

from probescope.debuginfo import btf_layout, cbase
from probescope.debuginfo.btf import Btf, Raw
from probescope.debuginfo.btf_blob import (
    ARRAY,
    CONST,
    ENUM,
    ENUM64,
    FLOAT,
    FWD,
    INT,
    PTR,
    RESTRICT,
    STRUCT,
    TYPE_TAG,
    TYPEDEF,
    UNION,
    VAR,
    VOLATILE,
)
from probescope.model.types import BOOL, U8, VOID, Array, Enum, Int, Layout, Pointer, Space, Struct, Type

MAX_DEPTH = 64
"""Modifiers, typedefs, pointers and arrays on top of each other; the kernel's deepest chain has about ten."""
_MODIFIERS = frozenset((CONST, VOLATILE, RESTRICT, TYPE_TAG, TYPEDEF, VAR))
_ANONYMOUS = "(anonymous "
_KEYWORDS = {"struct": STRUCT, "union": UNION, "enum": ENUM}


class BtfTypes:
    """A ``TypeTable`` over one BTF blob (with its base). Methods raise BtfError where the blob is malformed."""

    def __init__(self, btf: Btf, space: Space = "kernel") -> None:
        self.btf = btf
        self.space: Space = space
        self._types: dict[int, Type] = {}
        self._layouts: dict[str, Layout | None] = {}
        self._enums: dict[int, int] | None = None

    # --- the protocol -------------------------------------------------------------------------------------------------

    def layout(self, name: str) -> Layout | None:
        """Of a struct or union by its full name, or by a typedef's."""
        if name not in self._layouts:
            found = self.id_of(name)
            self._layouts[name] = btf_layout.layout(self, self.resolve(found)[0], name) if found else None
        return self._layouts[name]

    def named(self, name: str) -> Type | None:
        """``struct file``, ``enum pid_type``, ``pid_t``, ``unsigned long``, with stars if wanted."""
        base, stars = cbase.split_stars(name)
        found = cbase.builtin(base)
        if found is None:
            type_id = self.id_of(base)
            if not type_id:
                return None
            found = self.type_of(type_id)
        return cbase.pointers(found, stars, self.space)

    def enumerator(self, name: str) -> tuple[Enum, int] | None:
        offset = self.btf.string_offset(name)
        type_id = self._enum_homes().get(offset, 0) if offset else 0
        if not type_id:
            return None
        value = dict(self.btf.enumerators(type_id))[name]
        found = self.type_of(type_id)
        return (found, value) if isinstance(found, Enum) else None

    def enum_values(self, name: str) -> tuple[tuple[str, int], ...]:
        """By the name without its keyword, or by a typedef's name."""
        type_id = self.id_of(f"enum {name}") or self.id_of(name)
        resolved, raw, _ = self.resolve(type_id)
        return tuple(self.btf.enumerators(resolved)) if raw.kind in (ENUM, ENUM64) else ()

    def names(self) -> list[str]:
        """``struct x``, ``union x``, ``enum x`` and typedefs; for messages, as it decodes every name."""
        out: list[str] = []
        for blob in (self.btf.base, self.btf):
            if blob is not None:
                for keyword, kinds in (("struct ", (STRUCT,)), ("union ", (UNION,)), ("enum ", (ENUM, ENUM64))):
                    out += [keyword + n for n in blob.names(*kinds)]
                out += blob.names(TYPEDEF)
        return out

    # --- ids ----------------------------------------------------------------------------------------------------------

    def id_of(self, name: str) -> int:
        """Id of a type by the name that C or ``type_of`` gives it; 0 if there is none."""
        keyword, _, rest = name.rpartition(" ") if _ANONYMOUS not in name else name.partition(" ")
        if rest.startswith(_ANONYMOUS):
            return self._anonymous(rest)
        if not keyword:
            return self.btf.find(name, TYPEDEF, INT)
        if keyword == "enum":
            return self.btf.find(rest, ENUM, ENUM64)
        kind = _KEYWORDS.get(keyword, 0)
        return self.btf.find(rest, kind, FWD) if kind else 0

    def _anonymous(self, rest: str) -> int:
        number = rest.removeprefix(_ANONYMOUS).removesuffix(")")
        type_id = int(number) if number.isascii() and number.isdigit() else 0
        return type_id if 0 < type_id < self.btf.end_id else 0

    def _enum_homes(self) -> dict[int, int]:
        """String offset of an enumerator -> id of its enumeration; the first one wins."""
        if self._enums is None:
            self._enums = {}
            blob: Btf | None = self.btf
            while blob is not None:
                for kind, width in ((ENUM, 2), (ENUM64, 3)):
                    for type_id, at in zip(blob.ids(kind), blob.index.groups.get(kind, ()), strict=True):
                        count = blob.words[at + 1] & 0xFFFF
                        for offset in blob.words[at + 3 : at + 3 + width * count : width].tolist():
                            self._enums.setdefault(offset, type_id)
                blob = blob.base
        return self._enums

    # --- types --------------------------------------------------------------------------------------------------------

    def resolve(self, type_id: int) -> tuple[int, Raw, str]:
        """Through modifiers and typedefs: (id, its fixed part, name of the last typedef on the way)."""
        typedef = ""
        for _ in range(MAX_DEPTH):
            raw = self.btf.raw(type_id)
            if raw.kind not in _MODIFIERS:
                return type_id, raw, typedef
            if raw.kind == TYPEDEF:
                typedef = self.btf.string(raw.name_off)
            type_id = raw.third
        raise self.btf.error("modifiers in a circle", type_id)

    def tags(self, type_id: int) -> list[str]:
        """Type tags that stand before a type: ``user``, ``percpu``, ``rcu``."""
        out: list[str] = []
        for _ in range(MAX_DEPTH):
            raw = self.btf.raw(type_id)
            if raw.kind not in _MODIFIERS or raw.kind == TYPEDEF:
                break
            if raw.kind == TYPE_TAG:
                out.append(self.btf.string(raw.name_off))
            type_id = raw.third
        return out

    def type_of(self, type_id: int, depth: int = 0) -> Type:
        """What values of a type are. Functions are ``void``."""
        found = self._types.get(type_id)
        if found is None:
            if depth > MAX_DEPTH:
                raise self.btf.error("types nested too deep", type_id)
            found = self._types[type_id] = self._make(type_id, depth + 1)
        return found

    def _make(self, type_id: int, depth: int) -> Type:
        resolved, raw, typedef = self.resolve(type_id)
        match raw.kind:
            case kind if kind == PTR:
                user = "user" in self.tags(raw.third)
                return Pointer(self.type_of(raw.third, depth), "user" if user else self.space)
            case kind if kind in (STRUCT, UNION, FWD):
                keyword = "union" if kind == UNION or (kind == FWD and raw.kflag) else "struct"
                return Struct(self._tagged(keyword, resolved, raw, typedef))
            case kind if kind in (ENUM, ENUM64):
                name = self._tagged("", resolved, raw, typedef)
                return Enum(name, raw.third if raw.third in (1, 2, 4, 8) else 4, raw.kflag)
            case kind if kind == ARRAY:
                element, count = self.btf.element_of(resolved)
                return Array(self.type_of(element, depth), count)
            case kind if kind == INT:
                return self._integer(resolved, raw)
            case kind if kind == FLOAT:
                return cbase.floating(raw.third)
            case _:
                return VOID

    def _tagged(self, keyword: str, type_id: int, raw: Raw, typedef: str) -> str:
        name = self.btf.string(raw.name_off)
        if not name and typedef:
            return typedef
        return f"{keyword} {name or f'{_ANONYMOUS}{type_id})'}".strip()

    def _integer(self, type_id: int, raw: Raw) -> Type:
        flags, _, _ = self.btf.int_encoding(type_id)
        if flags & 4 and raw.third == 1:
            return BOOL
        name = self.btf.string(raw.name_off)
        known = cbase.builtin(name)
        if isinstance(known, Int) and known.size == raw.third:
            return known  # also: char is CHAR, whatever sign the compiler gave it
        return sized_integer(raw.third, bool(flags & 1))


def sized_integer(size: int, signed: bool) -> Type:
    """An integer of a width that exists here, else so many bytes."""
    if size in (1, 2, 4, 8):
        return Int(size, signed)
    return Array(Int(8, False), 2) if size == 16 else Array(U8, size)
