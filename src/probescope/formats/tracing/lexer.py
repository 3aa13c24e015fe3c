r"""Words of the C expressions behind ``print fmt:``.

    "pid=%d %s", REC->pid, __print_symbolic(REC->op, { 0, "read" }, { 1, "write" })

A word is (kind, text, place): ``name``, ``number``, ``string`` (escapes still in it), ``char``, ``op``, and ``end``.
"""

from __future__ import annotations

import re

from probescope.errors import FormatError

MAX_TEXT = 1 << 20
MAX_STRING = 1 << 11  # of one literal: it is printed for every event
Word = tuple[str, str, int]

_WORD = re.compile(
    r"""[\s]*(?:
        (?P<name>[A-Za-z_]\w*)
      | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)
      | "(?P<string>(?:[^"\\]|\\.)*)"
      | '(?P<char>(?:[^'\\]|\\[^x0-7]|\\x[0-9a-fA-F]{1,2}|\\[0-7]{1,3}))'
      | (?P<op>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:()\[\]{},.=;])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


def words(text: str) -> list[Word]:
    """Raises FormatError at what is no word of C, and where there is more than ``MAX_TEXT`` of it."""
    if len(text) > MAX_TEXT:
        raise FormatError(f"a print format of more than {MAX_TEXT} bytes", section="print fmt")
    out: list[Word] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _WORD.match(text, at, end)
        if not found:
            raise FormatError(f"no word of C: {text[at : at + 20]!r}", section="print fmt", offset=at)
        kind = found.lastgroup or ""
        if len(found[kind]) > MAX_STRING:
            raise FormatError(f"a word of more than {MAX_STRING} bytes", section="print fmt", offset=at)
        out.append((kind, found[kind], found.start(kind)))
        at = found.end()
    out.append(("end", "", end))
    return out


def unescaped(text: str) -> str:
    """A string literal as the compiler takes it."""
    return _ESCAPE.sub(_plain, text) if "\\" in text else text


def _plain(found: re.Match[str]) -> str:
    text = found[1]
    if text[0] == "x" and len(text) > 1:
        return chr(int(text[1:], 16))
    if text[0] in "01234567":
        return chr(int(text, 8) & 0xFF)
    return _ESCAPES.get(text, text)
