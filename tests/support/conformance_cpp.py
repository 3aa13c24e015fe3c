"""Just enough of C++ to read a file of unit tests: which helper is called with which strings, in which test.

Statements are walked in order. Variables that hold strings, or lists of them, are known; loops over such lists are
gone through; everything else is stepped over.

    const std::string head = "begin { ";
    for (auto op : {"+", "-"}) { test(head + "1 " + op + " 2 }"); }

gives two calls of ``test``, with the line where each stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

Value = str | list["Value"] | None
"""What an expression stands for; ``None`` where that is not a string or a list of strings."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\.)*)
      |(?P<raw>R"(?P<mark>\w*)\((?P<body>.*?)\)(?P=mark)")
      |(?P<string>"(?:[^"\\]|\\.)*")
      |(?P<char>'(?:[^'\\]|\\.)*')
      |(?P<word>[A-Za-z_]\w*)
      |(?P<number>\d[\w.]*)
      |(?P<sign>::|->|\+=|.)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]+)|([0-7]{1,3})|(.))")
_PAIRS = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True)
class Token:
    """``text`` of a string is its value."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Call:
    """``args`` are the tokens of each argument; ``strings`` their values."""

    helper: str
    line: int
    args: tuple[tuple[Token, ...], ...]
    strings: tuple[Value, ...]
    fixture: str
    test: str
    params: tuple[str, ...]
    unsafe: bool

    def text(self, index: int) -> str:
        """The source text of an argument, without blanks."""
        return "".join(t.text for t in self.args[index]) if index < len(self.args) else ""

    @cached_property
    def everything(self) -> str:
        return ",".join(self.text(i) for i in range(len(self.args)))


@dataclass
class Scope:
    """What a block knows."""

    fixture: str = ""
    test: str = ""
    values: dict[str, Value] = field(default_factory=dict)
    params: tuple[str, ...] = ()
    unsafe: bool = False

    def inner(self) -> Scope:
        return Scope(self.fixture, self.test, dict(self.values), self.params, self.unsafe)


def tokens_of(text: str) -> list[Token]:
    out: list[Token] = []
    line = 1
    skipping: list[bool] = []
    for m in _TOKEN.finditer(text):
        kind = m.lastgroup or ""
        if m["raw"] is not None:
            kind = "raw"
        if kind == "directive":
            _directive(m[0].strip(), skipping)
        elif kind != "space" and not any(skipping):
            out.append(_token(kind, m, line))
        line += m[0].count("\n")
    return out


def _token(kind: str, m: re.Match[str], line: int) -> Token:
    if kind == "raw":
        return Token("string", m["body"], line)
    if kind == "string":
        plain = m[0][1:-1].replace("\\\n", "")
        return Token("string", _ESCAPE.sub(_escape, plain), line)
    return Token(kind, m[0], line)


def _escape(m: re.Match[str]) -> str:
    if m[1] or m[2]:
        return chr(int(m[1] or m[2], 16))
    if m[3]:
        return chr(int(m[3], 8))
    return {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}.get(m[4], m[4])


def _directive(text: str, skipping: list[bool]) -> None:
    """Optional parts count as built, the other sides of conditions do not."""
    if text.startswith("#if"):
        skipping.append(False)
    elif text.startswith(("#else", "#elif")):
        skipping[-1] = True
    elif text.startswith("#endif"):
        skipping.pop()


def end_of(tokens: list[Token], start: int) -> int:
    """The index of the bracket that closes the one at ``start``."""
    level = 0
    for i in range(start, len(tokens)):
        if tokens[i].kind == "sign":
            level += tokens[i].text in _PAIRS
            level -= tokens[i].text in _PAIRS.values()
            if level == 0:
                return i
    return len(tokens) - 1


def split(tokens: list[Token]) -> list[list[Token]]:
    """At the commas that stand in no bracket."""
    parts: list[list[Token]] = [[]]
    i = 0
    while i < len(tokens):
        t = tokens[i]
        if t.kind == "sign" and t.text in _PAIRS:
            end = end_of(tokens, i)
            parts[-1] += tokens[i : end + 1]
            i = end
        elif t.kind == "sign" and t.text == ",":
            parts.append([])
        else:
            parts[-1].append(t)
        i += 1
    return [p for p in parts if p]


class Walker:
    """The calls of ``helpers`` in all tests of a file."""

    def __init__(self, text: str, helpers: frozenset[str]) -> None:
        self.tokens = tokens_of(text)
        self.helpers = helpers

    def calls(self) -> Iterator[Call]:
        tokens = self.tokens
        i = 0
        while i < len(tokens) - 1:
            if tokens[i].text in ("TEST", "TEST_F") and tokens[i + 1].text == "(":
                end = end_of(tokens, i + 1)
                fixture, _, test = (t.text for t in tokens[i + 2 : i + 5])
                close = end_of(tokens, end + 1)
                if not test.startswith("DISABLED_"):
                    yield from self._block(tokens[end + 2 : close], Scope(fixture, test))
                i = close
            i += 1

    def _block(self, body: list[Token], scope: Scope) -> Iterator[Call]:
        i = 0
        while i < len(body):
            end = self._statement_end(body, i)
            yield from self._statement(body[i:end], scope)
            i = end

    def _statement_end(self, body: list[Token], start: int) -> int:
        """Behind the semicolon, or behind the block of ``for``, ``if`` and bare braces."""
        i = start
        while i < len(body):
            t = body[i]
            if t.kind == "sign" and t.text in _PAIRS:
                end = end_of(body, i)
                if t.text == "{" and body[start].text in ("{", "for", "if", "else", "while", "struct", "class"):
                    return end + 1
                i = end
            elif t.kind == "sign" and t.text == ";":
                return i + 1
            i += 1
        return len(body)

    def _statement(self, s: list[Token], scope: Scope) -> Iterator[Call]:
        first = s[0].text
        if first == "{":
            yield from self._block(s[1:-1], scope.inner())
        elif first == "for":
            yield from self._loop(s, scope)
        elif first in ("if", "else"):
            yield from self._condition(s, scope)
        else:
            self._note(s, scope)
            yield from self._helper_calls(s, scope)

    def _condition(self, s: list[Token], scope: Scope) -> Iterator[Call]:
        """Both sides of a condition, but for those of other architectures."""
        open_brace = next((i for i, t in enumerate(s) if t.text == "{" and t.kind == "sign"), len(s))
        if not any(t.text in ("ARM64", "PPC64", "S390X") for t in s[:open_brace]):
            yield from self._block(s[open_brace + 1 : -1], scope.inner())

    def _loop(self, s: list[Token], scope: Scope) -> Iterator[Call]:
        end = end_of(s, 1)
        head, body = s[2:end], s[end + 1 :]
        if body and body[0].text == "{":
            body = body[1:-1]
        colon = next((i for i, t in enumerate(head) if t.text == ":" and t.kind == "sign"), -1)
        if colon < 0:
            return
        names = [t.text for t in head[:colon] if t.kind == "word" and t.text not in ("const", "auto", "std", "string")]
        items = self.value(head[colon + 1 :], scope)
        for item in items if isinstance(items, list) else []:
            inner = scope.inner()
            given = item if len(names) > 1 and isinstance(item, list) else [item]
            inner.values.update(zip(names, given, strict=False))
            yield from self._block(body, inner)

    # --- what statements say ------------------------------------------------------------------------------------------

    def _note(self, s: list[Token], scope: Scope) -> None:
        """Variables and settings."""
        words = [t.text for t in s]
        if "add_param" in words:
            given = self.value(s[words.index("(") + 1 : -2], scope)
            scope.params = (*scope.params, str(given))
        if "safe_mode_" in words and "false" in words:
            scope.unsafe = True
        at = next((i for i, t in enumerate(s) if t.kind == "sign" and t.text in ("=", "+=", "{", "(")), -1)
        if at > 0 and words[-1] == ";":
            self._variable(s, at, scope)

    def _variable(self, s: list[Token], at: int, scope: Scope) -> None:
        names = [t.text for t in s[:at] if t.kind == "word"]
        if not names or (s[at].text in ("{", "(") and len(names) < 2):
            return
        value = self.value(s[at + 1 : -1] if s[at].text in ("=", "+=") else s[at:-1], scope)
        before = scope.values.get(names[-1])
        if s[at].text == "+=" and isinstance(before, str) and isinstance(value, str):
            value = before + value
        scope.values[names[-1]] = value

    def _helper_calls(self, s: list[Token], scope: Scope) -> Iterator[Call]:
        for i in range(len(s) - 1):
            if s[i].text not in self.helpers or s[i].kind != "word" or s[i + 1].text != "(":
                continue
            if i and s[i - 1].text in (".", "->"):
                continue
            args = split(s[i + 2 : end_of(s, i + 1)])
            strings = tuple(self.value(a, scope) for a in args)
            kept = tuple(tuple(a) for a in args)
            yield Call(s[i].text, s[i].line, kept, strings, scope.fixture, scope.test, scope.params, scope.unsafe)

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, tokens: list[Token], scope: Scope) -> Value:
        """Of ``"a" "b" + name + std::string("c")``, ``{ "a", "b" }``, ``Error{ "text" }``."""
        parts: list[list[Token]] = [[]]
        i = 0
        while i < len(tokens):
            t = tokens[i]
            end = end_of(tokens, i) if t.kind == "sign" and t.text in _PAIRS else i
            if t.kind == "sign" and t.text == "+":
                parts.append([])
            else:
                parts[-1] += tokens[i : end + 1]
            i = end + 1
        found = [self._term(p, scope) for p in parts]
        if len(found) == 1:
            return found[0]
        return "".join(str(f) for f in found) if all(isinstance(f, str) for f in found) else None

    def _term(self, part: list[Token], scope: Scope) -> Value:
        if part and all(t.kind == "string" for t in part):
            return "".join(t.text for t in part)
        if len(part) == 1 and part[0].kind == "word":
            return scope.values.get(part[0].text)
        opening = next((i for i, t in enumerate(part) if t.kind == "sign" and t.text in ("(", "{")), -1)
        if opening < 0 or end_of(part, opening) != len(part) - 1:
            return None
        inner = split(part[opening + 1 : -1])
        values = [self.value(p, scope) for p in inner]
        if opening == 0 and part[0].text == "{":
            return values
        if all(t.text in ("std", "::", "string", "string_view") for t in part[:opening]):
            return values[0] if len(values) == 1 else None
        return values if part[opening].text == "{" else None
