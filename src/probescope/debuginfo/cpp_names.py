"""Names of functions as people write them in C++ and Rust: where one ends, what it is made of, whether two spellings
are the same name.

shop::Box<unsigned long, int>::put(unsigned long const&, int)      shop  Box  put
shop::V::operator+=(int)                                           shop  V  operator+=
shop::V::operator char const*() const                              shop  V  operator char const*
shop::run(int)::{lambda(int)#1}::operator()(int) const             shop  run  {lambda(int)#1}  operator()
<app::Order as app::Total>::sum                                    <app::Order as app::Total>  sum
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = re.compile(r"(?:[\w$*?~]|\[[^\]\s]*\])+")
_PLAIN = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_OPERATOR = re.compile(r"operator(?![\w$])")
_SIGNS = re.compile(r'\(\)|\[\]|""\s?\w+|->\*|<=>|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%^&|<>=!]=|<<|>>|[-+*/%^&|~!=<>,]')
_NEW = re.compile(r" (?:new|delete)(?:\s?\[\])?(?!\w)| co_await(?!\w)")
_BUILTIN = (
    r"(?:unsigned|signed|long|short|int|char|bool|double|float|void|wchar_t|char8_t|char16_t|char32_t|__int128|auto)\b"
)
_BUILTINS = re.compile(rf"{_BUILTIN}(?: {_BUILTIN})*")
_CONST = re.compile(r" (?:const|volatile)\b")
_BEFORE = re.compile(r"(?:(?:const|volatile) )*")
_POINTED = re.compile(r"[*&]+| [*&]+(?![\w$%+@\\])")
_QUALIFIED = re.compile(r"(?: (?:const|volatile|noexcept)\b| &&?(?!\w))*")
_ANONYMOUS = "(anonymous namespace)"
_OPEN = {"<": ">", "(": ")", "[": "]", "{": "}"}
_DEFAULTS = re.compile(r",std::(?:allocator|char_traits|less|hash|equal_to|default_delete)<")
_EAST = re.compile(r"(?<![\w:])const ((?:(?:unsigned|signed|long|short) )*[\w:]+)")
_ABI = re.compile(r"\[abi:\w+\]")
_BLANKS = re.compile(r"(?<!\w) +| +(?!\w)")


class Name(NamedTuple):
    """``end``: behind its last character. ``parts`` have neither parameters nor what a template was made for.
    ``parameters``: whether the last one has some."""

    end: int
    parts: tuple[str, ...]
    parameters: bool


def scan(text: str, at: int = 0, end: int | None = None) -> Name | None:
    """The name that begins at ``at``; ``None`` where no more than a word of C is there, or what is no name."""
    start, end = at, len(text) if end is None else end
    parts: list[str] = []
    while True:
        after = _component(text, at, end, first=at == start)
        if after is None:
            return None
        word = text[at:after]
        parts.append(_ABI.sub("", word))
        at = _arguments(text, after, end)
        behind = _parameters(text, at, end)
        whole, at = behind > at, behind
        if not text.startswith("::", at, end):
            proper = len(parts) > 1 or whole or at > after or not word.replace("$", "_").isidentifier()
            return Name(at, tuple(parts), whole) if proper and not (len(parts) == 1 and _is_glob(parts[0])) else None
        at += 2


def _is_glob(word: str) -> bool:
    return not word.startswith(("operator", "{", "<", "(")) and any(c in word for c in "*?[")


def _component(text: str, at: int, end: int, *, first: bool) -> int | None:
    """Where it ends, without what a template was made for."""
    if text.startswith(_ANONYMOUS, at, end):
        return at + len(_ANONYMOUS)
    if text.startswith("{", at, end):
        return _balanced(text, at, end)
    if text.startswith("<", at, end):
        after = _balanced(text, at, end)
        return None if after is None or (first and not text.startswith("::", after, end)) else after
    found = _OPERATOR.match(text, at, end)
    if found:
        return _operator(text, found.end(), end)
    found = _WORD.match(text, at, end)
    return found.end() if found and not found[0][0].isdigit() else None


def _operator(text: str, at: int, end: int) -> int | None:
    """Behind the word ``operator``: a sign, or a type that is converted to."""
    found = _NEW.match(text, at, end)
    if found:
        return found.end()
    if text.startswith(" ", at, end):
        return _type(text, at + 1, end)
    sign = _SIGNS.match(text, at, end)
    while sign:
        if text[sign.end() : sign.end() + 1] in ("", " ", "(", "<", ":", "+", "@", "%", ";", "["):
            return sign.end()
        sign = _SIGNS.match(text, at, sign.end() - 1)  # operator++4: the sign is +, and 4 bytes behind it
    return None


def _type(text: str, at: int, end: int) -> int | None:
    found = _BEFORE.match(text, at, end)
    at = found.end() if found else at
    found = _BUILTINS.match(text, at, end) or _PLAIN.match(text, at, end)
    if not found:
        return None
    at = _arguments(text, found.end(), end)
    found = _CONST.match(text, at, end) or _POINTED.match(text, at, end)
    while found is not None:
        at = found.end()
        found = _CONST.match(text, at, end) or _POINTED.match(text, at, end)
    return at


def _arguments(text: str, at: int, end: int) -> int:
    """Behind what a template was made for, if that is there."""
    start = at + 1 if text.startswith(" <", at, end) else at
    if not text.startswith("<", start, end):
        return at
    return _balanced(text, start, end) or at


def _parameters(text: str, at: int, end: int) -> int:
    after = _balanced(text, at, end) if text.startswith("(", at, end) else None
    if after is None:
        return at
    found = _QUALIFIED.match(text, after, end)
    return found.end() if found else after


def _balanced(text: str, at: int, end: int) -> int | None:
    """Behind the bracket that closes the one at ``at``."""
    open_: list[str] = []
    while at < end:
        c = text[at]
        if c in _OPEN:
            open_.append(_OPEN[c])
        elif c == ">" and (open_[-1] != ">" or text[at - 1] == "-"):
            pass  # a sign
        elif c in ">)]}":
            while open_ and open_[-1] != c:
                open_.pop()  # what seemed to open was a sign
            if not open_:
                return None
            open_.pop()
            if not open_:
                return at + 1
        at += 1
    return None


def canonical(name: str) -> str:
    """The same for all spellings of a name: blanks, where ``const`` stands, ``std::string`` or what it is short for,
    with and without what containers have by default."""
    text = _BLANKS.sub("", _ABI.sub("", name)).replace("std::__cxx11::", "std::")
    found = _DEFAULTS.search(text)
    while found:
        after = _balanced(text, found.end() - 1, len(text))
        text = text[: found.start()] + (text[after:] if after is not None else "")
        found = _DEFAULTS.search(text, found.start())
    text = re.sub(r"std::basic_(string|string_view|ostream|istream)<char>", r"std::\1", text)
    at, found = 0, _EAST.search(text)
    while found:
        after = _arguments(text, found.end(), len(text))
        moved = f"{text[found.start(1) : after]} const"
        rest = text[after:]
        blank = " " if rest[:1].isalnum() else ""
        text = f"{text[: found.start()]}{moved}{blank}{rest}"
        at = found.start() + 1
        found = _EAST.search(text, at)
    return text.replace(" const", "const")


class Wanted:
    """A name that functions are looked for by. ``glob``: for symbols that may have it, by the last word in it."""

    def __init__(self, name: str) -> None:
        found = scan(name)
        whole = found if found is not None and found.end == len(name) else None
        self._name, self._text = name, canonical(name)
        self._parts = whole.parts if whole is not None else (name,)
        self._called = tuple(canonical(p) for p in self._parts)
        self._parameters = whole.parameters if whole is not None else "(" in name
        self._operator = self._parts[-1].startswith("operator")
        words = (p.removeprefix("~") for p in reversed(self._parts) if not _OPERATOR.match(p))
        self.glob = next((f"_[ZR]*{w}*" for w in words if w.isidentifier()), "_[ZR]*")

    def rank(self, symbol: str) -> int | None:
        """How well a function has the name, 0 best; ``None`` if it has not."""
        from probescope.debuginfo.demangle import demangle, without_parameters

        shown = demangle(symbol)
        if shown == self._name:
            return 0
        if shown == symbol or (self._operator and "operator" not in shown):
            return None
        plain = without_parameters(shown)
        own = shown[max(shown.find(plain), 0) :]  # templates tell what they return
        text = canonical(own if self._parameters else plain)
        if text == self._text or (self._parameters and text.removesuffix("const") == self._text):
            return 1
        if not self._parameters and "<" not in self._name.replace(self._parts[-1], ""):
            ends = self._ends(plain)
            if ends is not None:
                return 2 if ends else 3
        several = len(self._parts) > 1 or self._operator
        return 4 if several and text.endswith(f"::{self._text}") else None

    def _ends(self, plain: str) -> bool | None:
        """Whether a function is called so in full; ``None``: nor at its end either."""
        found = scan(plain)
        parts = tuple(canonical(p) for p in found.parts) if found is not None else (plain,)
        if parts == self._called:
            return True
        several = len(self._parts) > 1 or self._operator
        return False if several and parts[-len(self._called) :] == self._called else None
