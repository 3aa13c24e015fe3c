r"""Probe definitions: text to ``ProbeDef``.

    arg   := [NAME=] x [:TYPE] [@user] | $vars | $params
    x     := NAME ( . NAME | -> NAME | [ N ] )*  | * x
           | $retval ( . NAME | -> NAME | [ N ] )*
           | %REG | $comm | $goid | $stack | $stackN | $argN | @SYMBOL[+-N] | @ADDRESS | \N | (+|-)[u]N ( x )
    type  := (u|s|x)[8|16|32|64] | char | string | ustring | symbol | bWIDTH@OFFSET/CONTAINER, each also with [N]

Source: perf-probe(1); Documentation/trace/kprobetrace.rst. Names of members come after ``var``; the kernel's own terms
may hold variables: ``+8(file->f_inode)``.
"""

from __future__ import annotations

import re

from probescope.errors import ScriptError
from probescope.frozen import replace
from probescope.lang.probe.places import end_of_place, read_place
from probescope.lang.probe.scanner import NAME, SCOPED, Scanner
from probescope.model.fetch import (
    Absolute,
    Deref,
    Fetch,
    FetchType,
    Immediate,
    Known,
    Register,
    Symbol,
)
from probescope.model.probe_def import ArgDef, Container, Element, Member, ProbeDef, Star, Var

MAX_ARGS = 128
MAX_DEPTH = 64
MAX_ELEMENTS = 64
_SYMBOL = re.compile(r"[A-Za-z_.][A-Za-z0-9_.$]*")
_TYPE = re.compile(
    r"(?:char|u?string|symbol|symstr|([usx])(8|16|32|64)?|b(\d{1,2})@(\d{1,2})/(\d{1,2}))(?:\[(\d{1,4})\])?"
)
_TYPES = "u8 to u64, s8 to s64, x8 to x64, u, s, x, char, string, ustring, symbol, b<width>@<offset>/<container>"
_NOT_WORD = re.compile(r"\W")
_SPECIALS = "$retval, $comm, $stack, $stackN, $argN, $goid, $vars and $params"


def parse(text: str) -> ProbeDef:
    """Raises ``ScriptError`` with the place."""
    s = Scanner(text)
    s.blank()
    end = _end_of_place(s)
    group, event, place = read_place(s, end)
    args: list[ArgDef] = []
    while True:
        s.blank()
        if s.done:
            break
        args.append(_arg(s))
        if len(args) > MAX_ARGS:
            raise s.error(f"more than {MAX_ARGS} arguments", s.at - 1)
    _names_differ(s, args)
    return ProbeDef(place, tuple(args), group, event, s.source)


def _end_of_place(s: Scanner) -> int:
    """The first blank outside of brackets: names of C++ have some inside."""
    depth, at = 0, s.at
    named = end_of_place(s.text, at)
    if named >= 0:
        return named
    while at < len(s.text):
        c = s.text[at]
        if c == "\\":
            at += 1
        elif c in "(<":
            depth += 1
        elif c in ")>":
            depth = max(depth - 1, 0)
        elif c == " " and not depth:
            return at
        at += 1
    return min(at, len(s.text)) if not depth else (s.text.find(" ", s.at) if " " in s.text[s.at :] else len(s.text))


def _names_differ(s: Scanner, args: list[ArgDef]) -> None:
    seen: set[str] = set()
    for a in args:
        if a.name and a.name in seen:
            start = a.span.column - 1
            raise s.error(
                f"two arguments are named {a.name}", start, a.span.end_column - 1, "NAME=... gives another name"
            )
        seen.add(a.name)


def _arg(s: Scanner) -> ArgDef:
    start = s.at
    found = re.compile(r"([A-Za-z_]\w*)=(?!=)").match(s.text, start)
    name = found[1] if found else ""
    s.at = found.end() if found else start
    for every in ("vars", "params"):
        if s.take(f"${every}"):
            if not s.done and not s.peek().isspace():
                raise s.error(f"${every} stands alone", start, s.at + 1)
            return ArgDef("", None, every=every, text=s.text[start : s.at], span=s.span(start))
    x = _expression(s, 0)
    kind = _type(s) if s.take(":") else None
    user = s.take("@user")
    if not s.done and not s.peek().isspace():
        raise s.error(f"'{s.peek()}' is not expected here", s.at, s.at + 1, "arguments are parted by blanks")
    shown = name or last_name(x)
    if not name and kind is not None and isinstance(x, Var):
        shown = _NOT_WORD.sub("_", f"{last_name(x)}_{kind}")
    return ArgDef(shown, x, kind, user, text=s.text[start : s.at], span=s.span(start))


def last_name(x: Fetch, *, inner: bool = False) -> str:
    """What an argument without a name is called: after the last member, or the variable. (A variable with a type has
    that in its name, as perf probe has it.)"""
    match x:
        case Var(name=name) | Member(name=name):
            return name.rpartition("::")[2]
        case Element() | Star():
            return last_name(x.x, inner=True)
        case Container(type=name):
            return name.rpartition(" ")[2].rpartition("::")[2]
        case Known(kind="goid"):
            return "goid"
        case Known(kind="retval") if inner:
            return "retval"
        case _:
            return ""


# --- expressions ------------------------------------------------------------------------------------------------------


def _expression(s: Scanner, depth: int) -> Fetch:
    start, c = s.at, s.peek()
    if depth > MAX_DEPTH:
        raise s.error("this is nested too deep", start)
    if c == "*":
        s.at += 1
        inner = _expression(s, depth + 1)
        return Star(inner, span=s.span(start))
    if c in ("+", "-"):
        return _deref(s, depth)
    leaf = _LEAVES.get(c)
    if leaf is not None:
        s.at += 1
        found = replace(leaf(s, start), span=s.span(start))
        return _members(s, found, start) if found == Known("retval") else found
    name = s.match(SCOPED)
    if not name:
        raise s.error("an argument is missing" if s.done else f"'{c}' begins no argument", start, start + 1)
    if name == "container_of" and s.peek() == "(":
        return _members(s, _container(s, start, depth), start)
    return _members(s, Var(name, span=s.span(start)), start)


def _members(s: Scanner, x: Fetch, start: int) -> Fetch:
    while True:
        arrow = s.take("->")
        if arrow or s.take("."):
            at = s.at
            name = s.match(NAME)
            if not name:
                raise s.error("the name of a member is missing", at)
            x = Member(x, name, arrow, span=s.span(start))
        elif s.take("["):
            x = _element(s, x, start)
        else:
            return x


def _element(s: Scanner, x: Fetch, start: int) -> Fetch:
    at = s.at
    index = s.number("a number")
    count = s.number("a number") - index + 1 if s.take("-") else 0
    if not s.take("]"):
        raise s.error("a ']' is missing", s.at)
    if count < 0 or count > MAX_ELEMENTS or (not count and s.text[at : s.at].count("-")):
        raise s.error(f"elements [FIRST-LAST] are up to {MAX_ELEMENTS}", at, s.at - 1)
    return Element(x, index, count, span=s.span(start))


def _container(s: Scanner, start: int, depth: int) -> Fetch:
    """What follows ``container_of``."""
    s.take("(")
    s.blank()
    inner = _expression(s, depth + 1)
    _comma(s, "a pointer, a type and a member of it")
    keyword = next((k for k in ("struct ", "union ", "class ") if s.take(k)), "")
    s.blank()
    name = s.match(SCOPED)
    if not name:
        raise s.error("the name of a type is missing", s.at)
    _comma(s, "a type, and the member of it that the pointer leads to")
    members = [s.match(NAME)]
    while s.take("."):
        members.append(s.match(NAME))
    if not all(members):
        raise s.error("the name of a member is missing", s.at)
    s.blank()
    if not s.take(")"):
        raise s.error("a ')' is missing", s.at)
    return Container(inner, keyword + name, tuple(members), span=s.span(start))


def _comma(s: Scanner, between: str) -> None:
    s.blank()
    if not s.take(","):
        raise s.error("a ',' is missing", s.at, None, f"container_of takes {between}")
    s.blank()


def _deref(s: Scanner, depth: int) -> Fetch:
    start = s.at
    sign = -1 if s.peek() == "-" else 1
    s.at += 1
    user = s.take("u")
    offset = s.number("an offset")
    if offset >= 1 << 31:
        raise s.error("the offset is too large", start, s.at)
    if not s.take("("):
        raise s.error("a '(' is missing", s.at, s.at + 1, "+OFFSET(X) is the memory behind what X points to")
    inner = _expression(s, depth + 1)
    if not s.take(")"):
        raise s.error("a ')' is missing", s.at, s.at + 1)
    return Deref(inner, sign * offset, user, span=s.span(start))


def _register(s: Scanner, start: int) -> Fetch:
    name = s.match(NAME)
    if not name:
        raise s.error("the name of a register is missing", start)
    return Register(name.lower())


def _special(s: Scanner, start: int) -> Fetch:
    name = s.match(NAME)
    if name in ("retval", "comm", "stack", "goid"):
        return Known(name)  # type: ignore[arg-type]
    numbered = re.fullmatch(r"(stack|arg)(\d{1,4})", name)
    if not numbered or (numbered[1] == "arg" and not int(numbered[2])):
        raise s.error(f"${name} is not known", start, s.at, f"there are {_SPECIALS}")
    return Known("argN" if numbered[1] == "arg" else "stackN", int(numbered[2]))


def _symbol(s: Scanner, start: int) -> Fetch:
    if s.take("+"):
        return Absolute(s.number("an offset in the file"), in_file=True)
    if s.peek().isdigit():
        return Absolute(s.number("an address"))
    name = s.match(_SYMBOL)
    if not name:
        raise s.error("a symbol or an address is missing", start)
    sign = 1 if s.take("+") else -1 if s.peek() == "-" and s.peek(1).isdigit() and s.take("-") else 0
    return Symbol(name, sign * s.number("an offset") if sign else 0)


def _immediate(s: Scanner, start: int) -> Fetch:
    if s.take('"'):
        end = s.text.find('"', s.at)
        if end < 0:
            raise s.error("the text has no end", start, len(s.text))
        text, s.at = s.text[s.at : end], end + 1
        return Immediate(text)
    sign = -1 if s.take("-") else 1
    return Immediate(sign * s.number("a number"))


_LEAVES = {"%": _register, "$": _special, "@": _symbol, "\\": _immediate}


def _type(s: Scanner) -> FetchType:
    start = s.at
    found = _TYPE.match(s.text, start)
    word = re.compile(r"[^\s@]*(?:@\d+/\d+)?").match(s.text, start)
    text = word[0] if word else ""
    if not found or found.end() != start + len(text):
        raise s.error(f"there is no type '{text}'", start, start + len(text), f"types: {_TYPES}")
    s.at = found.end()
    count = int(found[6] or 0)
    if found[6] is not None and not 0 < count <= 64:
        raise s.error("an array has 1 to 64 elements", start, s.at)
    if found[3]:
        return _bit_field(s, start, tuple(int(found[i]) for i in (3, 4, 5)), count)
    if found[1]:
        return FetchType(found[1], int(found[2] or 0), count=count)  # type: ignore[arg-type]
    return FetchType(found[0].partition("[")[0], count=count)  # type: ignore[arg-type]


def _bit_field(s: Scanner, start: int, numbers: tuple[int, ...], count: int) -> FetchType:
    width, shift, container = numbers
    if container not in (8, 16, 32, 64) or not width or width + shift > container:
        raise s.error("these bits are not in their container", start, s.at, "b<width>@<offset>/<8, 16, 32 or 64>")
    return FetchType("b", width, shift, container, count)


__all__ = ["ScriptError", "last_name", "parse"]
