"""The build-id of this kernel."""

from __future__ import annotations

from probescope.debuginfo import elf_notes
from probescope.kernel.host import host

KERNEL = "[kernel.kallsyms]"


def kernel_build_id() -> bytes:
    """Empty if it has none, or /sys is not there."""
    try:
        notes = host().read_bytes("/sys/kernel/notes", 1 << 20)
    except OSError:
        return b""
    return bytes.fromhex(elf_notes.build_id(notes, little=True)) if notes else b""
