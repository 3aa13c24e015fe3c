"""Functions on strings and bytes."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.functions_args import given, int_arg, lit_arg, str_lit, text_arg, u64_arg
from probescope.lang.bt.lower_convert import address_of, as_string
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, constant, constant_text, number, text, value
from probescope.lang.bt.types import is_int, show, tag_of
from probescope.lang.bt.types_text import family
from probescope.model.types import (
    BOOL,
    I32,
    I64,
    U32,
    U64,
    Array,
    Buffer,
    Int,
    Opaque,
    Pointer,
    String,
    Struct,
    signed,
)

# --- reading ----------------------------------------------------------------------------------------------------------


def str_(u: Unit, node: ast.Call) -> V:
    """``str(p)``, ``str(p, n)``: ``n`` counts the NUL, as in the language."""
    v = given(u, node, 0)
    if v is None:
        return NOTHING
    limit, size = _limit(u, node)
    if size < 0:
        return NOTHING
    if isinstance(v.type, String | Opaque) and v.address is None:
        return _cut(u, node, v, limit, size)
    if isinstance(v.type, String):
        assert v.address is not None
        return value(ir.ReadStr(String(size), v.space, v.address, limit, span=node.span))
    found = address_of(u, v, node.args[0].span)
    if found is None:
        message = "str() expects a string, integer or a pointer type as first argument"
        return u.error(f"{message} ({show(v.type)} provided)", node.span)
    return value(ir.ReadStr(String(size), found[1], found[0], limit, span=node.span))


def _limit(u: Unit, node: ast.Call) -> tuple[ir.Expr | None, int]:
    """The greatest number of characters to read and the size of the result; a negative size where that is wrong."""
    most = u.program.settings.max_strlen
    if len(node.args) < 2:
        return None, most
    e = u64_arg(u, node, 1)
    if e is None:
        return None, -1
    n = e.value if isinstance(e, ir.Const) else None
    if not isinstance(n, int):
        one = ir.Binary(U64, "sub", e, number(1))
        return ir.Select(U64, ir.Binary(BOOL, "ne", e, number(0)), one, number(0)), most
    if n >> 63:
        u.error(f"str() cannot use negative length ({n - (1 << 64)})", node.span)
        return None, -1
    if n + 1 > most:
        _shortened(u, node, n, most)
        return None, most
    return number(max(n - 1, 0)), n + 1


def _shortened(u: Unit, node: ast.Call, n: int, most: int) -> None:
    about = f"length param ({n}) is too long and will be shortened to {most} bytes (see BPFTRACE_MAX_STRLEN)"
    u.warn(about, node.span)


def _cut(u: Unit, node: ast.Call, v: V, limit: ir.Expr | None, size: int) -> V:
    """The beginning of what is a string already."""
    e = as_string(u, v, node.args[0].span)
    if e is None:
        return u.error(f"str() cannot read a {show(v.type)}", node.span)
    if limit is None:
        return value(e)
    known = constant_text(V(e.type, e))
    if known is not None and isinstance(limit, ir.Const) and isinstance(limit.value, int):
        return text(known.encode("utf-8", "surrogateescape")[: limit.value], node.span)
    return value(ir.Call(e.type, "strcap", (e, cast(limit, U64)), span=node.span))


def buf_(u: Unit, node: ast.Call) -> V:
    """``buf(p, n)``, ``buf(array)``."""
    v = given(u, node, 0)
    if v is None:
        return NOTHING
    most = u.program.settings.max_strlen
    whole = _array_bytes(u, v)
    if len(node.args) == 1:
        if whole is None:
            return u.error(f"buf() expects a length argument for non-array type {family(v.type)}", node.span)
        length: ir.Expr | None = number(whole)
    else:
        length = u64_arg(u, node, 1)
    if length is None:
        return NOTHING
    n = length.value if isinstance(length, ir.Const) and isinstance(length.value, int) else None
    if n is not None and n >> 63:
        return u.error(f"buf() cannot use negative length ({n - (1 << 64)})", node.span)
    t = Buffer(min(most, n if n is not None else most))
    return _read_buffer(u, node, v, t, length)


def _array_bytes(u: Unit, v: V) -> int | None:
    if isinstance(v.type, String) and v.address is not None:
        return v.type.size - 1
    return u.program.types.size(v.type) if isinstance(v.type, Array) else None


def _read_buffer(u: Unit, node: ast.Call, v: V, t: Buffer, length: ir.Expr) -> V:
    if v.address is not None and isinstance(v.type, Array | String):
        return value(ir.ReadBuf(t, v.space, v.address, length, span=node.span))
    if isinstance(v.type, Int | Pointer):
        found = address_of(u, v, node.args[0].span)
        return NOTHING if found is None else value(ir.ReadBuf(t, found[1], found[0], length, span=node.span))
    e = u.read(v, node.args[0].span)
    if e is None or not isinstance(e.type, Array | String):
        message = "buf() expects an integer, string, or array argument but saw"
        return u.error(f"{message} {family(v.type)}", node.span)
    if isinstance(e, ir.Const) and isinstance(e.value, bytes):
        return value(ir.Const(t, e.value[: t.size].ljust(t.size, b"\0"), span=node.span))
    return value(ir.Cast(t, e, span=node.span))


# --- questions --------------------------------------------------------------------------------------------------------


def like_string(u: Unit, node: ast.Call, i: int) -> ir.Expr | None:
    """A string, or what a pointer to characters leads to."""
    v = given(u, node, i)
    if v is None:
        return None
    if isinstance(v.type, Pointer) and isinstance(v.type.target, Int) and v.type.target.size == 1:
        found = address_of(u, v, node.args[i].span)
        most = u.program.settings.max_strlen
        return None if found is None else ir.ReadStr(String(most), found[1], found[0], span=node.args[i].span)
    e = as_string(u, v, node.args[i].span)
    if e is None:
        u.error("string-like values must be either strings, arrays or pointers to characters", node.args[i].span)
    return e


def strlen_(u: Unit, node: ast.Call) -> V:
    e = like_string(u, node, 0)
    if e is None:
        return NOTHING
    if isinstance(e, ir.Const) and isinstance(e.value, bytes):
        return V(U64, number(len(e.value)), literal=True)
    return value(ir.Call(U64, "strlen", (e,), span=node.span))


def strcap_(u: Unit, node: ast.Call) -> V:
    e = like_string(u, node, 0)
    if e is None:
        return NOTHING
    assert isinstance(e.type, String)
    if isinstance(e, ir.ReadStr):
        return value(ir.Call(U64, "strlen", (e,), span=node.span))
    return V(U64, number(e.type.size), literal=True)


def strncmp_(u: Unit, node: ast.Call) -> V:
    a, b = text_arg(u, node, 0), text_arg(u, node, 1)
    n = lit_arg(u, node, 2)
    if a is None or b is None or n is None:
        return NOTHING
    if n < 0:
        return u.error("strncmp() requires a length that is not negative", node.args[2].span)
    call = ir.Call(I64, "strncmp", (a, b, number(n)), span=node.span)
    return V(U64, cast(call, U64))


def strstr_(u: Unit, node: ast.Call) -> V:
    a, b = like_string(u, node, 0), like_string(u, node, 1)
    return NOTHING if a is None or b is None else value(ir.Call(I64, "strstr", (a, b), span=node.span))


def strcontains_(u: Unit, node: ast.Call) -> V:
    a, b = like_string(u, node, 0), like_string(u, node, 1)
    return NOTHING if a is None or b is None else value(ir.Call(BOOL, "strcontains", (a, b), span=node.span))


def str_concat_(u: Unit, node: ast.Call) -> V:
    a, b = like_string(u, node, 0), like_string(u, node, 1)
    if a is None or b is None:
        return NOTHING
    if (
        isinstance(a, ir.Const)
        and isinstance(b, ir.Const)
        and isinstance(a.value, bytes)
        and isinstance(b.value, bytes)
    ):
        return text(a.value + b.value, node.span)
    t = String(u.program.settings.max_strlen)
    return value(ir.Call(t, "strcat", (a, b), span=node.span))


def memcmp_(u: Unit, node: ast.Call) -> V:
    a, b = given(u, node, 0), given(u, node, 1)
    n = lit_arg(u, node, 2)
    if a is None or b is None or n is None:
        return NOTHING
    x, y = u.read(a, node.args[0].span), u.read(b, node.args[1].span)
    if x is None or y is None:
        return NOTHING
    if type(x.type) is not type(y.type) or not isinstance(x.type, Array | Buffer | String):
        types = f"{show(a.type)} and {show(b.type)}"
        return u.error(f"memcmp() compares two strings, arrays or buffers, not {types}", node.span)
    return value(ir.Call(I64, "memcmp", (x, y, number(max(n, 0))), span=node.span))


# --- numbers with names -----------------------------------------------------------------------------------------------


def strerror_(u: Unit, node: ast.Call) -> V:
    e = int_arg(u, node, 0, I32)
    if e is None:
        return NOTHING
    n = constant(V(e.type, e))
    if n is not None:
        import os

        return text(os.strerror(abs(n)).encode(), node.span)
    return value(ir.Cast(Opaque("strerror"), e, span=node.span))


def syscall_name_(u: Unit, node: ast.Call) -> V:
    e = u64_arg(u, node, 0)
    if e is None:
        return NOTHING
    n = constant(V(e.type, e))
    if n is not None:
        from probescope.model import syscalls

        known = syscalls.names(u.program.env.arch.name).get(n)
        return text((known or "unknown").encode(), node.span)
    return value(ir.Cast(Opaque("syscall_name"), e, span=node.span))


def signal_name_(u: Unit, node: ast.Call) -> V:
    e = int_arg(u, node, 0, U32)
    if e is None:
        return NOTHING
    n = constant(V(e.type, e))
    if n is not None:
        from probescope.lang.bt.consts import signal_text

        return text(signal_text(n).encode(), node.span)
    return value(ir.Cast(Opaque("signal_name"), e, span=node.span))


def strftime_(u: Unit, node: ast.Call) -> V:
    """``param`` of the result is the clock (empty: boot), a colon, and the format."""
    fmt = str_lit(u, node, 0)
    v = given(u, node, 1)
    if fmt is None or v is None:
        return NOTHING
    if not is_int(v.type):
        return u.error(f"strftime() only supports int arguments ({family(v.type)} provided)", node.span)
    e = u.read(v, node.args[1].span)
    if e is None:
        return NOTHING
    if isinstance(e, ir.Const) and signed(e.type) and isinstance(e.value, int) and e.value < 0:
        return u.error("strftime() does not accept negative timestamps", node.span)
    clock = tag_of(v.type)
    if clock == "monotonic":
        return u.error("strftime() can not take a monotonic timestamp", node.span, "use nsecs or nsecs(boot)")
    param = f"{'' if clock not in ('tai', 'sw_tai') else clock}:{fmt}"
    return value(ir.Cast(Opaque("timestamp", param), cast(e, U64), span=node.span))


def path_(u: Unit, node: ast.Call) -> V:
    """``path(args.file.f_path)``: a struct path, or a pointer to one."""
    v = given(u, node, 0)
    span = node.args[0].span
    most = u.program.settings.max_strlen
    size = lit_arg(u, node, 1) if len(node.args) > 1 else most
    if v is None or size is None:
        return NOTHING
    if size < 1:
        return u.error("path() needs a size that is greater than 0", node.span)
    if size > most:
        _shortened(u, node, size, most)
        size = most
    t = Pointer(Struct("struct path"), "kernel")
    if isinstance(v.type, Struct) and v.address is not None:
        e: ir.Expr | None = v.address
    elif isinstance(v.type, Pointer):
        e = u.read(v, span)
    else:
        return u.error(f"path() only supports pointer or C type argument ({show(v.type)} provided)", node.span)
    if e is None:
        return NOTHING
    return value(ir.Call(String(size), "path", (e if e.type == t else ir.Cast(t, e),), span=node.span))
