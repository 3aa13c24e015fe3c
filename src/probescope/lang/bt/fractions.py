"""What ``%f`` prints beside integers: averages with their fraction, pairs of integers as their quotient, and floating
point members of structs.

The kernel does not know fractions: both numbers go to user space, which divides them.
"""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.lower_map import slot
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import V
from probescope.lang.bt.types import is_int
from probescope.model.types import U64, Int, Opaque, Tuple


def quotient(u: Unit, v: V, arg: ast.Expr) -> ir.Expr | None:
    """A pair of two integers, or a floating point number; ``None`` if the value is none of these."""
    if isinstance(v.type, Opaque) and v.type.kind in ("float", "double"):
        return u.read(v, arg.span)
    if v.agg is not None and v.agg.kind in ("avg", "stats") and isinstance(arg, ast.Map | ast.MapItem):
        return _average(u, arg, signed=v.agg.value.signed)
    if isinstance(v.type, Tuple) and len(v.type.items) == 2 and all(map(is_int, v.type.items)):
        return u.read(v, arg.span)
    return None


def _average(u: Unit, arg: ast.Map | ast.MapItem, *, signed: bool) -> ir.Expr | None:
    s = slot(u, arg)
    if not s.ok:
        return None
    total = Int(8, signed)
    bind, key = None, s.key
    if key is not None and not isinstance(key, ir.Const | ir.Local | ir.Context):
        bind, key = u.temporary(key, "key")
    t = Tuple((total, U64))
    parts = ir.MapPart(total, s.info.name, key, 0, span=arg.span), ir.MapPart(U64, s.info.name, key, 1, span=arg.span)
    pair = ir.Pack(t, parts, span=arg.span)
    return pair if bind is None else ir.Block(t, (bind,), pair, span=arg.span)
