"""One file to be searched: its data and code, names of functions, source lines, and probes as they are written."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Protocol

from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_symbols import STT_OBJECT
from probescope.errors import DwarfError, ElfError
from probescope.frozen import dataclass
from probescope.lang.bt.pointtext import part
from probescope.views.code import File

if TYPE_CHECKING:
    from probescope.debuginfo.crossrefs import Crossrefs
    from probescope.debuginfo.dwarf_inlines import SourceFrame
    from probescope.debuginfo.eh_index import FrameIndex


@dataclass(frozen=True, slots=True)
class Where:
    """A place in code. ``name`` of its function as symbol tables have it, "" where none names it; ``start`` where that
    begins; ``offset`` in bytes from there. ``address`` as the file has it, ``runs`` as the running kernel does."""

    address: int
    name: str
    start: int
    offset: int
    runs: int = 0
    module: str = ""

    @property
    def plain(self) -> str:
        """Without what compilers add to names of parts and copies: ``f.constprop.0.cold`` is ``f``."""
        return self.name if self.name.startswith("_Z") else self.name.partition(".")[0] or self.name


class Image(Protocol):
    """``title``: as told to a person."""

    @property
    def title(self) -> str: ...

    @property
    def refs(self) -> Crossrefs: ...

    def where(self, address: int) -> Where: ...

    def frames(self, address: int) -> tuple[SourceFrame, ...]:
        """Source lines of an instruction, innermost first; empty where no debug information tells."""
        ...

    def probe(self, where: Where, exact: bool = False) -> str:
        """Of the function, or of the very instruction."""
        ...

    def object_at(self, address: int) -> tuple[str, int]:
        """The variable that an address of data lies in, and where that begins; "" and 0 if none is known."""
        ...


class Program:
    """A program or library. Raises ElfError where it cannot be read."""

    def __init__(self, path: str) -> None:
        self.title = path
        self.file = File(path)
        if self.file.binary is None:
            ElfFile.open(path).close()  # says why
            raise ElfError("cannot be read", file=path)
        self.binary = self.file.binary
        self._refs: Crossrefs | None = None
        self._frames: FrameIndex | None = None
        self._objects: list[tuple[int, int, str]] | None = None
        self._looked = False

    @property
    def refs(self) -> Crossrefs:
        from probescope.debuginfo.crossrefs import crossrefs

        if self._refs is None:
            self._refs = crossrefs(self.binary.elf)
        return self._refs

    def where(self, address: int) -> Where:
        offset = self.binary.elf.to_offset(address)
        found = self.binary.function_at(offset) if offset is not None else None
        if found is not None and (not found[0].size or found[1] < found[0].size):
            return Where(address, found[0].name, found[0].address, found[1])
        start = self._unwound(address)
        return Where(address, "", start, address - start)

    def _unwound(self, address: int) -> int:
        """Where the function begins, by unwind tables: stripped files keep those."""
        from probescope.debuginfo.eh_index import FrameIndex

        if not self._looked:
            self._looked = True
            try:
                self._frames = FrameIndex(self.binary.elf)
            except ElfError:
                self._frames = None
        if self._frames is None:
            return address
        i = bisect_right(self._frames.starts, address) - 1
        return int(self._frames.starts[i]) if i >= 0 else address

    def frames(self, address: int) -> tuple[SourceFrame, ...]:
        try:
            return self.file.inlines.frames(address) if self.file.inlines is not None else ()
        except (DwarfError, ElfError):
            return ()

    def probe(self, where: Where, exact: bool = False) -> str:
        if where.name and not exact and "." not in where.plain:
            return f"uprobe:{part(self.title)}:{_quoted(where.plain if self._has(where.plain) else where.name)}"
        return f"uprobe:{part(self.title)}:{where.address if exact else where.start:#x}"

    def _has(self, name: str) -> bool:
        return self.binary.function(name) is not None

    def object_at(self, address: int) -> tuple[str, int]:
        if self._objects is None:
            tables = [self.binary.elf.symbols()]
            if self.binary.debug is not None:
                tables.append(self.binary.debug.symbols())
            found = {(s.address, s.size, s.name) for t in tables for s in t if s.type == STT_OBJECT and s.size}
            self._objects = sorted(found)
        i = bisect_right(self._objects, (address + 1,)) - 1
        start, size, name = self._objects[i] if i >= 0 else (0, 0, "")
        return (name, start) if address < start + size else ("", 0)


def _quoted(name: str) -> str:
    return name if name.replace("_", "a").replace(".", "a").isalnum() else f'"{name}"'
