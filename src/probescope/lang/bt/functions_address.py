"""Functions on addresses, symbols and registers."""

from __future__ import annotations

from probescope.diagnostics import nearest
from probescope.errors import KernelError
from probescope.ir import expr as ir
from probescope.lang.bt import ast
from probescope.lang.bt.functions_args import given, int_arg, str_lit, word_arg
from probescope.lang.bt.lower_convert import as_u64
from probescope.lang.bt.lower_unit import Unit
from probescope.lang.bt.lower_value import NOTHING, V, cast, number, truth, value
from probescope.lang.bt.types import UNKNOWN, lint, settle, show, tagged
from probescope.lang.bt.types_names import type_of
from probescope.model.site import UprobeAttach
from probescope.model.types import BOOL, U32, U64, Enum, Int, Opaque, Pointer, Space, Struct


def _scalar(u: Unit, node: ast.Call, i: int) -> tuple[V, ir.Expr] | None:
    """An integer or a pointer."""
    v = given(u, node, i)
    if v is None:
        return None
    if not isinstance(v.type, Int | Enum | Pointer):
        u.error(f"{node.function}() expects an integer or pointer argument, not {show(v.type)}", node.span)
        return None
    e = u.read(v, node.args[i].span)
    return None if e is None else (v, e)


def ksym_(u: Unit, node: ast.Call) -> V:
    found = _scalar(u, node, 0)
    return NOTHING if found is None else value(ir.Cast(Opaque("ksym"), as_u64(found[1]), span=node.span))


def usym_(u: Unit, node: ast.Call) -> V:
    found = _scalar(u, node, 0)
    return NOTHING if found is None else value(ir.Call(Opaque("usym"), "usym", (as_u64(found[1]),), span=node.span))


def _kernel_address(u: Unit, node: ast.Call, name: str, otherwise: str) -> int | None:
    """``None``: it was told why."""
    try:
        address = u.program.env.kaddr(name)
    except KernelError as e:  # addresses are hidden from this user
        u.error(str(e), node.span, *e.hints)
        return None
    if address is None:
        hint = "/proc/kallsyms lists what there is: functions; variables only if the kernel has CONFIG_KALLSYMS_ALL"
        u.error(otherwise, node.span, hint)
    return address


def kaddr_(u: Unit, node: ast.Call) -> V:
    name = str_lit(u, node, 0)
    if name is None:
        return NOTHING
    address = _kernel_address(u, node, name, f"Failed to resolve kernel symbol: {name}")
    if address is None:
        return NOTHING
    return V(lint(8, False, tag="kernel"), ir.Const(U64, address, span=node.span))


def percpu_kaddr_(u: Unit, node: ast.Call) -> V:
    name = str_lit(u, node, 0)
    cpu = int_arg(u, node, 1, U32) if len(node.args) > 1 else ir.Context(U32, "cpu")
    if name is None or cpu is None:
        return NOTHING
    address = _kernel_address(u, node, name, f'Could not resolve variable "{name}"')
    if address is None:
        return NOTHING
    call = ir.Call(U64, "percpu", (number(address), cpu), span=node.span)
    return V(lint(8, False, tag="kernel"), call)


def uaddr_(u: Unit, node: ast.Call) -> V:
    """The address in the traced process: where the file is relocatable, from where the probe itself turned out to
    be."""
    name = str_lit(u, node, 0)
    if name is None:
        return NOTHING
    attach = u.ask("name").attach
    path = attach.path if isinstance(attach, UprobeAttach) else ""
    found = u.program.env.uaddr(path, name)
    if found is None:
        return u.error(f"Could not resolve symbol: {path}:{name}", node.span)
    size = found.size if found.size in (1, 2, 4, 8) else 8
    t = Pointer(Int(size, False), "user")
    if not found.relocatable:
        return V(t, ir.Const(t, found.address, span=node.span))
    if not isinstance(attach, UprobeAttach) or attach.ret or found.probe_address is None:
        message = "the address of a symbol in a relocatable file is known only where a function is entered"
        return u.error(message, node.span, "take it in a uprobe and keep it in a map")
    here = found.probe_address(attach.offset)
    if here is None:
        return u.error(f"{path} has no code at offset {attach.offset:#x}", node.span)
    moved = ir.Binary(U64, "add", ir.Reg(U64, u.program.env.arch.ip), number((found.address - here) % (1 << 64)))
    return V(t, cast(moved, t))


def _in_space(u: Unit, node: ast.Call, space: Space) -> V:
    found = _scalar(u, node, 0)
    if found is None:
        return NOTHING
    v, e = found
    if isinstance(v.type, Pointer):
        t = Pointer(v.type.target, space, v.type.size)
        return V(t, cast(e, settle(t)))
    return V(tagged(v.type, "kernel" if space == "kernel" else "user"), e)


def kptr_(u: Unit, node: ast.Call) -> V:
    return _in_space(u, node, "kernel")


def uptr_(u: Unit, node: ast.Call) -> V:
    return _in_space(u, node, "user")


def reg_(u: Unit, node: ast.Call) -> V:
    name = str_lit(u, node, 0)
    if name is None:
        return NOTHING
    arch = u.program.env.arch
    if arch.reg_offset(name) is None:
        near = nearest(name, [*arch.regs, *arch.aliases])
        hints = [f"did you mean '{n}'?" for n in near[:1]] or ["it has " + ", ".join(arch.regs)]
        return u.error(f"'{name}' is not a valid register on this architecture ({arch.name})", node.span, *hints)
    known = arch.aliases.get(name, name)
    return V(lint(8, False, tag="user" if u.space == "user" else ""), ir.Reg(U64, known, span=node.span))


def container_of_(u: Unit, node: ast.Call) -> V:
    """``container_of(ptr, struct x, member)``."""
    found = _scalar(u, node, 0)
    t = type_of(u, node.args[1])
    path = _member_path(node)
    if found is None or t is UNKNOWN or not path:
        return NOTHING if path else u.error("container_of() expects the name of a member", node.span)
    from probescope.lang.bt.lower_meta import offset_in

    offset = offset_in(u, t, path, node.span)
    if offset is None or not isinstance(t, Struct):
        return NOTHING
    v, e = found
    space = v.type.space if isinstance(v.type, Pointer) else u.space
    out = Pointer(t, space)
    base = cast(e, U64)
    back = base if not offset else ir.Binary(U64, "sub", base, number(offset), span=node.span)
    return V(out, cast(back, out))


def _member_path(node: ast.Call) -> tuple[str, ...]:
    parts: list[str] = []
    e: ast.Expr = node.args[2]
    while isinstance(e, ast.Field):
        parts.append(e.name)
        e = e.base
    word = word_arg(node, 2) if not parts else e.name if isinstance(e, ast.Name) else None
    return (word, *reversed(parts)) if word else ()


def is_err_(u: Unit, node: ast.Call) -> V:
    """Kernel pointers from -4095 to -1 are error numbers (IS_ERR of include/linux/err.h)."""
    found = _scalar(u, node, 0)
    if found is None:
        return NOTHING
    e = cast(found[1], U64)
    least = number((1 << 64) - 4095)
    if isinstance(e, ir.Const) and isinstance(e.value, int):
        return truth(e.value >= (1 << 64) - 4095)
    return value(ir.Binary(BOOL, "ge", e, least, span=node.span))
