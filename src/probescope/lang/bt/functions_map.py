"""Functions on maps."""

from __future__ import annotations

from probescope.diagnostics import Span
from probescope.ir import expr as ir
from probescope.ir.program import Action
from probescope.ir.stmt import Assign
from probescope.lang.bt import ast
from probescope.lang.bt.check_maps import MapInfo
from probescope.lang.bt.lower_convert import coerce
from probescope.lang.bt.lower_map import Slot, get, key_of, slot, target_parts
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, effect, truth, value
from probescope.lang.bt.types import UNKNOWN, show
from probescope.model.types import BOOL, I64, U64, Agg, Opaque


def _map_arg(u: Unit, node: ast.Call) -> ast.Map | None:
    first = node.args[0]
    if isinstance(first, ast.Map):
        return first
    u.error(f"{node.function}() expects a map argument", first.span)
    return None


def _whole(u: Unit, node: ast.Call) -> V:
    first = _map_arg(u, node)
    if first is None:
        return NOTHING
    m = u.map(first.name)
    m.read_by(u)
    if m.keyed is None:
        return u.undefined(m, first.span)
    action = Action("clear", map=m.name) if node.function == "clear" else Action("zero", map=m.name)
    return effect(u.action(action, (), node.span))


clear_ = zero_ = _whole


def _keyed(u: Unit, node: ast.Call, name: str) -> Slot | None:
    """The place that a map and a key given as two arguments name."""
    first = _map_arg(u, node)
    if first is None:
        return None
    m = u.map(first.name)
    if m.keyed is False:
        u.error(f"call to {name} expects a map with explicit keys (non-scalar map)", node.span)
        return None
    m.set_keyed(True, first.span)
    key = u.expr(node.args[1])
    e = key_of(u, m, key, node.args[1].span, node.span)
    if not _defined(u, m, first.span):
        return None
    return Slot(m, e, e is not None, node.span)


def _defined(u: Unit, m: MapInfo, span: Span) -> bool:
    """Whether the map is known to hold something; it counts as read."""
    m.read_by(u)
    if m.value is UNKNOWN:
        u.undefined(m, span)
    return m.value is not UNKNOWN


def delete_(u: Unit, node: ast.Call) -> V:
    """``delete(@m, k)``, ``delete(@m)``, and the old ``delete(@m[k])``."""
    first = node.args[0]
    if len(node.args) == 2:
        if isinstance(first, ast.MapItem):
            message = "delete() expects a map with no keys for the first argument"
            return u.error(message, node.span, "write delete(@map, key), once for each key")
        s = _keyed(u, node, "delete() with two arguments")
    elif isinstance(first, ast.MapItem | ast.Map):
        s = _single(u, node, first)
    else:
        return u.error("delete() expects a map argument", first.span)
    if s is None or not s.ok:
        return NOTHING
    return value(ir.MapDelete(BOOL, s.info.name, s.key, span=node.span))


def _single(u: Unit, node: ast.Call, first: ast.Map | ast.MapItem) -> Slot | None:
    if isinstance(first, ast.Map) and u.map(first.name).keyed:
        u.error(
            "call to delete() with a single argument expects a map without explicit keys (scalar map)",
            node.span,
            f"write delete(@{first.name}, key) for one key, clear(@{first.name}) for all",
        )
        return None
    s = slot(u, first)
    return s if _defined(u, s.info, target_parts(first)[0].span) else None


def has_key_(u: Unit, node: ast.Call) -> V:
    s = _keyed(u, node, "has_key()")
    if s is None or not s.ok:
        return NOTHING
    return value(ir.MapHas(BOOL, s.info.name, s.key, span=node.span))


def find_(u: Unit, node: ast.Call) -> V:
    """``find(@m, key, $var)``: the variable is set only if the key is there."""
    target = node.args[2]
    if not isinstance(target, ast.Var):
        return u.error("find() expects a variable as its last argument", target.span)
    var = u.scopes.find(target.name)
    if var is None:
        return u.error(f"Undefined or undeclared variable: ${target.name}", target.span)
    var.assigned = True
    s = _keyed(u, node, "find()")
    t = u.map_value(s.info, node.args[0].span) if s is not None else UNKNOWN
    if s is None or not s.ok or t is UNKNOWN:
        return NOTHING
    found = get(s, t)
    if isinstance(found.type, Agg) or not u.scopes.widen(var, found.type):
        return u.error(f"Type mismatch for ${target.name}: it cannot hold a value of type '{show(t)}'", target.span)
    e = coerce(u, found, u.scopes.type_of(var), target.span)
    yes, no = truth(True).ir, truth(False).ir
    if e is None or yes is None or no is None:
        return NOTHING
    hit = ir.Block(BOOL, (Assign(var.name, e, span=node.span),), yes, span=node.span)
    return value(ir.Select(BOOL, ir.MapHas(BOOL, s.info.name, s.key, span=node.span), hit, no, span=node.span))


def len_(u: Unit, node: ast.Call) -> V:
    first = node.args[0]
    if not isinstance(first, ast.Map):
        v = u.expr(first)
        if isinstance(v.type, Opaque) and v.type.kind in ("kstack", "ustack"):
            return _frames(u, v, v.type, node)
        return NOTHING if not v.known else u.error("call to len() expects a map, ustack, or kstack", node.span)
    m = u.map(first.name)
    if m.keyed is False:
        return u.error("call to len() expects a map with explicit keys (non-scalar map)", node.span)
    m.read_by(u)
    if m.keyed is None:
        return u.undefined(m, first.span)
    return value(ir.Cast(I64, ir.MapLen(U64, m.name, span=node.span), span=node.span))


def _frames(u: Unit, v: V, t: Opaque, node: ast.Call) -> V:
    """The depth of a stack. One in a variable is that of the present moment, as no clause outlives it."""
    if not isinstance(v.ir, ir.Stack | ir.Local):
        message = "the depth of a stack from a map is known only when it is printed"
        return u.error(message, node.span, "keep the depth in a map of its own")
    stack = ir.Stack(t, span=node.span)
    return value(ir.Cast(I64, ir.Call(U64, "stack_len", (stack,), span=node.span), span=node.span))


def is_scalar_(u: Unit, node: ast.Call) -> V:
    first = _map_arg(u, node)
    if first is None:
        return NOTHING
    m = u.map(first.name)
    m.read_by(u)
    return truth(not m.keyed)
