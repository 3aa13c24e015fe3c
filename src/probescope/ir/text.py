r"""Programs as text, and back: for golden tests, ``-d ir``, and for reading.

One notation for every frozen value, printed on one line where it fits and indented where it does not:

    (Binary bool eq (Context u32 pid) (Const u32 1))        a node: class, fields in order; defaults are left out
    u32 i64 bool void str16 buf64                           the common types have short names
    [a b]   "text"   b"bytes"   12   #t   #f   _            tuple, str, bytes, int, bool, None

Spans are not printed: equal programs print equally wherever they came from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from probescope.errors import FormatError
from probescope.frozen import fields
from probescope.ir.program import Program
from probescope.model import types as t

WIDTH = 110
MAX_DEPTH = 400

_SHORT: dict[t.Type, str] = {
    t.VOID: "void",
    t.BOOL: "bool",
    **{t.Int(n, s): f"{'i' if s else 'u'}{8 * n}" for n in (1, 2, 4, 8) for s in (False, True)},
}
_LONG = {v: k for k, v in _SHORT.items()}
_SIZED = re.compile(r"(str|buf)(\d+)$")
_TOKEN = re.compile(r'\s*(b?"(?:[^"\\]|\\.)*"|[()\[\]]|[^\s()\[\]"]+)')


def _name(kind: type) -> str:
    """Of a class: there is a field that a site offers, and one that an expression asks for."""
    from probescope.model.site import Field as Offered

    return "SiteField" if kind is Offered else kind.__name__


@cache
def _classes() -> dict[str, type]:
    """Every class that may appear, by name."""
    from probescope.ir import expr, program, stmt
    from probescope.model import format as format_
    from probescope.model import site

    modules = (expr, stmt, program, site, format_, t)
    found = [c for m in modules for c in vars(m).values() if isinstance(c, type) and c.__module__ == m.__name__]
    return {_name(c): c for c in found if hasattr(c, "__fields__")}


# --- printing
# -----------------------------------------------------------------------------------------------------------


def to_text(program: Program) -> str:
    """The whole program, with a newline at its end."""
    return _pretty(program, 0) + "\n"


def value_to_text(value: Any) -> str:
    """Any frozen value of the ir or the model, on one line."""
    return _flat(value)


def _atom(value: Any) -> str | None:
    match value:
        case None:
            return "_"
        case bool():
            return "#t" if value else "#f"
        case int():
            return str(value)
        case str():
            return value if re.fullmatch(r"[A-Za-z][\w.:-]*", value) and value not in _LONG else json.dumps(value)
        case bytes():
            return "b" + json.dumps(value.decode("latin-1"))
        case t.String(size=n):
            return f"str{n}"
        case t.Buffer(size=n):
            return f"buf{n}"
        case t.Type() if value in _SHORT:
            return _SHORT[value]
        case _:
            return None


def _parts(value: Any) -> list[tuple[str, Any]]:
    """(prefix, value) of each printed field; a keyword prefix from the first default on that is left out."""
    out: list[tuple[str, Any]] = []
    skipped = False
    for f in fields(value):
        if not f.compare:  # spans, the source text: not part of what a program is
            continue
        v = getattr(value, f.name)
        if not isinstance(f.default, type) and v == f.default and type(v) is type(f.default):
            skipped = True
            continue
        out.append((f"{f.name}=" if skipped else "", v))
    return out


def _flat(value: Any) -> str:
    atom = _atom(value)
    if atom is not None:
        return atom
    if isinstance(value, tuple):
        return "[" + " ".join(_flat(v) for v in value) + "]"
    return "(" + " ".join([_name(type(value)), *(p + _flat(v) for p, v in _parts(value))]) + ")"


def _pretty(value: Any, indent: int, prefix: str = "") -> str:
    flat = _flat(value)
    if len(flat) + indent + len(prefix) <= WIDTH or _atom(value) is not None:
        return prefix + flat
    pad = " " * (indent + 2)
    if isinstance(value, tuple):
        inner = [pad + _pretty(v, indent + 2) for v in value]
        return prefix + "[\n" + "\n".join(inner) + "]"
    head, rest = _name(type(value)), _parts(value)
    while rest and (text := _atom(rest[0][1])) is not None:
        head += f" {rest.pop(0)[0]}{text}"
    inner = [pad + _pretty(v, indent + 2, p) for p, v in rest]
    return prefix + "(" + "\n".join([head, *inner]) + ")"


# --- reading
# ------------------------------------------------------------------------------------------------------------


def from_text(text: str) -> Program:
    """The program that ``to_text`` printed. Raises ``FormatError`` with the offset of what it does not understand."""
    value = _Reader(text).whole()
    if not isinstance(value, Program):
        raise FormatError("this is not a program", section="ir", offset=0)
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self._words: Iterator[tuple[str, int]] = _words(text)
        self._at = 0

    def whole(self) -> Any:
        value = self._value(self._next(), 0)
        for word, at in self._words:
            raise FormatError(f"unexpected {word}", section="ir", offset=at)
        return value

    def _next(self) -> str:
        word, self._at = next(self._words, ("", self._at))
        if not word:
            raise FormatError("the text ends too early", section="ir", offset=self._at)
        return word

    def _value(self, word: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise FormatError("nested too deeply", section="ir", offset=self._at)
        if word == "[":
            items = []
            while (following := self._next()) != "]":
                items.append(self._value(following, depth + 1))
            return tuple(items)
        return self._node(depth) if word == "(" else self._read_atom(word)

    def _node(self, depth: int) -> Any:
        at, name = self._at, self._next()
        kind = _classes().get(name)
        if kind is None:
            raise FormatError(f"there is no node {name}", section="ir", offset=at)
        args: list[Any] = []
        named: dict[str, Any] = {}
        while (word := self._next()) != ")":
            key, equals, rest = word.partition("=")
            if equals and not word.startswith(('"', 'b"')):
                named[key] = self._value(rest or self._next(), depth + 1)
            else:
                args.append(self._value(word, depth + 1))
        try:
            return kind(*args, **named)
        except TypeError as e:
            raise FormatError(str(e), section="ir", offset=at) from None

    def _read_atom(self, word: str) -> Any:
        if word in _LONG:
            return _LONG[word]
        if word in ("_", "#t", "#f"):
            return {"_": None, "#t": True, "#f": False}[word]
        sized = _SIZED.match(word)
        if sized:
            return (t.String if sized[1] == "str" else t.Buffer)(int(sized[2][:9]))
        try:
            if word.startswith('b"'):
                return json.loads(word[1:]).encode("latin-1")
            if word.startswith('"'):
                return json.loads(word)
            return int(word) if word.lstrip("-").isdigit() else word
        except ValueError:
            raise FormatError(f"cannot read {word[:40]}", section="ir", offset=self._at) from None


def _words(text: str) -> Iterator[tuple[str, int]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        m = _TOKEN.match(text, at)
        if m is None:
            raise FormatError(f"cannot read {text[at : at + 20]!r}", section="ir", offset=at)
        yield m[1], m.start(1)
        at = m.end()


# --- JSON
# ---------------------------------------------------------------------------------------------------------------


def to_json(value: Any) -> Any:
    """A frozen value as JSON: nodes are objects with their class under ``node``; types are their short texts."""
    if isinstance(value, t.Type):
        return _flat(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, tuple):
        return [to_json(v) for v in value]
    if hasattr(value, "__fields__"):
        inner = {f.name: to_json(getattr(value, f.name)) for f in fields(value) if f.compare}
        return {"node": type(value).__name__, **inner}
    return value
