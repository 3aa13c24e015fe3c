"""Rules of expressions that have nothing to do with maps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from probescope.ir import expr as e
from probescope.ir.context import CLOCKS, CONTEXT
from probescope.ir.intrinsics import INTRINSICS
from probescope.ir.rules_scope import Broken, Scope, fine, is_condition
from probescope.model.abi import item_types
from probescope.model.types import (
    U64,
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


def _const(_: Scope, x: e.Const) -> Broken:
    if isinstance(x.type, String | Buffer):
        if not isinstance(x.value, bytes) or len(x.value) > x.type.size:
            yield f"{x.value!r} is not a {x.type}"
    elif not isinstance(x.value, int):
        yield f"{x.value!r} is not a {x.type}"
    elif is_scalar(x.type) and wrap(x.value, x.type) != x.value:
        yield f"{x.value} does not fit {x.type}"


def _local(c: Scope, x: e.Local) -> Broken:
    if x.name not in c.variables:
        yield f"{x.name} is not a variable of the clause"
    elif c.variables[x.name] != x.type:
        yield f"{x.name} is {c.variables[x.name]}, read as {x.type}"


def _address(c: Scope, x: e.Address) -> Broken:
    if x.name not in c.variables:
        yield f"{x.name} is not a variable of the clause"
    if not isinstance(x.type, Pointer) or x.type.space != "kernel":
        yield f"the address of a variable is {x.type}"


def _unary(_: Scope, x: e.Unary) -> Broken:
    if x.op == "not":
        if not isinstance(x.type, Bool) or not is_condition(x.x.type):
            yield f"not {x.x.type} gives {x.type}"
    elif not is_integer(x.type) or x.type != x.x.type:
        yield f"{x.op} {x.x.type} gives {x.type}"


def _binary(_: Scope, x: e.Binary) -> Broken:
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


def _logic(_: Scope, x: e.Logic) -> Broken:
    if not all(isinstance(t, Bool) for t in (x.type, x.a.type, x.b.type)):
        yield f"{x.a.type} {x.op} {x.b.type} gives {x.type}"


def _cast(_: Scope, x: e.Cast) -> Broken:
    if isinstance(x.type, Void | Struct):
        yield f"nothing is cast to {x.type}"


def _select(_: Scope, x: e.Select) -> Broken:
    if not is_condition(x.cond.type):
        yield f"the condition is {x.cond.type}"
    if x.a.type != x.type or x.b.type != x.type:
        yield f"chooses between {x.a.type} and {x.b.type} for {x.type}"


def _block(_: Scope, x: e.Block) -> Broken:
    if x.result.type != x.type:
        yield f"its result is {x.result.type}, not {x.type}"


def _pack(_: Scope, x: e.Pack) -> Broken:
    if isinstance(x.type, Array):
        wanted: tuple[Type, ...] = (x.type.element,) * x.type.count
    elif isinstance(x.type, Tuple | Record):
        wanted = item_types(x.type)
    else:
        yield f"{x.type} has no items"
        return
    if tuple(i.type for i in x.items) != wanted:
        yield f"its items are {[str(i.type) for i in x.items]}, not those of {x.type}"


def _item(_: Scope, x: e.Item) -> Broken:
    if not isinstance(x.x.type, Tuple | Record):
        yield f"{x.x.type} has no items"
        return
    items = item_types(x.x.type)
    if not 0 <= x.index < len(items) or items[x.index] != x.type:
        yield f"item {x.index} of {x.x.type} is not {x.type}"


def _index(_: Scope, x: e.Index) -> Broken:
    of = x.x.type
    if not is_integer(x.index.type):
        yield f"the index is {x.index.type}"
    if isinstance(of, Array):
        if of.element != x.type:
            yield f"an element of {of} is not {x.type}"
    elif not isinstance(of, String | Buffer) or not isinstance(x.type, Int) or x.type.size != 1:
        yield f"{of} is not indexed to {x.type}"


def _part(_: Scope, x: e.Part) -> Broken:
    if not isinstance(x.x.type, Struct) or x.offset < 0:
        yield f"offset {x.offset} of {x.x.type}"


def _context(_: Scope, x: e.Context) -> Broken:
    if x.name not in CONTEXT:
        yield f"{x.name} is not in ir/context.py"
    elif CONTEXT[x.name].type != x.type and x.name not in ("curtask", "ctx"):
        yield f"{x.name} is {CONTEXT[x.name].type}, not {x.type}"
    if x.name == "nsecs" and x.arg and x.arg not in CLOCKS:
        yield f"{x.arg} is not a clock"


def _field(c: Scope, x: e.Field) -> Broken:
    for site in c.sites:
        found = site.field(x.name)
        if found is None:
            yield f"{site.name} has no field {x.name}"
        elif found.type != x.type:
            yield f"{x.name} of {site.name} is {found.type}, not {x.type}"


def _arg(_: Scope, x: e.Arg) -> Broken:
    if x.index < 0:
        yield f"argument {x.index}"


def _memory(_: Scope, x: Any) -> Broken:
    if not is_scalar(x.address.type):
        yield f"the address is {x.address.type}"


def _readstr(c: Scope, x: e.ReadStr) -> Broken:
    yield from _memory(c, x)
    if not isinstance(x.type, String) or (x.limit is not None and not is_integer(x.limit.type)):
        yield f"reads a text into {x.type}"


def _readbuf(c: Scope, x: e.ReadBuf) -> Broken:
    yield from _memory(c, x)
    if not isinstance(x.type, Buffer) or not is_integer(x.length.type):
        yield f"reads bytes into {x.type}"


def _stack(_: Scope, x: e.Stack) -> Broken:
    if not isinstance(x.type, Opaque) or x.type.kind not in ("kstack", "ustack") or x.type.depth < 1:
        yield f"a stack as {x.type}"


def _call(_: Scope, x: e.Call) -> Broken:
    known = INTRINSICS.get(x.name)
    if known is None:
        yield f"{x.name} is not in ir/intrinsics.py"
    elif len(x.args) != len(re.sub(r"\([^)]*\)", "", known.params).split(",")):
        yield f"{x.name} takes ({known.params})"
    elif x.name in ("strglob", "strmatch"):
        yield from _pattern(x)


def _pattern(x: e.Call) -> Broken:
    from probescope.model.automaton import dfa_of
    from probescope.model.pattern import PatternError

    given = x.args[1]
    if not isinstance(given, e.Const) or not isinstance(given.value, bytes):
        yield f"{x.name} with a pattern that is not known"
        return
    try:
        dfa_of(x.name, given.value)
    except PatternError as wrong:
        yield f"{x.name} with a wrong pattern: {wrong}"


RULES: dict[type, Callable[[Scope, Any], Broken]] = {
    e.Const: _const,
    e.Local: _local,
    e.Address: _address,
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
    e.Ret: fine,
    e.Reg: fine,
    e.Load: _memory,
    e.ReadStr: _readstr,
    e.ReadBuf: _readbuf,
    e.Stack: _stack,
    e.Call: _call,
}
