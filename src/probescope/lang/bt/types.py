"""The language's view of types: how they unify, what fits into what, how messages name them.

The types themselves are those of ``model.types``. Two things exist only while a program is checked: ``UNKNOWN``, for
what is not inferred yet, and ``LInt``, an integer about which more is known than its width. ``settle`` takes both
away.

    literal 1, 1000, -1        int8 (may turn unsigned), int16 (the same), int8
    $x = 1; $x = (uint64)2     promote(int8 that may turn unsigned, uint64) = uint64
    int8 with uint8            int16: the smallest that holds both; int64 where nothing does
"""

from __future__ import annotations

from typing import Literal

from probescope.frozen import dataclass
from probescope.lang.bt.types_text import show
from probescope.model.types import (
    I8,
    I16,
    I32,
    I64,
    U64,
    Agg,
    Array,
    Bool,
    Buffer,
    Enum,
    Int,
    Opaque,
    Pointer,
    Record,
    Space,
    String,
    Struct,
    Tuple,
    Type,
    Void,
)

__all__ = ["UNKNOWN", "LInt", "Tag", "fits", "is_int", "is_known", "literal", "promote", "same", "settle", "show"]

Tag = Literal["", "kernel", "user", "context", "monotonic", "boot", "tai", "sw_tai"]
"""What a number is: an address in that space, or nanoseconds of that clock."""


@dataclass(frozen=True, slots=True)
class Unknown(Type):
    """Not inferred yet, or wrong in a way that was already reported."""

    def __str__(self) -> str:
        return "none"


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class LInt(Int):
    """``flex``: comes from literals that are not negative, and takes the sign of what it meets."""

    flex: bool = False
    tag: Tag = ""

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.size * 8}"


_LINTS: dict[tuple[int, bool, bool, str], Int] = {}


def lint(size: int, signed: bool, flex: bool = False, tag: Tag = "") -> Int:
    """The one object for such an integer; a plain ``Int`` where nothing more is known."""
    key = (size, signed, flex, tag)
    found = _LINTS.get(key)
    if found is None:
        found = _LINTS[key] = LInt(size, signed, flex, tag) if flex or tag else Int(size, signed)
    return found


def tagged(t: Type, tag: Tag) -> Type:
    """The integer ``t``, known to be an address or a time."""
    return lint(t.size, t.signed, False, tag) if isinstance(t, Int) else t


def tag_of(t: Type) -> Tag:
    return t.tag if isinstance(t, LInt) else ""


def is_flex(t: Type) -> bool:
    return isinstance(t, LInt) and t.flex


def literal(value: int) -> Int:
    """The type of an integer literal: the smallest signed one that holds it."""
    if value > (1 << 63) - 1:
        return U64
    for t in (I8, I16, I32, I64):
        if -(1 << (t.size * 8 - 1)) <= value < 1 << (t.size * 8 - 1):
            return lint(t.size, True, value >= 0)
    return I64


def is_int(t: Type) -> bool:
    return isinstance(t, Int | Enum)


def is_known(t: Type) -> bool:
    return t is not UNKNOWN


_SETTLED: dict[Type, Type] = {}


def settle(t: Type) -> Type:
    """The type as the program will hold it."""
    kind = type(t)
    if kind is Int or kind is Bool or kind is String or kind is Struct or kind is Opaque:
        return t
    found = _SETTLED.get(t)
    if found is None:
        found = _SETTLED[t] = _settle(t)
    return found


def _settle(t: Type) -> Type:
    match t:
        case LInt(size=size, signed=signed):
            return Int(size, signed)
        case Tuple(items=items):
            return Tuple(tuple(map(settle, items)))
        case Record(fields=fields):
            return Record(tuple((n, settle(f)) for n, f in fields))
        case Pointer(target=target, space=space, size=size):
            return Pointer(settle(target), space, size)
        case Array(element=element, count=count):
            return Array(settle(element), count)
        case _:
            return t


_BARE: dict[Type, Type] = {}


def _bare(t: Type) -> Type:
    """The settled type with pointers that lead nowhere in particular."""
    found = _BARE.get(t)
    if found is None:
        found = _BARE[t] = _strip(settle(t))
    return found


def _strip(t: Type) -> Type:
    match t:
        case Pointer(target=target, size=size):
            return Pointer(_bare(target), "none", size)
        case Tuple(items=items):
            return Tuple(tuple(map(_bare, items)))
        case Record(fields=fields):
            return Record(tuple((n, _bare(f)) for n, f in fields))
        case Array(element=element, count=count):
            return Array(_bare(element), count)
        case _:
            return t


def same(a: Type, b: Type) -> bool:
    """Whether two types are one, wherever their pointers lead."""
    return a is b or _bare(a) == _bare(b)


# --- unification -----------------------------------------------------------------------------------------------------


def promote(current: Type, new: Type) -> Type | None:
    """The type that holds both, or ``None`` if there is none. ``current`` decides the order of a record's fields."""
    if current is UNKNOWN or current is new:
        return new
    if new is UNKNOWN:
        return current
    match current, new:
        case Int(), Int():
            return _promote_int(current, new)
        case (Int() | Enum(), Int() | Enum()):
            return current if current == new else _promote_int(_plain(current), _plain(new))
        case String(), String():
            return current if current.size >= new.size else new
        case Buffer(), Buffer():
            return current if current.size >= new.size else new
        case Tuple(items=a), Tuple(items=b):
            found = _promote_all(a, b)
            return None if found is None else Tuple(found)
        case Record(), Record():
            return _promote_record(current, new)
        case Pointer(), Pointer():
            return _promote_pointer(current, new)
        case Opaque(kind="func"), Opaque(kind="ksym" | "usym"):
            return new
        case Opaque(kind="ksym" | "usym"), Opaque(kind="func"):
            return current
        case _:
            return new if same(current, new) else None


def _plain(t: Int | Enum) -> Int:
    return t if isinstance(t, Int) else Int(t.size, t.signed)


def _promote_int(a: Int, b: Int) -> Int:
    size, tag = max(a.size, b.size), _common_tag(tag_of(a), tag_of(b))
    flex_a, flex_b = is_flex(a), is_flex(b)
    if a.signed == b.signed or flex_a or flex_b:
        sign = a.signed and b.signed if flex_a == flex_b else (b.signed if flex_a else a.signed)
        return lint(size, sign, flex_a and flex_b, tag)
    wide, narrow = (a, b) if a.signed else (b, a)
    if wide.size <= narrow.size:
        size = min(narrow.size * 2, 8)
    return lint(size, True, False, tag)


def _common_tag(a: Tag, b: Tag) -> Tag:
    return a if a == b or not b else b if not a else ""


def _promote_all(a: tuple[Type, ...], b: tuple[Type, ...]) -> tuple[Type, ...] | None:
    if len(a) != len(b):
        return None
    found = [promote(x, y) for x, y in zip(a, b, strict=True)]
    return None if None in found else tuple(t for t in found if t is not None)


def _promote_record(a: Record, b: Record) -> Record | None:
    other = dict(b.fields)
    if len(a.fields) != len(b.fields) or any(n not in other for n, _ in a.fields):
        return None
    found = _promote_all(tuple(t for _, t in a.fields), tuple(other[n] for n, _ in a.fields))
    return None if found is None else Record(tuple((n, t) for (n, _), t in zip(a.fields, found, strict=True)))


def _promote_pointer(a: Pointer, b: Pointer) -> Pointer | None:
    target = a.target if same(a.target, b.target) else None
    if target is None:
        both_ints = isinstance(a.target, Int) and isinstance(b.target, Int)
        target = promote(a.target, b.target) if both_ints else None
    if target is None:
        return None
    return Pointer(target, _common_space(a.space, b.space), a.size)


def _common_space(a: Space, b: Space) -> Space:
    return a if b in (a, "none") else b if a == "none" else "none"


def fits(t: Type, into: Type) -> bool:
    """Whether every value of integer ``t`` is one of integer ``into``."""
    if not is_int(t) or not is_int(into):
        return same(t, into)
    a, b = t, into
    assert isinstance(a, Int | Enum)
    assert isinstance(b, Int | Enum)
    if is_flex(a) or a.signed == b.signed:
        return a.size <= b.size
    return b.signed and a.size < b.size


def holds(value: int, t: Type) -> bool:
    """Whether ``value`` is one of the integer type ``t``."""
    if not isinstance(t, Int | Enum):
        return True
    bits = t.size * 8
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1) if t.signed else 0 <= value < 1 << bits


def number_of(agg: Agg) -> Int | None:
    """The integer that an aggregation reads as, or ``None`` where it is more than a number."""
    if agg.kind == "count":
        return U64
    return Int(8, agg.value.signed) if agg.kind in ("sum", "min", "max", "avg") else None


def is_printable(t: Type) -> bool:
    return not isinstance(t, Void | Unknown) and not (isinstance(t, Pointer) and t.space == "context")
