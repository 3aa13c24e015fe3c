"""The vDSO of this boot: the small library that the kernel maps into every process."""

from __future__ import annotations

from probescope.kernel.host import host
from probescope.kernel.procfs import maps

MOST = 1 << 20


def vdso() -> bytes:
    """Its ELF image, read out of our own memory; empty if there is none."""
    h = host()
    entry = next((m for m in maps(h.getpid()) if m.path == "[vdso]"), None)
    if entry is None or entry.end - entry.start > MOST:
        return b""
    return h.own_memory(entry.start, entry.end - entry.start)
