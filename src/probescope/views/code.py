"""Code of recorded functions, by the files of this machine: addresses in files, source lines, bytes.

An address of a process is one of a file by the mapping that it lies in; of the kernel nothing is known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.errors import DwarfError, ElfError

if TYPE_CHECKING:
    from probescope.debuginfo.binary import Binary
    from probescope.debuginfo.dwarf_inlines import Inlines
    from probescope.debuginfo.symbolize import AddressSpace

MOST_FILES = 512


class File:
    """A binary with its debug information, both opened when first needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._binary: Binary | None = None
        self._inlines: Inlines | None = None
        self._looked = self._read = False

    @property
    def binary(self) -> Binary | None:
        from probescope.debuginfo.binary import Binary

        if not self._looked:
            self._looked = True
            try:
                self._binary = Binary(self.path)
            except (ElfError, OSError, ValueError):
                self._binary = None
        return self._binary

    @property
    def inlines(self) -> Inlines | None:
        from probescope.debuginfo.dwarf_inlines import Inlines
        from probescope.debuginfo.dwarf_open import open_dwarf

        if not self._read and self.binary is not None:
            self._read = True
            try:
                dwarf = open_dwarf(self.binary)
                self._inlines = Inlines(dwarf) if dwarf is not None else None
            except (DwarfError, ElfError, OSError):
                self._inlines = None
        return self._inlines

    def virtual(self, offset: int) -> int | None:
        """The virtual address of a place in the file."""
        try:
            return self.binary.elf.to_vaddr(offset) if self.binary is not None else None
        except ElfError:
            return None

    def line(self, virtual: int) -> tuple[str, int] | None:
        """File and number of the source line that an instruction comes from."""
        frames = self.inlines.frames(virtual) if self.inlines is not None else ()
        return (frames[0].file, frames[0].line) if frames and frames[0].file and frames[0].line else None


class Code:
    def __init__(self) -> None:
        self._files: dict[str, File] = {}

    def file(self, path: str) -> File:
        found = self._files.get(path)
        if found is None:
            if len(self._files) >= MOST_FILES:
                self._files.clear()
            found = self._files[path] = File(path)
        return found

    def place(self, space: AddressSpace | None, address: int) -> tuple[File, int] | None:
        """File and virtual address of an address of a process."""
        mapping = space.find(address) if space is not None else None
        if mapping is None or not mapping.path.startswith("/"):
            return None
        file = self.file(mapping.path)
        virtual = file.virtual(address - mapping.start + mapping.offset)
        return None if virtual is None else (file, virtual)

    def line(self, space: AddressSpace | None, address: int) -> tuple[str, int] | None:
        place = self.place(space, address)
        return place[0].line(place[1]) if place is not None else None
