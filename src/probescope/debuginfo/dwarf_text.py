"""Types of DWARF as C writes them, for lists of parameters: ``const char* name``, ``struct Foo* foo``.

Qualifiers and the names of typedefs stay: they tell people what a value means.
"""

from __future__ import annotations

from probescope.debuginfo import dwarf_const as c
from probescope.debuginfo.dwarf_die import Die

MAX_DEPTH = 32
_MARKS = {c.TAG_POINTER: "*", c.TAG_REFERENCE: "&", c.TAG_RVALUE_REFERENCE: "&&"}
_KEYWORDS = {c.TAG_STRUCT: "struct ", c.TAG_CLASS: "struct ", c.TAG_UNION: "union ", c.TAG_ENUM: "enum "}
_QUALIFIERS = {c.TAG_CONST: "const", c.TAG_VOLATILE: "volatile", c.TAG_ATOMIC: "_Atomic"}


def declaration(die: Die | None, name: str) -> str:
    """A type and a name. Raises ``DwarfError`` on damage."""
    text, suffix = _parts(die, 0)
    return f"{text} {name}{suffix}" if name else f"{text}{suffix}"


def _parts(die: Die | None, depth: int) -> tuple[str, str]:
    """What stands before the name and what after it."""
    if die is None or depth > MAX_DEPTH:
        return "void", ""
    tag = die.tag
    if tag in _MARKS:
        text, suffix = _parts(die.type(), depth + 1)
        return text + suffix + _MARKS[tag], ""
    if tag in c.QUALIFIERS:
        return _qualified(die, depth)
    if tag == c.TAG_ARRAY:
        text, suffix = _parts(die.type(), depth + 1)
        counts = "".join(f"[{_extent(d)}]" for d in die.children(c.TAG_SUBRANGE))
        return text, counts + suffix
    if tag == c.TAG_SUBROUTINE:
        result, _ = _parts(die.type(), depth + 1)
        takes = ", ".join(declaration(p.type(), "") for p in die.children(c.TAG_PARAM)) if depth < 4 else "..."
        return f"{result}({takes})", ""
    return _KEYWORDS.get(tag, "") + die.unit.scope_of(die.at) + (die.name or "(anonymous)"), ""


def _qualified(die: Die, depth: int) -> tuple[str, str]:
    word = _QUALIFIERS.get(die.tag, "")
    inner = die.type()
    text, suffix = _parts(inner, depth + 1)
    if not word:
        return text, suffix
    if inner is not None and inner.tag in _MARKS:  # the pointer itself
        return f"{text} {word}", suffix
    return f"{word} {text}", suffix


def _extent(dimension: Die) -> str:
    count, upper = dimension.uint(c.AT_COUNT), dimension.signed(c.AT_UPPER_BOUND)
    return str(count if count is not None else upper + 1 if upper is not None else "")
