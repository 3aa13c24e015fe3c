"""What no probe can read. For a probe the kernel keeps the general registers alone (struct pt_regs,
arch/*/include/asm/ptrace.h); those of floating-point numbers and vectors stay in the processor, where neither
uprobe_events nor a BPF program finds them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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


def returned(function: Die, types: DwarfTypes, arch: Arch) -> str:
    """What a function returns, if that is in such a register; else empty."""
    from probescope.debuginfo.dwarf_calls import IN_VECTOR
    from probescope.debuginfo.dwarf_params import signature

    result = signature(function, types, arch).result
    return result.text.rpartition("retval")[0].strip() if result is not None and result.lost == IN_VECTOR else ""
