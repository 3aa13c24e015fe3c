"""Text to tokens: one compiled regular expression, no backtracking, linear in the length of the text.

The language has two ways of reading text. Attach points (``uprobe:/bin/a*:f,``) are raw text that only the parser
knows to expect; everything else is tokens. So tokens are made on demand, up to the end of a top-level block, and the
parser may say ``resume`` to go on reading raw text right after a token.

Kinds: ``id int str var map param count char end bad``, and every operator is its own kind. Words are never keywords
here: ``$x.config`` and ``args.if`` are fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from probescope.diagnostics import Source, Span

OPERATORS = (
    "<<= >>= ... .. -> ++ -- && || == != <= >= << >> += -= *= /= %= &= |= ^= "
    "+ - * / % & | ^ ~ ! < > = ? : ; , . ( ) { } [ ] #"
).split()

# No possessive repeat of a group in these patterns: Python before 3.11.5 matches them wrongly, and Debian 12 has 3.11.2
# ("gh-106052: re module: fix the matching of possessive quantifiers"). Those of single characters are sound; and no
# text can be read in two ways, so nothing is tried twice.
_LAYOUT = r"(?:[ \t\r\n\f\v]++|//[^\n]*+|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/)*"
_WORD = (
    r"(?P<id>[A-Za-z_][A-Za-z0-9_]*+)"
    r"|(?P<int>[0-9][A-Za-z0-9_]*+)"
    r"|(?P<var>\$[A-Za-z_][A-Za-z0-9_]*+)"
    r"|(?P<map>@(?:[A-Za-z_][A-Za-z0-9_]*+)?)"
    r'|(?P<str>"[^"\\]*+(?:\\[^\n][^"\\]*+)*")'  # line ends may stand in it
    r"|(?P<param>\$[0-9]++)"
    r"|(?P<count>\$\#)"
    r"|(?P<char>'(?:[^'\\\n]|\\[^\n])+')"
    r"|(?P<unclosed>/\*)"
    r"|(?P<op>%s)"
    r"|(?P<bad>[^\n])"
    r"|(?P<end>\Z)"
)


class Token:
    """``text`` is what stands there, ``column`` and ``end`` are 1-based columns of ``line``, ``start`` and ``stop``
    offsets. A token that came out of a C macro has the place of the macro's use."""

    __slots__ = ("column", "end", "kind", "line", "start", "stop", "text")

    def __init__(self, kind: str, text: str, line: int, column: int, end: int, start: int, stop: int) -> None:
        self.kind = kind
        self.text = text
        self.line = line
        self.column = column
        self.end = end
        self.start = start
        self.stop = stop

    def at(self, place: Token) -> Token:
        """The same token at another place."""
        return Token(self.kind, self.text, place.line, place.column, place.end, place.start, place.stop)

    @property
    def span(self) -> Span:
        return Span(self.line, self.column, self.line, self.end)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text!r} {self.line}:{self.column}>"


Expand = Callable[["Lexer", Token], "list[Token] | None"]
"""What a word stands for: the tokens of a C macro, or ``None`` to leave it (``defines.py``)."""


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Layout and a token; layout alone. Compiled at first use: importing this module must cost nothing."""
    operators = "|".join(map(re.escape, OPERATORS))
    return re.compile(f"{_LAYOUT}(?:{_WORD % operators})"), re.compile(_LAYOUT)


class Lexer:
    """Tokens of one text. ``tokens`` grows on demand; ``pos``, ``line`` and ``line_start`` say where lexing goes on."""

    def __init__(
        self,
        source: Source,
        text: str | None = None,
        macros: Mapping[str, object] | None = None,
        expand: Expand | None = None,
    ) -> None:
        self.source = source
        self.text = source.text if text is None else text  # what is left of it when directives have been taken out
        self.tokens: list[Token] = []
        self.pos = 0
        self.line = 1
        self.line_start = 0
        self._macros = macros
        self._expand = expand
        self._match, self._layout = (p.match for p in _patterns())

    def token(self, index: int) -> Token:
        """Token number ``index``; behind the last one there is ``end``, for ever."""
        while index >= len(self.tokens):
            if self.tokens and self.tokens[-1].kind == "end":
                return self.tokens[-1]
            self._more()
        return self.tokens[index]

    def resume(self, index: int) -> None:
        """Forgets all tokens from ``index`` on: the text after the one before it will be read another way."""
        last = self.tokens[index - 1]
        self.pos = last.stop
        self.line, self.line_start = last.line, last.start - last.column + 1
        self._count_lines(last.start, last.stop)
        del self.tokens[index:]

    def skip_layout(self) -> int:
        """Goes over blanks and comments; returns the offset of what follows."""
        found = self._layout(self.text, self.pos)
        assert found is not None  # it matches the empty text, too
        self._count_lines(self.pos, found.end())
        self.pos = found.end()
        return self.pos

    def raw(self, end: int) -> Token:
        """The text from here to offset ``end`` (without a line end in it) as one token of kind ``raw``, not kept."""
        column = self.pos - self.line_start + 1
        token = Token("raw", self.text[self.pos : end], self.line, column, column + end - self.pos, self.pos, end)
        self.pos = end
        return token

    def _count_lines(self, start: int, end: int) -> None:
        newlines = self.text.count("\n", start, end)
        if newlines:
            self.line += newlines
            self.line_start = self.text.rfind("\n", start, end) + 1

    def scan(self) -> Token:
        """The next token as it stands, no macro expanded, and not kept."""
        found = self._match(self.text, self.pos)
        assert found is not None  # `bad` and `end` leave nothing over
        kind = found.lastgroup
        assert kind is not None
        start, end = found.span(kind)
        if start != self.pos:
            self._count_lines(self.pos, start)
        word = self.text[start:end]
        if kind == "op":
            kind = word
        elif kind == "unclosed":
            kind, end = "bad", len(self.text)
        self.pos = end
        line, column = self.line, start - self.line_start + 1
        if kind == "str" and "\n" in word:
            self._count_lines(start, end)
            return Token(kind, word, line, column, column + word.index("\n"), start, end)
        return Token(kind, word, line, column, column + len(word), start, end)

    def _more(self) -> None:
        """Reads on to the end of the current top-level block, or of the text."""
        scan, tokens, macros = self.scan, self.tokens, self._macros
        level = 0
        while True:
            token = scan()
            kind = token.kind
            if kind == "id" and macros and token.text in macros and self._expand:
                expanded = self._expand(self, token)
                if expanded is not None:
                    tokens.extend(expanded)
                    level += sum((t.kind == "{") - (t.kind == "}") for t in expanded)
                    continue
            tokens.append(token)
            if kind == "{":
                level += 1
            elif kind == "}":
                level -= 1
                if level <= 0:
                    return
            elif kind == "end":
                return
