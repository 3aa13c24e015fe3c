"""The rules that every program obeys, as code. Run at the end of lowering, and before every consumer in tests.

A broken rule is a bug of ours, never of the user: ``check`` raises ``InternalError`` with the rule, the node and its
place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from probescope.errors import InternalError
from probescope.ir import expr as e
from probescope.ir import stmt as s
from probescope.ir.context import CLOCKS, CONTEXT
from probescope.ir.intrinsics import INTRINSICS
from probescope.ir.program import Clause, Program
from probescope.ir.walk import Node, clause_nodes
from probescope.model.abi import item_types
from probescope.model.types import (
    U64,
    Agg,
    Array,
    Bool,
    Buffer,
    Int,
    Opaque,
    Pointer,
    Record,
    String,
    Struct,
    Tuple,
    Type,
    Void,
    is_integer,
    is_scalar,
    wrap,
)

Broken = Iterator[str]


def check(program: Program) -> Program:
    """The program itself, if it is valid."""
    for problem in problems(program):
        raise InternalError(f"the lowered program is not valid: {problem}")
    return program


def problems(program: Program) -> Broken:
    """Every broken rule, in words with the place."""
    names = [m.name for m in program.maps]
    if len(set(names)) != len(names):
        yield "two maps have one name"
    if [c.id for c in program.clauses] != list(range(len(program.clauses))):
        yield "clause ids are not 0, 1, 2..."
    for action in program.actions:
        if action.map and action.map not in names:
            yield f"an action names the map @{action.map}, which is not declared"
        if action.format is not None and len(action.format.conversions) != len(action.types):
            yield f"{action.kind}: {len(action.format.conversions)} conversions, {len(action.types)} values"
    for clause in program.clauses:
        for p in _clause(program, clause):
            yield f"clause {clause.id}: {p}"


def _clause(program: Program, clause: Clause) -> Broken:
    if not clause.sites:
        yield "it has no sites"
    if clause.predicate is not None and not _is_condition(clause.predicate.type):
        yield f"the predicate is {clause.predicate.type}, not a condition"
    scope = _Scope(program, clause)
    for node in clause_nodes(clause):
        rule = _RULES.get(type(node))
        if rule is None:
            yield f"{type(node).__name__} is not a node of the ir"
            continue
        for p in rule(scope, node):
            yield f"{type(node).__name__} at {node.span.line}:{node.span.column}: {p}"


def _is_condition(t: Type) -> bool:
    return is_scalar(t) or isinstance(t, String)


class _Scope:
    """What rules may look up."""

    def __init__(self, program: Program, clause: Clause) -> None:
        self.program = program
        self.maps = {m.name: m for m in program.maps}
        self.variables: dict[str, Type] = {v.name: v.type for v in clause.variables}
        self.sites = clause.sites
        for node in clause_nodes(clause):
            if isinstance(node, s.ForRange):
                self.variables[node.name] = node.type
            elif isinstance(node, s.ForMap) and node.map in self.maps:
                decl = self.maps[node.map]
                self.variables[node.name] = Tuple((decl.key or U64, _read_type(decl.value)))


def _read_type(t: Type | Agg) -> Type:
    return Int(8, t.value.signed) if isinstance(t, Agg) else t


# --- expressions
# --------------------------------------------------------------------------------------------------------


def _const(_: _Scope, x: e.Const) -> Broken:
    if isinstance(x.type, String | Buffer):
        if not isinstance(x.value, bytes) or len(x.value) > x.type.size:
            yield f"{x.value!r} is not a {x.type}"
    elif not isinstance(x.value, int):
        yield f"{x.value!r} is not a {x.type}"
    elif is_scalar(x.type) and wrap(x.value, x.type) != x.value:
        yield f"{x.value} does not fit {x.type}"


def _local(c: _Scope, x: e.Local) -> Broken:
    if x.name not in c.variables:
        yield f"{x.name} is not a variable of the clause"
    elif c.variables[x.name] != x.type:
        yield f"{x.name} is {c.variables[x.name]}, read as {x.type}"


def _unary(_: _Scope, x: e.Unary) -> Broken:
    if x.op == "not":
        if not isinstance(x.type, Bool) or not _is_condition(x.x.type):
            yield f"not {x.x.type} gives {x.type}"
    elif not is_integer(x.type) or x.type != x.x.type:
        yield f"{x.op} {x.x.type} gives {x.type}"


def _binary(_: _Scope, x: e.Binary) -> Broken:
    a, b = x.a.type, x.b.type
    if x.op in e.COMPARISON:
        if not isinstance(x.type, Bool):
            yield f"a comparison gives {x.type}"
        if a != b and not _comparable(a, b):
            yield f"compares {a} with {b}"
        if x.op not in ("eq", "ne") and not is_scalar(a) and not isinstance(a, String):
            yield f"orders {a}"
    elif isinstance(a, Pointer):
        if x.op not in ("add", "sub") or b not in (U64, Int(8, True)) or x.type != a:
            yield f"{a} {x.op} {b} gives {x.type}"
    elif x.op in ("shl", "shr"):
        if not is_integer(a) or not is_integer(b) or x.type != a:
            yield f"{a} {x.op} {b} gives {x.type}"
    elif not is_integer(a) or a != b or x.type != a:
        yield f"{a} {x.op} {b} gives {x.type}"


def _comparable(a: Type, b: Type) -> bool:
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return True
    return type(a) is type(b) and isinstance(a, String | Buffer)


def _logic(_: _Scope, x: e.Logic) -> Broken:
    if not all(isinstance(t, Bool) for t in (x.type, x.a.type, x.b.type)):
        yield f"{x.a.type} {x.op} {x.b.type} gives {x.type}"


def _cast(_: _Scope, x: e.Cast) -> Broken:
    if isinstance(x.type, Void | Struct):
        yield f"nothing is cast to {x.type}"


def _select(_: _Scope, x: e.Select) -> Broken:
    if not _is_condition(x.cond.type):
        yield f"the condition is {x.cond.type}"
    if x.a.type != x.type or x.b.type != x.type:
        yield f"chooses between {x.a.type} and {x.b.type} for {x.type}"


def _block(_: _Scope, x: e.Block) -> Broken:
    if x.result.type != x.type:
        yield f"its result is {x.result.type}, not {x.type}"


def _pack(_: _Scope, x: e.Pack) -> Broken:
    if isinstance(x.type, Array):
        wanted: tuple[Type, ...] = (x.type.element,) * x.type.count
    elif isinstance(x.type, Tuple | Record):
        wanted = item_types(x.type)
    else:
        yield f"{x.type} has no items"
        return
    if tuple(i.type for i in x.items) != wanted:
        yield f"its items are {[str(i.type) for i in x.items]}, not those of {x.type}"


def _item(_: _Scope, x: e.Item) -> Broken:
    if not isinstance(x.x.type, Tuple | Record):
        yield f"{x.x.type} has no items"
        return
    items = item_types(x.x.type)
    if not 0 <= x.index < len(items) or items[x.index] != x.type:
        yield f"item {x.index} of {x.x.type} is not {x.type}"


def _index(_: _Scope, x: e.Index) -> Broken:
    of = x.x.type
    if not is_integer(x.index.type):
        yield f"the index is {x.index.type}"
    if isinstance(of, Array):
        if of.element != x.type:
            yield f"an element of {of} is not {x.type}"
    elif not isinstance(of, String | Buffer) or not isinstance(x.type, Int) or x.type.size != 1:
        yield f"{of} is not indexed to {x.type}"


def _part(_: _Scope, x: e.Part) -> Broken:
    if not isinstance(x.x.type, Struct) or x.offset < 0:
        yield f"offset {x.offset} of {x.x.type}"


def _context(_: _Scope, x: e.Context) -> Broken:
    if x.name not in CONTEXT:
        yield f"{x.name} is not in ir/context.py"
    elif CONTEXT[x.name].type != x.type and x.name not in ("curtask", "ctx"):
        yield f"{x.name} is {CONTEXT[x.name].type}, not {x.type}"
    if x.name == "nsecs" and x.arg and x.arg not in CLOCKS:
        yield f"{x.arg} is not a clock"


def _field(c: _Scope, x: e.Field) -> Broken:
    for site in c.sites:
        found = site.field(x.name)
        if found is None:
            yield f"{site.name} has no field {x.name}"
        elif found.type != x.type:
            yield f"{x.name} of {site.name} is {found.type}, not {x.type}"


def _arg(_: _Scope, x: e.Arg) -> Broken:
    if x.index < 0:
        yield f"argument {x.index}"


def _memory(_: _Scope, x: Any) -> Broken:
    if not is_scalar(x.address.type):
        yield f"the address is {x.address.type}"


def _readstr(c: _Scope, x: e.ReadStr) -> Broken:
    yield from _memory(c, x)
    if not isinstance(x.type, String) or (x.limit is not None and not is_integer(x.limit.type)):
        yield f"reads a text into {x.type}"


def _readbuf(c: _Scope, x: e.ReadBuf) -> Broken:
    yield from _memory(c, x)
    if not isinstance(x.type, Buffer) or not is_integer(x.length.type):
        yield f"reads bytes into {x.type}"


def _stack(_: _Scope, x: e.Stack) -> Broken:
    if not isinstance(x.type, Opaque) or x.type.kind not in ("kstack", "ustack") or x.type.depth < 1:
        yield f"a stack as {x.type}"


def _call(_: _Scope, x: e.Call) -> Broken:
    known = INTRINSICS.get(x.name)
    if known is None:
        yield f"{x.name} is not in ir/intrinsics.py"
    elif len(x.args) != len(re.sub(r"\([^)]*\)", "", known.params).split(",")):
        yield f"{x.name} takes ({known.params})"


# --- maps
# ---------------------------------------------------------------------------------------------------------------


def _map(c: _Scope, x: Any) -> Broken:
    decl = c.maps.get(x.map)
    if decl is None:
        yield f"@{x.map} is not declared"
        return
    key = getattr(x, "key", None)
    if (key is None) != (decl.key is None) or (key is not None and key.type != decl.key):
        yield f"the key of @{x.map} is {decl.key}, not {key.type if key is not None else None}"


def _mapget(c: _Scope, x: e.MapGet) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is not None and not isinstance(decl.value, Agg) and decl.value != x.type:
        yield f"@{x.map} holds {decl.value}, read as {x.type}"
    if decl is not None and isinstance(decl.value, Agg) and not is_integer(x.type):
        yield f"@{x.map} is an aggregation, read as {x.type}"


def _maplen(c: _Scope, x: Any) -> Broken:
    if x.map not in c.maps:
        yield f"@{x.map} is not declared"


def _mapadd(c: _Scope, x: e.MapAdd) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is not None and (decl.value != x.type or not is_integer(x.type) or x.delta.type != x.type):
        yield f"adds {x.delta.type} to @{x.map} of {decl.value}"


def _mapset(c: _Scope, x: s.MapSet) -> Broken:
    yield from _map(c, x)
    decl = c.maps.get(x.map)
    if decl is not None and decl.value != x.value.type:
        yield f"puts {x.value.type} into @{x.map} of {decl.value}"


def _mapupdate(c: _Scope, x: s.MapUpdate) -> Broken:
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


# --- statements
# ---------------------------------------------------------------------------------------------------------


def _assign(c: _Scope, x: s.Assign) -> Broken:
    if x.name not in c.variables:
        yield f"{x.name} is not a variable of the clause"
    elif c.variables[x.name] != x.value.type:
        yield f"{x.name} is {c.variables[x.name]}, given {x.value.type}"


def _condition(_: _Scope, x: Any) -> Broken:
    if not _is_condition(x.cond.type):
        yield f"the condition is {x.cond.type}"


def _forrange(_: _Scope, x: s.ForRange) -> Broken:
    if not is_integer(x.type) or x.start.type != x.type or x.end.type != x.type:
        yield f"runs from {x.start.type} to {x.end.type} as {x.type}"


def _emit(c: _Scope, x: s.Emit) -> Broken:
    if not 0 <= x.action < len(c.program.actions):
        yield f"action {x.action} is not there"
    elif tuple(v.type for v in x.values) != c.program.actions[x.action].types:
        action = c.program.actions[x.action]
        yield f"{action.kind} of {[str(v.type) for v in x.values]}, declared {[str(t) for t in action.types]}"


def _fine(_: _Scope, _x: Node) -> Broken:
    return iter(())


_RULES: dict[type, Callable[[_Scope, Any], Broken]] = {
    e.Const: _const,
    e.Local: _local,
    e.Unary: _unary,
    e.Binary: _binary,
    e.Logic: _logic,
    e.Cast: _cast,
    e.Select: _select,
    e.Block: _block,
    e.Pack: _pack,
    e.Item: _item,
    e.Index: _index,
    e.Part: _part,
    e.Context: _context,
    e.Field: _field,
    e.Arg: _arg,
    e.Ret: _fine,
    e.Reg: _fine,
    e.Load: _memory,
    e.ReadStr: _readstr,
    e.ReadBuf: _readbuf,
    e.Stack: _stack,
    e.MapGet: _mapget,
    e.MapHas: _map,
    e.MapDelete: _map,
    e.MapLen: _maplen,
    e.MapAdd: _mapadd,
    e.Call: _call,
    s.Assign: _assign,
    s.Discard: _fine,
    s.MapSet: _mapset,
    s.MapUpdate: _mapupdate,
    s.If: _condition,
    s.While: _condition,
    s.ForRange: _forrange,
    s.ForMap: _maplen,
    s.Break: _fine,
    s.Continue: _fine,
    s.Return: _fine,
    s.Emit: _emit,
    s.Effect: _fine,
}
