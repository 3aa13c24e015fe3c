"""What a function returns, and what no probe can read of it.

For a probe the kernel keeps the general registers alone (struct pt_regs, arch/*/include/asm/ptrace.h); those of
floating-point numbers and vectors stay in the processor, where neither uprobe_events nor a BPF program finds them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probescope.model.capture import Pieces
from probescope.model.fetch import Deref, Fetch, Register
from probescope.model.site import Location, MemBytes, Reg, RegBytes, RegMem
from probescope.sources.probe_args import CannotFetch, Value

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_die import Die
    from probescope.debuginfo.dwarf_types import DwarfTypes
    from probescope.model.arch import Arch

WHY = "in a register that probes cannot read (of floating-point numbers or vectors)"
HOW = "where the code keeps it in memory it can be read: built with -O0, behind the first line of the function"
_REGISTERS = {
    "x86_64": re.compile(r"[xyz]mm\d{1,2}|st\d?|mm[0-7]"),
    "aarch64": re.compile(r"[vqdshz]\d{1,2}"),
}


def is_register(name: str, arch: Arch) -> bool:
    found = _REGISTERS.get(arch.name)
    return found is not None and found.fullmatch(name) is not None


def fetched(where: Location | None) -> Fetch | None:
    """What reads a place."""
    match where:
        case Reg(name=name):
            return Register(name)
        case RegBytes(parts=parts):
            return Pieces(tuple((Register(r), n) for r, n in parts))
        case RegMem(reg=name, offset=offset, index="") | MemBytes(reg=name, offset=offset):
            return Deref(Register(name), offset)
        case _:
            return None


def returned(function: Die, types: DwarfTypes, arch: Arch) -> Value | None:
    """What a function returns; ``None`` where that is not known. Raises ``CannotFetch`` if it is where no probe can
    read it, ``DwarfError``."""
    from probescope.debuginfo.dwarf_calls import IN_VECTOR
    from probescope.debuginfo.dwarf_die import plain
    from probescope.debuginfo.dwarf_params import signature

    result = signature(function, types, arch).result
    if result is not None and result.lost == IN_VECTOR:
        raise CannotFetch(f"it returns {result.text.rpartition('retval')[0].strip()}, {WHY}")
    x = fetched(result.where) if result is not None else None
    if result is not None and x is None and arch.name == "x86_64" and _in_memory(plain(function.type())):
        x = Deref(Register("ax"), 0)
    return Value(x, result.type, die=plain(function.type())) if x is not None and result is not None else None


def _in_memory(kind: Die | None) -> bool:
    """An enum of Rust that two registers do not hold: the caller has given the room, and gets its address back."""
    from probescope.debuginfo import dwarf_const as c

    rust = kind is not None and kind.tag in c.STRUCTS and kind.unit.root.uint(c.AT_LANGUAGE) == c.RUST
    return rust and kind is not None and (kind.uint(c.AT_BYTE_SIZE) or 0) > 16
