"""Which values live in a register and which in memory, and what both look like there.

A register holds a value widened to 64 bits by its own sign. Small opaque values are registers too: a kernel stack's is
its id (the upper half zero), a user stack's is id and process, as they lie in memory.
"""

from __future__ import annotations

from probescope.model.abi import item_types, size_align
from probescope.model.types import (
    Array,
    Bool,
    Buffer,
    Enum,
    Int,
    Opaque,
    Pointer,
    Record,
    String,
    Tuple,
    Type,
    is_scalar,
    signed,
)

SHORT = 64
"""Strings up to this size are all zero after their first NUL wherever they lie; in longer ones what follows the NUL is
worthless, except in map keys. The same goes for buffers and their length."""

_IN_MEMORY = frozenset({"usym", "inet", "mac"})


def in_register(t: Type) -> bool:
    return is_scalar(t) or (isinstance(t, Opaque) and t.kind not in _IN_MEMORY)


def reg_bytes(t: Type) -> int:
    """Bytes of a register value in memory."""
    match t:
        case Int(size=n) | Enum(size=n) | Pointer(size=n):
            return n
        case Bool():
            return 1
        case _:
            return size_align(t)[0]


def reg_signed(t: Type) -> bool:
    return signed(t) or (isinstance(t, Opaque) and t.kind == "strerror")


def is_stack(t: Type) -> bool:
    return isinstance(t, Opaque) and t.kind in {"kstack", "ustack"}


def canonical(t: Type) -> bool:
    """Whether equal values of the type are equal bytes wherever they lie: no long strings or buffers inside."""
    match t:
        case String(size=n) | Buffer(size=n):
            return n <= SHORT
        case Tuple() | Record():
            return all(canonical(i) for i in item_types(t))
        case Array(element=e):
            return canonical(e)
        case _:
            return True


def has_text(t: Type) -> bool:
    """Whether writing a value of the type may scribble one byte past a string in it."""
    match t:
        case String():
            return True
        case Tuple() | Record():
            return any(has_text(i) for i in item_types(t))
        case Array(element=e):
            return has_text(e)
        case _:
            return False


def text_size(t: Type) -> int:
    """Bytes of a text, 0 of everything else."""
    return t.size if isinstance(t, String) else 0
