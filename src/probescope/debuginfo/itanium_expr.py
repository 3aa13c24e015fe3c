"""Expressions in mangled C++ names: literals, and what templates compute: ``decltype (({parm#1})+({parm#2}))``."""

from __future__ import annotations

from probescope.debuginfo.itanium_compound import Expansion, PackLength
from probescope.debuginfo.itanium_data import INTEGER_SUFFIX, OPERATORS
from probescope.debuginfo.itanium_nodes import (
    Encoding,
    Joined,
    Listed,
    Malformed,
    Name,
    Nested,
    Node,
    Templated,
)
from probescope.debuginfo.itanium_types import TypeParser

_CASTS = ("sc", "dc", "cc", "rc")
_FOLDS = ("fl", "fr", "fL", "fR")


class ExpressionParser(TypeParser):
    def expression(self) -> Node:
        self.deeper()
        node = self._expression()
        self.depth -= 1
        return node

    def _expression(self) -> Node:
        c, code = self.peek(), self.text[self.at : self.at + 2]
        if c == "L":
            return self.literal()
        if c == "T":
            return self.template_param()
        if code == "fp" or (code == "fL" and self.peek(2).isdigit()):
            return self._function_parameter()
        if code in _FOLDS:
            return self._fold(code)
        if code == "sr":
            return self._scoped()
        if code == "sp":
            self.at += 2
            return Expansion(self.expression())
        if code in ("il", "tl"):
            return self._list(code)
        if code == "cv":
            return self._conversion()
        if code in OPERATORS:
            return self._operation(code)
        return self._unresolved()

    def _function_parameter(self) -> Node:
        self.at += 2
        if self.text[self.at - 1] == "L":
            self.digits()
            self.need("p")
        if self.eat("T"):
            return Name("this")
        while self.peek() in "rVK":
            self.at += 1
        index = 1
        if not self.eat("_"):
            index = self.digits() + 2
            self.need("_")
        return Name(f"{{parm#{index}}}")

    def _fold(self, code: str) -> Node:
        self.at += 2
        sign = OPERATORS.get(self.text[self.at : self.at + 2], ("?", 0))[0]
        self.at += 2
        first = self.expression()
        if code == "fl":
            return Joined("(...", sign, _operand(first), ")")
        if code == "fr":
            return Joined("(", _operand(first), sign, "...)")
        return Joined("(", _operand(first), sign, "...", sign, _operand(self.expression()), ")")

    def _scoped(self) -> Node:
        """``sr <type> <name>`` or ``sr <name>+ E <name>``: a member of a dependent type."""
        self.at += 2
        if not self.peek().isdigit():
            return self._member(self.type())
        scope = self._with_args(self.source_name())
        while not self.eat("E"):
            scope = Nested(scope, self._with_args(self.source_name()))
        return self._member(scope)

    def _member(self, scope: Node) -> Node:
        member = self._unresolved()
        if isinstance(member, Templated):
            return Templated(Nested(scope, member.name), member.args)
        return Nested(scope, member)

    def _with_args(self, name: Node) -> Node:
        return Templated(name, self.template_args()) if self.peek() == "I" else name

    def _unresolved(self) -> Node:
        if self.eat("on"):
            return self._with_args(self.operator_name())
        if self.eat("dn"):
            return Joined("~", self.source_name() if self.peek().isdigit() else self.type())
        if not self.peek().isdigit():
            raise Malformed("an unknown expression")
        return self._with_args(self.source_name())

    def operator_name(self) -> Node:
        raise NotImplementedError

    def _list(self, code: str) -> Node:
        self.at += 2
        of = self.type() if code == "tl" else None
        nodes = self._until_end()
        return Listed("{", nodes, "}") if of is None else Joined(of, Listed("{", nodes, "}"))

    def _until_end(self) -> list[Node]:
        out = []
        while not self.eat("E"):
            out.append(self.expression())
        return out

    def _conversion(self) -> Node:
        self.at += 2
        target = self.type()
        if self.eat("_"):
            return Joined("(", target, ")(", Listed("", self._until_end(), ""), ")")
        return Joined("(", target, ")", _operand(self.expression()))

    def _operation(self, code: str) -> Node:
        self.at += 2
        sign, operands = OPERATORS[code]
        if code in _CASTS:
            target = self.type()
            return Joined(f"{sign}<", target, ">(", self.expression(), ")")
        if code == "cl":
            callee = self.expression()
            name = callee.name if isinstance(callee, Encoding) else callee
            return Joined(_operand(name), Listed("(", self._until_end(), ")"))
        if code in ("nw", "na"):
            return self._new(sign)
        if code in ("st", "at", "ti"):
            return Joined(sign, "(" if code == "st" else "", self.type(), ")" if code == "st" else "")
        if operands == 0:
            return Name(sign)
        if operands == 1:
            return self._unary(code, sign)
        if operands == 3:
            first, second = self.expression(), self.expression()
            return Joined(_operand(first), "?", _operand(second), " : ", _operand(self.expression()))
        return self._binary(code, sign)

    def _unary(self, code: str, sign: str) -> Node:
        if code == "sP":
            nodes = []
            while not self.eat("E"):
                nodes.append(self.template_arg())
            return PackLength(nodes)
        if code in ("pp", "mm") and self.eat("_"):  # the prefix forms
            return Joined(sign, _operand(self.expression()))
        node = self.expression()
        if code in ("pp", "mm"):
            return Joined(_operand(node), sign)
        if code == "sZ":
            return PackLength([node])
        if code == "gs":
            return Joined(sign, node)
        if code == "nx":
            return Joined(sign, "(", node, ")")
        if code == "ad" and isinstance(node, Encoding) and isinstance(node.name, Nested) and not node.quals:
            node = node.name  # the address of a member is written without its parameters
        return Joined(f"{sign} " if sign[-1].isalpha() else sign, _operand(node))

    def _binary(self, code: str, sign: str) -> Node:
        first, second = self.expression(), self._right_operand(code)
        if code == "ix":
            return Joined(_operand(first), "[", second, "]")
        node = Joined(_operand(first), sign, _operand(second))
        return Joined("(", node, ")") if sign == ">" else node

    def _right_operand(self, code: str) -> Node:
        return self._unresolved() if code in ("dt", "pt") and self.peek().isdigit() else self.expression()

    def _new(self, sign: str) -> Node:
        where = []
        while not self.eat("_"):
            where.append(self.expression())
        of = self.type()
        start = self.eat("pi")
        values = self._until_end() if start or self.peek() != "E" else []
        if not start:
            self.need("E")
        items: list[Node | str] = [f"{sign} "]
        items += [Listed("(", where, ") ")] if where else []
        items += [of, Listed("(", values, ")")] if start else [of]
        return Joined(*items)

    # --- literals -----------------------------------------------------------------------------------------------------

    def literal(self) -> Node:
        """``Li5E`` 5, ``Lb1E`` true, ``L_Z1fvE`` the function f."""
        self.need("L")
        if self.eat("_Z") or self.peek() == "Z":
            self.eat("Z")
            node = self.encoding()
            self.need("E")
            return node
        code = self.peek()
        of = self.type()
        end = self.text.find("E", self.at)
        if end < 0:
            raise Malformed("a literal without an end")
        value = self.text[self.at : end]
        self.at = end + 1
        return _literal(code, of, value)


def _literal(code: str, of: Node, value: str) -> Node:
    value = "-" + value[1:] if value.startswith("n") else value
    if code in INTEGER_SUFFIX:
        return Joined(value + INTEGER_SUFFIX[code])
    if code == "b" and value in ("0", "1"):
        return Joined("true" if value == "1" else "false")
    if code in "fdeg" and value:
        return Joined("(", of, ")[", value, "]")
    return Joined("(", of, ")", value) if value else of


def _operand(node: Node) -> Node:
    """In parentheses, unless it is a mere name or list."""
    return node if isinstance(node, Name | Nested | Listed) else Joined("(", node, ")")
