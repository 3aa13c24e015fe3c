"""A script in one canonical layout: ``probescope run --fmt FILE``.

    formatted(source)    the same words in the same order, with the same comments

Only blanks and line ends change. Each statement has a line of its own, two blanks of indentation a block, one blank
around operators; blank lines between statements and line ends inside brackets stay where people put them.
"""

from __future__ import annotations

from probescope.diagnostics import Diagnostic, Source, Span
from probescope.errors import ScriptError
from probescope.lang.bt.format_pieces import C_WORDS, Piece, pieces
from probescope.lang.bt.format_space import between
from probescope.lang.bt.parser import ParseOptions, parse

INDENT = "  "
_RUNS = 5
_HEADS = frozenset({"if", "else", "for", "while", "unroll", "{"})
_TALL = frozenset({"probe", "macro", "fn"})
"""Items whose braces have lines of their own."""
_SHORT = frozenset({"import", "let", "struct", "union", "enum", "typedef"})


class _NoHeaders:
    """Every header exists, and says nothing: what it declares is of no interest here."""

    def read(self, path: str) -> str | None:
        return ""

    def entries(self, path: str) -> list[str] | None:
        return None

    def is_open_to_all(self, path: str) -> bool:
        return False


def formatted(source: Source) -> str:
    """Raises ``ScriptError`` if it is no script."""
    parse(source, ParseOptions(params=("0",) * 64, files=_NoHeaders(), include_dirs=("/",)))
    made, before = "", source.text
    for _ in range(_RUNS):  # comments in odd places take a second run to come to rest
        made = _Layout(list(pieces(before))).text()
        if made == before:
            break
        before = made
    if _words(made) != _words(source.text):
        message = "this script cannot be put into another layout without changing it"
        raise ScriptError([Diagnostic("error", message, Span(1, 1, 1, 1), (), source)])
    return made


def _words(text: str) -> list[tuple[str, str]]:
    return [(p.kind, _body(p)) for p in pieces(text)]


def _body(p: Piece) -> str:
    """A piece without the blanks that lines of a comment begin with."""
    return "\n".join(line.strip() for line in p.text.split("\n")) if p.kind == "comment" else p.text


class _Layout:
    def __init__(self, given: list[Piece]) -> None:
        self.given = given
        self.lines: list[str] = []
        self.line: list[str] = []  # what is on the present line
        self.last: Piece | None = None  # the word before
        self.before: Piece | None = None  # the one before that, in the same statement
        self.level = 0
        self.brackets: list[int] = [0]  # how many are open in each block
        self.columns: list[int] = []  # where the insides of all open brackets begin
        self.heads: list[str] = []  # the words that the present statements of all open blocks begin with
        self.ends: list[bool] = []  # whether the end of each open block ends a statement
        self.over = True  # a statement, or what is like one, has ended
        self.at = 0

    def text(self) -> str:
        for i, p in enumerate(self.given):
            self.at = i
            getattr(self, f"_{p.kind}", self._word)(p, self.given[i + 1] if i + 1 < len(self.given) else None)
        self._end_line()
        return "\n".join(self.lines).strip("\n") + "\n" if self.lines else ""

    # ---- lines --------------------------------------------------------------------------------------------------

    def _end_line(self) -> None:
        if self.line:
            self.lines.append("".join(self.line).rstrip())
            self.line = []

    def _begin(self, p: Piece) -> None:
        """A new line for ``p``, behind a blank one if there was one and one may stand here."""
        self._end_line()
        opened = bool(self.lines) and self.lines[-1].endswith("{")
        if p.newlines > 1 and self.lines and self.lines[-1] and not opened and p.kind != "}":
            self.lines.append("")
        self.line.append(INDENT * self.level)

    # ---- what is no word ------------------------------------------------------------------------------------------

    def _comment(self, p: Piece, _: Piece | None) -> None:
        alone = p.newlines or not (self.line or self.lines)
        self.over = self.over or (not self.brackets[-1] and self._is_last())
        if alone:
            self._end_line()
            if self.over and self.last is not None and not p.item:
                self._apart(p)
            if self.over:
                self._begin(p)
            else:
                self._go_on()
        elif not self.line and self.lines:  # behind the last word of the line before
            self.line += [self.lines.pop(), " "]
        elif self.line and self.line[-1].strip():
            self.line.append(" ")
        first, *more = p.text.split("\n")
        self.line.append(first.rstrip())
        for text in more:
            self._end_line()
            body = text.strip()
            starred = f"{INDENT * self.level} {body}" if body.startswith("*") else text.rstrip()
            if body:
                self.line.append(starred)
            else:
                self.lines.append("")
        if p.text.startswith("//") or (alone and self.over):
            self._end_line()

    def _is_last(self) -> bool:
        """Whether only comments follow in this block."""
        i = self.at
        while i < len(self.given) and self.given[i].kind == "comment":
            i += 1
        return i < len(self.given) and self.given[i].kind == "}"

    def _directive(self, p: Piece, _: Piece | None) -> None:
        """The preprocessor's lines stand at the margin."""
        self._begin(p)
        self.line = [p.text]
        self._end_line()

    def _apart(self, p: Piece) -> None:
        """Items stand apart; short ones may stand together."""
        if self.last is not None and self.lines and self.lines[-1]:
            together = p.item in _SHORT and self.last.item == p.item and p.newlines < 2 and self.lines[-1][0] != "}"
            if not together and not (self.lines[-1].startswith(("//", "/*", "#", " *")) and p.newlines < 2):
                self.lines.append("")

    # ---- words ----------------------------------------------------------------------------------------------------

    def _point(self, p: Piece, following: Piece | None) -> None:
        if p.first:
            self._item(p)
        elif self.last is not None and self.last.kind == "??":
            self.line.append(" ")
        else:
            self._begin(p)
        self.line.append(p.text)
        self.over = False
        self.last = p

    def _item(self, p: Piece) -> None:
        self._end_line()
        self._apart(p)
        self._begin(p)
        self.brackets, self.columns, self.heads, self.ends = [0], [], [p.text], []

    def _word(self, p: Piece, following: Piece | None) -> None:
        begins = p.first or self.over
        if p.kind == "}":
            self._close(p)
        elif p.first:
            self._item(p)
            self.over = False
        elif self.over and self._joins(p):
            self._rejoin(p)
        elif self.over:
            self._statement(p)
        else:
            self._place(p)
        self.line.append(p.text)
        self.before, self.last = None if begins else self.last, p
        self._behind(p, following)

    def _joins(self, p: Piece) -> bool:
        """``} else`` and ``};``."""
        assert self.last is not None
        if self.last.kind != "}":
            return False
        return p.text == "else" or (p.kind == ";" and p.newlines == 0) or (p.item in C_WORDS and p.depth == 0)

    def _rejoin(self, p: Piece) -> None:
        self.over = False
        if not self.line:  # a comment has ended the line
            self.line.append(INDENT * self.level)
        elif p.kind != ";":
            self.line.append(" ")

    def _statement(self, p: Piece) -> None:
        self._begin(p)
        if self.heads:
            self.heads[-1] = p.text
        self.over = False

    def _place(self, p: Piece) -> None:
        """On this line or, where people broke it inside a statement, on the next one."""
        assert self.last is not None
        if p.kind == "??":
            self.line.append(" ")
        elif p.depth == 0 and (
            (p.kind == "{" and p.item in _TALL) or (self.last.kind == "point" and p.kind != ",")
        ):  # the block of an item, or a predicate
            self._end_line()
        elif not self.line or (p.newlines and p.kind not in ("{", ";", ")", "]", ",")):
            self._go_on()
        else:
            self.line.append(between(self.before, self.last, p, brackets=self.brackets[-1], head=self.heads[-1]))

    def _go_on(self) -> None:
        """A new line inside a statement: below what the innermost bracket began with, or further in."""
        self._end_line()
        inside = self.brackets[-1] and self.columns
        self.line.append(" " * self.columns[-1] if inside else INDENT * (self.level + 2))

    def _close(self, p: Piece) -> None:
        self.level = max(0, self.level - 1)
        self.brackets.pop()
        self.heads.pop()
        if self.last is not None and self.last.kind == "{" and self.line:
            self.line.append(" ")
        else:
            self._begin(p)
        if not self.brackets:
            self.brackets, self.heads = [0], [""]

    def _behind(self, p: Piece, following: Piece | None) -> None:
        """What a word does to what follows it."""
        if p.kind in ("(", "["):
            self.brackets[-1] += 1
            last = following is not None and following.newlines
            self.columns.append(len(INDENT) * (self.level + 2) if last else len("".join(self.line)))
        elif p.kind in (")", "]"):
            self.brackets[-1] -= 1
            del self.columns[-1:]
        elif p.kind == "{":
            self.ends.append(self._is_statement())
            self.brackets.append(0)
            self.heads.append("")
            self.level += 1
            self.over = True
        elif p.kind == "}":
            self.over = self.ends.pop() if self.ends else True
        elif p.kind in (";", ",") and self.brackets[-1] == 0:
            self.over = p.kind == ";" or (p.item == "enum" and p.depth > 0 and p.newlines == 0 and _breaks(following))

    def _is_statement(self) -> bool:
        """Whether the block that opens here is one by itself, and not part of an expression."""
        return self.brackets[-1] == 0 and (self.heads[-1] in _HEADS or len(self.heads) == 1)


def _breaks(following: Piece | None) -> bool:
    return following is not None and following.newlines > 0
