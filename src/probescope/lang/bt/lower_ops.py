"""Operators. Arithmetic is done at 64 bits, unsigned if both sides are (a literal takes the side of the other one);
subtraction gives a signed number. Comparisons are done at the smallest width that holds both sides.
"""

from __future__ import annotations

from typing import cast as as_type

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.lang.bt import ast, fold, lower_fold
from probescope.lang.bt.lower_convert import as_condition, as_u64, convert, named, to_bool, truthy
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, const, constant, scaled, truth, value, wide
from probescope.lang.bt.types import fits, is_flex, is_int, lint, promote, same, settle, show, tag_of
from probescope.model.types import (
    BOOL,
    I64,
    U64,
    Agg,
    Array,
    Bool,
    Buffer,
    Enum,
    Int,
    Opaque,
    Pointer,
    Record,
    String,
    Tuple,
    Type,
    Void,
    signed,
)

ARITHMETIC: dict[str, ir.Arithmetic] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "mod",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "shr",
}
COMPARISON: dict[str, ir.Comparison] = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def binary(u: Unit, node: ast.Binary) -> V:
    """An operator between two values."""
    if node.op in ("&&", "||"):
        return _logic(u, node)
    a, b = u.expr(node.left), u.expr(node.right)
    return apply(u, node.op, a, b, node.span, node.left.span, node.right.span)


def apply(u: Unit, op: str, a: V, b: V, span: Span, a_span: Span, b_span: Span) -> V:
    """``a op b`` for values at hand, as compound assignments have them."""
    if not a.known or not b.known:
        return NOTHING
    if isinstance(a.type, Pointer) or isinstance(b.type, Pointer):
        return _pointer(u, op, a, b, span)
    if _is_number(a.type) and _is_number(b.type):
        return _numbers(u, op, a, b, span)
    return _others(u, op, a, b, span, a_span, b_span)


def _is_number(t: Type) -> bool:
    return isinstance(t, Int | Enum | Bool)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(u: Unit, op: str, a: V, b: V, span: Span) -> V:
    folded = lower_fold.numbers(u, op, a, b, span)
    if folded is not None:
        return folded
    x, y = u.read(a, span), u.read(b, span)
    if x is None or y is None:
        return NOTHING
    if op in COMPARISON:
        return _compare_numbers(u, op, a, b, x, y, span)
    if isinstance(a.type, Bool) and isinstance(b.type, Bool):
        return _bools(op, x, y, span)
    t = arithmetic_type(op, a.type, b.type)
    if _sign(a.type) != _sign(b.type) and not is_flex(a.type) and not is_flex(b.type):
        _warn_of_casts(u, a, b, t, span)
    plain = settle(t)
    e = ir.Binary(plain, ARITHMETIC[op], cast(x, plain), cast(y, plain), span=span)
    return V(t, e)


def arithmetic_type(op: str, a: Type, b: Type) -> Int:
    """int64 or uint64."""
    sign_a, sign_b = _sign(a), _sign(b)
    if is_flex(a) and not is_flex(b):
        sign_a = sign_b
    elif is_flex(b) and not is_flex(a):
        sign_b = sign_a
    tag = tag_of(a) or tag_of(b)
    return lint(8, sign_a or sign_b or op == "-", False, tag if op in ("+", "-") else "")


def _sign(t: Type) -> bool:
    return isinstance(t, Int | Enum) and t.signed


def _compare_numbers(u: Unit, op: str, a: V, b: V, x: ir.Expr, y: ir.Expr, span: Span) -> V:
    if isinstance(a.type, Bool) != isinstance(b.type, Bool):
        t: Type = lint(8, True)
        x, y = cast(x, I64), cast(y, I64)
    else:
        found = promote(a.type, b.type)
        t = found if found is not None else I64
        if isinstance(a.type, Enum) and isinstance(b.type, Enum) and not same(a.type, b.type):
            t = I64
        _warn_of_casts(u, a, b, t, span)
    plain = settle(t)
    return value(ir.Binary(BOOL, COMPARISON[op], cast(x, plain), cast(y, plain), span=span))


def _warn_of_casts(u: Unit, a: V, b: V, t: Type, span: Span) -> None:
    """Of operands that may change their value when they become ``t``."""
    for v in (a, b):
        if isinstance(v.type, Int | Enum) and not v.literal and not v.agg and not fits(v.type, t):
            u.warn(
                f"Expression of type: {show(v.type)} being cast to type: {show(t)}. "
                "This may cause unexpected results. Use an explicit cast to suppress this warning.",
                span,
            )


def _bools(op: str, x: ir.Expr, y: ir.Expr, span: Span) -> V:
    """Arithmetic on truth values is done on 0 and 1, and gives a truth value."""
    e = ir.Binary(U64, ARITHMETIC[op], cast(x, U64), cast(y, U64), span=span)
    return value(to_bool(e))


# --- pointers ---------------------------------------------------------------------------------------------------------


def _pointer(u: Unit, op: str, a: V, b: V, span: Span) -> V:
    x, y = u.read(a, span), u.read(b, span)
    if x is None or y is None:
        return NOTHING
    both = isinstance(a.type, Pointer) and isinstance(b.type, Pointer)
    if op in COMPARISON and (both or _is_number(a.type) or _is_number(b.type)):
        return _compare_pointers(u, op, a, b, x, y, span)
    p, n, offset = (a, b, y) if isinstance(a.type, Pointer) else (b, a, x)
    if both or not _is_number(n.type) or op not in ("+", "-") or (op == "-" and p is b):
        return _refuse(u, op, a, b, span)
    size = u.program.types.size(as_type("Pointer", p.type).target)
    if size is None:
        return u.error(f"the size of {show(as_type('Pointer', p.type).target)} is not known", span)
    base = x if p is a else y
    step = wide(offset)
    if op == "-":
        step = _negated(step, span)
    return V(p.type, scaled(base, step, max(size, 1)))


def _negated(e: ir.Expr, span: Span) -> ir.Expr:
    if isinstance(e, ir.Const) and isinstance(e.value, int):
        return ir.Const(I64, -e.value, span=span)
    return ir.Unary(I64, "neg", cast(e, I64), span=span)


def _compare_pointers(u: Unit, op: str, a: V, b: V, x: ir.Expr, y: ir.Expr, span: Span) -> V:
    if isinstance(a.type, Pointer) and isinstance(b.type, Pointer) and not same(a.type.target, b.type.target):
        u.warn(f"comparison of distinct pointer types: {show(a.type.target)}, {show(b.type.target)}", span)
    return value(ir.Binary(BOOL, COMPARISON[op], as_u64(x), as_u64(y), span=span))


def _refuse(u: Unit, op: str, a: V, b: V, span: Span) -> V:
    types = f"{show(a.type)}, {show(b.type)}"
    return u.error(f"The {op} operator can not be used on expressions of types {types}", span)


# --- strings, arrays, tuples ------------------------------------------------------------------------------------------


def _others(u: Unit, op: str, a: V, b: V, span: Span, a_span: Span, b_span: Span) -> V:
    if isinstance(a.type, Agg) or isinstance(b.type, Agg):
        return u.error(f"Type mismatch for '{op}': comparing {show(a.type)} with {show(b.type)}", span)
    if isinstance(a.type, String) != isinstance(b.type, String):
        a, b = (named(u, v) if isinstance(v.type, Opaque) else v for v in (a, b))
    folded = lower_fold.others(u, op, a, b, span)
    if folded is not None:
        return folded
    x, y = u.read(a, a_span), u.read(b, b_span)
    if x is None or y is None:
        return NOTHING
    if isinstance(x.type, Array) and isinstance(y.type, Array):
        return _arrays(u, op, a, b, x, y, span)
    if not _comparable(x.type, y.type):
        message = f"Type mismatch for '{op}': comparing {show(a.type)} with {show(b.type)}"
        u.error(message, span)
        return NOTHING
    if op not in ("==", "!="):
        return _refuse(u, op, a, b, span)
    return _equal(u, op, a, b, x, y, span)


def _comparable(a: Type, b: Type) -> bool:
    if isinstance(a, Tuple | Record | Buffer | String):
        return promote(a, b) is not None
    return isinstance(a, Opaque) and isinstance(b, Opaque) and a.kind == b.kind


def _equal(u: Unit, op: str, a: V, b: V, x: ir.Expr, y: ir.Expr, span: Span) -> V:
    if isinstance(x.type, Tuple | Record | Buffer):
        common = promote(a.type, b.type)
        assert common is not None
        cx = convert(u, x, a.type, settle(common), span, a.literal)
        cy = convert(u, y, b.type, settle(common), span, b.literal)
        if cx is None or cy is None:
            return NOTHING
        left_items, right_items = _constants(cx), _constants(cy)
        if left_items is not None and right_items is not None:
            return truth((left_items == right_items) == (op == "=="))
        x, y = _as_tuple(u, cx, span), _as_tuple(u, cy, span)
    return value(ir.Binary(BOOL, COMPARISON[op], x, y, span=span))


def _constants(e: ir.Expr) -> list[int | bytes] | None:
    """The items of a tuple made of constants."""
    if not isinstance(e, ir.Pack):
        return None
    values = [i.value for i in e.items if isinstance(i, ir.Const)]
    return values if len(values) == len(e.items) else None


def _as_tuple(u: Unit, e: ir.Expr, span: Span) -> ir.Expr:
    """A record without the names of its items, which comparisons do not know."""
    if not isinstance(e.type, Record):
        return e
    t = Tuple(tuple(f for _, f in e.type.fields))
    if isinstance(e, ir.Pack):
        return ir.Pack(t, e.items, span=span)
    return ir.Cast(t, e, span=span)


def _arrays(u: Unit, op: str, a: V, b: V, x: ir.Expr, y: ir.Expr, span: Span) -> V:
    assert isinstance(x.type, Array)
    assert isinstance(y.type, Array)
    if op not in ("==", "!="):
        return u.error(f"The {op} operator cannot be used on arrays.", span)
    if x.type.count != y.type.count:
        return u.error("Only arrays of same size support comparison operators.", span)
    if x.type != y.type or not isinstance(x.type.element, Int | Enum | Bool):
        return u.error("Only arrays of same sized integer support comparison operators.", span)
    return value(ir.Binary(BOOL, COMPARISON[op], x, y, span=span))


# --- logic and unary --------------------------------------------------------------------------------------------------


def _logic(u: Unit, node: ast.Binary) -> V:
    a = as_condition(u, u.expr(node.left), node.left.span)
    known = constant(a)
    if a.literal and known is not None and bool(known) == (node.op == "||"):
        return a
    b = as_condition(u, u.expr(node.right), node.right.span)
    if a.ir is None or b.ir is None:
        return NOTHING
    if a.literal and known is not None:
        return b
    return value(ir.Logic(BOOL, "and" if node.op == "&&" else "or", a.ir, b.ir, span=node.span))


def unary(u: Unit, node: ast.Unary) -> V:
    from probescope.lang.bt.lower_access import address, deref

    if node.op == "&":
        return address(u, node)
    v = u.expr(node.operand)
    if not v.known:
        return NOTHING
    if node.op == "*":
        return deref(u, v, node)
    if node.op == "!" and isinstance(v.type, Bool | Int | Enum):
        return _not(u, v, node)
    if not is_int(v.type):
        return u.error(f"The {node.op} operator can not be used on expressions of type '{show(v.type)}'", node.span)
    return _negate(u, v, node)


def _not(u: Unit, v: V, node: ast.Unary) -> V:
    e = truthy(u, v, node.span)
    if e is None:
        return NOTHING
    known = constant(v)
    if v.literal and known is not None:
        return truth(not known)
    return value(ir.Unary(BOOL, "not", e, span=node.span))


def _negate(u: Unit, v: V, node: ast.Unary) -> V:
    e = u.read(v, node.span)
    if e is None or isinstance(v.type, Void):
        return NOTHING
    known = constant(v)
    if v.literal and known is not None:
        folded = fold.inverted(known) if node.op == "~" else fold.unary("-", known)
        if isinstance(folded, int):
            return const(folded, span=node.span)
        if node.op == "-":
            return u.error("negative value will underflow", node.span)
    t = I64 if signed(v.type) or node.op == "-" else U64
    return value(ir.Unary(t, "neg" if node.op == "-" else "inv", cast(e, t), span=node.span))
