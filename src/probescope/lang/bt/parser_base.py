"""What every layer of the parser stands on: the current token, expectations, findings, and the guard against depth.

A syntax error is raised as ``Unparsable`` where it is found and recorded where parsing can go on (the next statement,
the next probe), so that one run reports several. All layers are one class in the end (``parser.py``); they are split
by file only.
"""

from __future__ import annotations

from typing import NoReturn

from probescope.diagnostics import Diagnostic, Source, Span, nearest
from probescope.lang.bt import literals
from probescope.lang.bt.ast import MAX_DEPTH, Expr, TypeExpr
from probescope.lang.bt.lexer import Lexer, Token
from probescope.lang.bt.words import KEYWORDS

MAX_NESTING = 60
"""Greatest number of brackets, blocks and the like inside each other (about eight Python frames each)."""

MAX_FINDINGS = 20


class Unparsable(Exception):
    """Parsing cannot go on here; the finding says why. ``fatal``: not at the next statement either."""

    def __init__(self, finding: Diagnostic, *, fatal: bool = False) -> None:
        super().__init__(finding.message)
        self.finding = finding
        self.fatal = fatal


class Enough(Exception):  # control flow, as above
    """So many findings that more would not help."""


class Cursor:
    """A place in the tokens of one text. ``height`` is that of the tree that was parsed last."""

    def __init__(self, lexer: Lexer) -> None:
        self.lexer = lexer
        self.source: Source = lexer.source
        self.findings: list[Diagnostic] = []
        self.index = 0
        self.nesting = 0
        self.height = 0
        self.in_predicate = False
        self.parameters: frozenset[str] = frozenset()  # of the macro that is being read
        self.token = self.last = Token("raw", "", 1, 1, 1, 0, 0)
        self.kind = "raw"

    # ---- moving -------------------------------------------------------------------------------------------------

    def advance(self) -> Token:
        """Goes to the next token; returns the one that was current."""
        self.last = self.token
        self.index += 1
        tokens = self.lexer.tokens
        self.token = tokens[self.index] if self.index < len(tokens) else self.lexer.token(self.index)
        self.kind = self.token.kind
        return self.last

    def ahead(self, n: int = 1) -> Token:
        return self.lexer.token(self.index + n)

    def seek(self, index: int) -> None:
        self.index = index
        self.token = self.lexer.token(index)
        self.kind = self.token.kind

    def leave_tokens(self) -> None:
        """Consumes the current token and goes on with raw text behind it."""
        self.last = self.token
        self.index += 1
        self.kind = "raw"
        self.lexer.resume(self.index)

    def accept(self, kind: str) -> bool:
        if self.kind != kind:
            return False
        self.advance()
        return True

    def at_word(self, word: str) -> bool:
        return self.kind == "id" and self.token.text == word

    def accept_word(self, word: str) -> bool:
        if not self.at_word(word):
            return False
        self.advance()
        return True

    def expect(self, kind: str, expected: str = "") -> Token:
        if self.kind != kind:
            self.fail(expected or f"'{kind}'")
        return self.advance()

    def since(self, first: Token) -> Span:
        """From ``first`` to the end of the token before the current one."""
        last = self.last
        return Span(first.line, first.column, last.line, last.end)

    # ---- findings -----------------------------------------------------------------------------------------------

    def report(self, message: str, span: Span, *hints: str) -> None:
        """Records an error after which parsing goes on as if nothing had happened."""
        self.record(Diagnostic("error", message, span, hints, self.source))

    def record(self, finding: Diagnostic) -> None:
        self.findings.append(finding)
        if len(self.findings) >= MAX_FINDINGS:
            raise Enough

    def fail(self, expected: str, *hints: str) -> NoReturn:
        """The current token is not what may stand here."""
        problem = broken_token(self.token)
        if problem:
            self.refuse(problem, self.token.span)
        message = f"syntax error, unexpected {describe(self.token)}, expected {expected}"
        self.refuse(message, self.token.span, *hints, *self._spelling())

    def refuse(self, message: str, span: Span, *hints: str, fatal: bool = False) -> NoReturn:
        raise Unparsable(Diagnostic("error", message, span, hints, self.source), fatal=fatal)

    def _spelling(self) -> tuple[str, ...]:
        """A hint where the word before the surprise looks like a misspelt keyword: ``fro ($i : 0..3)``, ``retrun
        1``."""
        word = self.last
        if word.kind != "id" or word.text in KEYWORDS or len(word.text) < 2:
            return ()
        best = nearest(word.text, KEYWORDS, most=1)
        return (f"did you mean '{best[0]}' instead of '{word.text}'?",) if best else ()

    # ---- depth --------------------------------------------------------------------------------------------------

    def enter(self) -> None:
        """One level deeper; every caller decrements ``nesting`` when it leaves."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            message = f"the program nests deeper than {MAX_NESTING} levels here"
            self.refuse(message, self.token.span, "split it with variables or macros", fatal=True)

    def raise_height(self, *below: int) -> None:
        """The tree just built is one node higher than the highest of those ``below`` it."""
        self.height = max(below) + 1 if below else self.height + 1
        if self.height > MAX_DEPTH:
            message = f"this expression is more than {MAX_DEPTH} operations deep"
            self.refuse(message, self.token.span, "split it with variables", fatal=True)

    # ---- literals -----------------------------------------------------------------------------------------------

    def integer(self) -> int:
        """The value of the current ``int`` token, which is consumed. What is wrong with it is reported, its value
        then 0."""
        token = self.advance()
        try:
            literals.check_underscores(token.text)
            return literals.integer(token.text)
        except literals.LiteralError as e:
            self._report_literal(e, token, 0)
            return 0

    def string(self, expected: str = "a string") -> str:
        """The value of the current string token, which is consumed."""
        token = self.expect("str", expected)
        try:
            return literals.unescape(token.text[1:-1])
        except literals.LiteralError as e:
            self._report_literal(e, token, 1)
            return ""

    def _report_literal(self, e: literals.LiteralError, token: Token, shift: int) -> None:
        span = token.span
        if e.start is not None and e.end is not None:
            span = Span(token.line, token.column + shift + e.start, token.line, token.column + shift + e.end)
        self.report(f"syntax error, {e.what}", span)

    # ---- what other layers provide ------------------------------------------------------------------------------

    def expression(self) -> Expr:
        raise NotImplementedError

    def type_name(self) -> TypeExpr:
        raise NotImplementedError


def describe(token: Token) -> str:
    if token.kind == "end":
        return "end of file"
    text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    return {"int": "number ", "str": "string "}.get(token.kind, "") + (text if token.kind == "str" else f"'{text}'")


def broken_token(token: Token) -> str:
    """What is wrong with a token that can stand nowhere, or nothing."""
    if token.kind == "char":
        return "syntax error, character literals are not supported; write the number of the character"
    if token.kind != "bad":
        return ""
    if token.text == '"':
        return "syntax error, unterminated string"
    if token.text == "/*":
        return "syntax error, unterminated comment"
    if token.text == "$":
        return "syntax error, expected a variable name after '$'"
    return f"syntax error, unexpected character '{token.text if token.text.isprintable() else ascii(token.text)[1:-1]}'"
