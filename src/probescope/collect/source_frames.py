"""Frames of stacks, each as the functions that the compiler made one of, with their places in source files.

One frame of a stack is one address; with debug information it may be several functions, of which all but the last are
inlined. A frame that called another one holds the address behind the call, so the byte before it is what is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.frozen import replace
from probescope.model.output import Frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from probescope.debuginfo.dwarf_inlines import SourceFrame
    from probescope.debuginfo.vmlinux import KernelLines


def frames_of(frame: Frame, found: tuple[SourceFrame, ...], name: Callable[[str], str]) -> tuple[Frame, ...]:
    """``name`` makes a symbol readable. The last one keeps the symbol that it has: symbol tables tell of aliases, and
    of parts that the compiler split off."""
    if not found:
        return (frame,)
    inner = (Frame(frame.address, name(f.function), 0, frame.module, True, f.file, f.line) for f in found[:-1])
    outer = found[-1]
    return (*inner, replace(frame, file=outer.file, line=outer.line))


def looked_up(frame: Frame, caller: bool) -> int:
    """The address whose source line is that of a frame. One right at a function's beginning called nothing."""
    return frame.address - 1 if caller and frame.offset else frame.address


def kernel_lines(address_of: Callable[[str], int | None], vmlinux: str = "") -> KernelLines:
    """Of the running kernel. ``vmlinux``: the file that the user named."""
    from probescope.debuginfo.elf_notes import build_id
    from probescope.debuginfo.vmlinux import KernelLines, places
    from probescope.kernel.host import host

    try:
        running = build_id(host().read_bytes("/sys/kernel/notes"))
    except OSError:
        running = ""
    return KernelLines(places(host().release, running, vmlinux), running, address_of)
