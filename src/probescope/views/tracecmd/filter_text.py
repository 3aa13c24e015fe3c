"""Filters of `trace-cmd report -F`, read into a tree::

    sched/sched_switch,sched_wakeup : prev_pid == 1 && (next_comm =~ "kw.*" || CPU < 2)
    [SYSTEM/]EVENT, regular expressions, or the name of a system : expression, which may be missing

Precedence, weakest first: ``&&`` and ``||``, which go from left to right (``a || b && c`` is ``(a || b) && c``); ``!``
(``!a == b`` is ``!(a == b)``); comparisons, ``| ^ &``, shifts, ``+ -``, ``* / %``, and ``~ -`` before a value. Numbers
as C has them: 0x1f, 017. Source: trace-cmd-report(1), and what trace-cmd 3.3 does.
"""

from __future__ import annotations

import re

from probescope.errors import UsageError
from probescope.frozen import dataclass

MOST_DEPTH = 50
MOST_TEXT = 1 << 12


@dataclass(frozen=True, slots=True)
class Name:
    """A field, ``CPU``, ``COMM``, ``TIMESTAMP``; or, on the right of a comparison, a word."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Value:
    value: int | str


@dataclass(frozen=True, slots=True)
class Unary:
    op: str
    of: Node


@dataclass(frozen=True, slots=True)
class Binary:
    op: str
    left: Node
    right: Node


Node = Name | Value | Unary | Binary


@dataclass(frozen=True, slots=True)
class EventFilter:
    """``text`` as it was given. ``events``: (system or nothing, name). ``test`` None: all of them."""

    text: str
    events: tuple[tuple[str, str], ...]
    test: Node | None


_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]{1,16}|\d{1,20})|([A-Za-z_][\w.]*)|\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'"
    r"|(\|\||&&|==|!=|<=|>=|=~|!~|<<|>>|[-+*/%<>()!~&|^=]))"
)
_LEVELS = (
    ("&&", "||"),
    ("==", "!=", "<=", ">=", "<", ">", "=~", "!~"),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_COMPARISONS = 1


def parse(text: str, systems: set[str]) -> EventFilter:
    """``systems``: after one of them, ``:EVENT:`` may stand for ``/EVENT:``. Raises UsageError, with a caret."""
    if len(text) > MOST_TEXT:
        raise UsageError(f"a filter of more than {MOST_TEXT} characters")
    head, colon, rest = text.partition(":")
    at = len(head) + 1
    again = re.match(r"\s*([\w*.]+)\s*(:|$)", rest)
    if colon and head.strip() in systems and again:
        head, at = f"{head.strip()}/{again[1]}", at + again.end()
        rest = rest[again.end() :]
    events: list[tuple[str, str]] = []
    for word in head.split(","):
        system, slash, name = (part.strip() for part in word.partition("/"))
        if not system and not name:
            raise _error(text, 0, "which event?")
        events.append((system, name or ".*") if slash else ("", system))
    test = _Parser(text, at).all() if rest.strip() else None
    return EventFilter(text, tuple(events), test)


class _Parser:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if not found:
                raise _error(text, at, "this makes no sense")
            kind = ("number", "name", "text", "text", "op")[(found.lastindex or 1) - 1]
            self.tokens.append((kind, found[found.lastindex or 1], found.start(found.lastindex or 1)))
            at = found.end()
        self.next = 0

    def all(self) -> Node:
        node = self.level(0, 0)
        if self.next < len(self.tokens):
            raise _error(self.text, self.tokens[self.next][2], "an operator should stand here")
        return node

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.next] if self.next < len(self.tokens) else ("end", "", len(self.text.rstrip()))

    def level(self, n: int, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise _error(self.text, self.peek()[2], "this is nested too deeply")
        if n == len(_LEVELS):
            return self.single(depth)
        if n == _COMPARISONS and self.peek()[1] == "!" and self.peek()[0] == "op":
            self.next += 1
            return Unary("!", self.level(n, depth + 1))
        left = self.level(n + 1, depth)
        while True:
            kind, op, at = self.peek()
            if kind == "op" and op == "=" and n == _COMPARISONS:
                raise _error(self.text, at, "== compares")
            if kind != "op" or op not in _LEVELS[n]:
                return left
            self.next += 1
            left = Binary(op, left, self.level(n + 1, depth))

    def single(self, depth: int) -> Node:
        kind, word, at = self.peek()
        self.next += 1
        if kind == "number":
            return Value(self.number(word, at))
        if kind == "text":
            return Value(word)
        if kind == "name":
            return Name(word, at)
        if word in {"!", "~", "-"}:
            if depth > MOST_DEPTH:
                raise _error(self.text, at, "this is nested too deeply")
            return Unary(word, self.single(depth + 1))
        if word == "(":
            node = self.level(0, depth + 1)
            if self.peek()[1] != ")":
                raise _error(self.text, self.peek()[2], "a closing parenthesis is missing")
            self.next += 1
            return node
        raise _error(self.text, at, "a field or a value should stand here")

    def number(self, word: str, at: int) -> int:
        octal = len(word) > 1 and word.isdigit() and word[0] == "0"
        if octal and not set(word) <= set("01234567"):
            raise _error(self.text, at, "numbers that begin with 0 are octal")
        found = int(word, 8 if octal else 0)
        if found >> 64:
            raise _error(self.text, at, "a number of more than 64 bits")
        return found


def _error(text: str, at: int, why: str) -> UsageError:
    return UsageError(f"the filter cannot be read: {why}", hints=[f"{text}\n      {' ' * at}^"])


def misplaced(filter_: EventFilter, name: Name, why: str, hints: list[str]) -> UsageError:
    return UsageError(f"the filter cannot be used: {why}", hints=[f"{filter_.text}\n      {' ' * name.at}^", *hints])
