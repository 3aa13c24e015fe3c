"""Units of .debug_info and .debug_types: their headers, and walking over their entries (DIEs).

    version 4   length  version  abbreviations  address size                              [signature  type offset]
    version 5   length  version  kind  address size  abbreviations   [dwo id | signature  type offset]
    length      four bytes, or FFFFFFFF and eight: then offsets have eight bytes, too

Positions of entries count from the start of their unit, as references inside it do.
Source: DWARF 5, 7.5.1; DWARF 4, 7.5.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from probescope.debuginfo import dwarf_abbrev as ab
from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_abbrev import Abbrev, AbbrevTable, Format
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.leb128 import uleb
from probescope.errors import DwarfError

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_die import Die
    from probescope.debuginfo.dwarf_file import DwarfFile
    from probescope.debuginfo.dwarf_nesting import Scoped

MAX_UNIT = 1 << 29
_ROOT_BYTES = 1024


class Unit:
    """``offset`` and ``end`` in ``section``, ``first`` the position of its root entry. ``dwo_id``: of a skeleton and
    its split half; ``signature`` and ``type_at``: of a type unit. ``skeleton``: of a split unit, the one that stands
    for it in the program's own file."""

    def __init__(self, dwarf: DwarfFile, section: Section, offset: int) -> None:
        self.dwarf, self.section, self.offset = dwarf, section, offset
        self.dwo_id = self.signature = self.type_at = 0
        self.skeleton: Unit | None = None
        self._data: bytes | None = None
        self._abbrevs: AbbrevTable | None = None
        self._head: bytes | None = None
        self._root: Die | None = None
        self._scopes: Scoped | None = None
        try:
            self._read_header(section.some(offset, 48))
        except IndexError:
            raise section.error("the header of a unit is cut", offset) from None
        if self.end > section.size:
            raise section.error("a unit reaches behind the end of the section", offset)

    def _read_header(self, data: bytes) -> None:
        little = "little" if self.section.little else "big"

        def number(at: int, size: int) -> int:
            if at + size > len(data):
                raise IndexError
            return int.from_bytes(data[at : at + size], little)  # type: ignore[arg-type]

        length, at, offset_size = number(0, 4), 4, 4
        if length == 0xFFFFFFFF:
            length, at, offset_size = number(4, 8), 12, 8
        self.end = self.offset + at + length
        self.version = number(at, 2)
        if not 2 <= self.version <= 5:
            raise self.section.error(f"a unit of version {self.version}", self.offset)
        at += 2
        self.kind = c.UT_COMPILE
        if self.version == 5:
            self.kind, address_size = number(at, 1), number(at + 1, 1)
            self.abbrev_at = number(at + 2, offset_size)
            at += 2 + offset_size
        else:
            self.abbrev_at, address_size = number(at, offset_size), number(at + offset_size, 1)
            at += offset_size + 1
            if self.section.name.startswith(".debug_types"):
                self.kind = c.UT_TYPE
        if address_size not in (2, 4, 8):
            raise self.section.error(f"addresses of {address_size} bytes", self.offset)
        if self.kind in (c.UT_TYPE, c.UT_SPLIT_TYPE):
            self.signature, self.type_at = number(at, 8), number(at + 8, offset_size)
            at += 8 + offset_size
        elif self.kind in (c.UT_SKELETON, c.UT_SPLIT_COMPILE):
            self.dwo_id = number(at, 8)
            at += 8
        self.first = at
        self.format = Format(self.version, address_size, offset_size)

    @property
    def abbrevs(self) -> AbbrevTable:
        if self._abbrevs is None:
            self._abbrevs = self.dwarf.abbrevs(self.abbrev_at, self.format)
        return self._abbrevs

    @property
    def size(self) -> int:
        return self.end - self.offset

    @property
    def data(self) -> bytes:
        """All bytes of the unit, from its header on."""
        if self._data is None:
            if self.size > MAX_UNIT:
                raise self.section.error(f"a unit of {self.size} bytes, more than the {MAX_UNIT} that are read")
            self._data = self.section.read(self.offset, self.size)
            self.dwarf.used(self)
        return self._data

    def forget(self) -> None:
        self._data = self._abbrevs = None

    @property
    def head(self) -> bytes:
        """Enough of the unit for its root entry, unless that is very long."""
        if self._data is not None:
            return self._data
        if self._head is None:
            self._head = self.section.read(self.offset, min(self.size, self.first + _ROOT_BYTES))
        return self._head

    def error(self, what: str, at: int = 0) -> DwarfError:
        return self.section.error(what, self.offset + at)

    # --- entries ------------------------------------------------------------------------------------------------------

    @property
    def root(self) -> Die:
        if self._root is None:
            from probescope.debuginfo.dwarf_die import Die

            try:
                self._root = Die(self, self.first, self.head)
            except DwarfError:
                self._root = Die(self, self.first, self.data)
        return self._root

    def die(self, at: int) -> Die:
        """Raises ``DwarfError``."""
        from probescope.debuginfo.dwarf_die import Die

        if not self.first <= at < self.size:
            raise self.error("a reference leads out of its unit", at)
        return Die(self, at, self.data)

    def children(self, die: Die) -> Iterator[Die]:
        """The entries right below one."""
        from probescope.debuginfo.dwarf_die import Die

        if not die.abbrev.children:
            return
        data, at = self.data, die.end
        while at < len(data) and data[at]:
            child = Die(self, at, data)
            yield child
            at = self.behind(at)

    def behind(self, at: int) -> int:
        """Position after an entry and everything below it."""
        data, depth, limit = self.data, 0, self.size
        get = self.abbrevs.get
        try:
            while True:
                code, start = uleb(data, at)
                if code:
                    abbrev = get(code)
                    at = self._sibling(abbrev, start)
                    if not at:
                        at = skip(abbrev, data, start)
                        depth += abbrev.children
                else:
                    depth -= 1
                    at = start
                if depth <= 0 or at >= limit:
                    return at
        except IndexError:
            raise self.error("an entry is cut", at) from None

    def _sibling(self, abbrev: Abbrev, start: int) -> int:
        """Position of the next sibling of an entry with children, if it tells; 0 if not. Only forwards."""
        if not abbrev.children or abbrev.sibling[1] == 0:
            return 0
        at = start + abbrev.sibling[0]
        found = int.from_bytes(self.data[at : at + abbrev.sibling[1]], "little" if self.section.little else "big")
        return found if start < found <= self.size else 0

    def select(self, wanted: frozenset[int], into: frozenset[int] | None = None) -> list[tuple[int, Abbrev]]:
        """Positions of all entries of ``wanted`` tags, in order, looking below the root, and below those of ``into``
        (``None``: below all)."""
        try:
            return self._select(wanted, into)
        except IndexError:
            raise self.error("an entry is cut") from None

    def _select(self, wanted: frozenset[int], into: frozenset[int] | None) -> list[tuple[int, Abbrev]]:
        data, by_code, get, limit = self.data, self.abbrevs.all(), self.abbrevs.get, self.size
        order = "little" if self.section.little else "big"
        out: list[tuple[int, Abbrev]] = []
        depth, hidden, at = 0, 0, self.root.end
        if not self.root.abbrev.children:
            return out
        while at < limit:
            start = at
            code = data[at]
            at += 1
            if code >= 0x80:
                code, at = uleb(data, start)
            if not code:
                depth -= 1
                if depth < 0:
                    break
                if depth < hidden:
                    hidden = 0
                continue
            abbrev = by_code.get(code) or get(code)
            if not hidden and abbrev.tag in wanted:
                out.append((start, abbrev))
            below = abbrev.children
            if below and not hidden and into is not None and abbrev.tag not in into:
                where, size = abbrev.sibling
                after = int.from_bytes(data[at + where : at + where + size], order) if size else 0  # type: ignore[arg-type]
                if at < after <= limit:
                    at = after
                    continue
                hidden = depth + 1
            at = at + abbrev.fixed if abbrev.fixed >= 0 else skip(abbrev, data, at)
            depth += below
        return out

    def scope_of(self, at: int) -> str:
        """``ns::Class::`` for what lies in those; empty outside of any."""
        if self._scopes is None:
            from probescope.debuginfo.dwarf_nesting import Scoped

            self._scopes = Scoped(self)
        return self._scopes.around(at)


def skip(abbrev: Abbrev, data: bytes, at: int) -> int:
    """Position behind the attributes of an entry that begin at ``at``."""
    for step in abbrev.steps:
        at = at + step if step >= 0 else variable(step, data, at)
    return at


def variable(step: int, data: bytes, at: int) -> int:
    """Position behind an attribute whose size varies. Raises ``IndexError``."""
    if step == ab.LEB:
        while data[at] >= 0x80:
            at += 1
        return at + 1
    if step == ab.TEXT:
        end = data.find(b"\0", at)
        if end < 0:
            raise IndexError
        return end + 1
    if step == ab.SIZED:
        size, at = uleb(data, at)
        return at + size
    if step == ab.SIZE1:
        return at + 1 + data[at]
    if step in (ab.SIZE2, ab.SIZE4):
        width = 2 if step == ab.SIZE2 else 4
        return at + width + int.from_bytes(data[at : at + width], "little")
    raise IndexError("an indirect form")
