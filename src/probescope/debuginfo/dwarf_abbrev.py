"""Abbreviations: what each kind of entry (DIE) is made of, and how to step over it.

    .debug_abbrev    code tag children   attribute form [constant]   attribute form ...   0 0      code tag ... 0

Of most kinds the entries have one size; the others are stepped over in runs: ``steps`` holds sizes of what is fixed
(not negative) and kinds of what is not. An entry is thus passed without looking at its attributes.

Source: DWARF 5, 7.5.3.
"""

from __future__ import annotations

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_data import Section
from probescope.debuginfo.leb128 import sleb, uleb
from probescope.errors import DwarfError

MAX_CODES = 1 << 18
MAX_ATTRIBUTES = 256

MAX_PLANNED = 1 << 14
"""Kinds of entries that are known by their attributes: a compiler makes the same ones in every unit."""

# kinds of steps
LEB, TEXT, SIZE1, SIZE2, SIZE4, SIZED, INDIRECT = -1, -2, -3, -4, -5, -6, -7

_OFFSET, _ADDRESS, _REF_ADDR = -10, -11, -12  # sizes that depend on the unit
_SIZES: dict[int, int] = {
    c.FORM_ADDR: _ADDRESS,
    c.FORM_BLOCK2: SIZE2,
    c.FORM_BLOCK4: SIZE4,
    c.FORM_DATA2: 2,
    c.FORM_DATA4: 4,
    c.FORM_DATA8: 8,
    c.FORM_STRING: TEXT,
    c.FORM_BLOCK: SIZED,
    c.FORM_BLOCK1: SIZE1,
    c.FORM_DATA1: 1,
    c.FORM_FLAG: 1,
    c.FORM_SDATA: LEB,
    c.FORM_STRP: _OFFSET,
    c.FORM_UDATA: LEB,
    c.FORM_REF_ADDR: _REF_ADDR,
    c.FORM_REF1: 1,
    c.FORM_REF2: 2,
    c.FORM_REF4: 4,
    c.FORM_REF8: 8,
    c.FORM_REF_UDATA: LEB,
    c.FORM_INDIRECT: INDIRECT,
    c.FORM_SEC_OFFSET: _OFFSET,
    c.FORM_EXPRLOC: SIZED,
    c.FORM_FLAG_PRESENT: 0,
    c.FORM_STRX: LEB,
    c.FORM_ADDRX: LEB,
    c.FORM_REF_SUP4: 4,
    c.FORM_STRP_SUP: _OFFSET,
    c.FORM_DATA16: 16,
    c.FORM_LINE_STRP: _OFFSET,
    c.FORM_REF_SIG8: 8,
    c.FORM_IMPLICIT_CONST: 0,
    c.FORM_LOCLISTX: LEB,
    c.FORM_RNGLISTX: LEB,
    c.FORM_REF_SUP8: 8,
    c.FORM_STRX1: 1,
    c.FORM_STRX2: 2,
    c.FORM_STRX3: 3,
    c.FORM_STRX4: 4,
    c.FORM_ADDRX1: 1,
    c.FORM_ADDRX2: 2,
    c.FORM_ADDRX3: 3,
    c.FORM_ADDRX4: 4,
    c.FORM_GNU_ADDR_INDEX: LEB,
    c.FORM_GNU_STR_INDEX: LEB,
    c.FORM_GNU_REF_ALT: _OFFSET,
    c.FORM_GNU_STRP_ALT: _OFFSET,
}


class Format:
    """What sizes in a unit depend on."""

    __slots__ = ("address", "offset", "version")

    def __init__(self, version: int, address: int, offset: int) -> None:
        self.version, self.address, self.offset = version, address, offset

    @property
    def key(self) -> tuple[int, int, int]:
        return self.version, self.address, self.offset

    def size(self, form: int) -> int | None:
        """Bytes of a form, or the kind of a step; ``None`` for one that is not known."""
        found = _SIZES.get(form)
        if found is None or found > _OFFSET:
            return found
        if found == _OFFSET:
            return self.offset
        # DWARF 2 had references to other units in the size of an address
        return self.address if found == _ADDRESS or self.version < 3 else self.offset


class Abbrev:
    """One kind of entry. ``attributes``: (attribute, form, constant) in order. ``fixed``: bytes of its attributes, -1
    where they vary. ``sibling``: where in the attributes the reference to the next sibling stands, and its size;
    (-1, 0) where it does not, or nowhere fixed."""

    __slots__ = ("attributes", "children", "code", "fixed", "sibling", "steps", "tag")

    def __init__(self, code: int, tag: int, children: bool, attributes: tuple[tuple[int, int, int], ...]) -> None:
        self.code, self.tag, self.children, self.attributes = code, tag, children, attributes
        self.steps: tuple[int, ...] = ()
        self.fixed = -1
        self.sibling = (-1, 0)

    def plan(self, fmt: Format) -> bool:
        """Computes the steps; false for a form that is not known."""
        key = (self.attributes, fmt.key)
        known = _planned.get(key)
        if known is None:
            if not self._plan(fmt):
                return False
            known = (self.attributes, self.steps, self.fixed, self.sibling)
            if len(_planned) < MAX_PLANNED:
                _planned[key] = known
        self.attributes, self.steps, self.fixed, self.sibling = known
        return True

    def _plan(self, fmt: Format) -> bool:
        steps: list[int] = []
        for attribute, form, _ in self.attributes:
            size = fmt.size(form)
            if size is None:
                return False
            if attribute == c.AT_SIBLING and form in c.UNIT_REFS and size > 0 and not any(s < 0 for s in steps):
                self.sibling = (sum(steps), size)
            if size >= 0 and steps and steps[-1] >= 0:
                steps[-1] += size
            else:
                steps.append(size)
        self.steps = tuple(steps)
        self.fixed = sum(steps) if all(s >= 0 for s in steps) else -1
        return True


_Attributes = tuple[tuple[int, int, int], ...]
_planned: dict[tuple[_Attributes, tuple[int, int, int]], tuple[_Attributes, tuple[int, ...], int, tuple[int, int]]] = {}


class AbbrevTable:
    """The kinds of one or more units; read only as far as it is asked for."""

    def __init__(self, section: Section, offset: int, fmt: Format) -> None:
        self._section, self._at, self._fmt = section, offset, fmt
        self._data = section.whole()
        self._ended = not 0 <= offset < len(self._data)
        self.by_code: dict[int, Abbrev] = {}

    def get(self, code: int) -> Abbrev:
        """Raises ``DwarfError`` for a code that is not there, and for malformed tables."""
        found = self.by_code.get(code)
        while found is None:
            if self._ended:
                raise self._section.error(f"there is no abbreviation {code}", self._at)
            made = self._next()
            if made is not None and made.code == code:
                found = made
        return found

    def all(self) -> dict[int, Abbrev]:
        while not self._ended:
            self._next()
        return self.by_code

    def _next(self) -> Abbrev | None:
        start = self._at
        try:
            made, self._at = self._read(start)
        except IndexError:
            raise self._section.error("the table has no end", start) from None
        if made is None or len(self.by_code) >= MAX_CODES:
            self._ended = True
            return None
        if not made.plan(self._fmt):
            raise self._section.error(f"abbreviation {made.code} has a form that is not known", start)
        return self.by_code.setdefault(made.code, made)

    def _read(self, at: int) -> tuple[Abbrev | None, int]:
        data = self._data
        code, at = uleb(data, at)
        if not code:
            return None, at
        tag, at = uleb(data, at)
        children = data[at] != 0
        at += 1
        out: list[tuple[int, int, int]] = []
        while True:
            attribute, form, constant = data[at], data[at + 1], 0
            if attribute < 0x80 and form < 0x80:  # as nearly all are
                at += 2
            else:
                attribute, at = uleb(data, at)
                form, at = uleb(data, at)
            if form == c.FORM_IMPLICIT_CONST:
                constant, at = sleb(data, at)
            if not attribute and not form:
                return Abbrev(code, tag, children, tuple(out)), at
            out.append((attribute, form, constant))
            if len(out) > MAX_ATTRIBUTES:
                raise self._too_many(at)

    def _too_many(self, at: int) -> DwarfError:
        return self._section.error(f"an abbreviation with more than {MAX_ATTRIBUTES} attributes", at)
