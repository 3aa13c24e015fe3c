"""One entry (DIE): its attributes as numbers, texts, addresses, references and blocks.

Attributes are decoded when the entry is made; what they point to (strings, addresses of a table, other entries) only
when it is asked for. Source: DWARF 5, 7.5.5 and 7.5.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_abbrev import Abbrev
from probescope.debuginfo.dwarf_unit import Unit
from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import DwarfError

Value = int | bytes
MAX_ORIGINS = 8

_UINT = {
    c.FORM_DATA1: 1,
    c.FORM_DATA2: 2,
    c.FORM_DATA4: 4,
    c.FORM_DATA8: 8,
    c.FORM_FLAG: 1,
    c.FORM_REF1: 1,
    c.FORM_REF2: 2,
    c.FORM_REF4: 4,
    c.FORM_REF8: 8,
    c.FORM_REF_SUP4: 4,
    c.FORM_REF_SUP8: 8,
    c.FORM_REF_SIG8: 8,
    c.FORM_STRX1: 1,
    c.FORM_STRX2: 2,
    c.FORM_STRX3: 3,
    c.FORM_STRX4: 4,
    c.FORM_ADDRX1: 1,
    c.FORM_ADDRX2: 2,
    c.FORM_ADDRX3: 3,
    c.FORM_ADDRX4: 4,
}
_ULEB = frozenset(
    {
        c.FORM_UDATA,
        c.FORM_REF_UDATA,
        c.FORM_STRX,
        c.FORM_ADDRX,
        c.FORM_LOCLISTX,
        c.FORM_RNGLISTX,
        c.FORM_GNU_ADDR_INDEX,
        c.FORM_GNU_STR_INDEX,
    }
)
_OFFSETS = frozenset(
    {c.FORM_STRP, c.FORM_SEC_OFFSET, c.FORM_STRP_SUP, c.FORM_LINE_STRP, c.FORM_GNU_REF_ALT, c.FORM_GNU_STRP_ALT}
)
_PREFIX = {c.FORM_BLOCK1: 1, c.FORM_BLOCK2: 2, c.FORM_BLOCK4: 4}
CONSTANT_SIZES = {c.FORM_DATA1: 1, c.FORM_DATA2: 2, c.FORM_DATA4: 4, c.FORM_DATA8: 8}
"""Forms of constants that do not tell whether there is a sign (``dwarf_constants``)."""


class Die:
    """``at`` from the start of its unit, ``end`` where its attributes end (and its children begin)."""

    __slots__ = ("abbrev", "at", "attributes", "end", "unit")

    def __init__(self, unit: Unit, at: int, data: bytes) -> None:
        self.unit, self.at = unit, at
        self.attributes: dict[int, tuple[int, Value]] = {}
        try:
            code, end = uleb(data, at)
            self.abbrev: Abbrev = unit.abbrevs.get(code)
            for attribute, form, constant in self.abbrev.attributes:
                value, end = read(unit, data, end, form, constant)
                self.attributes.setdefault(attribute, (form, value))
        except IndexError:
            raise unit.error("an entry is cut", at) from None
        self.end = end

    def __repr__(self) -> str:
        return f"<DIE tag {self.tag:#x} at {self.unit.offset + self.at:#x}>"

    @property
    def tag(self) -> int:
        return self.abbrev.tag

    @property
    def key(self) -> tuple[int, str, int]:
        """Which entry of the program's debug information this is."""
        return id(self.unit.dwarf), self.unit.section.name, self.unit.offset + self.at

    def children(self, *tags: int) -> Iterator[Die]:
        for child in self.unit.children(self):
            if not tags or child.tag in tags:
                yield child

    # --- attributes ---------------------------------------------------------------------------------------------------

    def has(self, attribute: int) -> bool:
        return attribute in self.attributes

    def form(self, attribute: int) -> int:
        return self.attributes.get(attribute, (0, 0))[0]

    def uint(self, attribute: int) -> int | None:
        """A constant without sign, or an offset; ``None`` if it is missing or something else."""
        value = self.attributes.get(attribute, (0, b""))[1]
        return value if isinstance(value, int) and value >= 0 else None

    def flag(self, attribute: int) -> bool:
        return bool(self.attributes.get(attribute, (0, 0))[1])

    def block(self, attribute: int) -> bytes | None:
        form, value = self.attributes.get(attribute, (0, 0))
        return value if isinstance(value, bytes) and form in c.BLOCKS else None

    @property
    def name(self) -> str:
        return self.text(c.AT_NAME)

    def text(self, attribute: int) -> str:
        """A string; empty if there is none. Raises ``DwarfError`` where it leads nowhere."""
        form, value = self.attributes.get(attribute, (0, 0))
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace") if form == c.FORM_STRING else ""
        return self.unit.dwarf.text(self.unit, form, value) if form else ""

    def address(self, attribute: int) -> int | None:
        """Of class address, also by its number in .debug_addr; ``None`` if it is something else."""
        form, value = self.attributes.get(attribute, (0, 0))
        if form == c.FORM_ADDR and isinstance(value, int):
            return value
        if form in c.ADDRX and isinstance(value, int):
            return self.unit.dwarf.indexed_address(self.unit, value)
        return None

    def ref(self, attribute: int) -> Die | None:
        """The entry that an attribute refers to; ``None`` if it is missing, or lies where nobody can be asked."""
        form, value = self.attributes.get(attribute, (0, 0))
        if not form or not isinstance(value, int):
            return None
        if form in c.UNIT_REFS:
            return self.unit.die(value)
        return self.unit.dwarf.referred(self.unit, form, value)

    # --- what is often asked ------------------------------------------------------------------------------------------

    @property
    def is_declaration(self) -> bool:
        return self.flag(c.AT_DECLARATION)

    def lineage(self) -> Iterator[Die]:
        """The entry itself, then those that it was made from: its abstract origin, its specification."""
        found: Die | None = self
        for _ in range(MAX_ORIGINS):
            if found is None:
                return
            yield found
            found = found.ref(c.AT_ABSTRACT_ORIGIN) or found.ref(c.AT_SPECIFICATION)

    def inherited(self, attribute: int) -> Die | None:
        """The nearest of ``lineage`` that has an attribute."""
        return next((d for d in self.lineage() if d.has(attribute)), None)

    def full_name(self) -> str:
        """The name, its own or inherited."""
        found = self.inherited(c.AT_NAME)
        return found.name if found is not None else ""

    def type(self) -> Die | None:
        """What AT_type leads to, its own or inherited; ``None`` for void."""
        found = self.inherited(c.AT_TYPE)
        to = found.ref(c.AT_TYPE) if found is not None else None
        if to is not None and c.AT_SIGNATURE in to.attributes:  # it only stands for one in a type unit
            to = to.ref(c.AT_SIGNATURE) or to
        return to

    def high(self, low: int) -> int:
        """Where a function or unit ends that begins at ``low``: AT_high_pc is an address, or a size."""
        if self.form(c.AT_HIGH_PC) in (c.FORM_ADDR, *c.ADDRX):
            return self.address(c.AT_HIGH_PC) or low
        return low + (self.uint(c.AT_HIGH_PC) or 0)


def plain(die: Die | None) -> Die | None:
    """Through typedefs and qualifiers."""
    for _ in range(64):
        if die is None or (die.tag not in c.QUALIFIERS and die.tag != c.TAG_TYPEDEF):
            return die
        die = die.type()
    return None


def read(unit: Unit, data: bytes, at: int, form: int, constant: int = 0) -> tuple[Value, int]:
    """One attribute and where it ends. Raises ``IndexError`` at the end of the data, ``DwarfError`` on forms that are
    not known."""
    size = _UINT.get(form) or _sized(unit, form)
    if size:
        return _number(unit, data, at, size)
    if form in _ULEB:
        return uleb(data, at)
    if form == c.FORM_SDATA:
        return sleb(data, at)
    if form == c.FORM_FLAG_PRESENT:
        return 1, at
    if form == c.FORM_IMPLICIT_CONST:
        return constant, at
    if form == c.FORM_STRING:
        end = data.find(b"\0", at)
        if end < 0:
            raise IndexError
        return data[at:end], end + 1
    if form == c.FORM_INDIRECT:
        real, at = uleb(data, at)
        if real in (c.FORM_INDIRECT, c.FORM_IMPLICIT_CONST):
            raise unit.error("a form that is no form", at)
        return read(unit, data, at, real)
    return _block(unit, data, at, form)


def _sized(unit: Unit, form: int) -> int:
    if form in _OFFSETS:
        return unit.format.offset
    if form in (c.FORM_ADDR, c.FORM_REF_ADDR):
        return unit.format.size(form) or 0
    return 0


def _number(unit: Unit, data: bytes, at: int, size: int) -> tuple[int, int]:
    end = at + size
    if end > len(data):
        raise IndexError
    return int.from_bytes(data[at:end], "little" if unit.section.little else "big"), end


def _block(unit: Unit, data: bytes, at: int, form: int) -> tuple[bytes, int]:
    if form in (c.FORM_EXPRLOC, c.FORM_BLOCK):
        size, at = uleb(data, at)
    elif form in _PREFIX:
        size, at = _number(unit, data, at, _PREFIX[form])
    elif form == c.FORM_DATA16:
        size = 16
    else:
        raise unit.error(f"form {form:#x} is not known", at)
    if at + size > len(data):
        raise IndexError
    return data[at : at + size], at + size


__all__ = ["CONSTANT_SIZES", "Die", "DwarfError", "Value", "plain", "read"]
