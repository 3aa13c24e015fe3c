"""Functions that change the traced system: allowed with --unsafe only."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.ir.stmt import Effect
from probescope.lang.bt import ast
from probescope.lang.bt.consts import signal_number
from probescope.lang.bt.functions_args import given, int_arg, lit_arg
from probescope.lang.bt.lower_convert import address_of
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, constant, constant_text, effect, number
from probescope.lang.bt.types import is_int, show
from probescope.lang.bt.types_text import family
from probescope.model.types import BOOL, U32, U64, Array, Buffer, String

MAX_SIGNAL = 64


def _signal(u: Unit, node: ast.Call) -> V:
    """By number, or by a name known while compiling (``KILL``, ``SIGKILL``)."""
    v = given(u, node, 0)
    if v is None:
        return NOTHING
    name = constant_text(v)
    if name is not None:
        n = signal_number(name)
        if n is None:
            return u.error(f"Invalid string for signal: {name}", node.span)
        e: ir.Expr | None = number(n, U32)
    elif is_int(v.type):
        e = u.read(v, node.args[0].span)
        known = constant(v)
        if known is not None and not 1 <= known <= MAX_SIGNAL:
            return u.error(f"{known} is not a valid signal, allowed range: [1,{MAX_SIGNAL}]", node.span)
        e = e if e is None else cast(e, U32)
    else:
        return u.error(f"{node.function}() only supports string literals and integers, not {family(v.type)}", node.span)
    if e is None:
        return NOTHING
    return effect(Effect("signal" if node.function == "signal" else "signal_thread", (e,), span=node.span))


signal_ = signal_thread_ = _signal


def override_(u: Unit, node: ast.Call) -> V:
    e = int_arg(u, node, 0, U64)
    return NOTHING if e is None else effect(Effect("override", (e,), span=node.span))


def write_user_(u: Unit, node: ast.Call) -> V:
    """Writes the first ``length`` bytes of a string, array or number."""
    target, source = given(u, node, 0), given(u, node, 1)
    length = lit_arg(u, node, 2)
    if target is None or source is None or length is None:
        return NOTHING
    found = address_of(u, target, node.args[0].span)
    e = u.read(source, node.args[1].span)
    if found is None or e is None:
        return (
            u.error(f"write_user() expects an address, not {show(target.type)}", node.span)
            if found is None
            else NOTHING
        )
    size = u.program.types.size(e.type)
    if size is None or not 0 < length <= size:
        return u.error(f"write_user() cannot take {length} bytes of a {show(e.type)}", node.span)
    data: ir.Expr = e
    if isinstance(e, ir.Const) and isinstance(e.value, bytes):
        data = ir.Const(Buffer(length), e.value[:length].ljust(length, b"\0"), span=e.span)
    elif length != size:
        if not isinstance(e.type, String | Buffer | Array):
            return u.error(f"write_user() writes a {show(e.type)} as a whole: {size} bytes", node.span)
        data = ir.Cast(Buffer(length), e, span=e.span)
    stmt = Effect("write_user", (cast(found[0], U64), data), span=node.span)
    return V(BOOL, ir.Block(BOOL, (stmt,), ir.Const(BOOL, 1), span=node.span))


def unwatch_(u: Unit, node: ast.Call) -> V:
    if int_arg(u, node, 0) is None:
        return NOTHING
    return u.error("unwatch() is not available: watchpoints stay until tracing ends", node.span)
