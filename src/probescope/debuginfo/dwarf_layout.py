"""Structs, unions and classes of DWARF to ``model.types.Layout``.

    DW_TAG_member      name, type, DW_AT_data_member_location: bytes        bit fields: DW_AT_data_bit_offset: bits
    DW_TAG_inheritance type, place of the base class in this one

Members of nameless members, and those of base classes, are lifted. A bit field of DWARF 3 counts its bits from the most
significant end of a unit: DW_AT_byte_size * 8 - DW_AT_bit_offset - DW_AT_bit_size gives the place from the other end.
Source: DWARF 5, 5.7; DWARF 3, 5.5.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.cbits import place_bits
from probescope.debuginfo.dwarf_constants import constant, enumerators
from probescope.debuginfo.dwarf_die import Die, plain
from probescope.debuginfo.leb128 import uleb
from probescope.model.types import BOOL, Int, Layout, Member, Type, is_integer, width

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_types import DwarfTypes

MAX_MEMBERS = 1 << 16
MAX_NESTING = 32
OP_PLUS_UCONST = 0x23


class _Builder:
    """``types`` may be missing where only names and places are wanted."""

    def __init__(self, types: DwarfTypes | None, size: int) -> None:
        self.types, self.size = types, size
        self.members: list[Member] = []
        self.visited = 0

    def add_all(self, die: Die, base: int, depth: int) -> None:
        """``base`` in bits."""
        if depth > MAX_NESTING:
            raise die.unit.error("structs are nested too deep", die.at)
        for m in die.children(c.TAG_MEMBER, c.TAG_INHERITANCE):
            self.visited += 1
            if self.visited > MAX_MEMBERS:
                raise die.unit.error("a struct with too many members", die.at)
            place = bit_place(m)
            if place is None or m.is_declaration or (m.flag(c.AT_EXTERNAL) and not m.has(c.AT_MEMBER_LOCATION)):
                continue  # a static member, or a virtual base class: somewhere else
            if m.tag == c.TAG_INHERITANCE or not m.has(c.AT_NAME):
                self._lift(m, base + place, depth)
            else:
                self._add(m, base + place)

    def _lift(self, m: Die, at: int, depth: int) -> None:
        inner = plain(m.type())
        if inner is not None and inner.tag in c.STRUCTS:
            self.add_all(definition(self.types, inner) if self.types is not None else inner, at, depth + 1)

    def _add(self, m: Die, at: int) -> None:
        assert self.types is not None
        t = self.types.type_of(m.type())
        bits = m.uint(c.AT_BIT_SIZE)
        if bits and (is_integer(t) or t == BOOL):
            unit = m.uint(c.AT_BYTE_SIZE) or width(t)
            self.members.append(place_bits(m.name, _holder(t), at, bits, unit, self.size))
        else:
            self.members.append(Member(m.name, t, at // 8))


class _Outline(_Builder):
    def __init__(self, size: int) -> None:
        super().__init__(None, size)
        self.places: list[tuple[str, int, int]] = []

    def _add(self, m: Die, at: int) -> None:
        self.places.append((m.name, at, m.uint(c.AT_BIT_SIZE) or 0))


def outline_of(die: Die) -> object:
    """What tells definitions of one name apart: size, and members by name, bit and width. Types are not looked at."""
    if die.tag == c.TAG_ENUM:
        return tuple(enumerators(die))
    outline = _Outline(die.uint(c.AT_BYTE_SIZE) or 0)
    outline.add_all(die, 0, 0)
    return outline.size, tuple(outline.places)


def _holder(t: Type) -> Type:
    return Int(1, False) if t == BOOL else t


def layout_of(types: DwarfTypes, die: Die, name: str) -> Layout | None:
    """``None`` for what has no members to be known."""
    if die.tag not in c.STRUCTS or die.is_declaration:
        return None
    size = die.uint(c.AT_BYTE_SIZE) or 0
    builder = _Builder(types, size)
    builder.add_all(die, 0, 0)
    return Layout(name, size, tuple(builder.members))


def bit_place(m: Die) -> int | None:
    """Bits from the start of the struct; ``None`` where only the running program knows."""
    direct = m.uint(c.AT_DATA_BIT_OFFSET)
    if direct is not None:
        return direct
    at = m.uint(c.AT_MEMBER_LOCATION)
    block = m.block(c.AT_MEMBER_LOCATION)
    if block is not None:
        at = _constant(block)
        if at is None:
            return None
    old, bits = constant(m, c.AT_BIT_OFFSET, None), m.uint(c.AT_BIT_SIZE)
    if old is None or bits is None:
        return 8 * (at or 0)
    holder = plain(m.type())
    unit = m.uint(c.AT_BYTE_SIZE) or (holder.uint(c.AT_BYTE_SIZE) if holder is not None else None) or 4
    return 8 * (at or 0) + 8 * unit - old - bits


def _constant(block: bytes) -> int | None:
    """The offset out of an expression that adds one (DWARF 2)."""
    try:
        return uleb(block, 1)[0] if block[0] == OP_PLUS_UCONST else None
    except IndexError:
        return None


def definition(types: DwarfTypes, die: Die) -> Die:
    """Of a struct that may be only declared where it is used; the declaration if there is none."""
    if not die.is_declaration:
        return die
    signed = die.ref(c.AT_SIGNATURE)
    if signed is not None:
        return signed
    name = die.unit.scope_of(die.at) + die.name
    return next((d for d in types.finder.types(name, die.unit) if d.tag in c.STRUCTS), die)
