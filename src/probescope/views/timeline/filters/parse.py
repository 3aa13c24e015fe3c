"""From text to a tree; mistakes have their places.

any  := all ("or" all)*            all := one ("and" one)*
one  := "not" one | "(" any ")" | NAME op value | NAME "in" value ("," value)*
op   := == = != < <= > >= & ~ !~   value := number | "text" | word | number-number (after in)
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import ScriptError
from probescope.frozen import dataclass

MOST_TEXT = 1 << 14
MOST_DEPTH = 64
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<op>==|!=|<=|>=|!~|=~|&&|\|\||[=<>&~!(),])"""
    r"""|(?P<word>[^\s()=<>&|~!,"']+))""",
    re.DOTALL,
)
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)")
_RANGE = re.compile(r"(\d+)-(\d+)")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "&", "~", "!~")
_MEANT = {"=": "==", "=~": "~"}
_JOINING = {"&&": "and", "||": "or", "!": "not"}

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Term:
    """``at``: where the name begins, ``value_at`` where the value does, in characters. Of ``in``, ``ranges`` holds
    pairs of numbers, or texts twice."""

    name: str
    op: str
    value: Value
    at: int
    value_at: int
    ranges: tuple[tuple[Value, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    one: Node


@dataclass(frozen=True, slots=True)
class Joined:
    """``word``: and, or."""

    word: str
    parts: tuple[Node, ...]


Node = Term | Not | Joined
Parts = Callable[[], Node]


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    at: int


def wrong(text: str, at: int, message: str, hints: tuple[str, ...] = (), size: int = 1) -> ScriptError:
    """An error at a character of the filter."""
    before = text[:at].split("\n")
    line, column = len(before), len(before[-1]) + 1
    span = Span(line, column, line, column + size)
    return ScriptError([Diagnostic("error", message, span, hints, Source("filter", text))])


def parse(text: str) -> Node | None:
    """None of an empty filter. Raises ScriptError."""
    if len(text) > MOST_TEXT:
        raise wrong(text[:MOST_TEXT], 0, f"a filter has {MOST_TEXT} characters at most")
    return _Parser(text).whole()


def _tokens(text: str) -> list[Token]:
    out: list[Token] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.end() == at:
            begin = at + len(text[at:]) - len(text[at:].lstrip())
            what = "this text has no end" if text[begin] in "\"'" else f"'{text[begin]}' means nothing here"
            raise wrong(text, begin, what)
        kind = found.lastgroup or ""
        begin, word = found.start(kind), found.group(kind)
        lower = word.lower()
        if kind == "op" and word in _JOINING:
            kind, word = "join", _JOINING[word]
        elif kind == "word" and lower in ("and", "or", "not"):
            kind, word = "join", lower
        out.append(Token(kind, word, begin))
        at = found.end()
    out.append(Token("end", "", end))
    return out


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0

    def whole(self) -> Node | None:
        if self._see.kind == "end":
            return None
        node = self._any(0)
        if self._see.kind != "end":
            raise self._wrong(f"'{self._see.text}' is not expected here", ("join conditions by and, or",))
        return node

    @property
    def _see(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._see
        self._next += token.kind != "end"
        return token

    def _wrong(self, message: str, hints: tuple[str, ...] = ()) -> ScriptError:
        return wrong(self._text, self._see.at, message, hints, max(len(self._see.text), 1))

    def _any(self, depth: int) -> Node:
        return self._joined("or", lambda: self._joined("and", lambda: self._one(depth)))

    def _joined(self, word: str, part: Parts) -> Node:
        parts = [part()]
        while self._see.kind == "join" and self._see.text == word:
            self._take()
            parts.append(part())
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _one(self, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise self._wrong("this nests too deeply")
        if self._see.kind == "join" and self._see.text == "not":
            self._take()
            return Not(self._one(depth + 1))
        if self._see.text == "(" and self._see.kind == "op":
            opened = self._take()
            node = self._any(depth + 1)
            if self._see.text != ")":
                raise wrong(self._text, opened.at, "this ( is not closed")
            self._take()
            return node
        return self._term()

    def _term(self) -> Term:
        if self._see.kind != "word":
            said = f"'{self._see.text}'" if self._see.text else "the end"
            raise self._wrong(
                f"a name is expected before {said}", ('event ~ "sched:*"', 'task == "bash"', "cpu in 0,2-3")
            )
        name = self._take()
        if self._see.kind == "word" and self._see.text.lower() == "in":
            self._take()
            return self._listed(name)
        op = _MEANT.get(self._see.text, self._see.text)
        if self._see.kind != "op" or op not in OPERATORS:
            hints = (f"{name.text} == ...", f"{name.text} in 1,2", f"operators: {' '.join(OPERATORS)} in")
            raise self._wrong(f"an operator is expected behind '{name.text}'", hints)
        self._take()
        at = self._see.at
        return Term(name.text, op, self._value(), name.at, at)

    def _listed(self, name: Token) -> Term:
        first = self._see.at
        ranges = [self._range()]
        while self._see.text == "," and self._see.kind == "op":
            self._take()
            ranges.append(self._range())
        return Term(name.text, "in", "", name.at, first, tuple(ranges))

    def _range(self) -> tuple[Value, Value]:
        found = _RANGE.fullmatch(self._see.text) if self._see.kind == "word" else None
        if found is not None:
            self._take()
            return int(found[1]), int(found[2])
        value = self._value()
        return value, value

    def _value(self) -> Value:
        token = self._see
        if token.kind == "text":
            self._take()
            return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        if token.kind == "word":
            self._take()
            if _NUMBER.fullmatch(token.text):
                return (
                    float(token.text) if "." in token.text else int(token.text, 0 if "x" in token.text.lower() else 10)
                )
            return token.text
        raise self._wrong("a value is expected here", ("a number, or a text in quotes",))
