"""The blank between two words of one line, or none.

Where the words alone do not tell (``(a)-1`` may be a cast of -1, ``a *b`` a declaration), what stood there stays.
"""

from __future__ import annotations

from probescope.lang.bt.format_pieces import C_WORDS, Piece

_EITHER = frozenset({"-", "*", "&", "+"})
"""Operators of one operand or of two."""
_OPERANDS = frozenset({"id", "int", "var", "map", "str", "param", "count", ")", "]", "}"})
_TIGHT_BEFORE = frozenset({")", "]", ",", ";", ".", "->", "..", "..."})
_TIGHT_BEHIND = frozenset({"(", "[", ".", "->", "..", "!", "~"})
_BEFORE_BRACKET = frozenset("if for while unroll return else comptime".split())
"""Words that are no functions."""


def between(before: Piece | None, a: Piece, b: Piece, *, brackets: int, head: str) -> str:
    """``before``, ``a`` and ``b`` stand in a row (``before`` is ``None`` where ``a`` begins a statement); ``brackets``
    are open around ``b`` in its block, whose statement begins with ``head``."""
    return " " if _apart(before, a, b, brackets, head) else ""


def _apart(before: Piece | None, a: Piece, b: Piece, brackets: int, head: str) -> bool:
    if _merges(a, b):
        return True
    if a.item == "probe" and a.depth == 0 and not brackets and "/" in (a.kind, b.kind):
        return a.kind == "/" and b.text.startswith("*")  # no comment
    if b.kind in _TIGHT_BEFORE or a.kind in _TIGHT_BEHIND:
        return False
    if a.kind in (",", ";", "{") or b.kind == "{":
        return True
    if b.kind == "(":
        return _before_bracket(before, a, b)
    if b.kind == "[":
        return a.kind not in _OPERANDS
    if b.kind == ":":
        return b.space if a.kind == "?" else not _declares(b, brackets, head)
    if "=" in (a.kind, b.kind) and brackets and a.item not in C_WORDS:
        return False
    return _operators(before, a, b)


def _merges(a: Piece, b: Piece) -> bool:
    """Whether two words would become another one: ``- -1``, ``& &x``."""
    return a.kind in _EITHER and b.kind.startswith(a.kind)


def _before_bracket(before: Piece | None, a: Piece, b: Piece) -> bool:
    if a.kind == "id":
        return a.text in _BEFORE_BRACKET
    if a.kind in (")", "]"):
        return a.kind == ")" and b.space and b.item in C_WORDS
    return _operators(before, a, b)


def _declares(b: Piece, brackets: int, head: str) -> bool:
    """``$x: type`` and ``fn f(): type``."""
    return (head == "let" and not brackets) or (b.item == "fn" and b.depth == 0)


def _operators(before: Piece | None, a: Piece, b: Piece) -> bool:
    if b.kind in ("++", "--") and a.kind in _OPERANDS:
        return False
    if a.kind in ("++", "--"):
        return before is not None and before.kind in _OPERANDS
    if a.item in C_WORDS and "*" in (a.kind, b.kind):
        return a.kind != "*"
    if b.kind in _EITHER and _may_be_type(a, b):
        return b.space
    if a.kind in _EITHER:
        if before is None or (before.kind not in _OPERANDS and before.kind != "*") or before.text in _BEFORE_BRACKET:
            return False
        return b.space if _may_be_type(before, a) else True
    if a.kind == ")" and b.kind in ("id", "int", "var", "map", "str", "param", "count", "!", "~", "++", "--"):
        return b.item in C_WORDS or (b.kind == "id" and b.space)  # a cast, or an attribute and what it is said of
    return True


def _may_be_type(a: Piece, operator: Piece) -> bool:
    """Whether ``a`` and the operator behind it may be a type, or a cast and its operand."""
    return a.kind == ")" or (operator.kind == "*" and a.kind in ("id", "*") and a.text not in _BEFORE_BRACKET)
