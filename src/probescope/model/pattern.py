r"""Globs and regular expressions over bytes, parsed to one small tree.

    glob     *  any bytes   ?  one byte   [a-z] [!a-z]   \x  x itself       the whole text
    regex    . [a-z] [^a-z] \d \w \s \D \W \S \xNN ( ) (?: ) | * + ? {m,n} ^ $, (?i) at the start      anywhere in it

A tree is made of tuples: ``("set", mask)`` one byte whose bit is in the mask, ``("cat", nodes)``, ``("alt", nodes)``,
``("rep", node, least, most | None)``, ``("begin",)`` and ``("end",)`` of the text. What regular expressions have beyond
that (backreferences, looking around) no automaton can do: it is refused with what to write instead.
"""

from __future__ import annotations

from typing import Any

Node = tuple[Any, ...]

ANY = (1 << 256) - 1
MOST_REPEATS = 255
MOST_NESTED = 50
_DIGITS = sum(1 << c for c in b"0123456789")
_WORD = _DIGITS | sum(1 << c for c in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SPACE = sum(1 << c for c in b" \t\n\r\f\v")
_SETS = {"d": _DIGITS, "w": _WORD, "s": _SPACE, "D": ANY & ~_DIGITS, "W": ANY & ~_WORD, "S": ANY & ~_SPACE}
_CONTROL = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11}


class PatternError(ValueError):
    """``at``: the offset in the pattern; ``hint``: what to write instead, or nothing."""

    def __init__(self, what: str, at: int = 0, hint: str = "") -> None:
        super().__init__(what)
        self.at = at
        self.hint = hint


def parse_glob(text: str) -> Node:
    """The tree of a glob, which has to match the whole text. Raises PatternError."""
    return ("cat", [("begin",), *_Parser(text).glob(), ("end",)])


def parse_regex(text: str) -> Node:
    """The tree of a regular expression. Raises PatternError."""
    return _Parser(text).regex()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.fold = False

    def peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def take(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def fail(self, what: str, hint: str = "", back: int = 0) -> PatternError:
        return PatternError(what, self.at - back, hint)

    # --- globs --------------------------------------------------------------------------------------------------------

    def glob(self) -> list[Node]:
        out: list[Node] = []
        while self.at < len(self.text):
            c = self.take()
            if c == "*":
                out.append(("rep", ("set", ANY), 0, None))
            elif c == "?":
                out.append(("set", ANY))
            elif c == "[" and "]" in self.text[self.at + 1 :]:
                out.append(self._class("!^"))
            elif c == "\\" and self.at < len(self.text):
                out.append(self._literal(self.take()))
            else:
                out.append(self._literal(c))
        return out

    # --- regular expressions ------------------------------------------------------------------------------------------

    def regex(self) -> Node:
        if self.text.startswith("(?i)"):
            self.fold, self.at = True, 4
        node = self._alternatives()
        if self.at < len(self.text):
            raise self.fail("there is no '(' for this ')'", r"\) is the character itself")
        return node

    def _alternatives(self) -> Node:
        parts = [self._sequence()]
        while self.peek() == "|":
            self.at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else ("alt", parts)

    def _sequence(self) -> Node:
        out: list[Node] = []
        while self.at < len(self.text) and self.peek() not in "|)":
            out.append(self._repeated(self._atom()))
        return ("cat", out)

    def _atom(self) -> Node:
        c = self.take()
        match c:
            case "(":
                return self._group()
            case "[":
                return self._class("^")
            case ".":
                return ("set", ANY)
            case "^":
                return ("begin",)
            case "$":
                return ("end",)
            case "\\":
                return self._escape()
            case "*" | "+" | "?" | "{":
                raise self.fail(f"nothing stands before '{c}' that could be repeated", f"\\{c} is the character", 1)
            case _:
                return self._literal(c)

    def _group(self) -> Node:
        if self.peek() == "?":
            if self.peek(2) != "?:":
                kind = self.peek(2)
                hint = "write what has to stand there, or combine two strmatch() by && and !"
                raise self.fail(f"'({kind}' is not supported: text is read once, from left to right", hint, 1)
            self.at += 2
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self.fail(f"more than {MOST_NESTED} groups are nested")
        node = self._alternatives()
        if self.peek() != ")":
            raise self.fail("a '(' is not closed", r"\( is the character itself")
        self.at += 1
        self.depth -= 1
        return node

    def _escape(self) -> Node:
        if self.at == len(self.text):
            raise self.fail("nothing follows the last backslash", r"\\ is a backslash")
        c = self.peek()
        if c in _SETS:
            self.at += 1
            return ("set", _SETS[c])
        if c.isdigit():
            raise self.fail(f"'\\{c}' refers to what a group matched: that is not supported", "spell it out", 1)
        if c in "bBAZzG":
            raise self.fail(f"'\\{c}' is not supported", "^ and $ are the ends; (^|[^a-z]) is the begin of a word", 1)
        if c == "x" or c in _CONTROL:
            return ("set", self._folded(1 << self._byte()))
        return self._literal(self.take())

    def _byte(self) -> int:
        c = self.take()
        if c in _CONTROL:
            return _CONTROL[c]
        digits = self.peek(2)
        try:
            value = int(digits, 16) if len(digits) == 2 else -1
        except ValueError:
            value = -1
        if value < 0:
            raise self.fail(r"\x is followed by two hexadecimal digits", back=1)
        self.at += 2
        return value

    def _repeated(self, node: Node) -> Node:
        while self.at < len(self.text) and self.peek() in "*+?{":
            least, most = self._count(self.take())
            if self.peek() in ("?", "+") and self.at < len(self.text):
                what = "lazy" if self.peek() == "?" else "possessive"
                raise self.fail(f"a {what} repetition: whether a text matches does not depend on that", "leave it out")
            if node in (("begin",), ("end",)):
                raise self.fail("^ and $ cannot be repeated", back=1)
            node = ("rep", node, least, most)
        return node

    def _count(self, c: str) -> tuple[int, int | None]:
        if c != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[c]
        body, closed, _ = self.text[self.at :].partition("}")
        low, comma, high = body.partition(",")
        bad = [p for p in (low or "0", high or "0") if not (p.isascii() and p.isdigit() and len(p) < 5)]
        if not closed or bad or not body or body == ",":
            raise self.fail(f"'{{{body}' is not a count", r"{3}, {2,5}, {2,}; \{ is the character itself", 1)
        self.at += len(body) + 1
        least = int(low or 0)
        most = int(high) if high else None if comma else least
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise self.fail(f"{{{body}}} is out of range: counts go up to {MOST_REPEATS}", back=1)
        return least, most

    # --- both ---------------------------------------------------------------------------------------------------------

    def _literal(self, c: str) -> Node:
        """A character: several bytes where it is not ASCII."""
        if ord(c) < 128:
            return ("set", self._folded(1 << ord(c)))
        return ("cat", [("set", 1 << b) for b in c.encode("utf-8", "surrogateescape")])

    def _folded(self, mask: int) -> int:
        if not self.fold:
            return mask
        for upper in range(65, 91):
            both = 1 << upper | 1 << (upper + 32)
            if mask & both:
                mask |= both
        return mask

    def _class(self, negations: str) -> Node:
        start = self.at
        negated = bool(self.peek()) and self.peek() in negations
        self.at += negated
        mask = 0
        first = True
        while first or self.peek() != "]":
            if self.at >= len(self.text):
                raise PatternError("a '[' is not closed", start - 1, r"\[ is the character itself")
            mask |= self._range()
            first = False
        self.at += 1
        mask = self._folded(mask)
        return ("set", ANY & ~mask if negated else mask)

    def _range(self) -> int:
        if self.peek(2) == "[:":
            raise self.fail("[:class:] is not supported", r"a-z, 0-9, \d, \w and \s are")
        low = self._member()
        if low < 0:
            return ~low
        if self.peek() != "-" or self.peek(2) == "-]" or len(self.peek(2)) < 2:
            return 1 << low
        self.at += 1
        high = self._member()
        if high < low:
            raise self.fail("a range ends before it begins", back=1)
        return (1 << (high + 1)) - (1 << low)

    def _member(self) -> int:
        r"""A byte; the complement of a mask for ``\d`` and its like."""
        c = self.take()
        if c == "\\" and self.at < len(self.text):
            if self.peek() in _SETS:
                return ~_SETS[self.take()]
            if self.peek() == "x" or self.peek() in _CONTROL:
                return self._byte()
            c = self.take()
        if ord(c) > 127:
            raise self.fail(f"'{c}' is several bytes, and a class is for one", f"write (a|b|{c})", 1)
        return ord(c)
