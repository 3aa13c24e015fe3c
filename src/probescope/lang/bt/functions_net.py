"""Functions on network addresses, byte order and cgroups."""

from __future__ import annotations

from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.functions_args import given, int_arg, str_lit
from probescope.lang.bt.lower_access import bytes_of
from probescope.lang.bt.lower_convert import address_of
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, constant, number, value
from probescope.lang.bt.types import is_int, show
from probescope.lang.bt.types_text import family
from probescope.model.types import I64, U8, U32, U64, Array, Enum, Int, Opaque, Pointer, String, Struct

AF_INET, AF_INET6 = 2, 10
_INET = Opaque("inet")
_MAC = Opaque("mac")


def ntop_(u: Unit, node: ast.Call) -> V:
    """``ntop(address)``, ``ntop(family, address)``."""
    family_e = int_arg(u, node, 0, I64) if len(node.args) == 2 else None
    v = given(u, node, len(node.args) - 1)
    if v is None or (len(node.args) == 2 and family_e is None):
        return NOTHING
    address = _address(u, node, v)
    if address is None:
        return NOTHING
    size = address.type.count if isinstance(address.type, Array) else 4
    if family_e is None or constant(V(I64, family_e)) == (AF_INET if size == 4 else AF_INET6):
        return value(ir.Call(_INET, "inet4" if size == 4 else "inet6", (_word(address),), span=node.span))
    return value(ir.Call(_INET, "inet", (family_e, _word(address)), span=node.span))


def _word(e: ir.Expr) -> ir.Expr:
    """Four bytes as the number that lies in memory."""
    if isinstance(e.type, Array) and e.type.count == 4:
        return ir.Cast(U32, e, span=e.span)
    return e


def _address(u: Unit, node: ast.Call, v: V) -> ir.Expr | None:
    span = node.args[-1].span
    if isinstance(v.type, Int | Enum):
        e = u.read(v, span)
        return None if e is None else cast(e, U32)
    size = _byte_count(u, v)
    if size is None:
        u.error(f"ntop() expects an integer or array argument, got {family(v.type)}", node.span)
    elif size not in (4, 16):
        u.error("ntop() argument must be 4 or 16 bytes in size", node.span)
    else:
        return bytes_of(u, v, span, size)
    return None


def _byte_count(u: Unit, v: V) -> int | None:
    if isinstance(v.type, String):
        return v.type.size - 1 if v.address is not None else None
    return u.program.types.size(v.type) if isinstance(v.type, Array) else None


def pton_(u: Unit, node: ast.Call) -> V:
    """The bytes of an address known while compiling, in network order."""
    text = str_lit(u, node, 0)
    if text is None:
        return NOTHING
    import socket

    try:
        raw = socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
    except (OSError, ValueError):
        return u.error(f"pton() expects a valid IPv4/IPv6 address, got {text}", node.span)
    t = Array(U8, len(raw))
    return value(ir.Pack(t, tuple(ir.Const(U8, b) for b in raw), span=node.span))


def macaddr_(u: Unit, node: ast.Call) -> V:
    """``macaddr(p)``: the six bytes that ``p`` is or points to."""
    v = given(u, node, 0)
    if v is None:
        return NOTHING
    span = node.args[0].span
    t = Array(U8, 6)
    if isinstance(v.type, Int | Pointer):
        found = address_of(u, v, span)
        return NOTHING if found is None else _mac(ir.Load(t, found[1], found[0], span=span), node)
    size = _byte_count(u, v)
    if size is None:
        return u.error(f"macaddr() only supports array or pointer arguments ({family(v.type)} provided)", node.span)
    if size < 6:
        return u.error("macaddr() argument must be at least 6 bytes in size", node.span)
    if v.address is not None:
        return _mac(ir.Load(t, v.space, v.address, span=span), node)
    e = u.read(v, span)
    if e is None:
        return NOTHING
    if e.type == t:
        return _mac(e, node)
    items = (
        tuple(cast(ir.Index(e.type.element, e, number(i)), U8) for i in range(6)) if isinstance(e.type, Array) else ()
    )
    return _mac(ir.Pack(t, items, span=span), node) if items else NOTHING


def _mac(e: ir.Expr, node: ast.Call) -> V:
    return value(ir.Call(_MAC, "mac", (e,), span=node.span))


def bswap_(u: Unit, node: ast.Call) -> V:
    """The result is unsigned and as wide as the argument."""
    v = given(u, node, 0)
    if v is None:
        return NOTHING
    if not is_int(v.type):
        return u.error(f"bswap() only supports integer arguments ({family(v.type)} provided)", node.span)
    e = u.read(v, node.args[0].span)
    if e is None or not isinstance(v.type, Int | Enum):
        return NOTHING
    t = Int(v.type.size, False)
    e = cast(e, t)
    if t.size == 1:
        return value(e)
    if isinstance(e, ir.Const) and isinstance(e.value, int):
        swapped = int.from_bytes(e.value.to_bytes(t.size, "little"), "big")
        return value(ir.Const(t, swapped, span=node.span))
    return value(ir.Call(t, "bswap", (e,), span=node.span))


def socket_cookie_(u: Unit, node: ast.Call) -> V:
    v = given(u, node, 0)
    if v is None:
        return NOTHING
    if not isinstance(v.type, Pointer):
        return u.error(f"socket_cookie() only supports pointer arguments ({family(v.type)} provided)", node.span)
    if v.type.target != Struct("struct sock"):
        message = f"socket_cookie() only supports 'struct sock *' as the argument ('{show(v.type)}' provided)"
        return u.error(message, node.span)
    e = u.read(v, node.args[0].span)
    return NOTHING if e is None else value(ir.Call(U64, "socket_cookie", (e,), span=node.span))


def cgroupid_(u: Unit, node: ast.Call) -> V:
    path = str_lit(u, node, 0)
    if path is None:
        return NOTHING
    found = u.program.env.cgroupid(path)
    if found is None:
        return u.error(f"there is no cgroup v2 at '{path}'", node.span)
    return V(U64, ir.Const(U64, found, span=node.span))


def container_(u: Unit, node: ast.Call) -> V:
    if not node.args:
        from probescope.lang.bt.builtins import lower_name

        return lower_name(u, ast.Name(node.span, "container"))
    e = int_arg(u, node, 0, U64)
    return NOTHING if e is None else value(ir.Cast(Opaque("container"), e, span=node.span))


def cgroup_path_(u: Unit, node: ast.Call) -> V:
    e = int_arg(u, node, 0, U64)
    wanted = str_lit(u, node, 1) if len(node.args) > 1 else ""
    if e is None or wanted is None:
        return NOTHING
    return value(ir.Cast(Opaque("cgroup_path", wanted), e, span=node.span))
