"""Expressions and types as text, with the fewest brackets that read back as the same tree."""

from __future__ import annotations

from typing import Any

from probescope.lang.bt import literals
from probescope.lang.bt.ast import (
    ArrayType,
    Binary,
    Block,
    Bool,
    Call,
    Cast,
    Comptime,
    Expr,
    Field,
    If,
    Index,
    Int,
    Map,
    MapItem,
    Name,
    NamedType,
    Node,
    Offsetof,
    PointerType,
    Positional,
    PositionalCount,
    Record,
    Sizeof,
    Step,
    Str,
    Ternary,
    Tuple,
    TupleItem,
    TypeArg,
    TypeExpr,
    Typeinfo,
    TypeofType,
    Unary,
    Var,
)
from probescope.lang.bt.words import is_builtin
from probescope.model.operators import PRECEDENCE

_TERNARY, _UNARY, _POSTFIX = 0, 11, 12  # levels below and above those of PRECEDENCE


class ExpressionPrinter:
    """Blocks are printed by the layer above; ``valued`` says that the block's value is wanted where it stands."""

    def block(self, block: Block, *, valued: bool = False) -> str:
        raise NotImplementedError

    def if_text(self, node: If, *, valued: bool = False) -> str:
        raise NotImplementedError

    def expr(self, node: Expr, level: int = _TERNARY) -> str:
        """``node`` where an operator of precedence ``level`` binds it: in brackets if it would fall apart there."""
        text = _PRINTERS[type(node).__name__](self, node)
        return f"({text})" if _level(node) < level else text

    # ---- literals and names -------------------------------------------------------------------------------------

    def _int(self, node: Int) -> str:
        if node.text:
            sign = "-" if node.text.startswith("-") else ""
            try:
                if literals.integer(node.text.removeprefix("-")) * (-1 if sign else 1) == node.value:
                    return node.text
            except literals.LiteralError:
                pass
        return str(node.value)

    def _bool(self, node: Bool) -> str:
        return "true" if node.value else "false"

    def _str(self, node: Str) -> str:
        return literals.quote(node.value)

    def _name(self, node: Name) -> str:
        return node.name

    def _var(self, node: Var) -> str:
        return f"${node.name}"

    def _map(self, node: Map) -> str:
        return f"@{node.name}"

    def _positional(self, node: Positional) -> str:
        return f"${node.index}"

    def _count(self, node: PositionalCount) -> str:
        return "$#"

    # ---- operators ----------------------------------------------------------------------------------------------

    def _unary(self, node: Unary) -> str:
        inner = self.expr(node.operand, _UNARY)
        clash = inner[:1] == node.op and node.op in "-&"  # two of them would read as one operator
        return f"{node.op}({inner})" if clash else node.op + inner

    def _step(self, node: Step) -> str:
        if node.prefix:
            return node.op + self.expr(node.target, _POSTFIX)
        return self.expr(node.target, _POSTFIX) + node.op

    def _binary(self, node: Binary) -> str:
        """Left-deep chains are printed with a loop: they may be long."""
        level = PRECEDENCE[node.op]
        parts: list[str] = []
        left: Expr = node
        while isinstance(left, Binary) and PRECEDENCE[left.op] == level:
            parts.append(f" {left.op} {self.expr(left.right, level + 1)}")
            left = left.left
        return self.expr(left, level) + "".join(reversed(parts))

    def _ternary(self, node: Ternary) -> str:
        condition = self.expr(node.condition, 1)
        if node.then is None:
            return f"{condition} ?: {self.expr(node.otherwise)}"
        return f"{condition} ? {self.expr(node.then)} : {self.expr(node.otherwise)}"

    def _cast(self, node: Cast) -> str:
        operand = self.expr(node.operand, _UNARY)
        if operand.startswith(("{", "++", "--")):  # before these a word in brackets is no cast
            operand = f"({operand})"
        return f"({self.type(node.type)}){operand}"

    def _field(self, node: Field) -> str:
        return f"{self.expr(node.base, _POSTFIX)}.{node.name}"

    def _tuple_item(self, node: TupleItem) -> str:
        return f"{self.expr(node.base, _POSTFIX)}.{node.index}"

    def _index(self, node: Index) -> str:
        return f"{self.expr(node.base, _POSTFIX)}[{self.argument(node.index)}]"

    def _map_item(self, node: MapItem) -> str:
        key = node.key
        if isinstance(key, Tuple) and len(key.items) > 1:
            return f"{self._map(node.map)}[{self.arguments(key.items)}]"
        return f"{self._map(node.map)}[{self.argument(key)}]"

    # ---- what has brackets of its own -----------------------------------------------------------------------------

    def arguments(self, nodes: tuple[Expr, ...]) -> str:
        return ", ".join(self.argument(n) for n in nodes)

    def argument(self, node: Expr) -> str:
        return f"typeof({self.type(node.type)})" if isinstance(node, TypeArg) else self.expr(node)

    def _tuple(self, node: Tuple) -> str:
        comma = "," if len(node.items) == 1 else ""
        return f"({', '.join(self.expr(i) for i in node.items)}{comma})"

    def _record(self, node: Record) -> str:
        return f"({', '.join(f'{f.name}={self.expr(f.value)}' for f in node.fields)})"

    def _call(self, node: Call) -> str:
        return f"{node.function}({self.arguments(node.args)})"

    def _type_arg(self, node: TypeArg) -> str:
        return f"typeof({self.type(node.type)})"

    def _sizeof(self, node: Sizeof) -> str:
        return f"sizeof({self.of(node.of)})"

    def _typeinfo(self, node: Typeinfo) -> str:
        return f"typeinfo({self.of(node.of)})"

    def _offsetof(self, node: Offsetof) -> str:
        return f"offsetof({self.of(node.of)}, {'.'.join(node.path)})"

    def _comptime(self, node: Comptime) -> str:
        return f"comptime {self.expr(node.operand, _UNARY)}"

    def _block(self, node: Block) -> str:
        return self.block(node, valued=True)

    def _if(self, node: If) -> str:
        return self.if_text(node, valued=True)

    # ---- types --------------------------------------------------------------------------------------------------

    def type(self, node: TypeExpr) -> str:
        suffix = ""
        while True:
            if isinstance(node, PointerType):
                suffix = "*" + suffix
                node = node.target
            elif isinstance(node, ArrayType):
                suffix = self._brackets(node.count) + suffix
                node = node.element
            elif isinstance(node, NamedType):
                size = "" if node.size is None else self._brackets(node.size)
                return f"{node.tag + ' ' if node.tag else ''}{node.name}{size}{suffix}"
            else:
                assert isinstance(node, TypeofType)
                return f"typeof({self.of(node.of)}){suffix}"

    def _brackets(self, count: int | Expr | None) -> str:
        if count is None:
            return "[]"
        return f"[{count if isinstance(count, int) else self.argument(count)}]"

    def of(self, node: TypeExpr | Expr) -> str:
        """The operand of ``sizeof`` and its like; an expression that would read as a type gets brackets."""
        if isinstance(node, TypeExpr):
            return self.type(node)
        text = self.expr(node)
        return f"({text})" if _looks_like_type(node) else text


def _level(node: Node) -> int:
    if isinstance(node, Binary):
        return PRECEDENCE[node.op]
    if isinstance(node, Ternary):
        return _TERNARY
    if isinstance(node, Unary | Cast | Comptime) or (isinstance(node, Step) and node.prefix):
        return _UNARY
    if isinstance(node, Int) and node.value < 0:
        return _UNARY
    return _POSTFIX


def _looks_like_type(node: Expr) -> bool:
    while isinstance(node, Index):
        node = node.base
    return isinstance(node, Name) and not is_builtin(node.name)


def leftmost(node: Expr) -> Expr:
    """The subexpression whose text comes first, as far as operators go."""
    while True:
        if isinstance(node, Binary):
            node = node.left
        elif isinstance(node, Ternary):
            node = node.condition
        elif isinstance(node, Field | TupleItem | Index):
            node = node.base
        elif isinstance(node, Step) and not node.prefix:
            node = node.target
        else:
            return node


_PRINTERS: dict[str, Any] = {
    "Int": ExpressionPrinter._int,
    "Bool": ExpressionPrinter._bool,
    "Str": ExpressionPrinter._str,
    "Name": ExpressionPrinter._name,
    "Var": ExpressionPrinter._var,
    "Map": ExpressionPrinter._map,
    "Positional": ExpressionPrinter._positional,
    "PositionalCount": ExpressionPrinter._count,
    "Unary": ExpressionPrinter._unary,
    "Step": ExpressionPrinter._step,
    "Binary": ExpressionPrinter._binary,
    "Ternary": ExpressionPrinter._ternary,
    "Cast": ExpressionPrinter._cast,
    "Field": ExpressionPrinter._field,
    "TupleItem": ExpressionPrinter._tuple_item,
    "Index": ExpressionPrinter._index,
    "MapItem": ExpressionPrinter._map_item,
    "Tuple": ExpressionPrinter._tuple,
    "Record": ExpressionPrinter._record,
    "Call": ExpressionPrinter._call,
    "TypeArg": ExpressionPrinter._type_arg,
    "Sizeof": ExpressionPrinter._sizeof,
    "Typeinfo": ExpressionPrinter._typeinfo,
    "Offsetof": ExpressionPrinter._offsetof,
    "Comptime": ExpressionPrinter._comptime,
    "Block": ExpressionPrinter._block,
    "If": ExpressionPrinter._if,
}
