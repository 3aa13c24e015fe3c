"""Filters of names: globs joined by ``&``, ``|``, ``!`` and brackets, as ``probe -F`` and ``-V --filter`` take them.

or := and ('|' and)*      and := not ('&' not)*      not := '!' not | '(' or ')' | GLOB
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

from probescope.lang.probe.scanner import Scanner

Accepts = Callable[[str], bool]
MAX_DEPTH = 64
_GLOB = re.compile(r"[^\s&|()!](?:[^\s&|()]|\((?=[^()]*\)))*")


def name_filter(text: str) -> Accepts:
    """Raises ``ScriptError``."""
    s = Scanner(text, "filter")
    found = _either(s, 0)
    s.blank()
    if not s.done:
        raise s.error("this is not expected here", s.at)
    return found


def _either(s: Scanner, depth: int) -> Accepts:
    first = _both(s, depth)
    s.blank()
    if not s.take("|"):
        return first
    second = _either(s, depth + 1)
    return lambda name: first(name) or second(name)


def _both(s: Scanner, depth: int) -> Accepts:
    first = _one(s, depth)
    s.blank()
    if not s.take("&"):
        return first
    second = _both(s, depth + 1)
    return lambda name: first(name) and second(name)


def _one(s: Scanner, depth: int) -> Accepts:
    s.blank()
    start = s.at
    if depth > MAX_DEPTH:
        raise s.error("this is nested too deep", start)
    if s.take("!"):
        inner = _one(s, depth + 1)
        return lambda name: not inner(name)
    if s.take("("):
        inner = _either(s, depth + 1)
        s.blank()
        if not s.take(")"):
            raise s.error("a ')' is missing", s.at)
        return inner
    glob = s.match(_GLOB)
    if not glob:
        raise s.error("a pattern is missing", start)
    accepts = re.compile(translate(glob)).match
    return lambda name: accepts(name) is not None
