"""Source lines of the kernel, where the vmlinux that it was linked as has come along with its debug information.

    /usr/lib/debug/.build-id/ab/cdef....debug   /usr/lib/debug/boot/vmlinux-RELEASE   /lib/modules/RELEASE/build/vmlinux

It is the right file if it has the build-id that /sys/kernel/notes tells. The kernel runs elsewhere than it was linked
for (KASLR); how far is told by a symbol that both know. Modules are not looked up: they are files of their own that
nobody has linked. Source of the places: tools/perf/util/symbol.c and libbpf's btf.c of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from probescope.debuginfo.dwarf_inlines import Inlines, SourceFrame, open_inlines
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.locate import DEBUG_DIRS
from probescope.errors import ElfError

PLACES = (
    "/boot/vmlinux-{0}",
    "/lib/modules/{0}/vmlinux",
    "/lib/modules/{0}/build/vmlinux",
    "/usr/lib/modules/{0}/kernel/vmlinux",
    "/usr/lib/modules/{0}/vmlinux",
    "/usr/lib/debug/boot/vmlinux-{0}",
    "/usr/lib/debug/boot/vmlinux-{0}.debug",
    "/usr/lib/debug/lib/modules/{0}/vmlinux",
    "/usr/lib/debug/lib/modules/{0}/vmlinux.debug",
    "/usr/lib/debug/usr/lib/modules/{0}/vmlinux",
)
_SAME_IN_BOTH = ("_stext", "_text")


def places(release: str, build_id: str, named: str = "") -> Iterator[str]:
    """Where a kernel's file may lie; ``named`` is what the user says, and then the only one."""
    if named:
        yield named
        return
    if len(build_id) > 2:
        for d in DEBUG_DIRS:
            yield f"{d}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    if release and "/" not in release:
        yield from (p.format(release) for p in PLACES)


class KernelLines:
    """``paths`` in order of preference; the first one with the build-id and with debug information is taken, when the
    first address is asked for. ``address_of`` a symbol of the running kernel, ``None`` if it is hidden."""

    def __init__(self, paths: Iterator[str], build_id: str, address_of: Callable[[str], int | None]) -> None:
        self._paths, self._build_id, self._address_of = paths, build_id, address_of
        self._inlines: Inlines | None = None
        self._moved = 0
        self._looked = False

    def frames(self, address: int) -> tuple[SourceFrame, ...]:
        """Innermost first; empty where nothing is known."""
        if not self._looked:
            self._looked = True
            self._open()
        return self._inlines.frames(address - self._moved) if self._inlines is not None else ()

    def _open(self) -> None:
        for path in self._paths:
            try:
                elf = ElfFile.open(path)
                moved = self._distance(elf) if not self._build_id or elf.build_id() == self._build_id else None
            except ElfError:
                continue
            found = open_inlines(path, elf=elf) if moved is not None else None
            if found is not None and moved is not None:
                self._inlines, self._moved = found, moved
                return
            elf.close()

    def _distance(self, elf: ElfFile) -> int | None:
        for name in _SAME_IN_BOTH:
            linked, runs = elf.symbols().find(name), self._address_of(name)
            if linked is not None and runs:
                return runs - linked.address
        return None
