"""A tree as text in one canonical form: reading it back gives the same tree.

    program_text(program)     a whole script
    expr_text(expr)           one expression
    type_text(type)           one type

Comments are gone with parsing. Names that macro expansion made (``x#3``) are printed as they are: such a tree is for
people.
"""

from __future__ import annotations

from typing import Any

from probescope.lang.bt import literals
from probescope.lang.bt.ast import (
    Assign,
    AttachPoint,
    Block,
    Break,
    CItem,
    Config,
    Continue,
    Directive,
    Discard,
    Expr,
    ExprStatement,
    ForMap,
    ForRange,
    If,
    Import,
    Let,
    Macro,
    MapDecl,
    Node,
    Probe,
    Program,
    Return,
    Subprog,
    TypeExpr,
    Unroll,
    While,
)
from probescope.lang.bt.printer_expr import ExpressionPrinter, leftmost

INDENT = "  "


def _between(i: int, point: AttachPoint) -> str:
    """What stands before the ``i``-th attach point."""
    return "" if not i else " ?? " if point.rank else ",\n"


def program_text(program: Program) -> str:
    """The script, with a line end behind each item."""
    return program.header + Printer().program(program)


def expr_text(expr: Expr) -> str:
    return Printer().argument(expr)


def type_text(kind: TypeExpr) -> str:
    return Printer().type(kind)


class Printer(ExpressionPrinter):
    def __init__(self) -> None:
        self.level = 0

    def program(self, program: Program) -> str:
        parts: list[str] = []
        for before, item in zip((None, *program.items), program.items, strict=False):
            if before is not None and not (
                type(before) is type(item) and isinstance(item, Directive | Import | MapDecl)
            ):
                parts.append("\n")
            parts.append(_ITEMS[type(item).__name__](self, item) + "\n")
        return "".join(parts)

    # ---- items --------------------------------------------------------------------------------------------------

    def _directive(self, node: Directive) -> str:
        return f"#{node.name} {node.rest}".rstrip()

    def _c_item(self, node: CItem) -> str:
        from probescope.lang.bt.printer_c import declaration_text

        return "\n".join(declaration_text(d) for d in node.declarations)

    def _config(self, node: Config) -> str:
        lines = [f"{INDENT}{e.key} = {_config_value(e.value)};\n" for e in node.entries]
        return "config = {\n" + "".join(lines) + "}"

    def _import(self, node: Import) -> str:
        return f"import {literals.quote(node.path)};"

    def _map_decl(self, node: MapDecl) -> str:
        return f"let {self._map(node.map)} = {node.kind}({self.expr(node.entries)});"

    def _macro(self, node: Macro) -> str:
        params = ", ".join(p.kind + p.name for p in node.params)
        return f"macro {node.name}({params}) {self.block(node.body, valued=True)}"

    def _subprog(self, node: Subprog) -> str:
        params = ", ".join(f"{self._var(p.var)}: {self.type(p.type)}" for p in node.params)
        result = f": {self.type(node.result)}" if node.result else ""
        return f"fn {node.name}({params}){result} {self.block(node.body)}"

    def _probe(self, node: Probe) -> str:
        head = "".join(_between(i, p) + p.written for i, p in enumerate(node.points))
        if node.predicate is not None:
            text = self.expr(node.predicate)
            head += f"\n/ {text} /" if text.startswith("*") else f"\n/{text}/"  # not a comment
        return f"{head}\n{self.block(node.body)}"

    # ---- blocks and statements ----------------------------------------------------------------------------------

    def block(self, block: Block, *, valued: bool = False) -> str:
        if not block.statements and block.value is None:
            return "{ }"
        self.level += 1
        pad = INDENT * self.level
        lines = [pad + self.statement(s) + "\n" for s in block.statements]
        if block.value is not None:
            lines.append(pad + self._leading(block.value) + "\n")
        elif valued and lines[-1][-2] == "}":
            lines[-1] = lines[-1][:-1] + ";\n"  # or it would be taken for the value
        self.level -= 1
        return "{\n" + "".join(lines) + INDENT * self.level + "}"

    def statement(self, node: Node) -> str:
        text: str = _STATEMENTS[type(node).__name__](self, node)
        return text

    def _leading(self, expr: Expr) -> str:
        """An expression where a statement begins: there ``if`` and ``{`` end the statement, whatever follows them."""
        text = self.expr(expr)
        return f"({text})" if isinstance(leftmost(expr), If | Block) and not isinstance(expr, If | Block) else text

    def _expr_statement(self, node: ExprStatement) -> str:
        if isinstance(node.expr, Block):
            return self.block(node.expr)
        if isinstance(node.expr, If):
            return self.if_text(node.expr)
        return self._leading(node.expr) + ";"

    def _let(self, node: Let) -> str:
        kind = f": {self.type(node.type)}" if node.type else ""
        value = f" = {self.expr(node.value)}" if node.value is not None else ""
        return f"let {self._var(node.var)}{kind}{value};"

    def _assign(self, node: Assign) -> str:
        return f"{self.expr(node.target)} {node.op}= {self.expr(node.value)};"

    def _discard(self, node: Discard) -> str:
        return f"_ = {self.expr(node.value)};"

    def _while(self, node: While) -> str:
        return f"while ({self.expr(node.condition)}) {self.block(node.body)}"

    def _unroll(self, node: Unroll) -> str:
        return f"unroll ({self.expr(node.count)}) {self.block(node.body)}"

    def _for_map(self, node: ForMap) -> str:
        return f"for ({self._var(node.var)} : {self._map(node.map)}) {self.block(node.body)}"

    def _for_range(self, node: ForRange) -> str:
        start, stop = self.expr(node.start, 11), self.expr(node.stop, 11)
        return f"for ({self._var(node.var)} : {start}..{stop}) {self.block(node.body)}"

    def _return(self, node: Return) -> str:
        return "return;" if node.value is None else f"return {self.expr(node.value)};"

    def _break(self, node: Break) -> str:
        return "break;"

    def _continue(self, node: Continue) -> str:
        return "continue;"

    def if_text(self, node: If, *, valued: bool = False) -> str:
        parts = [f"if ({self.expr(b.condition)}) {self.block(b.body, valued=valued)}" for b in node.branches]
        if node.otherwise is not None:
            parts.append(self.block(node.otherwise, valued=valued))
        return " else ".join(parts)


def _config_value(value: int | bool | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else literals.quote(value)


_ITEMS: dict[str, Any] = {
    "Directive": Printer._directive,
    "CItem": Printer._c_item,
    "Config": Printer._config,
    "Import": Printer._import,
    "MapDecl": Printer._map_decl,
    "Macro": Printer._macro,
    "Subprog": Printer._subprog,
    "Probe": Printer._probe,
}

_STATEMENTS: dict[str, Any] = {
    "ExprStatement": Printer._expr_statement,
    "Let": Printer._let,
    "Assign": Printer._assign,
    "Discard": Printer._discard,
    "While": Printer._while,
    "Unroll": Printer._unroll,
    "ForMap": Printer._for_map,
    "ForRange": Printer._for_range,
    "Return": Printer._return,
    "Break": Printer._break,
    "Continue": Printer._continue,
    "Import": Printer._import,
}
