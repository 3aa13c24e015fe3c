"""The kernel's structs, unions and enums as C declares them, for ``list -v 'struct file'``."""

from __future__ import annotations

from collections.abc import Iterator

from probescope.debuginfo.btf import Btf, RawMember
from probescope.debuginfo.btf_blob import ENUM, ENUM64, STRUCT, UNION
from probescope.errors import ProbeError
from probescope.sources import btf_text, kernel_btf
from probescope.sources.globs import matches

KINDS = {"struct": (STRUCT,), "union": (UNION,), "enum": (ENUM, ENUM64)}


def asked(pattern: str) -> bool:
    """Whether a pattern of ``list`` is about types: ``struct file``, ``enum pid_*``."""
    keyword, blank, name = pattern.partition(" ")
    return keyword in KINDS and bool(blank) and bool(name.strip())


def list_types(pattern: str) -> Iterator[tuple[str, list[str]]]:
    """``struct file`` with its members, in the order of the kernel's BTF. Raises ``ProbeError`` without BTF."""
    keyword, _, wanted = pattern.partition(" ")
    found = kernel_btf.types()
    if found is None:
        raise ProbeError("types are listed from BTF, which this kernel has not")
    seen: set[str] = set()
    for type_id in found.btf.ids(*KINDS[keyword]):
        name = found.btf.name_of(type_id)
        if name and name not in seen and matches(wanted.strip(), name):
            seen.add(name)
            yield f"{keyword} {name}", _members(found.btf, keyword, type_id)


def _members(btf: Btf, keyword: str, type_id: int) -> list[str]:
    if keyword == "enum":
        return [f"{name} = {value}," for name, value in btf.enumerators(type_id)]
    return [_member(btf, m) for m in btf.members(type_id)]


def _member(btf: Btf, m: RawMember) -> str:
    bits = f" : {m.bit_size}" if m.bit_size else ""
    return f"{btf_text.declaration(btf, m.type, m.name)}{bits};"
