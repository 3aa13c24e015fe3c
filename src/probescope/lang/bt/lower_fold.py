"""Operators between literals, worked out here and now.

What does not fit into 64 bits is an error, since nobody means it: ``0 - 0x8000000000000001``, ``1 << 64``, ``1 / 0``.
Literals that are no numbers know more operators than values do: ``"a" < "b"``, ``"a" + "b"``, ``"abc" + 1``.
"""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.lang.bt import fold
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import V, const, constant, constant_text, text, truth
from probescope.model.types import Bool, Int, String, Tuple

_TOO_LARGE = "unable to fold literals due to overflow or underflow"


def numbers(u: Unit, op: str, a: V, b: V, span: Span) -> V | None:
    """``a op b`` of two literal numbers; ``None`` where they are none."""
    if not (a.literal and b.literal):
        return None
    x, y = constant(a), constant(b)
    if x is None or y is None:
        return None
    if isinstance(a.type, Bool) and isinstance(b.type, Bool):
        return u.error(_TOO_LARGE, span) if op in ("/", "%") and not y else truth(_truths(op, x, y))
    if not isinstance(a.type, Int) or not isinstance(b.type, Int):
        return None
    if op in fold.COMPARISONS:
        return truth(fold.COMPARISONS[op](x, y))
    found = fold.arithmetic(op, x, y)
    return u.error(_TOO_LARGE, span) if found is None else const(found, span=span)


def _truths(op: str, x: int, y: int) -> bool:
    """An operator between truth values gives one: whether the result is not 0. Shifts compare, as they always did."""
    compared = {"<<": "<", ">>": ">"}.get(op, op)
    if compared in fold.COMPARISONS:
        return fold.COMPARISONS[compared](x, y)
    return bool(fold.arithmetic(op, x, y))


def others(u: Unit, op: str, a: V, b: V, span: Span) -> V | None:
    """The same for strings and tuples."""
    if isinstance(a.type, Tuple) and isinstance(b.type, Tuple):
        equal = _equal(a.ir, b.ir) if op in ("==", "!=") else None
        return None if equal is None else truth(equal == (op == "=="))
    left = constant_text(a)
    if left is None or not isinstance(a.type, String):
        return None
    if isinstance(b.type, String):
        right = constant_text(b)
        return None if right is None else _texts(op, left, right, span)
    n = constant(b) if b.literal and isinstance(b.type, Int) else None
    return _behind(u, left, n, span) if n is not None and op == "+" else None


def _texts(op: str, left: str, right: str, span: Span) -> V | None:
    if op == "+":
        return text((left + right).encode("utf-8", "surrogateescape"), span)
    a, b = (t.encode("utf-8", "surrogateescape") for t in (left, right))
    order = (a > b) - (a < b)  # as unsigned bytes, like strcmp(3)
    return truth(fold.COMPARISONS[op](order, 0)) if op in fold.COMPARISONS else None


def _behind(u: Unit, left: str, n: int, span: Span) -> V | None:
    raw = left.encode("utf-8", "surrogateescape")
    if n < 0:
        return None
    if n > len(raw):
        u.warn("literal string will always be empty", span)
    return text(raw[n:], span)


def _equal(a: ir.Expr | None, b: ir.Expr | None) -> bool | None:
    """Whether two values that stand in the script are equal; ``None`` if that depends on the moment. Items of different
    kinds are not."""
    if isinstance(a, ir.Pack) and isinstance(b, ir.Pack):
        if len(a.items) != len(b.items):
            return False
        found = [_equal(x, y) for x, y in zip(a.items, b.items, strict=True)]
        return None if None in found else all(found)
    if isinstance(a, ir.Const) and isinstance(b, ir.Const):
        return type(a.type) is type(b.type) and a.value == b.value
    if isinstance(a, ir.Const | ir.Pack) and isinstance(b, ir.Const | ir.Pack):
        return False
    return None
