"""Expressions that begin with a word of their own: ``sizeof``, ``offsetof``, ``typeinfo``, ``comptime``, truth
values."""

from __future__ import annotations

from probescope.lang.bt.ast import Bool, Comptime, Expr, Offsetof, Sizeof, Typeinfo
from probescope.lang.bt.parser_expr import ExpressionParser


class WordParser(ExpressionParser):
    def special_word(self) -> Expr | None:
        """The expression that the current word begins, or ``None`` if the word is nothing special."""
        word = self.token.text
        read = _SPECIAL.get(word)
        if read is None or (word in _CALL_LIKE and self.ahead().kind != "("):
            return None
        return read(self)

    def _if(self) -> Expr:
        return self.if_value()

    def if_value(self) -> Expr:
        """Provided by the layer of statements."""
        raise NotImplementedError

    def _truth(self) -> Expr:
        token = self.advance()
        return Bool(token.span, token.text == "true")

    def _sizeof(self) -> Expr:
        first = self.advance()
        self.expect("(")
        self.enter()
        of = self.type_or_expression(")")
        self.nesting -= 1
        self.expect(")")
        self.raise_height()
        make = Sizeof if first.text == "sizeof" else Typeinfo
        return make(self.since(first), of)

    def _offsetof(self) -> Expr:
        first = self.advance()
        self.expect("(")
        self.enter()
        of = self.type_or_expression(",")
        self.nesting -= 1
        self.expect(",")
        path = [self.expect("id", "a field name").text]
        while self.accept("."):
            path.append(self.expect("id", "a field name").text)
        self.expect(")")
        self.raise_height()
        return Offsetof(self.since(first), of, tuple(path))

    def _comptime(self) -> Expr:
        first = self.advance()
        self.enter()
        operand = self.unary()
        self.nesting -= 1
        self.raise_height()
        return Comptime(first.span.to(operand.span), operand)

    def _typeof_value(self) -> Expr:
        self.fail("an expression", "typeof(...) is a type: use it in a cast, in let, or as an argument of a macro")


_CALL_LIKE = frozenset({"sizeof", "typeinfo", "offsetof", "typeof"})

_SPECIAL = {
    "true": WordParser._truth,
    "false": WordParser._truth,
    "sizeof": WordParser._sizeof,
    "typeinfo": WordParser._sizeof,
    "offsetof": WordParser._offsetof,
    "comptime": WordParser._comptime,
    "typeof": WordParser._typeof_value,
    "if": WordParser._if,
}
