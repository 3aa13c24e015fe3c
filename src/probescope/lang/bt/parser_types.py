"""Types as written: ``uint8``, ``struct a*[4]``, ``string[64]``, ``typeof(x)``; and telling them from expressions.

A bare word in brackets may be either. The rules are those of the language: inside ``sizeof``, ``typeof`` and their
like a word (with its ``*`` and ``[N]``) is a type unless it is a builtin or stands in brackets of its own; ``(word)``
is a cast if what follows can begin an expression.
"""

from __future__ import annotations

from probescope.lang.bt.ast import ArrayType, Expr, Int, NamedType, PointerType, TypeExpr, TypeofType
from probescope.lang.bt.parser_base import Cursor
from probescope.lang.bt.words import C_TYPE_WORDS, KEYWORDS, QUALIFIERS, is_builtin

TAGS = ("struct", "union", "enum")
SIZED = ("string", "buffer", "inet")

_STARTS = frozenset({"int", "str", "var", "map", "param", "count", "id", "(", "-", "!", "~", "*", "&"})
"""Kinds of tokens that can begin the operand of a cast."""

_BREAKS = frozenset({";", "{", "}", "end"})
_NOT_TYPES = frozenset(KEYWORDS) - {*TAGS, "typeof"}


class TypeParser(Cursor):
    def type_name(self) -> TypeExpr:
        first = self.token
        base = self._base_type()
        while self.kind in ("*", "["):
            if self.kind == "*":
                self.advance()
                self._skip_qualifiers()
                base = PointerType(self.since(first), base)
                self.raise_height()
                continue
            height = self.height
            count = self._count()
            span = self.since(first)
            if isinstance(base, NamedType) and base.name in SIZED and base.size is None and not base.tag:
                base = NamedType(span, base.name, "", count)
            else:
                base = ArrayType(span, base, count)
            self.raise_height(height, self.height)
        return base

    def type_or_expression(self, *ends: str) -> TypeExpr | Expr:
        """What stands in the brackets of ``sizeof`` and its like, up to (not including) one of ``ends``."""
        if self.at_word("typeof"):
            return self.type_name()
        behind = self._scan_type(self.index)
        if behind and self.lexer.token(behind).kind in ends:
            return self.type_name()
        return self.expression()

    def at_cast(self) -> bool:
        """Whether the current ``(`` begins ``(type)operand``."""
        first = self.ahead()
        if first.kind != "id":
            return False
        if first.text == "typeof" or (first.text in TAGS and self.ahead(2).kind == "id"):
            return True
        behind = self._scan_type(self.index + 1)
        if not behind or self.lexer.token(behind).kind != ")":
            return False
        return self.lexer.token(behind + 1).kind in _STARTS

    def _base_type(self) -> TypeExpr:
        self._skip_qualifiers()
        first = self.token
        word = self.expect("id", "a type").text
        self.height = 1
        if word == "typeof":
            return self._typeof()
        if word in TAGS:
            name = self.expect("id", f"the name of a{'n' if word == 'enum' else ''} {word}").text
            return NamedType(self.since(first), name, word)
        words = [word]
        while word in C_TYPE_WORDS and self.kind == "id" and self.token.text in C_TYPE_WORDS:
            words.append(self.advance().text)
        self._skip_qualifiers()
        return NamedType(self.since(first), " ".join(words))

    def _typeof(self) -> TypeExpr:
        first = self.last
        self.expect("(")
        self.enter()
        inner = self.type_or_expression(")")
        self.nesting -= 1
        self.expect(")")
        if isinstance(inner, TypeExpr) and not self._is_parameter(inner):
            return inner
        self.raise_height()
        return TypeofType(self.since(first), inner)

    def _is_parameter(self, kind: TypeExpr) -> bool:
        """Whether this word is a parameter of the macro around it: it may turn out to be an expression."""
        return isinstance(kind, NamedType) and not kind.tag and kind.name in self.parameters

    def _count(self) -> int | Expr | None:
        """The brackets of an array and what is in them."""
        self.expect("[")
        self.height = 0
        if self.accept("]"):
            return None
        self.enter()
        count = self.expression()
        self.nesting -= 1
        self.expect("]")
        return count.value if isinstance(count, Int) and count.value >= 0 else count

    def _skip_qualifiers(self) -> None:
        while self.kind == "id" and self.token.text in QUALIFIERS:
            self.advance()

    def _scan_type(self, index: int) -> int:
        """The index behind the type that begins at token ``index``, or 0 if none does; consumes nothing."""
        token = self.lexer.token
        while token(index).kind == "id" and token(index).text in QUALIFIERS:
            index += 1
        first = token(index)
        if first.kind != "id" or first.text in _NOT_TYPES or is_builtin(first.text):
            return 0
        index += 1
        if first.text in TAGS:
            if token(index).kind != "id":
                return 0
            index += 1
        while first.text in C_TYPE_WORDS and token(index).kind == "id" and token(index).text in C_TYPE_WORDS:
            index += 1
        return self._scan_suffixes(index)

    def _scan_suffixes(self, index: int) -> int:
        token = self.lexer.token
        while True:
            kind = token(index).kind
            if kind == "*" or (kind == "id" and token(index).text in QUALIFIERS):
                index += 1
            elif kind == "[":
                index += 1
                while token(index).kind != "]":
                    if token(index).kind in _BREAKS:
                        return 0
                    index += 1
                index += 1
            else:
                return index
