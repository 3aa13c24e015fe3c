"""Types of DWARF as C writes them, for lists of parameters: ``const char* name``, ``struct Foo* foo``.

Qualifiers and the names of typedefs stay: they tell people what a value means.
"""

from __future__ import annotations

import re

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_constants import last_index
from probescope.debuginfo.dwarf_die import Die

MAX_DEPTH = 32
MAX_NESTED = 8
"""Types within parameters of types of functions."""
MAX_TEXT = 1024
"""Characters of the parameters of one."""
_MARKS = {c.TAG_POINTER: "*", c.TAG_REFERENCE: "&", c.TAG_RVALUE_REFERENCE: "&&"}
_KEYWORDS = {c.TAG_STRUCT: "struct ", c.TAG_CLASS: "struct ", c.TAG_UNION: "union ", c.TAG_ENUM: "enum "}
_OPEN = re.compile(r"\([*&]+$").search  # a parenthesis that the name belongs into
_QUALIFIERS = {c.TAG_CONST: "const", c.TAG_VOLATILE: "volatile", c.TAG_ATOMIC: "_Atomic"}


def declaration(die: Die | None, name: str) -> str:
    """A type and a name. Raises ``DwarfError`` on damage."""
    return _declared(die, name, 0)


def _declared(die: Die | None, name: str, depth: int) -> str:
    text, suffix = _parts(die, depth)
    return _beside(text, name) + suffix if name else text + suffix


def _beside(text: str, word: str) -> str:
    """``char* const``, but ``int (*const``."""
    return f"{text}{'' if _OPEN(text) else ' '}{word}"


def _parts(die: Die | None, depth: int) -> tuple[str, str]:
    """What stands before the name and what after it."""
    if die is None or depth > MAX_DEPTH:
        return "void", ""
    tag = die.tag
    if tag in _MARKS:
        return _pointer(die, depth)
    if tag in c.QUALIFIERS:
        return _qualified(die, depth)
    if tag == c.TAG_ARRAY:
        text, suffix = _parts(die.type(), depth + 1)
        counts = "".join(f"[{_extent(d)}]" for d in die.children(c.TAG_SUBRANGE))
        return text, counts + suffix
    if tag == c.TAG_SUBROUTINE:
        result, suffix = _parts(die.type(), depth + 1)
        return result, f"({_takes(die, depth)}){suffix}"
    return _KEYWORDS.get(tag, "") + die.unit.scope_of(die.at) + (die.name or "(anonymous)"), ""


def _pointer(die: Die, depth: int) -> tuple[str, str]:
    """Its mark and the name are in parentheses where the type goes on behind: ``int (*name)(char)``."""
    text, suffix = _parts(die.type(), depth + 1)
    mark = _MARKS[die.tag]
    if not suffix or suffix.startswith(")"):
        return text + mark, suffix
    return _beside(text, f"({mark}"), f"){suffix}"


def _takes(function: Die, depth: int) -> str:
    """Parameters of a type of functions, as far as the text stays readable: damaged ones may hold each other."""
    found: list[str] = []
    for die in function.children(c.TAG_PARAM, c.TAG_VARIADIC):
        if depth >= MAX_NESTED or sum(map(len, found)) > MAX_TEXT:
            return ", ".join((*found, "..."))
        found.append(_declared(die.type(), "", depth + 1) if die.tag == c.TAG_PARAM else "...")
    return ", ".join(found)


def _qualified(die: Die, depth: int) -> tuple[str, str]:
    word = _QUALIFIERS.get(die.tag, "")
    inner = die.type()
    text, suffix = _parts(inner, depth + 1)
    if not word:
        return text, suffix
    if inner is not None and inner.tag in _MARKS:  # the pointer itself
        return _beside(text, word), suffix
    return f"{word} {text}", suffix


def _extent(dimension: Die) -> str:
    count, upper = dimension.uint(c.AT_COUNT), last_index(dimension)
    return str(count if count is not None else upper + 1 if upper is not None else "")
