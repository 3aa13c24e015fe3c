"""Maps: keys, reading, setting, ``++`` and the compound assignments, and what aggregations update."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.ir.stmt import Discard, MapSet, Stmt
from probescope.lang.bt import ast
from probescope.lang.bt.check_maps import MapInfo
from probescope.lang.bt.labels import key_labels
from probescope.lang.bt.lower_convert import coerce
from probescope.lang.bt.lower_ops import apply
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, number, scaled, value
from probescope.lang.bt.types import UNKNOWN, is_int, number_of, settle, show
from probescope.model.types import I64, U64, Agg, Int, Pointer, Type, Void, wrap

MapTarget = ast.Map | ast.MapItem

HINTS: dict[str, str] = {
    "count": "count()",
    "sum": "sum(retval)",
    "min": "min(retval)",
    "max": "max(retval)",
    "avg": "avg(retval)",
    "stats": "stats(arg2)",
    "hist": "hist(retval)",
    "lhist": "lhist(rand % 10, 0, 10, 1)",
    "tseries": "tseries(rand % 10, 10s, 1)",
}
"""How each aggregation is called, for hints."""


def target_parts(target: MapTarget) -> tuple[ast.Map, ast.Expr | None]:
    return (target, None) if isinstance(target, ast.Map) else (target.map, target.key)


class Slot:
    """One place in a map: ``ok`` is false if its key is wrong or not known yet."""

    __slots__ = ("info", "key", "ok", "span")

    def __init__(self, info: MapInfo, key: ir.Expr | None, ok: bool, span: Span) -> None:
        self.info = info
        self.key = key
        self.ok = ok
        self.span = span


def slot(u: Unit, target: MapTarget) -> Slot:
    """The place that ``@m`` or ``@m[key]`` names; unifies the key's type."""
    m, key = target_parts(target)
    info = u.map(m.name)
    wrong = info.set_keyed(key is not None, target.span)
    if wrong:
        u.error(wrong, target.span)
        return Slot(info, None, False, target.span)
    if key is None:
        return Slot(info, None, True, target.span)
    info.labels = info.labels or key_labels(key)
    e = key_of(u, info, u.expr(key), key.span, target.span)
    return Slot(info, e, e is not None, target.span)


def key_of(u: Unit, info: MapInfo, v: V, key_span: Span, span: Span) -> ir.Expr | None:
    """A value as the key of a map."""
    if not v.known:
        return None
    if isinstance(v.type, Agg | Void):
        u.error(f"Value '{show(v.type)}' cannot be used as a map key.", span)
        return None
    if isinstance(v.type, Pointer) and v.type.space == "context":
        u.error("context cannot be part of a map key", key_span)
        return None
    wrong = info.set_key(_without_tags(v.type))
    if wrong:
        u.error(wrong, span)
        return None
    info.read_by(u)
    before = len(u.found)
    e = coerce(u, v, info.key, key_span)
    if e is None and len(u.found) == before:
        u.error(info.key_mismatch(v.type), span)
    return e


def _without_tags(t: Type) -> Type:
    """What a number points to matters only for values."""
    from probescope.lang.bt.types import is_flex, lint

    return lint(t.size, t.signed, is_flex(t)) if isinstance(t, Int) else t


# --- reading ----------------------------------------------------------------------------------------------------------


def read(u: Unit, target: MapTarget) -> V:
    s = slot(u, target)
    t = u.map_value(s.info, target_parts(target)[0].span)
    if not s.ok or t is UNKNOWN:
        return NOTHING
    return get(s, t)


def get(s: Slot, t: Type | Agg) -> V:
    """What a place holds; of an aggregation, the number it reads as."""
    if isinstance(t, Agg):
        n = number_of(t)
        return V(t, agg=t) if n is None else V(n, ir.MapGet(n, s.info.name, s.key, span=s.span), agg=t)
    return V(t, ir.MapGet(settle(t), s.info.name, s.key, span=s.span))


# --- setting ----------------------------------------------------------------------------------------------------------


def assign(u: Unit, node: ast.Assign) -> None:
    """``@m = value``, ``@m[k] op= value``."""
    assert isinstance(node.target, ast.Map | ast.MapItem)
    if node.op:
        _compound(u, node)
        return
    s = slot(u, node.target)
    store(u, s, u.expr(node.value), node.value.span, node.span)


def store(u: Unit, s: Slot, v: V, value_span: Span, span: Span) -> None:
    if not v.known or not _may_hold(u, s.info, v, span):
        return
    wrong = s.info.set_value(v.type)
    if wrong:
        u.error(wrong, span)
        return
    s.info.read_by(u)
    e = coerce(u, v, s.info.value, value_span)
    if e is None:
        if not u.failed:
            t = show(s.info.value)
            u.error(
                f"Type mismatch for @{s.info.name}: trying to assign value of type '{show(v.type)}' "
                f"when map already has a value type '{t}'",
                span,
            )
    elif s.ok:
        u.emit(MapSet(s.info.name, s.key, e, span=span))


def _may_hold(u: Unit, info: MapInfo, v: V, span: Span) -> bool:
    if isinstance(v.type, Void):
        u.error(f"Value '{show(v.type)}' cannot be assigned to a map.", span)
        return False
    if v.agg is None:
        return True
    info.read_by(u)
    if number_of(v.agg) is not None and is_int(info.value):
        return True
    example = f"@{info.name} = {HINTS[v.agg.kind]};"
    hints = []
    if number_of(v.agg) is not None:
        hints = [f"Add a cast to integer if you want the value of the aggregate, e.g. `@{info.name} = (int64)@...;`."]
    u.error(
        f"Map value '{show(v.agg)}' cannot be assigned from one map to another. "
        f"The function that returns this type must be called directly e.g. `{example}`.",
        span,
        *hints,
    )
    return False


def _compound(u: Unit, node: ast.Assign) -> None:
    s = slot(u, node.target)  # type: ignore[arg-type]
    v = u.expr(node.value)
    t = u.map_value(s.info, node.target.span)
    if t is UNKNOWN or not v.known or not s.ok:
        return
    if node.op in ("+", "-") and isinstance(t, Int) and t.size == 8 and is_int(v.type) and not v.agg:
        result = apply(u, node.op, get(s, t), v, node.span, node.target.span, node.value.span)
        if _takes(u, s, result.type, node.span):
            _add(u, s, v, node)
        return
    s = _once(u, s)
    result = apply(u, node.op, get(s, t), v, node.span, node.target.span, node.value.span)
    store(u, s, result, node.span, node.span)


def _takes(u: Unit, s: Slot, t: Type, span: Span) -> bool:
    """Unifies the value with the result of an operation; whether it is still the 64-bit number that was read."""
    before = s.info.value
    wrong = s.info.set_value(t)
    if wrong:
        u.error(wrong, span)
        return False
    s.info.read_by(u)
    return s.info.value == before or u.dirty


def _add(u: Unit, s: Slot, v: V, node: ast.Assign) -> None:
    e = u.read(v, node.value.span)
    if e is None:
        return
    t = settle(s.info.value)
    delta = cast(e, t)
    if node.op == "-":
        zero = isinstance(delta, ir.Const) and isinstance(delta.value, int)
        delta = number(wrap(-delta.value, t), t) if zero else ir.Unary(t, "neg", delta, span=node.span)  # type: ignore[attr-defined]
    u.emit(Discard(ir.MapAdd(t, s.info.name, s.key, delta, "new", span=node.span), span=node.span))


def _once(u: Unit, s: Slot) -> Slot:
    """The same place with a key that can be named twice."""
    if s.key is None or isinstance(s.key, ir.Const | ir.Local):
        return s
    bind, local = u.temporary(s.key, "key")
    u.emit(bind)
    return Slot(s.info, local, s.ok, s.span)


# --- ++ and -- --------------------------------------------------------------------------------------------------------


def step(u: Unit, node: ast.Step) -> V:
    """``@m++``: adds at once, and gives the number before or after."""
    assert isinstance(node.target, ast.Map | ast.MapItem)
    s = slot(u, node.target)
    t = u.map_value(s.info, node.target.span)
    if not s.ok or t is UNKNOWN:
        return NOTHING
    if isinstance(t, Pointer):
        return _step_pointer(u, s, t, node)
    if isinstance(t, Agg) or not is_int(t):
        return u.error(f"The {node.op} operator can not be used on expressions of type '{show(t)}'", node.span)
    signed = getattr(t, "signed", True) or node.op == "--"
    if not _takes(u, s, I64 if signed else U64, node.span):
        return NOTHING
    plain = settle(s.info.value)
    one = cast(number(1 if node.op == "++" else -1, I64), plain)
    return value(ir.MapAdd(plain, s.info.name, s.key, one, "new" if node.prefix else "old", span=node.span))


def _step_pointer(u: Unit, s: Slot, t: Pointer, node: ast.Step) -> V:
    size = u.program.types.size(t.target) or 1
    plain = settle(t)
    body: list[Stmt] = []
    if s.key is not None and not isinstance(s.key, ir.Const | ir.Local):
        bind_key, s.key = u.temporary(s.key, "key")
        body.append(bind_key)
    bind, old = u.temporary(ir.MapGet(plain, s.info.name, s.key, span=node.span), "old")
    moved = scaled(old, number(1 if node.op == "++" else -1, I64), size)
    body += [bind, MapSet(s.info.name, s.key, moved, span=node.span)]
    return V(t, ir.Block(plain, tuple(body), moved if node.prefix else old, span=node.span))
