"""The spelling of C types: builtin integers by every name that a C text may give them, and names with stars.

Widths are those of the 64-bit Linux ABIs (LP64), and of include/linux/types.h and stdint.h. ``char`` is always the
signed 8-bit integer ``CHAR``, also where a compiler makes it unsigned (AArch64, kernels from 6.2 on): that is how the
rest of the product tells text from bytes.
"""

from __future__ import annotations

from probescope.model.types import (
    BOOL,
    CHAR,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    VOID,
    Array,
    Opaque,
    Pointer,
    Space,
    Type,
)

_SPELLINGS: tuple[tuple[Type, str], ...] = (
    (VOID, "void"),
    (BOOL, "bool _Bool"),
    (CHAR, "char s8 __s8 int8_t"),
    (U8, "u8 __u8 uint8_t u_int8_t"),
    (I16, "s16 __s16 int16_t"),
    (U16, "u16 __u16 uint16_t u_int16_t"),
    (I32, "s32 __s32 int32_t"),
    (U32, "u32 __u32 uint32_t u_int32_t"),
    (I64, "s64 __s64 int64_t ssize_t intptr_t ptrdiff_t intmax_t"),
    (Opaque("float"), "float"),
    (Opaque("double"), "double"),
    (U64, "u64 __u64 uint64_t u_int64_t size_t uintptr_t uintmax_t"),
)
NAMES: dict[str, Type] = {name: t for t, names in _SPELLINGS for name in names.split()}

QUALIFIERS = frozenset("const volatile restrict __restrict __const __volatile register _Atomic".split())
_INTEGER_WORDS = frozenset("signed unsigned short long int char __int128".split())
_MAX_STARS = 16


def builtin(name: str) -> Type | None:
    """``long unsigned int`` -> ``U64``; ``None`` for what only a table of types can know."""
    found = NAMES.get(name)
    if found is not None:
        return found
    words = name.split()
    if not words or not _INTEGER_WORDS.issuperset(words):
        return None
    unsigned = "unsigned" in words
    if "__int128" in words:
        return Array(U64, 2)  # no integer of that width exists here: two halves, low one first
    if "char" in words:
        return U8 if unsigned else CHAR
    if "short" in words:
        return U16 if unsigned else I16
    if "long" in words:
        return U64 if unsigned else I64
    return U32 if unsigned else I32


def floating(size: int) -> Type:
    """A floating point number; of a size that has no name here, its bytes."""
    return Opaque("float") if size == 4 else Opaque("double") if size == 8 else Array(U8, size)


def split_stars(name: str) -> tuple[str, int]:
    """``const struct file **`` -> (``struct file``, 2): the words without qualifiers, and the number of stars."""
    words = [w for w in name.replace("*", " ").split() if w not in QUALIFIERS]
    return " ".join(words), min(name.count("*"), _MAX_STARS)


def pointers(target: Type, stars: int, space: Space) -> Type:
    for _ in range(stars):
        target = Pointer(target, space)
    return target
