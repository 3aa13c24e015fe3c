"""Variables as perf probe -V tells them: ``struct file*  file``, and where in the function each one is known.

Names of types differ from those of C in what follows a name there: an array is ``int[]``, a function is
``(function_type)``.
"""

from __future__ import annotations

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo import dwarf_ranges
from probescope.debuginfo.dwarf_die import Die

MAX_DEPTH = 32
UNKNOWN = "(unknown_type)"
_KEYWORDS = {c.TAG_UNION: "union ", c.TAG_STRUCT: "struct ", c.TAG_ENUM: "enum "}
_MARKS = {c.TAG_ARRAY: "[]", c.TAG_POINTER: "*"}


def declared(die: Die) -> str:
    """``TYPE<tab>NAME``"""
    return f"{_type_name(die, 0) or UNKNOWN}\t{die.full_name()}"


def _type_name(die: Die, depth: int) -> str:
    kind = die.type()
    while kind is not None and kind.tag in c.QUALIFIERS:
        kind = kind.type()
    if kind is None or depth > MAX_DEPTH:
        return ""
    if kind.tag == c.TAG_SUBROUTINE:
        return "(function_type)"
    if kind.tag in _MARKS:
        return (_type_name(kind, depth + 1) or "void") + _MARKS[kind.tag]
    return _KEYWORDS.get(kind.tag, "") + kind.name


def known_ranges(die: Die, scope: Die) -> list[tuple[int, int]]:
    """Where a variable has a place: by its list, or everywhere in its scope."""
    if die.block(c.AT_LOCATION) is None and die.has(c.AT_LOCATION):
        return [(low, high) for low, high, _ in dwarf_ranges.locations(die, c.AT_LOCATION)]
    return dwarf_ranges.of(scope)
