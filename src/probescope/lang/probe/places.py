r"""The place of a definition, and ranges of lines.

    place  := [[GROUP:]EVENT=] ( FUNC [@FILE] [+OFFSET | :LINE | :LABEL | %return | ;PATTERN]
                               | FILE (:LINE | ;PATTERN) | ADDRESS [+OFFSET | %return]
                               | %[sdt_PROVIDER:]NAME | sdt_PROVIDER:NAME )
    lines  := FUNC [@FILE] [:A[+N|-B]] | FILE [:A[+N|-B]]

A name is that of a file if it has a dot and ``:`` or ``;`` follows. A ``\`` takes away what ``= @ + : ; %`` mean.
"""

from __future__ import annotations

import re

from probescope.frozen import replace
from probescope.lang.probe.scanner import NAME, Scanner
from probescope.model.probe_def import LineRange, Place

_SPECIAL = ";=@+%"
_NAMED = re.compile(r"(?:\w+:)?\w+=(?!=)")
_EVENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEHIND = ("", " ", ":", "+", "@", "%", ";")
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]+(?=$|[\s+%:;@])")
_SIGNED = ("::", "operator", "(", "<", "{")


def read_place(s: Scanner, end: int) -> tuple[str, str, Place]:
    """Group, event and place out of ``s.text[s.at : end]``. Raises ``ScriptError``."""
    group, event = _names(s, end)
    start = s.at
    if start >= end:
        raise s.error("there is no place to probe", max(start - 1, 0), start, "FUNCTION, FILE:LINE or an address")
    word = s.text[start:end]
    place = _sdt(s, end) if word.startswith(("%", "sdt_")) else _code(s, end)
    if s.at < end:
        raise s.error("the place has ended here", s.at, end, "arguments follow behind a blank")
    return group, event, replace(place, span=s.span(start, end))


def end_of_name(text: str, at: int, end: int | None = None) -> int:
    """Where a name of C++ or Rust ends that begins at ``at``, which may hold blanks and all signs; ``at`` if there is
    none."""
    end = len(text) if end is None else end
    if not any(sign in text[at:end] for sign in _SIGNED):
        return at
    from probescope.debuginfo.cpp_names import scan

    found = scan(text, at, end)
    return found.end if found is not None and text[found.end : min(found.end + 1, end)] in _BEHIND else at


def end_of_place(text: str, at: int) -> int:
    """The first blank behind the name."""
    start = at
    if end_of_name(text, at) == at and (named := _NAMED.match(text, at)):
        start = named.end()
    behind = end_of_name(text, start)
    if behind == start:
        return -1
    found = text.find(" ", behind)
    return len(text) if found < 0 else found


def is_event_name(name: str) -> bool:
    """As tracefs takes it for a group and for an event (kernel/trace/trace_probe.c)."""
    return _EVENT.fullmatch(name) is not None


def _names(s: Scanner, end: int) -> tuple[str, str]:
    """``GROUP:EVENT=`` or ``EVENT=``, if it begins with one."""
    at = _find(s.text, _SPECIAL, s.at, end)
    if at < 0 or s.text[at] != "=" or s.text[at : at + 2] == "==" or end_of_name(s.text, s.at, end) > at:
        return "", ""
    start, head = s.at, s.text[s.at : at]
    group, colon, event = head.rpartition(":")
    for name, where in ((group, start), (event, start + len(group) + len(colon))):
        if (name or not colon) and not _EVENT.fullmatch(name) and name:
            raise s.error(f"'{name}' is no name for an event", where, where + len(name), "letters, digits and _")
    if not event:
        raise s.error("the name of the event is missing", at)
    s.at = at + 1
    return group, event


def _find(text: str, chars: str, start: int, end: int) -> int:
    at = start
    while at < end:
        if text[at] == "\\":
            at += 1
        elif text[at] in chars:
            return at
        at += 1
    return -1


def _sdt(s: Scanner, end: int) -> Place:
    start = s.at
    s.take("%")
    text = s.text[s.at : end]
    provider, colon, name = text.rpartition(":")
    if not name or (colon and not provider):
        raise s.error("the name of the USDT probe is missing", start, end, "%sdt_PROVIDER:NAME")
    s.at = end
    return Place(sdt=name, provider=provider.removeprefix("sdt_"))


def _code(s: Scanner, end: int) -> Place:
    start = s.at
    if _ADDRESS.match(s.text, start, end):
        return _at_address(s, end)
    named = _cpp(s, end)
    if named:
        return _behind(s, end, Place(function=named))
    file = _names_a_file(s.text, start, end)
    name = _word(s, end, ";:" if file else ";:+@%")
    if not name:
        raise s.error("the name of a function or file is missing", start, start + 1)
    return _behind(s, end, Place(file=name) if file else Place(function=name))


def _at_address(s: Scanner, end: int) -> Place:
    place, behind = Place(address=s.number("an address")), s.at
    if s.at < end and s.take("+"):
        place = replace(place, address=(place.address or 0) + s.number("an offset"))
    elif s.at < end and s.take("%return"):
        place = replace(place, ret=True)
    if s.at < end and not s.peek().isspace():
        raise s.error("behind an address only +OFFSET or %return may stand", behind, end)
    return place


def _cpp(s: Scanner, end: int) -> str:
    """``ns::f(int)``: its colons and blanks are part of the name. A lambda is the function that it calls."""
    start = s.at
    s.at = end_of_name(s.text, start, end)
    name = s.text[start : s.at]
    return f"{name}::operator()" if name.endswith("}") and "{lambda" in name else name


def _names_a_file(text: str, start: int, end: int) -> bool:
    at = _find(text, ";:", start, end)
    return at >= 0 and "." in text[start:at] and _find(text, "+@%", start, at) < 0


def _word(s: Scanner, end: int, stops: str) -> str:
    out: list[str] = []
    while s.at < end and s.peek() not in stops:
        if s.peek() == "\\" and s.at + 1 < end:
            s.at += 1
        out.append(s.peek())
        s.at += 1
    return "".join(out)


def _behind(s: Scanner, end: int, place: Place) -> Place:
    while s.at < end:
        mark, at = s.peek(), s.at
        s.at += 1
        if mark == "@":
            name = _word(s, end, ";:+%")
            if not name or place.file:
                raise s.error("the name of a file is missing" if not name else "a second file", at, s.at)
            place = replace(place, file=name)
        elif mark == ":":
            place = _line(s, end, place)
        elif mark == "+":
            place = replace(place, offset=s.number("an offset"))
        elif mark == "%":
            if not s.take("return"):
                raise s.error("only %return may stand here", at, end)
            place = replace(place, ret=True)
        elif mark == ";":
            place = replace(place, lazy=s.text[s.at : end])
            s.at = end
        _agree(s, place, at)
    if place.file and not place.function and place.line is None and not place.lazy:
        raise s.error("a line is missing", end - 1, end, f"{place.file}:LINE")
    return place


def _line(s: Scanner, end: int, place: Place) -> Place:
    label = "" if s.peek().isdigit() or not place.function else s.match(NAME)
    return replace(place, label=label) if label else replace(place, line=s.number("a line number"))


def _agree(s: Scanner, place: Place, at: int) -> None:
    """What cannot stand together."""
    given = [
        name
        for name, there in (
            ("an offset", place.offset),
            ("a line", place.line is not None or place.label),
            ("%return", place.ret),
            ("a pattern", place.lazy),
        )
        if there
    ]
    if len(given) > 1:
        hint = "functions return at many places: only the function itself can be named" if place.ret else ""
        raise s.error(f"{given[0]} and {given[1]} exclude each other", at, s.at, *([hint] if hint else []))
    if place.ret and not place.function:
        raise s.error("only functions return", at, s.at)


def parse_lines(text: str) -> LineRange:
    """``FUNC@FILE:A-B``. Raises ``ScriptError``."""
    s = Scanner(text, "lines")
    name = _cpp(s, len(s.text)) or s.until("@:")
    if not name:
        raise s.error("the name of a function or file is missing", 0, 1)
    file = s.until(":") if s.take("@") else ""
    is_file = not file and ("." in name or "/" in name)
    start, end, given = (1 if is_file else 0), -1, False
    if s.take(":"):
        given = True
        start, end = _range(s)
    if not s.done:
        raise s.error("the range has ended here", s.at, len(s.text))
    return LineRange("" if is_file else name, name if is_file else file, start, end, given)


def _range(s: Scanner) -> tuple[int, int]:
    first = s.number("a line number") if s.peek() != "-" else 0
    at = s.at
    if s.take("+"):
        count = s.number("a number of lines")
        return first, first + count - 1 if count else first
    if s.take("-"):
        last = s.number("a line number")
        if last < first:
            raise s.error("the last line is before the first", at, s.at)
        return first, last
    return first, -1
