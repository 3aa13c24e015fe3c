"""C types as text, as tracefs formats and system call tables spell them, to ``model.types``.

    const char *            Pointer(int8)            struct sock *      Pointer(struct sock)
    unsigned long           uint64                   enum zone_type     enum zone_type
    pid_t                   int32                    const char *const * Pointer(Pointer(int8))

Common names are known here, so that BTF is asked only for what is rare.
"""

from __future__ import annotations

from typing import Protocol

from probescope.debuginfo.cbase import builtin, pointers, split_stars
from probescope.model.types import I32, I64, U16, U32, U64, VOID, Enum, Int, Layout, Pointer, Space, Struct, Type

_BY_TYPE: dict[Int, str] = {
    U16: "umode_t __be16 __le16 sa_family_t",
    I32: "pid_t clockid_t timer_t key_t mqd_t key_serial_t rwf_t",
    U32: "uint uid_t gid_t dev_t gfp_t qid_t __be32 __le32 uid32_t gid32_t errseq_t",
    I64: "loff_t off_t time64_t ktime_t",
    U64: "sector_t ino_t __be64 __le64 aio_context_t phys_addr_t resource_size_t dma_addr_t blkcnt_t",
}

_TYPEDEFS: dict[str, Int] = {name: t for t, names in _BY_TYPE.items() for name in names.split()}
"""Integer types of the kernel that do not depend on its configuration (of 64-bit kernels)."""


class CTypes(Protocol):
    """The part of a ``TypeTable`` that is asked here."""

    def named(self, name: str) -> Type | None: ...
    def layout(self, name: str) -> Layout | None: ...


# what sparse and compilers are told; qualifiers of C itself are known below
_MARKS = frozenset("__user __kernel __iomem __percpu __rcu __seg_gs __seg_fs __force".split())


def parse(text: str, space: Space, table: CTypes | None = None) -> Type:
    """The type that ``text`` names; pointers point into ``space``, unless ``__user`` says otherwise. An unknown name is
    ``void``."""
    if "__user" in text:
        space = "user"
    words = " ".join(w for w in text.replace("*", " * ").split() if w not in _MARKS)
    base, stars = split_stars(words)
    out = _base(base, table)
    if isinstance(out, Pointer) and out.space == "none":  # a typedef, such as fl_owner_t
        out = Pointer(out.target, space)
    return pointers(out, stars, space)


def _base(name: str, table: CTypes | None) -> Type:
    known = _TYPEDEFS.get(name) or builtin(name)
    if known is not None:
        return known
    if name.startswith(("struct ", "union ")):
        return Struct(name)
    found = table.named(name) if table is not None else None
    if found is not None:
        return found
    return Enum(name[5:]) if name.startswith("enum ") else VOID
