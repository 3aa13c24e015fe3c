r"""A print format backwards: the text of an event to what its fields were.

    "prev_pid=%d prev_state=%s%s ==> ...", REC->prev_pid, ...      prev_pid=(-?\d+) prev_state=(.*?)(.*?) ==> ...
                                                                   each group: what it says of which field

What a text cannot tell (a quotient, a hash of a pointer, a helper that was not undone here) stays 0; ``whole`` says
whether there is such a thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from probescope.errors import FormatError
from probescope.formats.tracing import tree as t
from probescope.formats.tracing.directives import Directive, pieces
from probescope.formats.tracing.parser import parse_print_fmt
from probescope.frozen import dataclass
from probescope.model.recording import EventType

Values = dict[str, Any]
Set = Callable[[str, Values], bool]
Store = Callable[[int, Values], bool]
MOST_DIRECTIVES = 40
MOST_TOUCHING = 3
MOST_PIECE = 4096
_PATTERNS = {
    "d": r"\s{0,32}([-+]?\d{1,20})\s{0,32}",
    "x": r"\s{0,32}((?:0x)?[0-9a-fA-F]{1,16})\s{0,32}",
    "o": r"\s{0,32}([0-7]{1,22})\s{0,32}",
    "c": r"(.)",
}
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Stretch:
    """Directives that touch, and the text that follows them."""

    pattern: re.Pattern[str]
    setters: tuple[Set | None, ...]
    literal: str


class Inverse:
    """``values(text)``: of the fields, numbers and texts; None where the text is not of this format. A stretch ends
    where the text that follows it is first seen: nothing is tried twice, however long a line is."""

    def __init__(self, begin: str, stretches: tuple[Stretch, ...]) -> None:
        self._begin, self._stretches = begin, stretches
        self.whole = all(setter is not None for s in stretches for setter in s.setters)

    def values(self, text: str) -> Values | None:
        text = text.rstrip("\n")
        if not text.startswith(self._begin):
            return None
        at = len(self._begin)
        out: Values = {}
        for s in self._stretches:
            to = text.find(s.literal, at) if s.literal else len(text)
            found = s.pattern.fullmatch(text, at, to) if 0 <= to - at <= MOST_PIECE else None
            if found is None:
                return None
            for piece, setter in zip(found.groups(), s.setters, strict=True):
                if setter is not None and not setter(piece, out):
                    return None
            at = to + len(s.literal)
        return out if at == len(text) else None


def inverse(event: EventType, long_size: int = 8) -> Inverse | None:
    """None for a format that cannot be read, or has nothing to look for."""
    try:
        parsed = parse_print_fmt(event, long_size)
        parts = _merged(pieces(parsed.format.rstrip("\n")))
    except FormatError:
        return None
    directives = [p for p in parts if isinstance(p, Directive)]
    if not directives or len(directives) > min(MOST_DIRECTIVES, len(parsed.args)) or any(d.star for d in directives):
        return None
    begin, args = "", iter(parsed.args)
    stretches: list[Stretch] = []
    patterns: list[str] = []
    setters: list[Set | None] = []
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        if isinstance(part, str):
            begin += "" if stretches else part
            continue
        pattern, setter = _undone(part, next(args))
        patterns.append(pattern)
        setters.append(setter)
        if isinstance(following, str):
            if len(patterns) > MOST_TOUCHING:
                return None
            stretches.append(Stretch(re.compile("".join(patterns), re.DOTALL), tuple(setters), following))
            patterns, setters = [], []
    return Inverse(begin, tuple(stretches))


def _merged(parts: list[str | Directive]) -> list[str | Directive]:
    out: list[str | Directive] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        else:
            out.append(part)
    return out


def _undone(d: Directive, arg: t.Node) -> tuple[str, Set | None]:
    c = {"i": "d", "u": "d", "X": "x"}.get(d.conversion, d.conversion)
    if c in _PATTERNS:
        store = _number(arg)
        return _PATTERNS[c], None if store is None else _stored(store, _READ[c])
    if c == "s":
        return _shape(arg), _text(arg, bool(d.width))
    return r"(\S+?)", _pointer(d, arg)


_READ: dict[str, Callable[[str], int]] = {
    "d": int,
    "x": lambda text: int(text, 16),
    "o": lambda text: int(text, 8),
    "c": ord,
}


def _stored(store: Store, read: Callable[[str], int]) -> Set:
    return lambda text, v: store(read(text), v)


def _number(node: t.Node) -> Store | None:
    """What is to be done with the number that an expression had."""
    match node:
        case t.Field(field):
            return lambda n, v: _put(v, field.name, n)
        case t.Cast(value=value):
            return _number(value)
        case t.Index(base=t.Field(field), at=t.Num(value=at)):
            return lambda n, v: _put(v, f"{field.name}[{at}]", n)
        case t.Binary(op=op, left=left, right=right) if op in _UNDO and (by := constant(right)) is not None:
            inner = _number(left)
            return _undoing(inner, _UNDO[op], by) if inner else None
        case _:
            return None


def _undoing(inner: Store, undo: Callable[[int, int], int], by: int) -> Store:
    return lambda n, v: inner(undo(n, by), v)


_UNDO: dict[str, Callable[[int, int], int]] = {
    ">>": lambda n, by: n << min(by, 63) & _MASK,
    "+": lambda n, by: n - by,
    "-": lambda n, by: n + by,
    "&": lambda n, by: n & by,
    "^": lambda n, by: n ^ by,
}


def _put(values: Values, name: str, n: int) -> bool:
    """Of one field several parts may be told."""
    old = values.get(name)
    values[name] = n if not isinstance(old, int) else old | n
    return True


def _shape(node: t.Node) -> str:
    """Where two texts of an event touch, one of few must not take the other's part."""
    match node:
        case t.Cond(yes=t.Str(text=yes), no=t.Str(text=no)):
            return f"({re.escape(yes)}|{re.escape(no)})"
        case t.Str(text=fixed):
            return f"({re.escape(fixed)})"
        case _:
            return "(.*?)"


def _text(node: t.Node, padded: bool) -> Set | None:
    match node:
        case t.DynamicText(field) | t.Field(field):
            return lambda text, v: _set(v, field.name, text.strip() if padded else text)
        case t.Str(text=fixed):
            return lambda text, _: text.strip() == fixed.strip()
        case t.Symbolic(value=value, names=names):
            store = _number(value)
            return _named({name: n for n, name in reversed(names)}, store) if store else None
        case t.Flags(value=value, delimiter=delimiter, names=names):
            store = _number(value)
            return _flags({name: n for n, name in reversed(names)}, delimiter, store) if store else None
        case t.Cond(test=test, yes=yes, no=no):
            return _either(test, yes, no)
        case _:
            return None


def _set(values: Values, name: str, text: str) -> bool:
    values[name] = text
    return True


def _named(numbers: dict[str, int], store: Store) -> Set:
    def setter(text: str, v: Values) -> bool:
        n = numbers.get(text)
        if n is None:
            try:
                n = int(text, 16)
            except ValueError:
                return False
        return store(n, v)

    return setter


def _flags(numbers: dict[str, int], delimiter: str, store: Store) -> Set:
    def setter(text: str, v: Values) -> bool:
        bits = 0
        for word in text.split(delimiter) if delimiter and text else [text] if text else []:
            n = numbers.get(word)
            if n is None:
                try:
                    n = int(word, 16)
                except ValueError:
                    return False
            bits |= n
        return store(bits, v)

    return setter


def _either(test: t.Node, yes: t.Node, no: t.Node) -> Set | None:
    """One arm or the other, as the text is; an arm that is a text of its own says what the test was."""
    arms = [_text(arm, False) if not isinstance(arm, t.Str) or arm.text else _nothing for arm in (yes, no)]
    if arms[0] is None or arms[1] is None:
        return None
    true, bit = arms[0], _tested(test) if isinstance(yes, t.Str) else None
    false = arms[1]

    def setter(text: str, v: Values) -> bool:
        tried = dict(v)
        if true(text, tried):
            v.update(tried)
            return bit is None or _put(v, *bit)
        return false(text, v)

    return setter


def _nothing(text: str, _: Values) -> bool:
    return not text


def _tested(node: t.Node) -> tuple[str, int] | None:
    """The field that a test looks at, and a value that passes it; of a mask its highest bit."""
    match node:
        case t.Field(field):
            return field.name, 1
        case t.Binary(op="&", left=t.Field(field), right=mask):
            n = constant(mask)
            return (field.name, 1 << n.bit_length() - 1) if n else None
        case t.Binary(op="==", left=t.Field(field), right=t.Num(value=n)):
            return field.name, n
        case t.Cast(value=value):
            return _tested(value)
        case _:
            return None


def constant(node: t.Node) -> int | None:
    match node:
        case t.Num(value=n):
            return n
        case t.Cast(value=value):
            return constant(value)
        case t.Binary(op=op, left=left, right=right) if op in _WORK:
            a, b = constant(left), constant(right)
            return _WORK[op](a, b) if a is not None and b is not None else None
        case _:
            return None


_WORK: dict[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b,
    "&": lambda a, b: a & b,
    "+": lambda a, b: a + b & _MASK,
    "-": lambda a, b: a - b & _MASK,
    "<<": lambda a, b: a << min(b, 63) & _MASK,
    ">>": lambda a, b: a >> min(b, 63),
    "*": lambda a, b: a * b & _MASK,
}


def _pointer(d: Directive, arg: t.Node) -> Set | None:
    """A function by its name, which is given an address later; an address as it is."""
    match arg:
        case t.Cast(value=value):
            return _pointer(d, value)
        case t.Field(field) if d.pointer[:1] in {"", "K", "x", "S", "s", "F", "f"}:
            return lambda text, v: _set(v, field.name, text)
        case _:
            return None
