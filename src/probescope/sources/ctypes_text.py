"""C types as text, as tracefs formats and system call tables spell them, to ``model.types``.

    const char *            Pointer(int8)            struct sock *      Pointer(struct sock)
    unsigned long           uint64                   enum zone_type     enum zone_type
    pid_t                   int32                    const char *const * Pointer(Pointer(int8))

Common names are known here, so that BTF is asked only for what is rare.
"""

from __future__ import annotations

import re
from typing import Protocol

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
    Enum,
    Int,
    Layout,
    Pointer,
    Space,
    Struct,
    Type,
)

_BY_TYPE: dict[Int, str] = {
    CHAR: "char|signed char|s8|__s8|int8_t",
    U8: "unsigned char|u8|__u8|uint8_t",
    I16: "short|signed short|short int|s16|__s16|int16_t",
    U16: "unsigned short|unsigned short int|u16|__u16|uint16_t|umode_t|__be16|__le16|sa_family_t",
    I32: "int|signed|signed int|s32|__s32|int32_t|pid_t|clockid_t|timer_t|key_t|mqd_t|key_serial_t|rwf_t|errseq_t",
    U32: "unsigned|unsigned int|uint|u32|__u32|uint32_t|uid_t|gid_t|dev_t|gfp_t|qid_t|__be32|__le32|uid32_t|gid32_t",
    I64: "long|signed long|long int|long long|signed long long|long long int|s64|__s64|int64_t"
    "|loff_t|off_t|ssize_t|time64_t|ktime_t",
    U64: "unsigned long|long unsigned int|unsigned long int|unsigned long long|long long unsigned int|u64|__u64"
    "|uint64_t|size_t|sector_t|ino_t|__be64|__le64|aio_context_t|phys_addr_t|resource_size_t|dma_addr_t|uintptr_t|blkcnt_t",
}

INTEGERS: dict[str, Int] = {name: t for t, names in _BY_TYPE.items() for name in names.split("|")}
"""Integer types by every name that does not depend on the kernel's configuration (of 64-bit kernels)."""


class CTypes(Protocol):
    """The part of a ``TypeTable`` that is asked here."""

    def named(self, name: str) -> Type | None: ...
    def layout(self, name: str) -> Layout | None: ...


_QUALIFIER = re.compile(
    r"\b(?:const|volatile|restrict|__user|__kernel|__iomem|__percpu|__rcu|__seg_gs|__seg_fs|__force)\b"
)
_MAX_POINTERS = 8


def parse(text: str, space: Space, table: CTypes | None = None) -> Type:
    """The type that ``text`` names; pointers point into ``space``, unless ``__user`` says otherwise. An unknown name is
    ``void``."""
    if "__user" in text:
        space = "user"
    words = _QUALIFIER.sub(" ", text)
    base = " ".join(words.replace("*", " ").split())
    out = _base(base, table)
    if isinstance(out, Pointer) and out.space == "none":  # a typedef, such as fl_owner_t
        out = Pointer(out.target, space)
    for _ in range(min(words.count("*"), _MAX_POINTERS)):
        out = Pointer(out, space)
    return out


def _base(name: str, table: CTypes | None) -> Type:
    known = INTEGERS.get(name)
    if known is not None:
        return known
    if name in {"bool", "_Bool"}:
        return BOOL
    if name in {"void", ""}:
        return VOID
    if name.startswith(("struct ", "union ")):
        return Struct(name)
    found = table.named(name) if table is not None else None
    if found is not None:
        return found
    return Enum(name[5:]) if name.startswith("enum ") else VOID
