"""What functions ask of their arguments, with the errors for what they get."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.lower_convert import as_string
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import V, cast, constant, constant_text
from probescope.lang.bt.types import is_int
from probescope.lang.bt.types_text import family
from probescope.model.types import U64, Bool, String, Type


def given(u: Unit, node: ast.Call, i: int) -> V | None:
    """The ``i``-th argument, or ``None`` if it is wrong or not known yet."""
    v = u.expr(node.args[i])
    return v if v.known else None


def int_arg(u: Unit, node: ast.Call, i: int, to: Type | None = None) -> ir.Expr | None:
    """An integer; as ``to`` if given."""
    v = given(u, node, i)
    if v is None:
        return None
    if not is_int(v.type) and not isinstance(v.type, Bool):
        u.error(f"{node.function}() only supports int arguments ({family(v.type)} provided)", node.span)
        return None
    e = u.read(v, node.args[i].span)
    return e if e is None or to is None else cast(e, to)


def lit_arg(u: Unit, node: ast.Call, i: int) -> int | None:
    """An integer known while compiling."""
    v = given(u, node, i)
    if v is None:
        return None
    n = constant(v)
    if n is None or not is_int(v.type):
        u.error(f"{node.function}() expects a int literal ({family(v.type)} provided)", node.span)
        return None
    return n


def str_lit(u: Unit, node: ast.Call, i: int) -> str | None:
    """A string known while compiling, which may be longer than values can be."""
    outer, u.long_text = u.long_text, True
    v = given(u, node, i)
    u.long_text = outer
    if v is None:
        return None
    found = constant_text(v)
    if found is None or not isinstance(v.type, String):
        u.error(f"{node.function}() expects a string literal ({family(v.type)} provided)", node.span)
        return None
    return found


def text_arg(u: Unit, node: ast.Call, i: int) -> ir.Expr | None:
    """A string value."""
    v = given(u, node, i)
    if v is None:
        return None
    e = as_string(u, v, node.args[i].span)
    if e is None:
        u.error(f"{node.function}() only supports string arguments ({family(v.type)} provided)", node.span)
    return e


def word_arg(node: ast.Call, i: int) -> str | None:
    """A bare word, which names a mode."""
    arg = node.args[i] if i < len(node.args) else None
    return arg.name if isinstance(arg, ast.Name) else None


def u64_arg(u: Unit, node: ast.Call, i: int) -> ir.Expr | None:
    return int_arg(u, node, i, U64)
