"""Attach points as text: where one ends in a script, its parameters, its parts.

An attach point is not made of tokens: ``uprobe:/usr/bin/*/x:"a b"`` holds what would be comments and operators
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from probescope.model.probe import SHORT_NAMES, SOURCES

PATHS = ("uprobe", "uretprobe", "usdt", "iter")
"""Sources with a path in their parts: there a slash does not begin a predicate."""

LONGEST = 1 << 16
"""Characters of one attach point: many times what a path and a mangled name of C++ take."""

_DOLLAR, AT = "\ue000", "\ue001"  # private characters: a literal dollar of a parameter, an at sign outside of quotes


class PointError(ValueError):
    """What is wrong with an attach point, and what to do."""

    def __init__(self, what: str, *hints: str) -> None:
        super().__init__(what)
        self.what = what
        self.hints = hints


@cache
def _ends() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The extent of an attach point in a script: with slashes in it, and up to the slash of a predicate."""
    quoted = r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*"?'
    return re.compile(rf'(?:{quoted}|[^\s{{,;}}"])*'), re.compile(rf'(?:{quoted}|[^\s{{,;}}"/])*')


def extent(text: str, start: int) -> int:
    """The offset where the attach point that begins at ``start`` ends: at a blank, ``{``, ``,`` or a predicate's
    ``/``."""
    long, short = _ends()
    found = short.match(text, start)
    assert found is not None
    if found.end() == start or text[found.end() : found.end() + 1] != "/":
        return max(start, found.end())
    head, colon, _ = found.group().partition(":")
    if not colon:
        return found.end()
    name = head.rpartition("=")[2]
    if "$" not in head and not is_glob(head) and source_name(name) not in PATHS:
        return found.end()
    found = long.match(text, start)
    assert found is not None
    return found.end()


def source_name(name: str) -> str:
    """The long name of a source from any of its spellings, or an empty text."""
    low = name.lower()
    for known in (SHORT_NAMES.get(name), low if low in SOURCES else None, SHORT_NAMES.get(low)):
        if known:
            return known
    return ""


def is_glob(text: str) -> bool:
    return "*" in text or "?" in text or ("[" in text and "]" in text)


def expand(text: str, params: Sequence[str]) -> str:
    """Puts in ``$1`` and its like outside of quotes. A parameter's own text is not looked at again for dollars."""
    if "$" not in text:
        return text
    out: list[str] = []
    for i, piece in enumerate(re.split(r'("(?:[^"\\]|\\.)*"?)', text)):
        out.append(piece if i % 2 else re.sub(r"\$([1-9][0-9]*)?", lambda m: _parameter(m, params), piece))
    return "".join(out)


def _parameter(found: re.Match[str], params: Sequence[str]) -> str:
    digits: str | None = found.group(1)
    if digits is None:
        after = found.string[found.end() : found.end() + 1]
        raise PointError(
            f"'${after}' is no parameter of the command line", f'quote this part if the dollar is meant: "${after}"'
        )
    if len(digits) > 9:
        raise PointError(f"parameter ${digits} is out of range")
    value = params[int(digits) - 1] if int(digits) <= len(params) else ""
    return value.replace("$", _DOLLAR)


_SAFE = re.compile(r"[\w./+~%=^#!*?\[\]-]*")


def part(text: str) -> str:
    """As one part of an attach point: in quotes where blanks, colons and the like would end it."""
    if _SAFE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def split(text: str) -> list[str]:
    """The parts between colons, quotes resolved; ``@`` outside of quotes comes back as a private character."""
    if len(text) > LONGEST:
        raise PointError(f"an attach point of {len(text)} characters: {LONGEST} are the most")
    parts = [""]
    quoted = False
    i = 0
    while i < len(text):
        c = text[i]
        if quoted and c == "\\" and i + 1 < len(text):
            i += 1
            parts[-1] += "\n" if text[i] == "n" else text[i]  # a quote ends with its line
        elif c == '"':
            quoted = not quoted
        elif c == ":" and not quoted:
            parts.append("")
        else:
            parts[-1] += AT if c == "@" and not quoted else c
        i += 1
    if quoted:
        raise PointError("a quote in the attach point is not closed")
    return [p.replace(_DOLLAR, "$") for p in parts]
