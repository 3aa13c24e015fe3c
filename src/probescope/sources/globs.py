"""Shell-like patterns over many names: ``*``, ``?`` and ``[...]``.

A pattern becomes one regular expression that is run over one text of all names, a line each: 100,000 names take
milliseconds, where a call per name takes tenths of a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from probescope.errors import ProbeError

MAX_PATTERN = 1024


def is_glob(text: str) -> bool:
    return any(c in "*?[" for c in text)


def to_regex(pattern: str, other: str = r"\n", tag: str = "p") -> str:
    """The regular expression, without anchors, for a name that holds none of the characters in the class ``other``,
    and is followed by one of them or by nothing. Its groups have names that begin with ``tag``. Raises ``ProbeError``
    on a pattern that is too long.

    Between two stars the first place where a piece fits is as good as any later one, so nothing is tried again: what a
    lookahead has found is taken as it is. The time is that of the name's length times the pattern's, however many stars
    there are. (Atomic groups say the same, and are wrong in Python before 3.11.5.)"""
    if len(pattern) > MAX_PATTERN:
        raise ProbeError(f"the pattern is too long: at most {MAX_PATTERN} characters")
    first, *pieces = _pieces(pattern, other)
    if not pieces:
        return first
    inner = enumerate(piece for piece in pieces[:-1] if piece)
    between = "".join(f"(?=(?P<{tag}{i}>[^{other}]*?{piece}))(?P={tag}{i})" for i, piece in inner)
    return f"{first}{between}[^{other}]*{pieces[-1]}"


def _pieces(pattern: str, other: str) -> list[str]:
    """What stands between the stars, as regular expressions."""
    out = [""]
    i = 0
    while i < len(pattern):
        c = pattern[i]
        i += 1
        if c == "*":
            out.append("")
        elif c == "?":
            out[-1] += f"[^{other}]"
        elif c == "[":
            part, i = _char_class(pattern, i, other)
            out[-1] += part
        else:
            out[-1] += re.escape(c)
    return out


def _char_class(pattern: str, start: int, other: str) -> tuple[str, int]:
    """The class that begins after ``[`` at ``start``; a bracket without its partner stands for itself."""
    negated = pattern[start : start + 1] == "!"
    first = start + negated
    end = pattern.find("]", first + 1)
    if end < 0:
        return r"\[", start
    items = "".join(_class_items(pattern[first:end]))
    if not items:  # nothing but ranges that run backwards
        return (f"[^{other}]" if negated else "(?!)"), end + 1
    return f"(?![{other}])[{'^' if negated else ''}{items}]", end + 1


def _class_items(body: str) -> Iterator[str]:
    """Characters and ranges as a regular expression has them; one that runs backwards holds nothing."""
    i = 0
    while i < len(body):
        low = body[i]
        if body[i + 1 : i + 2] == "-" and i + 2 < len(body):
            high = body[i + 2]
            if low <= high:
                yield f"{_quoted(low)}-{_quoted(high)}"
            i += 3
        else:
            yield _quoted(low)
            i += 1


def _quoted(c: str) -> str:
    return c if c.isalnum() or c == "_" else f"\\x{ord(c):02x}" if ord(c) < 256 else c


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(to_regex(pattern))


def matches(pattern: str, name: str) -> bool:
    if not is_glob(pattern):
        return pattern == name
    return compiled(pattern).fullmatch(name) is not None


def select(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that match, in their order."""
    if pattern == "*":
        return list(names)
    if not is_glob(pattern):
        return [n for n in names if n == pattern]
    full = compiled(pattern).fullmatch
    return [n for n in names if full(n)]
