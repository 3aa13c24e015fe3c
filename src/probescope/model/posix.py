r"""Basic regular expressions of POSIX (IEEE Std 1003.1-2017, Base Definitions 9.3) with what glibc adds, as those of
Python: ``\+``, ``\?``, ``\|``, ``\w``, ``\<`` (its manual, "Regular Expressions"). trace-cmd reads names of events and
the right side of ``=~`` so, without regard to case (libtraceevent's filters: REG_ICASE | REG_NOSUB)."""

from __future__ import annotations

import re

#: Of a bracket: ``[[:digit:]]``. Without regard to case, upper and lower are both.
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r" \t\n\r\f\v",
    "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_SETS = {"w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S"}
_ANCHORS = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "`": r"\A", "'": r"\Z", "b": r"\b", "B": r"(?!\b)"}
_BRACKET = re.compile(r"\[(\^?)(\]?(?:\[:[a-z]+:\]|\[\.[^\]]\.\]|\[=[^\]]=\]|[^\]])*)\]", re.DOTALL)
_INSIDE = re.compile(r"\[:([a-z]+):\]|\[[.=]([^\]])[.=]\]|(.)", re.DOTALL)
_REPEATS = re.compile(r"\*|\\[+?]|\\\{(?:\d{1,5}(?:,\d{0,5})?|,\d{0,5})\\\}")


def compiled_basic(pattern: str) -> re.Pattern[str]:
    """To be looked for anywhere in a text, without regard to case. Raises re.error."""
    try:
        return re.compile(basic(pattern), re.IGNORECASE | re.DOTALL)
    except RecursionError:
        raise re.error("groups or repeats too deep in each other", pattern) from None


def basic(pattern: str) -> str:
    """The same for Python's ``re``. Raises re.error for what is not closed."""
    return _Translation(pattern).text()


class _Translation:
    """``out``: pieces of the expression for Python. ``atom``: where in it starts what a repeat would repeat, None where
    there is nothing. ``open``: where groups that are not closed start."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.out: list[str] = []
        self.atom: int | None = None
        self.open: list[int] = []

    def text(self) -> str:
        at = 0
        while at < len(self.pattern):
            at = self._piece(at)
        if self.open:
            raise re.error("a group that is not closed", self.pattern)
        return "".join(self.out)

    def _piece(self, at: int) -> int:
        """Translates what stands at ``at``; where the next stands."""
        repeat = _REPEATS.match(self.pattern, at)
        if repeat:
            return self._repeat(repeat)
        two = self.pattern[at : at + 2]
        if two in {r"\(", r"\)", r"\|"}:
            self._structure(two[1])
            return at + 2
        anchor = self._anchor(at)
        if anchor:
            self.out.append(anchor)
            self.atom = None
            return at + (2 if self.pattern[at] == "\\" else 1)
        text, after = self._single(at)
        self.atom = len(self.out)
        self.out.append(text)
        return after

    def _repeat(self, repeat: re.Match[str]) -> int:
        """Where nothing can be repeated it stands for itself."""
        if self.atom is None:
            self.atom = len(self.out)
            self.out.append(re.escape(repeat[0].removeprefix("\\")))
            return repeat.end()
        if self.out[-1] == ")*" and repeat[0] in {"*", r"\+", r"\?"}:  # the same, and for Python one in the other takes
            return repeat.end()  # exponential time
        self.out.insert(self.atom, "(?:")
        self.out.append(")" + repeat[0].replace("\\", ""))
        return repeat.end()

    def _structure(self, one: str) -> None:
        if one == ")":
            if not self.open:
                raise re.error("a group that was not opened", self.pattern)
            self.atom = self.open.pop()
        else:
            self.atom = None
        if one == "(":
            self.open.append(len(self.out))
        self.out.append(one)

    def _anchor(self, at: int) -> str:
        """Of ``^`` where an expression starts, ``$`` where one ends, and words."""
        if self.pattern[at] == "\\":
            return _ANCHORS.get(self.pattern[at + 1 : at + 2], "")
        if self.pattern[at] == "^" and (not self.out or self.out[-1] in {"(", "|"}):
            return r"\A"
        last = at + 1 == len(self.pattern) or self.pattern.startswith((r"\)", r"\|"), at + 1)
        return r"\Z" if self.pattern[at] == "$" and last else ""

    def _single(self, at: int) -> tuple[str, int]:
        one = self.pattern[at]
        if one == "[":
            return _bracket(self.pattern, at)
        if one != "\\":
            return ("." if one == "." else re.escape(one)), at + 1
        if at + 1 == len(self.pattern):
            raise re.error("a backslash at the end", self.pattern, at)
        following = self.pattern[at + 1]
        if following == "{":
            raise re.error("numbers of repeats that are not closed", self.pattern, at)
        if following in "123456789":
            return rf"(?:\{following})", at + 2
        return _SETS.get(following, re.escape(following)), at + 2


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    found = _BRACKET.match(pattern, at)
    if not found:
        raise re.error("a bracket that is not closed", pattern, at)
    items = _INSIDE.findall(found[2])
    parts: list[str] = []
    for i, (name, element, plain) in enumerate(items):
        if name and name not in _CLASSES:
            raise re.error(f"no class of characters is named {name}", pattern, at)
        between = plain == "-" and 0 < i < len(items) - 1 and parts[-1] != "-"  # a range, unless it ends one
        parts.append(_CLASSES[name] if name else "-" if between else re.escape(_upper(element or plain)))
    return f"[{found[1]}{''.join(parts)}]", found.end()


def _upper(one: str) -> str:
    r"""Capitals, which are what glibc compares: ``[c-\]`` starts at C, and ``]`` is none of ``[*-a]`` (REG_ICASE)."""
    return one.upper() if one.isascii() else one
