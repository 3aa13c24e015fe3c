"""Statements and blocks.

    block      "{" statement* expression? "}"
    statement  let | assignment | _ = expression | for | while | unroll | break | continue | return | import
               | expression

A statement ends with ``;``, which may be left out before ``}`` and after a block. The last expression of a block
without ``;`` is the block's value, where a value can be meant; else it is a statement like any other.
"""

from __future__ import annotations

from probescope.lang.bt.ast import (
    Assign,
    Block,
    Branch,
    Break,
    Continue,
    Discard,
    Expr,
    ExprStatement,
    Field,
    ForMap,
    ForRange,
    If,
    Import,
    Index,
    Let,
    Map,
    MapItem,
    Return,
    Statement,
    TupleItem,
    Unroll,
    Var,
    While,
)
from probescope.lang.bt.lexer import Token
from probescope.lang.bt.node import replace
from probescope.lang.bt.parser_base import Unparsable
from probescope.lang.bt.parser_words import WordParser

ASSIGNMENTS = {"=": "", **{f"{op}=": op for op in ("<<", ">>", "+", "-", "*", "/", "%", "&", "|", "^")}}


class StatementParser(WordParser):
    # ---- blocks -------------------------------------------------------------------------------------------------

    def block(self, *, value: bool, ends_item: bool = False) -> Block:
        """A block; with ``value`` its last expression may be its value. Behind one that ends an item of a script no
        token is read, for an attach point may follow, which is not made of tokens.
        """
        first = self.expect("{")
        self.enter()
        outside, self.in_predicate = self.in_predicate, False
        statements: list[Statement] = []
        result: Expr | None = None
        height = 0
        while self.kind not in ("}", "end"):
            result = self._recovering(statements)
            height = max(height, self.height)
        self.nesting -= 1
        if self.kind != "}":
            self.fail("'}' at the end of the block")
        if ends_item:
            self.leave_tokens()
        else:
            self.advance()
        self.in_predicate = outside
        self.raise_height(height)
        if result is not None and not value:
            statements.append(ExprStatement(result.span, without_value(result)))
            result = None
        return Block(self.since(first), tuple(statements), result)

    def block_value(self) -> Expr:
        return self.block(value=True)

    def _recovering(self, statements: list[Statement]) -> Expr | None:
        """One statement, added to ``statements``, or the block's value. After a syntax error: on to the next
        statement."""
        nesting = self.nesting
        try:
            return self._statement(statements)
        except Unparsable as e:
            if e.fatal:
                raise
            self.record(e.finding)
            self.nesting = nesting
            self.in_predicate = False
            self._skip_statement()
            return None

    def _skip_statement(self) -> None:
        """On to behind the next ``;`` of this block, or to its ``}``; blocks and brackets in between are passed
        over."""
        level = 0
        while self.kind != "end":
            if level == 0 and self.kind in (";", "}"):
                self.accept(";")
                return
            level += (self.kind == "{") - (self.kind == "}")
            closed = self.advance().kind == "}"
            if closed and level == 0 and self.kind not in (")", ",", ";", "]"):
                return

    # ---- statements ---------------------------------------------------------------------------------------------

    def _statement(self, statements: list[Statement]) -> Expr | None:
        if self.kind == "id":
            special = _STATEMENTS.get(self.token.text)
            if special:
                statements.append(special(self))
                return None
            if self.token.text == "_" and self.ahead().kind == "=":
                statements.append(self._discard())
                return None
        if self.accept(";"):  # an empty statement
            return None
        first = self.token
        if first.kind == "{" or self.at_word("if"):
            return self._block_statement(statements)
        target = self.expression()
        if self.kind in ASSIGNMENTS and self._assignable(target):
            statements.append(self._assignment(target))
        elif self.kind == "}":
            return target
        else:
            self._end_statement()
            statements.append(ExprStatement(target.span, without_value(target)))
        return None

    def _block_statement(self, statements: list[Statement]) -> Expr | None:
        """``if`` or a block where a statement begins: it ends there, whatever operator follows."""
        made = self.primary()
        if self.kind == "}":
            return made
        self.accept(";")
        statements.append(ExprStatement(made.span, without_value(made)))
        return None

    def _end_statement(self) -> None:
        if self.kind != "}":
            self.expect(";")

    def _assignable(self, target: Expr) -> bool:
        if isinstance(target, TupleItem | Field | Index) and _root_is_variable(target):
            message = "tuples and records are immutable once created, and memory cannot be written"
            self.refuse(f"syntax error, {message}", target.span, "make a new value and assign that")
        return isinstance(target, Var | Map | MapItem)

    def _assignment(self, target: Expr) -> Statement:
        height = self.height
        op = ASSIGNMENTS[self.advance().kind]
        value = self.expression()
        self._end_statement()
        self.raise_height(height, self.height)
        return Assign(target.span.to(value.span), target, op, value)

    def _discard(self) -> Statement:
        first = self.advance()
        self.advance()
        value = self.expression()
        self._end_statement()
        return Discard(first.span.to(value.span), value)

    def _let(self) -> Statement:
        first = self.advance()
        if self.kind == "map":
            self.fail("a variable", "maps are declared outside of probes: let @m = lruhash(100);")
        var = self._variable()
        height = 0
        kind = None
        if self.accept(":"):
            kind = self.type_name()
            height = self.height
        value = None
        if self.accept("="):
            value = self.expression()
        span = self.since(first)
        self._end_statement()
        self.raise_height(height, self.height)
        return Let(span, var, kind, value)

    def _variable(self) -> Var:
        token = self.expect("var", "a variable ($name)")
        self.height = 1
        return Var(token.span, token.text[1:])

    def _return(self) -> Statement:
        first = self.advance()
        value = None
        if self.kind not in (";", "}"):
            value = self.expression()
        span = self.since(first)
        self._end_statement()
        return Return(span, value)

    def _jump(self) -> Statement:
        first = self.advance()
        self._end_statement()
        self.height = 1
        return (Break if first.text == "break" else Continue)(first.span)

    def import_statement(self) -> Import:
        first = self.advance()
        path = self.string("a path in quotes after 'import'")
        span = self.since(first)
        self.expect(";", "';' after import")
        return Import(span, path)

    # ---- conditions and loops -----------------------------------------------------------------------------------

    def if_value(self) -> Expr:
        first = self.token
        branches: list[Branch] = []
        otherwise = None
        height = 0
        self.enter()
        while True:
            start = self.advance()
            condition = self._condition()
            height = max(height, self.height)
            body = self.block(value=True)
            height = max(height, self.height)
            branches.append(Branch(start.span.to(body.span), condition, body))
            if not self.accept_word("else"):
                break
            if not self.at_word("if"):
                otherwise = self.block(value=True)
                height = max(height, self.height)
                break
        self.nesting -= 1
        self.raise_height(height + 1)
        return If(self.since(first), tuple(branches), otherwise)

    def _condition(self) -> Expr:
        """A full expression in brackets, or an operand without (``while !$done {``): the brace must not be taken for
        one."""
        if self.kind != "(":
            return self.unary()
        self.advance()
        self.enter()
        condition = self.expression()
        self.nesting -= 1
        self.expect(")")
        return condition

    def _while(self) -> Statement:
        first = self.advance()
        condition = self._condition()
        height = self.height
        body = self.block(value=False)
        self.raise_height(height, self.height)
        make = While if first.text == "while" else Unroll
        return make(first.span.to(body.span), condition, body)

    def _for(self) -> Statement:
        first = self.advance()
        bracket = self.accept("(")
        var = self._variable()
        self.expect(":")
        start = self._bound()
        if self.accept(".."):
            return self._for_range(first, var, start, bracket)
        if bracket and self.kind != ")":
            self.fail("'..' or ')' (bounds that are sums need brackets)")
        if not isinstance(start, Map):
            self.refuse(
                "syntax error, a loop goes over a map or a range",
                start.span,
                "for ($kv : @map) { ... } or for ($i : 0..10) { ... }",
            )
        if bracket:
            self.expect(")")
        body = self.block(value=False)
        self.raise_height(2, self.height)
        return ForMap(first.span.to(body.span), var, start, body)

    def _for_range(self, first: Token, var: Var, start: Expr, bracket: bool) -> Statement:
        height = self.height
        stop = self._bound()
        height = max(height, self.height)
        if bracket:
            self.expect(")", "')' (bounds that are sums need brackets)")
        body = self.block(value=False)
        self.raise_height(height, self.height)
        return ForRange(first.span.to(body.span), var, start, stop, body)

    def _bound(self) -> Expr:
        if self.kind == "{":
            self.fail("the bound of a range")
        return self.unary()


_STATEMENTS = {
    "let": StatementParser._let,
    "for": StatementParser._for,
    "while": StatementParser._while,
    "unroll": StatementParser._while,
    "break": StatementParser._jump,
    "continue": StatementParser._jump,
    "return": StatementParser._return,
    "import": StatementParser.import_statement,
}


def _root_is_variable(target: Expr) -> bool:
    while isinstance(target, TupleItem | Field | Index):
        target = target.base
    return isinstance(target, Var | Map | MapItem)


def without_value(expr: Expr) -> Expr:
    """``expr`` as a statement: where it is an ``If`` or a ``Block``, the values of its blocks become statements."""
    if isinstance(expr, Block):
        return _valueless(expr)
    if isinstance(expr, If):
        branches = tuple(replace(b, body=_valueless(b.body)) for b in expr.branches)
        return replace(expr, branches=branches, otherwise=expr.otherwise and _valueless(expr.otherwise))
    return expr


def _valueless(block: Block) -> Block:
    if block.value is None:
        return block
    last = ExprStatement(block.value.span, without_value(block.value))
    return Block(block.span, (*block.statements, last))
