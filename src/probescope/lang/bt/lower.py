"""Which function lowers which node."""

from __future__ import annotations

from typing import Any

from probescope.lang.bt import (
    ast,
    lower_access,
    lower_cast,
    lower_expr,
    lower_loop,
    lower_ops,
    lower_stmt,
    lower_var,
)
from probescope.lang.bt.lower_unit import LowerExpr, LowerStmt, Unit
from probescope.lang.bt.lower_value import V


def _meta(name: str) -> LowerExpr:
    """Seldom used: loaded when first met."""

    def lower(u: Unit, node: Any) -> V:
        from probescope.lang.bt import lower_meta

        found: V = getattr(lower_meta, name)(u, node)
        return found

    return lower


EXPRS: dict[type, LowerExpr] = {
    ast.Int: lower_expr.integer,
    ast.Bool: lower_expr.boolean,
    ast.Str: lower_expr.string,
    ast.Name: lower_expr.name,
    ast.Var: lower_expr.variable,
    ast.Map: lower_expr.map_value,
    ast.MapItem: lower_expr.map_value,
    ast.Tuple: lower_expr.tuple_,
    ast.Record: lower_expr.record,
    ast.Ternary: lower_expr.ternary,
    ast.If: lower_expr.if_,
    ast.Block: lower_expr.block,
    ast.Comptime: lower_expr.comptime,
    ast.Step: lower_expr.step,
    ast.Call: lower_expr.call,
    ast.TypeArg: lower_expr.misplaced,
    ast.Unary: lower_ops.unary,
    ast.Binary: lower_ops.binary,
    ast.Cast: lower_cast.lower_cast,
    ast.Field: lower_access.field,
    ast.TupleItem: lower_access.tuple_item,
    ast.Index: lower_access.index,
    ast.Sizeof: _meta("sizeof"),
    ast.Offsetof: _meta("offsetof"),
    ast.Typeinfo: _meta("typeinfo"),
}

STMTS: dict[type, LowerStmt] = {
    ast.ExprStatement: lower_stmt.expression,
    ast.Discard: lower_stmt.discarded,
    ast.Assign: lower_stmt.assign,
    ast.Let: lower_var.let,
    ast.Return: lower_stmt.return_,
    ast.Break: lower_stmt.jump,
    ast.Continue: lower_stmt.jump,
    ast.Import: lower_stmt.import_,
    ast.While: lower_loop.while_,
    ast.ForMap: lower_loop.for_map,
    ast.ForRange: lower_loop.for_range,
    ast.Unroll: lower_loop.unroll,
}
