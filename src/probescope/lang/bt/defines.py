"""C macros of ``#define``: tokens for a word, put in while the text is read.

As in this language, the text of an object-like macro is one value: ``#define N 1 + 2`` makes ``N * 3`` nine. A macro
with parameters is expanded as C does it. A macro that leads to itself is an error; one that is its own name stands for
it.
"""

from __future__ import annotations

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.frozen import dataclass, field
from probescope.lang.bt.lexer import Lexer, Token

MAX_TOKENS = 200_000
"""Greatest number of tokens that all macros of a script may expand to."""

MAX_DEPTH = 48
"""Greatest number of macros inside each other."""

MAX_FINDINGS = 20

_OPERATORS = frozenset("|| && | ^ & == != < > <= >= << >> + - * / % ?".split())
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


@dataclass(slots=True)
class Define:
    """``params`` is ``None`` for a macro without brackets. ``tokens`` are those of ``body``, made when first needed."""

    name: str
    params: tuple[str, ...] | None
    body: str
    span: Span
    tokens: list[Token] | None = None


@dataclass(slots=True)
class Defines:
    """All macros of a script by name; ``findings`` grow when one cannot be expanded."""

    source: Source
    by_name: dict[str, Define] = field(default_factory=dict)
    findings: list[Diagnostic] = field(default_factory=list)
    made: int = 0

    def expand(self, lexer: Lexer, token: Token) -> list[Token] | None:
        """What a word of the script stands for; reads the arguments of a macro with parameters from ``lexer``."""
        define = self.by_name[token.text]
        whole = [token]
        if define.params is not None:
            arguments = _arguments_ahead(lexer)
            if arguments is None:
                return None
            whole += arguments
        return self._rescan(whole, (), token)

    def _rescan(self, tokens: list[Token], inside: tuple[str, ...], place: Token) -> list[Token]:
        """``tokens`` with every macro in them expanded, those of ``inside`` excepted."""
        out: list[Token] = []
        i = 0
        while i < len(tokens):
            token = tokens[i]
            define = self.by_name.get(token.text) if token.kind == "id" else None
            i += 1
            if define is None or not self._allowed(define, inside, place):
                out.append(token.at(place))
                continue
            body = _tokens_of(define)
            if define.params is not None:
                arguments, after = _split_arguments(tokens, i)
                if arguments is None:
                    out.append(token.at(place))
                    continue
                i = after
                body = self._substitute(define, arguments, place)
            elif _is_compound(body):
                body = [_bracket("(", place), *body, _bracket(")", place)]
            self.made += len(body)
            out += self._rescan(body, (*inside, define.name), place)
        return out

    def _allowed(self, define: Define, inside: tuple[str, ...], place: Token) -> bool:
        if define.body == define.name:  # ``#define stdin stdin`` is how the C library's headers say that it is there
            return False
        if define.name in inside:
            self._report(f"macro recursion: {' > '.join((*inside, define.name))}", place)
            return False
        if len(inside) >= MAX_DEPTH:
            self._report(f"more than {MAX_DEPTH} macros inside each other", place)
            return False
        if self.made > MAX_TOKENS:
            self._report(f"macros expand to more than {MAX_TOKENS} words", place)
            return False
        return True

    def _substitute(self, define: Define, arguments: list[list[Token]], place: Token) -> list[Token]:
        params = define.params or ()
        if not params and arguments == [[]]:
            arguments = []
        if len(arguments) != len(params):
            self._report(f"macro {define.name} takes {len(params)} arguments, found {len(arguments)}", place)
            return []
        values = dict(zip(params, arguments, strict=True))
        out: list[Token] = []
        for token in _tokens_of(define):
            out += values.get(token.text, [token]) if token.kind == "id" else [token]
        return out

    def _report(self, message: str, place: Token) -> None:
        if len(self.findings) < MAX_FINDINGS and all(f.message != message for f in self.findings):
            self.findings.append(Diagnostic("error", message, place.span, (), self.source))


def _tokens_of(define: Define) -> list[Token]:
    if define.tokens is None:
        lexer = Lexer(Source(define.name, define.body))
        define.tokens = []
        while (token := lexer.scan()).kind != "end":
            define.tokens.append(token)
    return define.tokens


def _is_compound(body: list[Token]) -> bool:
    """Whether ``body`` is an expression of several operands, which must stay together; a type (``struct a *``) is
    none."""
    if len(body) < 3 or body[0].text in ("struct", "union", "enum") or body[-1].kind in _OPERATORS:
        return False
    level = 0
    for i, token in enumerate(body):
        level += (token.kind in _OPEN) - (token.kind in _CLOSE)
        if level == 0 and i and token.kind in _OPERATORS:
            return True
    return False


def _bracket(kind: str, place: Token) -> Token:
    return Token(kind, kind, place.line, place.column, place.end, place.start, place.stop)


def _arguments_ahead(lexer: Lexer) -> list[Token] | None:
    """The tokens of ``( ... )`` that follow in the text, or ``None`` (and nothing consumed) if none do."""
    saved = lexer.pos, lexer.line, lexer.line_start
    out: list[Token] = []
    level = 0
    while True:
        token = lexer.scan()
        out.append(token)
        level += (token.kind == "(") - (token.kind == ")")
        if level == 0 and out[0].kind == "(":
            return out
        if out[0].kind != "(" or token.kind in ("end", ";", "{", "}"):
            lexer.pos, lexer.line, lexer.line_start = saved
            return None


def _split_arguments(tokens: list[Token], start: int) -> tuple[list[list[Token]] | None, int]:
    """The arguments in the brackets that open at ``start``, and the index behind them; ``None`` if none open there."""
    if start >= len(tokens) or tokens[start].kind != "(":
        return None, start
    arguments: list[list[Token]] = [[]]
    level = 0
    for i in range(start, len(tokens)):
        token = tokens[i]
        level += (token.kind in _OPEN) - (token.kind in _CLOSE)
        if level == 0:
            return arguments, i + 1
        if level == 1 and token.kind == ",":
            arguments.append([])
        elif i > start:
            arguments[-1].append(token)
    return None, start
