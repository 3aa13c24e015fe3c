"""From a binary to its debug information: its own, that of a separate file, halves of units in .dwo files and packages,
and what dwz moved away.

    prog                .debug_info with skeletons: AT_dwo_name "main.dwo", AT_comp_dir "/src", dwo id
    /src/main.dwo       .debug_info.dwo ...                          or      prog.dwp: those of all units, with an index
    .gnu_debugaltlink   path of the shared file, NUL, its build-id
    .debug_sup          the same of DWARF 5: version, is it the shared one, path, NUL, length and bytes of a checksum

Source: DWARF 5, 7.3.2, 7.3.5 and 7.3.6 (split units, packages, supplementary files); the wiki pages DebugFission and
DebugFissionDWP of GCC for version 4; dwz(1).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.binary import Binary
from probescope.debuginfo.dwarf_data import Section, open_section
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_file import DwarfFile
from probescope.debuginfo.dwarf_unit import Unit
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_source import ReopenedSource
from probescope.debuginfo.leb128 import uleb
from probescope.debuginfo.locate import in_root
from probescope.errors import DwarfError, ElfError

MAX_SLOTS = 1 << 22
MAX_SPLIT = 64
"""Files of split units whose bytes are kept; those asked for longest ago are read again when they are needed."""
_COLUMNS = {
    5: {1: "info", 3: "abbrev", 4: "line", 5: "loclists", 6: "str_offsets", 8: "rnglists"},
    2: {1: "info", 2: "types", 3: "abbrev", 4: "line", 5: "loc", 6: "str_offsets"},
}


def open_dwarf(binary: Binary) -> DwarfFile | None:
    """``None`` where neither the binary nor a debug file of it has debug information. Raises ``DwarfError``."""
    own = DwarfFile(binary.elf)
    files = _Files(own, binary.path, binary.root, binary.debug_dirs)
    own.companions = files
    if own.present:
        return own
    separate = DwarfFile(binary.debug, companions=files) if binary.debug is not None else None
    if separate is None or not separate.present:
        return None
    files.main = separate
    return separate


class _Files:
    """``Companions`` by path. Every file is looked for once; one that is malformed or belongs elsewhere is as good as
    none."""

    def __init__(self, main: DwarfFile, path: str, root: str, dirs: tuple[str, ...]) -> None:
        self.main, self.path, self.root, self.dirs = main, path, root, dirs
        self._split: dict[int, Unit | None] = {}
        self._recent: OrderedDict[DwarfFile, None] = OrderedDict()
        self._packages: list[_Package] | None = None
        self._shared: DwarfFile | None = None
        self._looked = False

    # --- split units --------------------------------------------------------------------------------------------------

    def split(self, skeleton: Unit) -> Unit | None:
        if skeleton.offset not in self._split:
            self._split[skeleton.offset] = found = self._find(skeleton)
            if found is None:
                name = _dwo_name(skeleton)
                self.main.missing.append(name)
            else:
                found.skeleton = skeleton
        unit = self._split[skeleton.offset]
        if unit is not None:
            self._used(unit.dwarf)
        return unit

    def _used(self, dwarf: DwarfFile) -> None:
        self._recent[dwarf] = None
        self._recent.move_to_end(dwarf)
        while len(self._recent) > MAX_SPLIT:
            old, _ = self._recent.popitem(last=False)
            old.shed()

    def _find(self, skeleton: Unit) -> Unit | None:
        wanted = skeleton.dwo_id or skeleton.root.uint(c.AT_GNU_DWO_ID) or 0
        for package in self._opened_packages():
            found = package.unit(wanted, self)
            if found is not None:
                return found
        for path in self._places(skeleton):
            elf = _one_of_many(in_root(self.root, path))
            if elf is None:
                continue
            found = _half(DwarfFile(elf, ".dwo", companions=self), wanted)
            if found is not None:
                return found
            elf.close()
        return None

    def _places(self, skeleton: Unit) -> Iterator[str]:
        name = _dwo_name(skeleton)
        if not name or "\0" in name:
            return
        yield os.path.join(skeleton.root.text(c.AT_COMP_DIR), name)
        for folder in (os.path.dirname(self.path), *self.dirs):
            yield os.path.join(folder, name.lstrip("/"))
            yield os.path.join(folder, os.path.basename(name))

    def _opened_packages(self) -> list[_Package]:
        if self._packages is None:
            self._packages = []
            name = os.path.basename(self.path) + ".dwp"
            places = [f"{self.path}.dwp", f"{self.main.path}.dwp", *(os.path.join(d, name) for d in self.dirs)]
            for path in dict.fromkeys(places):
                elf = _opened(path if path.startswith(self.root or "/") else in_root(self.root, path))
                if elf is not None:
                    self._packages.append(_Package(elf))
        return self._packages

    # --- dwz ----------------------------------------------------------------------------------------------------------

    def shared(self) -> DwarfFile | None:
        if not self._looked:
            self._looked = True
            self._shared = self._find_shared()
        return self._shared

    def _find_shared(self) -> DwarfFile | None:
        link = _shared_link(self.main.elf)
        name, wanted = link if link is not None else ("", "")
        if not name or not wanted:
            return None
        places = [os.path.join(os.path.dirname(self.main.path), name)]
        places += [f"{d}/.build-id/{wanted[:2]}/{wanted[2:]}.debug" for d in self.dirs]
        for place in places:
            elf = _opened(in_root(self.root, place))
            if elf is not None and wanted in (elf.build_id(), _checksum(elf)):
                return DwarfFile(elf)
        return None


def _shared_link(elf: ElfFile) -> tuple[str, str] | None:
    """Name of the shared file, and its build-id or checksum as hexadecimal digits; ``None`` if there is none."""
    try:
        path, _, build_id = elf.section_data(".gnu_debugaltlink").partition(b"\0")
    except ElfError:
        return None
    return (os.fsdecode(path), build_id.hex()) if path else _supplement(elf, shared=0)


def _supplement(elf: ElfFile, shared: int) -> tuple[str, str] | None:
    """The name and the checksum of .debug_sup: of the shared file's own (``shared`` 1), or of what leans on it (0)."""
    try:
        data = elf.section_data(".debug_sup")
        end = data.index(b"\0", 3)
        size, at = uleb(data, end + 1)
    except (ElfError, ValueError, IndexError):
        return None
    if int.from_bytes(data[:2], "little" if elf.little else "big") != 5 or data[2] != shared:
        return None
    return os.fsdecode(data[3:end]), data[at : at + size].hex()


def _checksum(elf: ElfFile) -> str:
    found = _supplement(elf, shared=1)
    return found[1] if found is not None else ""


def _dwo_name(skeleton: Unit) -> str:
    return skeleton.root.text(c.AT_DWO_NAME) or skeleton.root.text(c.AT_GNU_DWO_NAME)


def _opened(path: str) -> ElfFile | None:
    try:
        return ElfFile.open(path)
    except ElfError:
        return None


def _one_of_many(path: str) -> ElfFile | None:
    """As ``_opened``, without a descriptor of its own: programs have thousands of these."""
    try:
        return ElfFile(ReopenedSource(path))
    except ElfError:
        return None


def _half(dwarf: DwarfFile, wanted: int) -> Unit | None:
    """The unit with that dwo id."""
    try:
        for unit in dwarf.units():
            if unit.kind in (c.UT_COMPILE, c.UT_SPLIT_COMPILE) and wanted == (
                unit.dwo_id or unit.root.uint(c.AT_GNU_DWO_ID) or 0
            ):
                return unit
    except DwarfError:
        return None
    return None


class _Package:
    """A .dwp: the sections of all units after each other, and an index by dwo id.

    version   columns   units   slots   [slots of 8: dwo id]  [slots of 4: row]  [columns: which section]
    [units x columns: offset]   [units x columns: size]"""

    def __init__(self, elf: ElfFile) -> None:
        self.elf = elf
        self._indexes: dict[str, dict[int, dict[str, tuple[int, int]]]] = {}
        self._types: dict[int, DwarfFile] = {}
        self._sections: dict[str, Section | None] = {}

    def unit(self, dwo_id: int, files: _Files) -> Unit | None:
        try:
            row = self._index(".debug_cu_index").get(dwo_id)
            return None if row is None else _half(_PackedFile(self, self._parts(row), files), dwo_id)
        except DwarfError:
            return None

    def section(self, name: str) -> Section | None:
        """One that all units have in common."""
        if name not in self._sections:
            self._sections[name] = open_section(self.elf, f"{name}.dwo")
        return self._sections[name]

    def type_file(self, signature: int, files: _Files) -> DwarfFile | None:
        row = self._index(".debug_tu_index").get(signature)
        if row is None:
            return None
        if signature not in self._types:
            self._types[signature] = _PackedFile(self, self._parts(row), files)
        return self._types[signature]

    def _parts(self, row: dict[str, tuple[int, int]]) -> dict[str, Section]:
        out = {}
        for name, (offset, size) in row.items():
            section = self.section(f".debug_{name}")
            if section is not None:
                out[f".debug_{name}"] = section.part(offset, size)
        return out

    def _index(self, name: str) -> dict[int, dict[str, tuple[int, int]]]:
        if name not in self._indexes:
            section = open_section(self.elf, name)
            self._indexes[name] = _read_index(section) if section is not None else {}
        return self._indexes[name]


class _PackedFile(DwarfFile):
    """One unit of a package as if it were a file; types are looked up in the whole package."""

    def __init__(self, package: _Package, parts: dict[str, Section], files: _Files) -> None:
        super().__init__(package.elf, ".dwo", parts, files)
        self._package, self._files = package, files

    def section(self, name: str) -> Section | None:
        """What the index tells no part of is one for all units: their strings."""
        return self._sections[name] if name in self._sections else self._package.section(name)

    def by_signature(self, signature: int) -> Die | None:
        found = super().by_signature(signature)
        if found is None:
            other = self._package.type_file(signature, self._files)
            found = DwarfFile.by_signature(other, signature) if other is not None else None
        return found


def _read_index(section: Section) -> dict[int, dict[str, tuple[int, int]]]:
    version = section.word(0, 2)
    columns, units, slots = (section.word(at, 4) for at in (4, 8, 12))
    if version not in _COLUMNS or slots > MAX_SLOTS or columns > 16:
        raise section.error(f"an index of version {version} with {slots} slots and {columns} columns", 0)
    rows = 16 + 8 * slots
    ids = rows + 4 * slots
    names = [_COLUMNS[version].get(section.word(ids + 4 * i, 4), "") for i in range(columns)]
    offsets = ids + 4 * columns
    sizes = offsets + 4 * columns * units
    out: dict[int, dict[str, tuple[int, int]]] = {}
    for slot in range(slots):
        row = section.word(rows + 4 * slot, 4)
        if not 0 < row <= units:
            continue
        at = 4 * columns * (row - 1)
        out[section.word(16 + 8 * slot, 8)] = {
            n: (section.word(offsets + at + 4 * i, 4), section.word(sizes + at + 4 * i, 4))
            for i, n in enumerate(names)
            if n
        }
    return out
