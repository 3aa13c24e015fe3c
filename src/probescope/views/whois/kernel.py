"""The kernel and its modules as images: code out of the file that was booted, names out of the running kernel.

/boot/vmlinuz-RELEASE (or a vmlinux)   code and messages, at the addresses that the kernel was linked for
/proc/kallsyms                         names, at the addresses where it runs: that many bytes above (KASLR)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from probescope.debuginfo.crossrefs import Crossrefs, address_of, crossrefs
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_symbols import STT_FUNC
from probescope.errors import ElfError
from probescope.views.whois.images import Where

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_inlines import Inlines, SourceFrame
    from probescope.debuginfo.kallsyms import Kallsyms

IMAGES = ("/boot/vmlinuz-{0}", "/usr/lib/modules/{0}/vmlinuz", "/lib/modules/{0}/vmlinuz", "/boot/vmlinux-{0}")


class Kernel:
    """``elf`` as linked, ``names`` as running (``None``: another kernel's file, with whatever symbols it has itself).
    ``lines``: source lines of an address as running; those that the file tells itself come before."""

    def __init__(
        self,
        elf: ElfFile,
        names: Kallsyms | None,
        lines: Callable[[int], tuple[SourceFrame, ...]] = lambda _: (),
    ) -> None:
        self.title = "kernel"
        self._elf, self._names, self._lines = elf, names, lines
        self._refs: Crossrefs | None = None
        self._moved = self._distance()
        self._own: Inlines | None = None
        self._looked = False

    def _distance(self) -> int:
        """How far above its own addresses the kernel runs. Raises ElfError where nobody tells."""
        if self._names is None:
            return 0
        runs = self._names.address("_text")
        text = self._elf.section(".text")
        if not runs or text is None:
            raise ElfError("/proc/kallsyms hides where the kernel runs (kernel.kptr_restrict)", file=self._elf.path)
        return runs - text.address

    @property
    def refs(self) -> Crossrefs:
        if self._refs is None:
            self._refs = crossrefs(self._elf)
        return self._refs

    def where(self, address: int) -> Where:
        if self._names is None:
            found = self._elf.symbols().at(address)
            return Where(
                address, *((found.name, found.address, address - found.address) if found else ("", address, 0))
            )
        runs = address + self._moved
        known = self._names.lookup(runs)
        name, offset = known[:2] if known is not None else ("", 0)
        return Where(address, name, address - offset, offset, runs)

    def linked(self, runs: int) -> int:
        """The file's address of one of the running kernel."""
        return runs - self._moved

    def frames(self, address: int) -> tuple[SourceFrame, ...]:
        from probescope.debuginfo.dwarf_inlines import open_inlines

        if not self._looked:
            self._looked = True
            self._own = open_inlines(self._elf.path, elf=self._elf)
        return (self._own.frames(address) if self._own is not None else ()) or self._lines(address + self._moved)

    def probe(self, where: Where, exact: bool = False) -> str:
        name = where.name if exact or not where.name.endswith(".cold") else where.plain
        return f"kprobe:{name or hex(where.runs)}" + (f"+{where.offset:#x}" if exact and where.offset else "")

    def object_at(self, address: int) -> tuple[str, int]:
        found = self._names.symbol_at(address + self._moved) if self._names is not None else None
        if found is None or found.kind in "tTwW":
            return "", 0
        return found.name, self.linked(found.address)


class KernelNames:
    """The running kernel without its code: addresses have names all the same."""

    def __init__(self, names: Kallsyms, lines: Callable[[int], tuple[SourceFrame, ...]]) -> None:
        self.title = "kernel"
        self._names, self._lines = names, lines
        self.refs = Crossrefs((), *(np.empty(0, np.uint64) for _ in range(4)))

    def frames(self, address: int) -> tuple[SourceFrame, ...]:
        return self._lines(address)

    def where(self, address: int) -> Where:
        known = self._names.lookup(address)
        name, offset, module = known if known is not None else ("", 0, "")
        return Where(address, name, address - offset, offset, address, module)

    def probe(self, where: Where, exact: bool = False) -> str:
        module = f"{where.module}:" if where.module else ""
        return f"kprobe:{module}{where.name}" + (f"+{where.offset:#x}" if exact and where.offset else "")

    def object_at(self, address: int) -> tuple[str, int]:
        return "", 0


class Module:
    """A module as it lies on disk, still to be linked: addresses are places in the file."""

    def __init__(self, name: str, elf: ElfFile) -> None:
        self.title = f"kernel module {name}"
        self.name, self._elf = name, elf
        self._refs: Crossrefs | None = None
        self._functions: tuple[list[int], list[tuple[str, int]]] | None = None

    @property
    def refs(self) -> Crossrefs:
        if self._refs is None:
            self._refs = crossrefs(self._elf)
        return self._refs

    def where(self, address: int) -> Where:
        starts, names = self._symbols()
        i = bisect_right(starts, address) - 1
        if i < 0 or (names[i][1] and address - starts[i] >= names[i][1]):
            return Where(address, "", address, 0)
        return Where(address, names[i][0], starts[i], address - starts[i])

    def _symbols(self) -> tuple[list[int], list[tuple[str, int]]]:
        if self._functions is None:
            rows = sorted(self._rows())
            self._functions = [r[0] for r in rows], [r[1:] for r in rows]
        return self._functions

    def _rows(self) -> Iterator[tuple[int, str, int]]:
        table, sections = self._elf.symtab(), self._elf.sections()
        for s in table or ():
            if s.type == STT_FUNC and s.section < len(sections):
                yield s.address + address_of(self._elf, sections[s.section]), s.name, s.size

    def frames(self, address: int) -> tuple[SourceFrame, ...]:
        return ()

    def probe(self, where: Where, exact: bool = False) -> str:
        name = where.name if exact or not where.name.endswith(".cold") else where.plain
        return f"kprobe:{self.name}:{name or hex(where.start)}" + (
            f"+{where.offset:#x}" if exact and where.offset else ""
        )

    def object_at(self, address: int) -> tuple[str, int]:
        return "", 0


MAX_MODULE = 1 << 28


def module_file(path: str) -> ElfFile:
    """A module's file, unpacked where it is packed. Raises ElfError."""
    from probescope.debuginfo.elf_unpack import unxz

    if path.endswith(".ko"):
        return ElfFile.open(path)
    try:
        with open(path, "rb") as f:
            data = f.read(MAX_MODULE)
    except OSError as e:
        raise ElfError(f"cannot read it: {e.strerror}", file=path) from e
    if path.endswith(".xz"):
        return ElfFile(unxz(data, path))
    return ElfFile(_unpacked(data, path))


def _unpacked(data: bytes, path: str) -> bytes:
    import zlib

    from probescope.formats.zstd import zstd

    try:
        if path.endswith(".gz"):
            return zlib.decompressobj(31).decompress(data, MAX_MODULE)
        return bytes(zstd().ZstdDecompressor().decompress(data, max_length=MAX_MODULE))
    except Exception as e:  # zlib.error, ZstdError: whatever the library calls malformed
        raise ElfError(f"does not unpack: {e}", file=path) from e
