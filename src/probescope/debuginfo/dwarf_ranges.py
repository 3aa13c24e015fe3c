"""Ranges of addresses, and lists of places by address: .debug_ranges, .debug_rnglists, .debug_loc, .debug_loclists.

    version 4   begin end   begin end ...   0 0             relative to a base; -1 as begin sets the base
    version 5   kind operands   kind operands ...   0       addresses, pairs of offsets, numbers into .debug_addr

Source: DWARF 5, 2.6.2, 2.17.3, 7.7.3, 7.25, 7.29; DWARF 4, 2.6.2, 2.17.3; GCC's split form of .debug_loc.
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.dwarf_die import Die
from probescope.debuginfo.dwarf_unit import Unit
from probescope.debuginfo.leb128 import uleb

MAX_ENTRIES = 1 << 18
"""Of one list: more are no list of a compiler's, and told."""
_TOO_MANY = "a list has more than {} entries"
_WINDOW = 1 << 12

# kinds of entries of version 5, which ranges and locations share but for two
END, BASE_X, START_X_END_X, START_X_LENGTH, OFFSETS, ANYWHERE, LOC_BASE, LOC_START_END, LOC_START_LENGTH = range(9)
_RANGE_KINDS = {0: END, 1: BASE_X, 2: START_X_END_X, 3: START_X_LENGTH, 4: OFFSETS, 5: 6, 6: 7, 7: 8}
_VIEW_PAIR = 9  # DW_LLE_GNU_view_pair


def of(die: Die) -> list[tuple[int, int]]:
    """(begin, end) of the code that belongs to an entry; the first is where it is entered. Empty if it has none."""
    low = die.address(c.AT_LOW_PC)
    if die.has(c.AT_RANGES):
        return [r for r in _ranges(die) if r[1] > r[0]]
    if low is None:
        return []
    high = die.high(low)
    return [(low, high)] if high > low else []


def _ranges(die: Die) -> Iterator[tuple[int, int]]:
    unit = die.unit
    value = die.uint(c.AT_RANGES) or 0
    base = _base_address(unit)
    if unit.version >= 5:
        section = unit.dwarf.need(".debug_rnglists")
        at = value
        if die.form(c.AT_RANGES) == c.FORM_RNGLISTX:
            at = _by_number(unit, section, value, unit.root.uint(c.AT_RNGLISTS_BASE))
        yield from ((low, high) for low, high, _ in _modern(unit, section, at, base, _RANGE_KINDS, None))
        return
    owner = unit.skeleton or unit
    offset = owner.root.uint(c.AT_GNU_RANGES_BASE) or 0 if unit.skeleton is not None else 0
    yield from ((a, b) for a, b, _ in _old(unit, owner.dwarf.need(".debug_ranges"), value + offset, base, None))


def locations(die: Die, attribute: int) -> list[tuple[int, int, bytes]]:
    """(begin, end, expression) of a location list; empty if the attribute is none."""
    unit, form = die.unit, die.form(attribute)
    value = die.uint(attribute)
    if value is None or form not in (c.FORM_SEC_OFFSET, c.FORM_LOCLISTX, c.FORM_DATA4, c.FORM_DATA8):
        return []
    base = _base_address(unit)
    if unit.version >= 5:
        section = unit.dwarf.need(".debug_loclists")
        if form == c.FORM_LOCLISTX:
            value = _by_number(unit, section, value, unit.root.uint(c.AT_LOCLISTS_BASE))
        return list(_modern(unit, section, value, base, None, 0))
    section = unit.dwarf.need(".debug_loc")
    if unit.dwarf.suffix:  # numbers into .debug_addr; lengths in four bytes, blocks behind two
        return list(_modern(unit, section, value, base, None, 2))
    return list(_old(unit, section, value, base, 2))


def _base_address(unit: Unit) -> int:
    return (unit.skeleton or unit).root.address(c.AT_LOW_PC) or 0


def _by_number(unit: Unit, section: Section, index: int, base: int | None) -> int:
    """An offset out of the table at the beginning of a contribution."""
    size = unit.format.offset
    start = (12 if size == 4 else 20) if base is None else base
    return start + section.word(start + index * size, size)


def _old(unit: Unit, section: Section, at: int, base: int, block: int | None) -> Iterator[tuple[int, int, bytes]]:
    """Version 4 and before; ``block``: bytes of the length before an expression, if any follows."""
    size = unit.format.address
    last = (1 << (8 * size)) - 1
    for _ in range(MAX_ENTRIES):
        low, high = section.word(at, size), section.word(at + size, size)
        at += 2 * size
        if not low and not high:
            return
        if low == last:
            base = high
            continue
        expression = b""
        if block is not None:
            length = section.word(at, block)
            expression = section.read(at + block, length)
            at += block + length
        yield (base + low) & last, (base + high) & last, expression
    raise section.error(_TOO_MANY.format(MAX_ENTRIES), at)


class _Reader:
    """Reads on in a section, by windows."""

    def __init__(self, section: Section, at: int) -> None:
        self.section, self.start = section, at
        self.data = section.some(at, _WINDOW)
        self.at = 0

    def _room(self) -> None:
        if len(self.data) - self.at < 64:
            self.start += self.at
            self.data, self.at = self.section.some(self.start, _WINDOW), 0

    def uleb(self) -> int:
        self._room()
        value, self.at = uleb(self.data, self.at)
        return value

    def number(self, size: int) -> int:
        self._room()
        if self.at + size > len(self.data):
            raise IndexError
        value = int.from_bytes(self.data[self.at : self.at + size], "little" if self.section.little else "big")
        self.at += size
        return value

    def block(self, size: int) -> bytes:
        data = self.section.read(self.start + self.at, size)
        self.start += self.at + size
        self.data, self.at = self.section.some(self.start, _WINDOW), 0
        return data


def _modern(
    unit: Unit, section: Section, at: int, base: int, kinds: dict[int, int] | None, block: int | None
) -> Iterator[tuple[int, int, bytes]]:
    """Version 5, and split lists of version 4. ``block``: 0 for an expression behind a uleb128, 2 behind two bytes."""
    reader = _Reader(section, at)
    if at > section.size:
        raise section.error("a list begins behind the end of the section", at)
    try:
        for _ in range(MAX_ENTRIES):
            raw = reader.number(1)
            kind = kinds.get(raw, -1) if kinds is not None else raw
            if kind == END:
                return
            if kind == _VIEW_PAIR:
                reader.uleb()
                reader.uleb()
                continue
            if kind in (BASE_X, LOC_BASE):
                base = _indexed(unit, reader) if kind == BASE_X else reader.number(unit.format.address)
                continue
            low, high = _bounds(unit, reader, kind, base, old=block == 2)
            expression = b""
            if block is not None:
                expression = reader.block(reader.uleb() if block == 0 else reader.number(2))
            yield low, high, expression
        raise section.error(_TOO_MANY.format(MAX_ENTRIES), at)
    except IndexError:
        raise section.error("a list is cut", at) from None


def _indexed(unit: Unit, reader: _Reader) -> int:
    return unit.dwarf.indexed_address(unit, reader.uleb())


def _bounds(unit: Unit, reader: _Reader, kind: int, base: int, *, old: bool) -> tuple[int, int]:
    size = unit.format.address
    if kind == START_X_END_X:
        return _indexed(unit, reader), _indexed(unit, reader)
    if kind == START_X_LENGTH:
        low = _indexed(unit, reader)
        return low, low + (reader.number(4) if old else reader.uleb())
    if kind == OFFSETS:
        if old:
            return base + reader.number(4), base + reader.number(4)
        return base + reader.uleb(), base + reader.uleb()
    if kind == ANYWHERE:
        return 0, (1 << 64) - 1
    if kind == LOC_START_END:
        return reader.number(size), reader.number(size)
    if kind == LOC_START_LENGTH:
        low = reader.number(size)
        return low, low + reader.uleb()
    raise reader.section.error(f"a list has an entry of kind {kind}", reader.start + reader.at)
