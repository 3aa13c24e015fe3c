"""Functions that are decided while compiling, and assertions."""

from __future__ import annotations

from collections.abc import Callable

from probescope.ir import expr as ir
from probescope.ir.stmt import If, Return
from probescope.lang.bt import ast
from probescope.lang.bt.functions_args import given, str_lit
from probescope.lang.bt.lower_convert import truthy
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, constant, constant_text, effect, number, truth
from probescope.lang.bt.types import UNKNOWN
from probescope.lang.bt.types_names import type_of
from probescope.model.format import Conv, FormatTextError, parse_format
from probescope.model.types import BOOL, I64, VOID, Array, Enum, Int, Pointer, String, Type


def _asks(test: Callable[[Type], bool]) -> Callable[[Unit, ast.Call], V]:
    """A question on the type of an expression, which is not evaluated."""

    def lower(u: Unit, node: ast.Call) -> V:
        t = type_of(u, node.args[0])
        return NOTHING if t is UNKNOWN else truth(test(t))

    return lower


is_array_ = _asks(lambda t: isinstance(t, Array))
is_integer_ = _asks(lambda t: isinstance(t, Int | Enum))
is_ptr_ = _asks(lambda t: isinstance(t, Pointer))
is_str_ = _asks(lambda t: isinstance(t, String))
is_unsigned_integer_ = _asks(lambda t: isinstance(t, Int) and not t.signed)


def is_literal_(u: Unit, node: ast.Call) -> V:
    return truth(isinstance(node.args[0], ast.Int | ast.Str | ast.Bool))


def assert_str_(u: Unit, node: ast.Call) -> V:
    t = type_of(u, node.args[0])
    if t is UNKNOWN:
        return NOTHING
    inner = t.element if isinstance(t, Array) else t.target if isinstance(t, Pointer) else None
    if not isinstance(t, String) and not (isinstance(inner, Int) and inner.size == 1):
        message = "string-like values must be either strings, arrays or pointers to characters"
        return u.error(message, node.args[0].span)
    return V(VOID)


def assert_(u: Unit, node: ast.Call) -> V:
    """Ends with exit code 1 unless the condition holds."""
    from probescope.lang.bt.functions_output import errorf_

    v = given(u, node, 0)
    cond = None if v is None else truthy(u, v, node.args[0].span)
    fmt = ast.Str(node.span, "assert failed: %s")
    failed = errorf_(u, ast.Call(node.span, "errorf", (fmt, node.args[1]), node.callers))
    if cond is None or not failed.known:
        return NOTHING
    from probescope.ir.program import Action

    end = u.action(Action("exit", (I64,)), (number(1, I64),), node.span)
    body = (*failed.body, end, Return(span=node.span))
    return effect(If(ir.Unary(BOOL, "not", cond, span=node.span), body, span=node.span))


def static_assert_(u: Unit, node: ast.Call) -> V:
    v = given(u, node, 0)
    message = str_lit(u, node, 1)
    if v is None or message is None:
        return NOTHING
    n = constant(v)
    if n is None:
        return u.error("Unable to resolve comptime expression", node.args[0].span)
    return V(VOID) if n else u.error(message, node.span)


def fail_(u: Unit, node: ast.Call) -> V:
    """Whoever comes here while compiling is stopped."""
    text = str_lit(u, node, 0)
    values = [u.expr(a) for a in node.args[1:]]
    if text is None or not all(v.known for v in values):
        return NOTHING
    plain: list[int | str] = []
    for v in values:
        n, s = constant(v), constant_text(v)
        if n is None and s is None:
            return u.error("fail() arguments need to be literals", node.span)
        plain.append(n if n is not None else s or "")
    return u.error(_format(text, plain), node.span)


def _format(text: str, values: list[int | str]) -> str:
    try:
        fmt = parse_format(text)
    except FormatTextError:
        return text
    if len(fmt.conversions) != len(values):
        return text
    left = iter(values)
    return "".join(_one(p, next(left)) if isinstance(p, Conv) else p for p in fmt.parts)


def _one(conv: Conv, v: int | str) -> str:
    if isinstance(v, int) and conv.kind in ("x", "X", "o"):
        return format(v, conv.kind)
    return str(v)


def kfunc_exist_(u: Unit, node: ast.Call) -> V:
    name = str_lit(u, node, 0)
    return NOTHING if name is None else truth(u.program.env.kfunc(name, ""))


def kfunc_allowed_(u: Unit, node: ast.Call) -> V:
    name = str_lit(u, node, 0)
    if name is None:
        return NOTHING
    return truth(u.program.env.kfunc(name, u.ask("source").source))
