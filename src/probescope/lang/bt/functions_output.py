"""Functions whose effect is text or an end: each becomes a record for user space and an action that takes it."""

from __future__ import annotations

from typing import cast as as_kind

from probescope.diagnostics import Diagnostic, Severity, place, render
from probescope.ir import expr as ir
from probescope.ir.program import Action, ActionKind
from probescope.ir.stmt import Return, Stmt
from probescope.lang.bt import ast
from probescope.lang.bt.check_maps import MapInfo
from probescope.lang.bt.functions_args import given, int_arg, lit_arg, str_lit
from probescope.lang.bt.labels import labels as labels_of
from probescope.lang.bt.lower_convert import address_of
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, add, cast, effect, number
from probescope.lang.bt.types import UNKNOWN, is_int, is_printable, settle, show
from probescope.model.format import Conv, Format, FormatTextError, parse_format
from probescope.model.types import (
    I64,
    U32,
    U64,
    Agg,
    Bool,
    Buffer,
    Pointer,
    Space,
    String,
    Type,
    Void,
)

JOIN_MOST = 16
"""Greatest number of strings that ``join`` reads."""

SKB_MOST = 2048
"""Greatest number of bytes of a packet that ``skboutput`` keeps."""

FRACTIONS = frozenset("feg")
"""Conversions that print a fraction."""

# --- formatted text ---------------------------------------------------------------------------------------------------


MOST_PRINTED = (1 << 32) - 1
"""Greatest top and div of print()."""


def _formatted(u: Unit, node: ast.Call) -> V:
    """Printf and its like: a format known while compiling, and values that suit it."""
    text = str_lit(u, node, 0)
    if text is None:
        return NOTHING
    try:
        fmt = parse_format(text)
    except FormatTextError as e:
        return u.error(f"{node.function}(): {e}", node.args[0].span)
    values = _values(u, node, fmt)
    if values is None:
        return NOTHING
    labels = labels_of(node.args[1:])
    params = _places(u, node) if node.function in ("errorf", "warnf") else ()
    types = tuple(settle(e.type) for e in values)
    kind = as_kind("ActionKind", node.function)
    return effect(u.action(Action(kind, types, fmt, "", params, labels), values, node.span))


printf_ = errorf_ = warnf_ = cat_ = system_ = _formatted


def debugf_(u: Unit, node: ast.Call) -> V:
    where = "the kernel prints it: cat /sys/kernel/tracing/trace_pipe (stderr, where the kernel does not)"
    u.warn("debugf() is meant for debugging, not for production use", node.span, where)
    return _formatted(u, node)


def _places(u: Unit, node: ast.Call) -> tuple[str, ...]:
    """Where it stands, and, as text for whoever reads it, where the macros around it were called."""
    level: Severity = "error" if node.function == "errorf" else "warning"
    own = place(Diagnostic(level, "", node.span, source=u.source))
    calls = (render(Diagnostic(level, "expanded from", span, source=u.source)) + "\n" for span in node.callers)
    return (own, "".join(calls)) if node.callers else (own,)


def _values(u: Unit, node: ast.Call, fmt: Format) -> list[ir.Expr] | None:
    wanted, args = fmt.conversions, node.args[1:]
    found = [u.expr(a) for a in args]
    if len(args) != len(wanted):
        few = "not enough" if len(args) < len(wanted) else "too many"
        message = f"{node.function}(): {few} arguments for format string"
        u.error(f"{message} ({len(args)} supplied, {len(wanted)} expected)", node.span)
        return None
    out: list[ir.Expr] = []
    for conv, v, arg in zip(wanted, found, args, strict=True):
        e = _suits(u, conv, v, arg, node)
        if e is not None:
            out.append(e)
    return out if len(out) == len(args) else None


def _suits(u: Unit, conv: Conv, v: V, arg: ast.Expr, node: ast.Call) -> ir.Expr | None:
    """The value, if the conversion can print it."""
    if not v.known:
        return None
    t = v.type
    if conv.kind in FRACTIONS:
        from probescope.lang.bt.fractions import quotient

        found = quotient(u, v, arg)
        if found is not None:
            return found
    if isinstance(t, Void | Agg):
        u.error(f"{node.function}(): {show(t)} cannot be printed by '%{conv.kind}'", arg.span)
        return None
    kinds = (Buffer,) if conv.kind in ("r", "rx", "rh") else (Bool, Pointer)
    if conv.kind != "s" and not isinstance(t, kinds) and not (is_int(t) and kinds != (Buffer,)):
        message = f"{node.function}(): unsupported format specifier for type '{show(t)}': {conv.kind}"
        u.error(message, arg.span, *_other(t, conv.kind))
        return None
    return u.read(v, arg.span)


def _other(t: Type, kind: str) -> tuple[str, ...]:
    if kind in FRACTIONS:
        return ("%f prints an integer, an average, or a pair of integers as their quotient",)
    if kind in ("r", "rx", "rh"):
        return (f"%{kind} prints what buf() gives",)
    return ("use %s",) if isinstance(t, String) else ()


# --- print ------------------------------------------------------------------------------------------------------------


def print_(u: Unit, node: ast.Call) -> V:
    """``print(@m, top, div)``, ``print(@m[k])``, ``print(value)``."""
    first = node.args[0]
    if isinstance(first, ast.Map):
        return _print_map(u, node, first)
    v = u.expr(first)
    if not v.known:
        return NOTHING
    if len(node.args) > 1:
        return u.error(f"Non-map print() only takes 1 argument, {len(node.args)} found", node.span)
    if isinstance(v.type, Agg):
        message = f"Map type {show(v.type)} cannot print the value of individual keys. You must print the whole map."
        return u.error(message, node.span)
    if not is_printable(v.type):
        return u.error(f"{show(v.type)} type passed to print() is not printable", node.span)
    e = u.read(v, first.span)
    if e is None:
        return NOTHING
    if isinstance(first, ast.MapItem) and isinstance(e, ir.MapGet) and e.key is not None:
        return _print_item(u, node, e)
    return effect(u.action(Action("print", (settle(e.type),), labels=labels_of((first,))), (e,), node.span))


def _print_item(u: Unit, node: ast.Call, e: ir.MapGet) -> V:
    assert e.key is not None
    before: list[Stmt] = []
    key: ir.Expr = e.key
    if not isinstance(key, ir.Const | ir.Local | ir.Context):
        bind, key = u.temporary(key, "key")
        before.append(bind)
    item = ir.MapGet(e.type, e.map, key, span=e.span)
    action = Action("print_item", (key.type, item.type), map=e.map)
    return effect(*before, u.action(action, (key, item), node.span))


def _print_map(u: Unit, node: ast.Call, first: ast.Map) -> V:
    m = u.map(first.name)
    m.read_by(u)
    if m.keyed is None:
        return u.undefined(m, first.span)
    form, first_number = None, 1
    if len(node.args) > 1 and isinstance(node.args[1], ast.Str):
        form, first_number = _map_format(u, node, m), 2
        if form is None:
            return NOTHING
    elif len(node.args) > 3:
        return u.error(f"print() takes up to 3 arguments ({len(node.args)} provided)", node.span)
    numbers = [lit_arg(u, node, i) for i in range(first_number, len(node.args))]
    if None in numbers:
        return NOTHING
    agg = m.agg
    if agg is not None and agg.kind == "stats" and numbers:
        u.warn("print()'s top and div arguments are ignored when used on stats() maps.", node.span)
    if u.loops:
        u.warn("'print()' of a map in a loop shows what the map holds later, when the record is handled.", node.span)
    top, div = (*(n for n in numbers if n is not None), 0, 0)[:2]
    wrong = [n for n in (top, div) if not 0 <= n <= MOST_PRINTED]
    if wrong:
        return u.error(f"print() takes numbers from 0 to {MOST_PRINTED} ({wrong[0]} provided)", node.span)
    values = (number(top, U32), number(div, U64))
    return effect(u.action(Action("print_map", (U32, U64), form, m.name), values, node.span))


def _map_format(u: Unit, node: ast.Call, m: MapInfo) -> Format | None:
    """``print(@m, "%-16s %d")``: a format for each entry, checked when the types of the map are known."""
    from probescope.model.mapformat import bind

    text = str_lit(u, node, 1)
    if text is None or m.value is UNKNOWN or (m.keyed and m.key is UNKNOWN):
        u.map_value(m, node.args[0].span)
        return None
    value = m.value if isinstance(m.value, Agg) else settle(m.value)
    try:
        return bind(parse_format(text), m.settled_key, value).format
    except FormatTextError as e:
        u.error(f"print(): {e}", node.args[1].span, "the items of the key come first, then the value")
        return None


# --- others -----------------------------------------------------------------------------------------------------------


def time_(u: Unit, node: ast.Call) -> V:
    fmt = str_lit(u, node, 0) if node.args else "%H:%M:%S\n"
    return NOTHING if fmt is None else effect(u.action(Action("time", params=(fmt,)), (), node.span))


def exit_(u: Unit, node: ast.Call) -> V:
    """Ends the clause too: what follows is not done."""
    code = int_arg(u, node, 0, I64) if node.args else number(0, I64)
    if code is None:
        return NOTHING
    return effect(u.action(Action("exit", (I64,)), (code,), node.span), Return(span=node.span))


def join_(u: Unit, node: ast.Call) -> V:
    """Reads pointers up to the first that is null, and the string behind each."""
    v = given(u, node, 0)
    span = node.args[0].span
    separator = str_lit(u, node, 1) if len(node.args) > 1 else " "
    if separator is None or v is None:
        return NOTHING
    found = address_of(u, v, span)
    if found is None:
        return u.error(f"join() only supports int or pointer arguments ({show(v.type)} provided)", node.span)
    base, space = cast(found[0], U64), found[1]
    bind, start = u.temporary(base, "argv")
    body: list[Stmt] = [bind]
    values = _strings(u, start, space, body, node)
    t = values[0].type
    action = Action("join", (t,) * JOIN_MOST, params=(separator,))
    return effect(*body, u.action(action, values, node.span))


def _strings(u: Unit, start: ir.Local, space: Space, body: list[Stmt], node: ast.Call) -> list[ir.Expr]:
    t = String(u.program.settings.max_strlen)
    zero, empty = number(0), ir.Const(t, b"")
    values: list[ir.Expr] = []
    previous: ir.Expr = start
    for i in range(JOIN_MOST):
        there = ir.Binary(_BOOL, "ne", previous, zero)
        pointer = ir.Select(U64, there, ir.Load(U64, space, add(start, 8 * i), span=node.span), zero)
        bind, previous = u.temporary(pointer, "arg")
        body.append(bind)
        read = ir.ReadStr(t, space, previous, span=node.span)
        values.append(ir.Select(t, ir.Binary(_BOOL, "ne", previous, zero), read, empty))
    return values


def skboutput_(u: Unit, node: ast.Call) -> V:
    """The bytes of ``skb->data`` from ``offset`` on."""
    path = str_lit(u, node, 0)
    skb = given(u, node, 1)
    length, offset = int_arg(u, node, 2, U64), int_arg(u, node, 3, U64)
    if path is None or skb is None or length is None or offset is None:
        return NOTHING
    data = u.read(_data(u, node, skb), node.span)
    if data is None:
        return NOTHING
    at = ir.Binary(U64, "add", cast(data, U64), offset)
    buffer = ir.ReadBuf(Buffer(SKB_MOST), "kernel", at, length, span=node.span)
    emit = u.action(Action("skboutput", (buffer.type, U64), params=(path,)), (buffer, length), node.span)
    return V(U32, ir.Block(U32, (emit,), number(0, U32), span=node.span))


def _data(u: Unit, node: ast.Call, skb: V) -> V:
    from probescope.lang.bt.lower_access import member_of

    return member_of(u, skb, "struct sk_buff", "data", node.args[1].span)


_BOOL = Bool()
