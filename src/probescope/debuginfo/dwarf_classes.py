"""Classes of C++ that are passed by address, because copying their bytes would not copy them.

Clang says it of each class (DW_AT_calling_convention). For others it follows from their members: a destructor, or a
copy or move constructor, that somebody wrote, or that does something because that of a member or base does.
Source: Itanium C++ ABI 3.1.1, "non-trivial for the purposes of calls"; DWARF 5, 5.7.9 and 7.24 (DW_AT_defaulted).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_die import Die, plain
from probescope.debuginfo.dwarf_layout import definition

if TYPE_CHECKING:
    from probescope.debuginfo.dwarf_types import DwarfTypes

MAX_DEPTH = 16
MAX_MEMBERS = 1 << 10
_IN_CLASS = 1  # DW_DEFAULTED_in_class: it does what the members' own do


def by_reference(die: Die | None, types: DwarfTypes) -> bool:
    found = plain(die)
    if found is None or found.tag not in c.STRUCTS:
        return False
    found = definition(types, found)
    said = found.uint(c.AT_CALLING_CONVENTION)
    if said in (c.CC_PASS_BY_REFERENCE, c.CC_PASS_BY_VALUE):
        return said == c.CC_PASS_BY_REFERENCE
    if found.unit.root.uint(c.AT_LANGUAGE) not in c.CPP_LANGUAGES:
        return False
    return _Search(types).special(found, 0)


class _Search:
    def __init__(self, types: DwarfTypes) -> None:
        self.types = types
        self.visited = 0

    def special(self, die: Die, depth: int) -> bool:
        inside: list[Die] = []
        for child in die.children(c.TAG_SUBPROGRAM, c.TAG_MEMBER, c.TAG_INHERITANCE):
            self.visited += 1
            if self.visited > MAX_MEMBERS:
                return False
            if child.tag != c.TAG_SUBPROGRAM:
                inside.append(child)
            elif _does_something(child, die):
                return True
        if depth >= MAX_DEPTH:
            return False
        return any(self._member(m, depth) for m in inside)

    def _member(self, m: Die, depth: int) -> bool:
        inner = plain(m.type())
        if inner is not None and inner.tag == c.TAG_ARRAY:
            inner = plain(inner.type())
        if inner is None or inner.tag not in c.STRUCTS or m.flag(c.AT_EXTERNAL) or m.is_declaration:
            return False
        return self.special(definition(self.types, inner), depth + 1)


def _does_something(function: Die, owner: Die) -> bool:
    """A destructor, or a constructor from another object of the class, that was written out. Of those that the compiler
    adds only such are told that do something."""
    if function.uint(c.AT_DEFAULTED) == _IN_CLASS or function.flag(c.AT_DELETED):
        return False
    name, bare = function.name, owner.name.partition("<")[0]
    if name.startswith("~"):
        return True
    return bool(bare) and name == bare and _takes_its_like(function, owner)


def _takes_its_like(function: Die, owner: Die) -> bool:
    taken = [p for p in function.children(c.TAG_PARAM) if not p.flag(c.AT_ARTIFICIAL)]
    of = plain(taken[0].type()) if taken else None
    if of is None or of.tag not in (c.TAG_REFERENCE, c.TAG_RVALUE_REFERENCE) or len(taken) != 1:
        return False
    target = plain(of.type())
    return target is not None and target.tag == owner.tag and target.name == owner.name
