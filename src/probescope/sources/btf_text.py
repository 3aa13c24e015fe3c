"""Types of BTF as C writes them, for ``list -v``: ``const char * filename``, ``struct sock * sk``.

Unlike ``model.types`` this keeps qualifiers and the names of typedefs, which tell people what a value means.
"""

from __future__ import annotations

from probescope.debuginfo.btf import Btf
from probescope.debuginfo.btf_blob import (
    ARRAY,
    CONST,
    ENUM,
    ENUM64,
    FUNC_PROTO,
    FWD,
    PTR,
    RESTRICT,
    STRUCT,
    TYPE_TAG,
    UNION,
    VOLATILE,
)

_MAX_DEPTH = 32
_QUALIFIERS = {CONST: "const ", VOLATILE: "volatile ", RESTRICT: "", TYPE_TAG: ""}
_KEYWORDS = {STRUCT: "struct ", UNION: "union ", ENUM: "enum ", ENUM64: "enum "}


def declaration(btf: Btf, type_id: int, name: str) -> str:
    """``type_id`` and ``name`` as a declaration. Raises ``BtfError`` on a malformed blob."""
    text, suffix = _parts(btf, type_id, 0)
    return f"{text} {name}{suffix}" if name else f"{text}{suffix}"


def _parts(btf: Btf, type_id: int, depth: int) -> tuple[str, str]:
    """What stands before the name and what after it."""
    raw = btf.raw(type_id)
    if depth > _MAX_DEPTH or not type_id:
        return "void", ""
    kind = raw.kind
    if kind in _QUALIFIERS:
        text, suffix = _parts(btf, raw.third, depth + 1)
        if btf.raw(raw.third).kind == PTR:  # the pointer itself is const
            return f"{text} {_QUALIFIERS[kind]}".rstrip(), suffix
        return _QUALIFIERS[kind] + text, suffix
    if kind == PTR:
        text, _ = _parts(btf, raw.third, depth + 1)
        return (text + "*" if text.endswith("*") else text + " *"), ""
    if kind == ARRAY:
        element, count = btf.element_of(type_id)
        text, suffix = _parts(btf, element, depth + 1)
        return text, f"[{count}]{suffix}"
    if kind == FUNC_PROTO:
        return "void", ""  # a pointer to a function reads as void *
    return _named(btf, type_id, kind, raw.kflag), ""


def _named(btf: Btf, type_id: int, kind: int, kflag: bool) -> str:
    name = btf.name_of(type_id)
    if kind == FWD:
        return ("union " if kflag else "struct ") + name
    return _KEYWORDS.get(kind, "") + (name or "(anonymous)")
