"""A script cut into what a formatter puts in order: words, comments, lines of the preprocessor, attach points.

Nothing is lost but blanks: the pieces, one behind the other, are the script. ``newlines`` before a piece says how it
stood.

    tracepoint:a:b, k:f  // why         point , point comment
    /pid == $1/ { @ = 1 }               open / words / { words }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from probescope.diagnostics import Source
from probescope.frozen import dataclass
from probescope.lang.bt.lexer import Lexer, Token
from probescope.lang.bt.parser_program import first_word
from probescope.lang.bt.pointtext import extent

C_WORDS = frozenset({"struct", "union", "enum", "typedef"})


@dataclass(frozen=True, slots=True)
class Piece:
    """``kind`` is that of a token, or ``point``, ``comment``, ``directive``. ``newlines`` and ``space`` are what stood
    before it, ``item`` is the word that its item begins with (``probe`` for those that begin with none) and ``depth``
    the number of braces around it."""

    kind: str
    text: str
    newlines: int
    space: bool
    item: str
    depth: int
    first: bool = False


@cache
def _layout() -> re.Pattern[str]:
    return re.compile(
        r"(?P<blank>[ \t\r\f\v]+)|(?P<line>\n)|(?P<comment>//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"
        r"|(?P<directive>\#(?:[^\n\\]|\\\n|\\)*)"
    )


@cache
def _more_of_c() -> re.Pattern[str]:
    """What may follow the braces of a definition: ``;``, attributes, declarators."""
    return re.compile(r"[;*,]|__attribute(__)?\b|\w+\s*[;,\[]")


def pieces(text: str) -> Iterator[Piece]:
    """All pieces of a script that the parser accepts."""
    cutter = _Cutter(text)
    while cutter.between(at_top=True):
        yield from cutter.taken()
        yield from cutter.item()
    yield from cutter.taken()


class _Cutter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lexer = Lexer(Source("", text))
        self.waiting: list[Piece] = []
        self.newlines = 0
        self.space = False
        self.word = ""
        self.depth = 0
        self.fresh = True

    def taken(self) -> list[Piece]:
        waiting, self.waiting = self.waiting, []
        return waiting

    def between(self, *, at_top: bool = False) -> bool:
        """Goes over layout; comments and directives wait to be taken. False at the end of the text."""
        pos = self.lexer.pos
        while found := _layout().match(self.text, pos):
            kind = found.lastgroup
            if kind == "directive" and not self._at_line_start(pos):
                break
            pos = found.end()
            self.newlines += kind == "line"
            self.space = True
            if kind in ("comment", "directive"):
                word = "" if at_top else self.word
                self._wait(kind, found.group().rstrip(), word)
        self.lexer.pos = pos
        return pos < len(self.text)

    def _at_line_start(self, pos: int) -> bool:
        return not self.text[self.text.rfind("\n", 0, pos) + 1 : pos].strip()

    def _wait(self, kind: str, text: str, word: str) -> None:
        self.waiting.append(Piece(kind, text, self.newlines, self.space, word, self.depth))
        self.newlines, self.space = 0, False

    def _piece(self, kind: str, text: str) -> Piece:
        made = Piece(kind, text, self.newlines, self.space, self.word, self.depth, self.fresh)
        self.newlines, self.space, self.fresh = 0, False, False
        return made

    # ---- items --------------------------------------------------------------------------------------------------

    def item(self) -> Iterator[Piece]:
        """One item, with its comments."""
        found = first_word().match(self.text, self.lexer.pos)
        self.word = found.group() if found else "probe"
        self.depth = 0
        self.fresh = True
        if found is None:
            yield from self._points()
        yield from self._words()

    def _points(self) -> Iterator[Piece]:
        """Up to the predicate or the block."""
        while True:
            end = extent(self.text, self.lexer.pos)
            if end == self.lexer.pos:
                return
            yield self._piece("point", self.lexer.raw(end).text)
            self.between()
            yield from self.taken()
            mark = "??" if self.text.startswith("??", self.lexer.pos) else ","
            if not self.text.startswith(mark, self.lexer.pos):
                return
            yield self._piece(mark, self.lexer.raw(self.lexer.pos + len(mark)).text)
            self.between()
            yield from self.taken()

    def _words(self) -> Iterator[Piece]:
        """Words up to the end of the item."""
        while self.between():
            yield from self.taken()
            token = self.lexer.scan()
            self.depth -= token.kind == "}"
            yield self._piece(token.kind, token.text)
            self.depth += token.kind == "{"
            if self.depth == 0 and token.kind in ("}", ";") and not self._goes_on(token):
                return

    def _goes_on(self, token: Token) -> bool:
        """Behind a definition of C there may be attributes, names and a semicolon; behind ``config = {}`` one."""
        if token.kind == ";" or self.word not in C_WORDS:
            return False
        if self.word == "typedef":
            return True
        self.between()
        return _more_of_c().match(self.text, self.lexer.pos) is not None
