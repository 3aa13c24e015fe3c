"""The debug information of one object file: its sections, units, and everything that attributes refer to by number.

A program's own file (or its separate debug file) may lean on others: halves of units that the linker never saw (.dwo,
or packed in a .dwp), and a file that several programs share (dwz). They are found by ``companions``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from typing import Protocol

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_abbrev import AbbrevTable, Format
from probescope.debuginfo.dwarf_data import Section, open_section
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_unit import Unit
from probescope.debuginfo.elf import ElfFile
from probescope.errors import DwarfError

MAX_UNITS = 1 << 20
MAX_IN_MEMORY = 1 << 26
"""Bytes of units that are kept; the units used longest ago are forgotten first."""
MAX_TABLES = 64
"""Tables of abbreviations that are kept, beside those of units in memory."""
_INFO, _TYPES = ".debug_info", ".debug_types"


class Companions(Protocol):
    """Where other files are found."""

    def split(self, skeleton: Unit) -> Unit | None:
        """The other half of a skeleton; ``None`` if it cannot be found."""
        ...

    def shared(self) -> DwarfFile | None:
        """The file that dwz moved common entries to."""
        ...


class Alone:
    """No other files."""

    def split(self, skeleton: Unit) -> Unit | None:
        return None

    def shared(self) -> DwarfFile | None:
        return None


class DwarfFile:
    """``suffix``: ``.dwo`` where sections are called so. ``parts``: sections of one unit of a package, which replace
    those of the file. Everything raises ``DwarfError`` on damage."""

    def __init__(
        self,
        elf: ElfFile,
        suffix: str = "",
        parts: dict[str, Section] | None = None,
        companions: Companions | None = None,
    ) -> None:
        self.elf, self.path, self.suffix = elf, elf.path, suffix
        self.companions: Companions = companions or Alone()
        self.missing: list[str] = []
        self._damaged: set[tuple[str, int]] = set()
        self._sections: dict[str, Section | None] = dict(parts or {})
        self._abbrevs: OrderedDict[tuple[int, tuple[int, int, int]], AbbrevTable] = OrderedDict()
        self._starts: dict[str, list[int]] = {}
        self._units: dict[tuple[str, int], Unit] = {}
        self._recent: OrderedDict[Unit, int] = OrderedDict()
        self._in_memory = 0
        self._signatures: dict[int, Unit] | None = None

    def close(self) -> None:
        self.elf.close()

    # --- sections -----------------------------------------------------------------------------------------------------

    def section(self, name: str) -> Section | None:
        """By its plain name, ``.debug_str``."""
        if name not in self._sections:
            self._sections[name] = open_section(self.elf, name + self.suffix)
        return self._sections[name]

    def need(self, name: str) -> Section:
        found = self.section(name)
        if found is None:
            raise c.damaged(f"there is no section {name}{self.suffix}", self.path)
        return found

    @property
    def present(self) -> bool:
        return self.section(_INFO) is not None

    def abbrevs(self, offset: int, fmt: Format) -> AbbrevTable:
        key = (offset, fmt.key)
        if key not in self._abbrevs:
            self._abbrevs[key] = AbbrevTable(self.need(".debug_abbrev"), offset, fmt)
            if len(self._abbrevs) > MAX_TABLES:
                self._abbrevs.popitem(last=False)
        return self._abbrevs[key]

    # --- units --------------------------------------------------------------------------------------------------------

    def starts(self, name: str = _INFO) -> list[int]:
        """Offsets of all units of a section. What follows a malformed header is not seen."""
        if name not in self._starts:
            self._starts[name] = list(self._chain(name))
        return self._starts[name]

    def _chain(self, name: str) -> list[int]:
        section = self.section(name)
        out: list[int] = []
        at, size = 0, section.size if section else 0
        little = "little" if self.elf.little else "big"
        while section is not None and at + 11 < size and len(out) < MAX_UNITS:
            head = section.some(at, 12)
            length = int.from_bytes(head[:4], little)  # type: ignore[arg-type]
            behind = at + 4 + length
            if length == 0xFFFFFFFF:
                behind = at + 12 + int.from_bytes(head[4:12], little)  # type: ignore[arg-type]
            if behind > size:
                break
            if length:
                out.append(at)
            at = behind
        return out

    def units(self, name: str = _INFO) -> list[Unit]:
        """All but those whose headers are malformed, which are counted."""
        out: list[Unit] = []
        for start in self.starts(name):
            try:
                out.append(self.unit(start, name))
            except DwarfError:
                self._damaged.add((name, start))
        return out

    def unit(self, start: int, name: str = _INFO) -> Unit:
        """The one that begins at an offset."""
        key = (name, start)
        found = self._units.get(key)
        if found is None:
            found = self._units[key] = Unit(self, self.need(name), start)
        return found

    def unit_around(self, offset: int, name: str = _INFO) -> Unit | None:
        """The one that an offset lies in."""
        starts = self.starts(name)
        i = bisect_right(starts, offset)
        found = self.unit(starts[i - 1], name) if i else None
        return found if found is not None and offset < found.end else None

    def full(self, unit: Unit) -> Unit:
        """The unit, or the half that a skeleton stands for; the skeleton itself where that cannot be found."""
        root = unit.root
        if unit.skeleton is not None or not (root.has(c.AT_DWO_NAME) or root.has(c.AT_GNU_DWO_NAME)):
            return unit
        return self.companions.split(unit) or unit

    def used(self, unit: Unit) -> None:
        """Its bytes were read; the oldest of the others are forgotten where they are too many."""
        self._recent[unit] = unit.size
        self._in_memory += unit.size
        while self._in_memory > MAX_IN_MEMORY and len(self._recent) > 1:
            old, size = self._recent.popitem(last=False)
            self._in_memory -= size
            old.forget()

    def lost(self) -> list[str]:
        """Hints where other halves of units were looked for and not found, or units are damaged; empty if none is."""
        names, out = list(dict.fromkeys(self.missing)), list[str]()
        if names:
            what = names[0] if len(names) == 1 else f"{len(names)} files, as {names[0]}"
            out.append(f"not found is {what}, with debug information of it: --debuginfo DIR says where to look")
        if self._damaged:
            out.append(f"of its debug information {len(self._damaged)} of {len(self.starts())} units are damaged")
        return out

    def shed(self) -> None:
        """Gives back memory: what was read is read again where it is asked for."""
        for unit in self._units.values():
            unit.forget()
        for section in self._sections.values():
            if section is not None:
                section.forget()
        self._abbrevs.clear()
        self._recent.clear()
        self._in_memory = 0

    def by_signature(self, signature: int) -> Die | None:
        """The type that a type unit describes."""
        if self._signatures is None:
            self._signatures = {}
            for name in (_TYPES, _INFO):
                for unit in self.units(name):
                    if unit.kind in (c.UT_TYPE, c.UT_SPLIT_TYPE):
                        self._signatures.setdefault(unit.signature, unit)
        found = self._signatures.get(signature)
        return found.die(found.type_at) if found is not None else None

    # --- what attributes refer to -------------------------------------------------------------------------------------

    def text(self, unit: Unit, form: int, value: int) -> str:
        """A string by one of the forms that name its place; empty for what is no string."""
        if form == c.FORM_STRP:
            return self.need(".debug_str").string(value)
        if form == c.FORM_LINE_STRP:
            return self.need(".debug_line_str").string(value)
        if form in c.STRX:
            return self.need(".debug_str").string(self._string_offset(unit, value))
        if form in (c.FORM_GNU_STRP_ALT, c.FORM_STRP_SUP):
            shared = self.companions.shared()
            return shared.need(".debug_str").string(value) if shared is not None else ""
        return ""

    def _string_offset(self, unit: Unit, index: int) -> int:
        size = unit.format.offset
        base = unit.root.uint(c.AT_STR_OFFSETS_BASE)
        if base is None:  # a split unit: behind the header, which version 4 has not
            base = 0 if unit.version < 5 else 8 if size == 4 else 16
        return self.need(".debug_str_offsets").word(base + index * size, size)

    def indexed_address(self, unit: Unit, index: int) -> int:
        """The ``index``-th address of a unit, which for a split one is in the program's own file."""
        owner = unit.skeleton or unit
        base = owner.root.uint(c.AT_ADDR_BASE)
        if base is None:
            base = owner.root.uint(c.AT_GNU_ADDR_BASE) or 0
        size = unit.format.address
        return owner.dwarf.need(".debug_addr").word(base + index * size, size)

    def referred(self, unit: Unit, form: int, value: int) -> Die | None:
        """An entry outside of the unit."""
        if form == c.FORM_REF_ADDR:
            return self.at(value)
        if form == c.FORM_REF_SIG8:
            return self.by_signature(value)
        if form in (c.FORM_GNU_REF_ALT, c.FORM_REF_SUP4, c.FORM_REF_SUP8):
            shared = self.companions.shared()
            return shared.at(value) if shared is not None else None
        return None

    def at(self, offset: int) -> Die:
        """The entry at an offset of .debug_info."""
        unit = self.unit_around(offset)
        if unit is None:
            raise self.error("a reference leads out of the section", offset)
        return unit.die(offset - unit.offset)

    def error(self, what: str, offset: int = -1) -> DwarfError:
        return c.damaged(what, self.path, _INFO + self.suffix, offset)
