"""Rules of maps and statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probescope.ir import expr as e
from probescope.ir import stmt as s
from probescope.ir.rules_scope import Broken, Scope, fine, is_condition
from probescope.model.types import Agg, is_integer


def _map(c: Scope, x: Any) -> Broken:
    decl = c.maps.get(x.map)
    if decl is None:
        yield f"@{x.map} is not declared"
        return
    key = getattr(x, "key", None)
    if (key is None) != (decl.key is None) or (key is not None and key.type != decl.key):
        yield f"the key of @{x.map} is {decl.key}, not {key.type if key is not None else None}"


def _mapget(c: Scope, x: e.MapGet) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is not None and not isinstance(decl.value, Agg) and decl.value != x.type:
        yield f"@{x.map} holds {decl.value}, read as {x.type}"
    if decl is not None and isinstance(decl.value, Agg) and not is_integer(x.type):
        yield f"@{x.map} is an aggregation, read as {x.type}"


def _mappart(c: Scope, x: e.MapPart) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is not None and not (isinstance(decl.value, Agg) and decl.value.kind in ("avg", "stats")):
        yield f"@{x.map} is no average"
    if x.part not in (0, 1) or not is_integer(x.type):
        yield f"part {x.part} of @{x.map} as {x.type}"


def _maplen(c: Scope, x: Any) -> Broken:
    if x.map not in c.maps:
        yield f"@{x.map} is not declared"


def _mapadd(c: Scope, x: e.MapAdd) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is not None and (decl.value != x.type or not is_integer(x.type) or x.delta.type != x.type):
        yield f"adds {x.delta.type} to @{x.map} of {decl.value}"


def _mapset(c: Scope, x: s.MapSet) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is not None and decl.value != x.value.type:
        yield f"puts {x.value.type} into @{x.map} of {decl.value}"


def _mapupdate(c: Scope, x: s.MapUpdate) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is None:
        return
    if not isinstance(decl.value, Agg):
        yield f"@{x.map} is not an aggregation"
    elif (x.value is None) != (decl.value.kind == "count") and decl.value.kind != "tseries":
        yield f"{decl.value.kind} with{'out' if x.value is None else ''} a value"
    elif x.value is not None and x.value.type != decl.value.value:
        yield f"observes {x.value.type}, @{x.map} aggregates {decl.value.value}"


def _assign(c: Scope, x: s.Assign) -> Broken:
    if x.name not in c.variables:
        yield f"{x.name} is not a variable of the clause"
    elif c.variables[x.name] != x.value.type:
        yield f"{x.name} is {c.variables[x.name]}, given {x.value.type}"


def _condition(_: Scope, x: Any) -> Broken:
    if not is_condition(x.cond.type):
        yield f"the condition is {x.cond.type}"


def _forrange(_: Scope, x: s.ForRange) -> Broken:
    if not is_integer(x.type) or x.start.type != x.type or x.end.type != x.type:
        yield f"runs from {x.start.type} to {x.end.type} as {x.type}"


def _emit(c: Scope, x: s.Emit) -> Broken:
    if not 0 <= x.action < len(c.program.actions):
        yield f"action {x.action} is not there"
    elif tuple(v.type for v in x.values) != c.program.actions[x.action].types:
        action = c.program.actions[x.action]
        yield f"{action.kind} of {[str(v.type) for v in x.values]}, declared {[str(t) for t in action.types]}"


RULES: dict[type, Callable[[Scope, Any], Broken]] = {
    e.MapGet: _mapget,
    e.MapPart: _mappart,
    e.MapHas: _map,
    e.MapDelete: _map,
    e.MapLen: _maplen,
    e.MapAdd: _mapadd,
    s.Assign: _assign,
    s.Discard: fine,
    s.MapSet: _mapset,
    s.MapUpdate: _mapupdate,
    s.If: _condition,
    s.While: _condition,
    s.ForRange: _forrange,
    s.ForMap: _maplen,
    s.Break: fine,
    s.Continue: fine,
    s.Return: fine,
    s.Emit: _emit,
    s.Effect: fine,
}
