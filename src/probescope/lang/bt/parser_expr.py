"""Expressions. Operators are read with an explicit stack, so that depth costs no Python stack where it can be avoided.

expression  binary ("?" expression ":" expression | "?" ":" expression)?
binary      unary (operator unary)*                       precedence table below, left to right
unary       ("++" | "--" | "&" | "*" | "-" | "!" | "~" | "(" type ")")* postfix
postfix     primary ("." name | "." number | "->" name | "[" keys "]" | "++" | "--")*
primary     literal | $var | @map | name | call | "(" ... ")" | "{" block "}" | if | sizeof ...
"""

from __future__ import annotations

from probescope.lang.bt.ast import (
    Binary,
    Call,
    Cast,
    Expr,
    Field,
    Index,
    Int,
    Map,
    MapItem,
    Name,
    NamedExpr,
    Positional,
    PositionalCount,
    Record,
    Step,
    Str,
    Ternary,
    Tuple,
    TupleItem,
    TypeArg,
    TypeExpr,
    Unary,
    Var,
)
from probescope.lang.bt.lexer import Token
from probescope.lang.bt.parser_types import TypeParser
from probescope.model.operators import PRECEDENCE

_PREFIX = frozenset({"++", "--", "&", "*", "-", "!", "~"})
_POSTFIX = frozenset({".", "->", "[", "++", "--"})
_BALANCED_FROM = 16  # longer chains of || or && become balanced trees: same meaning, and a thousand terms stay shallow


class ExpressionParser(TypeParser):
    def expression(self) -> Expr:
        first = self.token
        condition = self._binary()
        if self.kind != "?":
            return condition
        self.advance()
        height = self.height
        self.enter()
        then: Expr | None = None
        if self.kind != ":":
            then = self.expression()
            height = max(height, self.height)
        self.expect(":")
        otherwise = self.expression()
        self.nesting -= 1
        self.raise_height(height, self.height)
        return Ternary(self.since(first), condition, then, otherwise)

    # ---- binary operators ---------------------------------------------------------------------------------------

    def _binary(self) -> Expr:
        left = self.unary()
        if self.kind not in PRECEDENCE or self._closes_predicate():
            return left
        operators: list[str] = []
        operands = [left]
        heights = [self.height]
        while True:
            level = 0 if self._closes_predicate() else PRECEDENCE.get(self.kind, 0)
            while operators and _reduces(operators[-1], self.kind, level):
                self._reduce(operators, operands, heights)
            if not level:
                self.height = heights[0]
                return operands[0]
            operators.append(self.advance().kind)
            operands.append(self.unary())
            heights.append(self.height)

    def _closes_predicate(self) -> bool:
        return self.in_predicate and self.kind == "/" and self.ahead().kind == "{"

    def _reduce(self, operators: list[str], operands: list[Expr], heights: list[int]) -> None:
        """Replaces the run of the last operator on the stack and its operands by one tree."""
        op = operators.pop()
        count = 2
        while operators and operators[-1] == op and op in ("||", "&&"):
            operators.pop()
            count += 1
        run = list(zip(operands[-count:], heights[-count:], strict=True))
        del operands[-count:], heights[-count:]
        while len(run) >= _BALANCED_FROM:
            pairs = [self._join(op, a, b) for a, b in zip(run[::2], run[1::2], strict=False)]
            run = pairs + run[len(pairs) * 2 :]
        tree = run[0]
        for other in run[1:]:
            tree = self._join(op, tree, other)
        operands.append(tree[0])
        heights.append(tree[1])

    def _join(self, op: str, left: tuple[Expr, int], right: tuple[Expr, int]) -> tuple[Expr, int]:
        self.raise_height(left[1], right[1])
        return Binary(left[0].span.to(right[0].span), op, left[0], right[0]), self.height

    # ---- unary and postfix operators ----------------------------------------------------------------------------

    def unary(self) -> Expr:
        if self.kind not in _PREFIX and not (self.kind == "(" and self.at_cast()):
            return self._postfix(self.primary())
        prefixes: list[tuple[Token, TypeExpr | None, int]] = []
        while True:
            if self.kind in _PREFIX:
                prefixes.append((self.advance(), None, 0))
            elif self.kind == "(" and self.at_cast():
                first = self.advance()
                prefixes.append((first, self.type_name(), self.height))
                self.expect(")")
            else:
                break
        operand = self._postfix(self.primary())
        for token, target, height in reversed(prefixes):
            operand = self._prefixed(token, target, operand)
            self.raise_height(self.height, height)
        return operand

    def _prefixed(self, token: Token, kind: TypeExpr | None, operand: Expr) -> Expr:
        span = token.span.to(operand.span)
        if kind is not None:
            return Cast(span, kind, operand)
        op = token.kind
        if op in ("++", "--"):
            self._check_steps(operand, operand)
            return Step(span, op, operand, prefix=True)
        if op == "&" and not isinstance(operand, Var | Map | MapItem | Name):
            self.report("syntax error, only a variable or a map has an address ('&')", operand.span)
        if op == "-" and isinstance(operand, Int) and 0 <= operand.value <= 1 << 63 and operand.text[:1].isdigit():
            return Int(span, -operand.value, "-" + operand.text)
        return Unary(span, op, operand)

    def _check_steps(self, target: Expr, at: Expr | Token) -> None:
        if not isinstance(target, Var | Map | MapItem | Name):
            self.report("syntax error, increment and decrement need a variable or a map", at.span)

    def _postfix(self, base: Expr) -> Expr:
        while self.kind in _POSTFIX:
            token = self.advance()
            if token.kind in ("++", "--"):
                self._check_steps(base, token)
                base = Step(base.span.to(token.span), token.kind, base, prefix=False)
            elif token.kind == "[":
                base = self._indexed(base)
            else:
                base = self._member(base)
            self.raise_height()
        return base

    def _member(self, base: Expr) -> Expr:
        if self.kind == "int" and self.last.kind == ".":
            if not self.token.text.isdigit():
                self.fail("a field name or the number of an item")
            index = self.advance()
            return TupleItem(base.span.to(index.span), base, int(index.text[:10]))
        name = self.expect("id", "a field name")
        return Field(base.span.to(name.span), base, name.text)

    def _indexed(self, base: Expr) -> Expr:
        height = self.height
        self.enter()
        first = self.token
        keys = self._expressions("]")
        self.nesting -= 1
        closing = self.expect("]")
        span = base.span.to(closing.span)
        if not keys:
            self.refuse("syntax error, unexpected ']', expected an expression", closing.span)
        self.height = max(height, self.height)
        if isinstance(base, Map):
            if len(keys) == 1:
                return MapItem(span, base, keys[0])
            return MapItem(span, base, Tuple(first.span.to(keys[-1].span), tuple(keys)))
        if len(keys) > 1:
            self.report("syntax error, only a map takes several keys", keys[1].span)
        return Index(span, base, keys[0])

    def _expressions(self, closing: str) -> list[Expr]:
        """Expressions with commas between them, up to (not including) ``closing``; sets ``height`` to the highest."""
        out: list[Expr] = []
        height = 0
        while self.kind != closing:
            out.append(self._argument())
            height = max(height, self.height)
            if self.kind == closing or not self.accept(","):
                break
            if self.kind == closing:
                self.fail("an expression")
        self.height = height
        return out

    # ---- primary expressions ------------------------------------------------------------------------------------

    def primary(self) -> Expr:
        token = self.token
        kind = self.kind
        self.height = 1
        if kind == "id":
            return self._word()
        if kind == "var":
            return Var(self.advance().span, token.text[1:])
        if kind == "map":
            return Map(self.advance().span, token.text[1:])
        if kind == "int":
            return Int(token.span, self.integer(), token.text)
        if kind == "str":
            return Str(token.span, self.string())
        if kind == "(":
            return self._parenthesis()
        if kind == "{":
            return self.block_value()
        if kind == "count":
            return PositionalCount(self.advance().span)
        if kind != "param":
            self.fail("an expression")
        return self._positional()

    def _positional(self) -> Expr:
        token = self.advance()
        index = int(token.text[1:20])
        if not index or len(token.text) > 19:
            self.report(f"syntax error, parameter {token.text} is out of range: the first one is $1", token.span)
        return Positional(token.span, index)

    def _word(self) -> Expr:
        special = self.special_word()
        if special is not None:
            return special
        token = self.advance()
        if self.kind == "!" and self.ahead().kind == "(":  # an older spelling of macro calls: name!(...)
            self.advance()
        if self.kind != "(":
            return Name(token.span, token.text)
        self.advance()
        self.enter()
        args = self._expressions(")")
        self.nesting -= 1
        self.expect(")")
        self.raise_height()
        return Call(self.since(token), token.text, tuple(args))

    def _argument(self) -> Expr:
        if not self.at_word("typeof"):
            return self.expression()
        first = self.token
        kind = self.type_name()
        self.raise_height()
        return TypeArg(self.since(first), kind)

    def _parenthesis(self) -> Expr:
        first = self.advance()
        if self.accept(")"):
            return Tuple(self.since(first), ())
        self.enter()
        if self.kind == "id" and self.ahead().kind == "=":
            value: Expr = self._record(first)
        else:
            value = self._tuple_or_group(first)
        self.nesting -= 1
        return value

    def _tuple_or_group(self, first: Token) -> Expr:
        items = [self.expression()]
        height = self.height
        comma = False
        while self.accept(","):
            comma = True
            if self.kind == ")":
                break
            items.append(self.expression())
            height = max(height, self.height)
        self.expect(")")
        self.height = height
        if not comma:
            return items[0]
        self.raise_height()
        return Tuple(self.since(first), tuple(items))

    def _record(self, first: Token) -> Expr:
        fields: list[NamedExpr] = []
        height = 0
        while True:
            name = self.expect("id", "a field name")
            self.expect("=")
            value = self.expression()
            height = max(height, self.height)
            if any(f.name == name.text for f in fields):
                self.report(
                    f"syntax error, this record already contains the name '{name.text}'", name.span.to(value.span)
                )
            fields.append(NamedExpr(name.span.to(value.span), name.text, value))
            if not self.accept(","):
                break
        self.expect(")")
        self.raise_height(height + 1)
        return Record(self.since(first), tuple(fields))

    # ---- what higher layers provide ----------------------------------------------------------------------------

    def block_value(self) -> Expr:
        raise NotImplementedError

    def special_word(self) -> Expr | None:
        raise NotImplementedError


def _reduces(on_stack: str, coming: str, level: int) -> bool:
    """Whether the operator on the stack is applied before ``coming`` of that precedence (0: end of the expression)."""
    top = PRECEDENCE[on_stack]
    if on_stack == coming and on_stack in ("||", "&&") and level:
        return False  # a run of the same one is reduced as a whole
    return top >= level
