"""Values in memory: built where they are wanted, or found where they are.

Nothing is copied that need not be: a tuple that is a map key is built in the key; a member of a struct in kernel memory
is read alone; a variable, a map's value, a field of the context is used where it lies.
"""

from __future__ import annotations

from probescope.bpf.kinds import SHORT, in_register, reg_bytes, reg_signed
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Held, Lower, Place
from probescope.bpf.lower_copy import (
    at_most,
    clear,
    constant,
    copy,
    copy_text,
    copy_value,
    pad,
    parts,
    read_text,
    write,
    zeros,
)
from probescope.bpf.lower_read import ctx_offset, helper, missed, number_at
from probescope.bpf.lower_scalar import number
from probescope.frozen import replace
from probescope.ir import expr as x
from probescope.model.abi import item_types, offsets
from probescope.model.types import Array, Buffer, Opaque, Space, String

# --- known bytes ------------------------------------------------------------------------------------------------------


def const_into(l: Lower, e: x.Const, place: Place, exact: bool) -> None:
    data = _data(l, e)
    if isinstance(e.type, String) and len(data) > SHORT and not exact:
        data = data.rstrip(b"\0") + b"\0"
    write(l, place, data[: l.size(e.type)])


def _data(l: Lower, e: x.Const) -> bytes:
    value = e.value if isinstance(e.value, bytes) else b""
    size = l.size(e.type)
    if isinstance(e.type, Buffer):
        value = value[: e.type.size]
        return (len(value).to_bytes(4, "little") + value).ljust(size, b"\0")
    return value[:size].ljust(size, b"\0")


def const_place(l: Lower, e: x.Const) -> Place:
    return constant(l, _data(l, e))


def held_place(l: Lower, e: Held) -> Place | None:
    return e.place


def held_into(l: Lower, e: Held, place: Place, exact: bool) -> None:
    assert e.place is not None
    copy_value(l, e.type, e.place, place, exact=exact)


# --- putting together -------------------------------------------------------------------------------------------------


def pack_into(l: Lower, e: x.Pack, place: Place, exact: bool) -> None:
    types = tuple(i.type for i in e.items)
    at, _ = offsets(types, l.types)
    for i, (item, off) in enumerate(zip(e.items, at, strict=True)):
        l.into(item, place.at(off), exact=exact)
        pad(l, e.type, types, at, i, place)


def select_into(l: Lower, e: x.Select, place: Place, exact: bool) -> None:
    yes, no, done = l.b.block(), l.b.block(), l.b.block()
    l.condition(e.cond, yes, no)
    for block, value in ((yes, e.a), (no, e.b)):
        with l.arm(block):
            l.into(value, place, exact=exact)
        l.b.jump(done)
    l.b.place(done)


def block_into(l: Lower, e: x.Block, place: Place, exact: bool) -> None:
    l.statements(e.body)
    l.end_block()
    l.into(e.result, place, exact=exact)


def copied(l: Lower, e: x.Expr, place: Place, exact: bool) -> None:
    """A value that lies somewhere."""
    copy_value(l, e.type, l.place(e), place, exact=exact)


# --- parts of values --------------------------------------------------------------------------------------------------


def remote(l: Lower, e: x.Expr) -> tuple[Space, Reg] | None:
    """Space and address of a value that is a piece of memory elsewhere, so that no more is read than is wanted."""
    match e:
        case x.Load() if not in_register(e.type) and not isinstance(e.type, String) and ctx_offset(e) is None:
            return e.space, l.scalar(e.address)
        case x.Part():
            whole = remote(l, e.x)
            return whole and (whole[0], _plus(l, whole[1], e.offset))
        case x.Index() if isinstance(e.x.type, Array):
            whole = remote(l, e.x)
            return whole and (whole[0], _remote_element(l, e, whole[1]))
        case _:
            return None


def _plus(l: Lower, address: Reg, n: int) -> Reg:
    return address if n == 0 else l.b.alu_imm("add", address, n)


def _remote_element(l: Lower, e: x.Index, start: Reg) -> Reg:
    """The address of an element; of zeros, if the index is out of range."""
    assert isinstance(e.x.type, Array)
    size, count = l.size(e.x.type.element), e.x.type.count
    b, known = l.b, number(e.index)
    if known is not None and 0 <= known < count:
        return _plus(l, start, known * size)
    out, index = b.reg(), l.scalar(e.index)
    b.assign(out, start)
    bad, good, done = b.block(cold=True), b.block(), b.block()
    b.branch_imm("ge", index, count, bad, good)
    b.place(bad)
    l.count("bounds")
    b.assign(out, l.address(zeros(l, size)))
    b.jump(done)
    b.place(good)
    b.alu("add", out, b.alu_imm("mul", index, size), into=out)
    b.place(done)
    return out


def part(l: Lower, e: x.Part | x.Item) -> Reg:
    """A register value inside another one."""
    if isinstance(e, x.Part):
        far = remote(l, e)
        if far is not None:
            return number_at(l, far[0], far[1], reg_bytes(e.type), reg_signed(e.type))
    else:
        known = _item(l, e)
        if known is not None:
            return l.scalar(known)
    p = part_place(l, e)
    assert p is not None
    return _get_unaligned(l, p, e)


def _get_unaligned(l: Lower, p: Place, e: x.Expr) -> Reg:
    size = reg_bytes(e.type)
    if p.where == "value" or p.off % size == 0:
        return l.get(p, e.type)
    spot = l.temp(8)  # a packed struct on the stack
    copy(l, spot, p, size)
    return l.get(spot, e.type)


def part_place(l: Lower, e: x.Part | x.Item) -> Place | None:
    if isinstance(e, x.Part):
        return None if remote_root(e) else l.place(e.x).at(e.offset)
    known = _item(l, e)
    if known is not None:
        return l.place(known)
    at, _ = offsets(item_types(e.x.type), l.types)
    return l.place(e.x).at(at[e.index])


def remote_root(e: x.Expr) -> bool:
    """Whether ``remote`` will find something."""
    while isinstance(e, x.Part | x.Index):
        e = e.x
    return isinstance(e, x.Load) and not isinstance(e.type, String) and ctx_offset(e) is None


def _item(l: Lower, e: x.Item) -> x.Expr | None:
    """The item of a tuple that was never put together: the pair of a map iteration."""
    bound = l.bound.get(e.x.name) if isinstance(e.x, x.Local) else None
    return bound.items[e.index] if isinstance(bound, x.Pack) else None


def part_into(l: Lower, e: x.Part | x.Item | x.Index, place: Place, exact: bool) -> None:
    far = remote(l, e)
    if far is None:
        copied(l, e, place, exact)
    elif isinstance(e.type, String):
        _remote_text(l, far, e.type.size, place, exact)
    else:
        answer = l.b.call(helper(l, far[0]), l.address(place), l.b.const(l.size(e.type)), far[1])
        missed(l, answer)


def _remote_text(l: Lower, far: tuple[Space, Reg], size: int, place: Place, exact: bool) -> None:
    out = place if place.room > size else l.temp_text(size)
    missed(l, read_text(l, out, size, far[1], helper(l, far[0], text=True), limit=None, exact=exact))
    if out is not place:
        copy(l, place, out, size)


def load_place(l: Lower, e: x.Load) -> Place | None:
    """What lies in the context itself."""
    at = ctx_offset(e)
    return None if at is None or in_register(e.type) else Place(l.fn.ctx, at, "ctx")


# --- conversions ------------------------------------------------------------------------------------------------------


def cast_into(l: Lower, e: x.Cast, place: Place, exact: bool) -> None:
    of, to = e.x.type, e.type
    if isinstance(to, String) and isinstance(of, String):
        if to.size <= of.size and isinstance(e.x, x.ReadStr | x.Load | x.Const):
            l.into(replace(e.x, type=to), place, exact=exact)
        else:
            copy_text(l, place, to.size, l.place(e.x), of.size, exact=exact)
    elif isinstance(to, String):
        _bytes_as_text(l, e, place, to.size, exact)
    elif isinstance(to, Opaque):
        _opaque(l, e, place)
    elif isinstance(to, Buffer):
        _as_buffer(l, e, place)
    elif in_register(of):
        l.put(place, of, l.scalar(e.x))
    elif of == to:
        l.into(e.x, place, exact=exact)
    elif isinstance(to, Array):
        copy(l, place, l.place(e.x), min(l.size(of), l.size(to)))
    else:
        _items(l, e, place, exact)


def _bytes_as_text(l: Lower, e: x.Cast, place: Place, size: int, exact: bool) -> None:
    """Bytes of an array or buffer, up to a NUL among them."""
    of = e.x.type
    src = l.place(e.x)
    n = min(size, of.size if isinstance(of, Buffer) else l.size(of))
    src = src.at(4) if isinstance(of, Buffer) else src
    out = place if place.room > size else l.temp_text(size)
    limit = l.b.const(n + 1)
    if isinstance(of, Buffer):
        have = l.b.load(src.base, src.off - 4, 4)
        limit = l.b.alu_imm("add", at_most(l, have, n), 1)
    read_text(l, out, size, l.address(src), "probe_read_kernel_str", limit=limit, exact=exact)
    if out is not place:
        copy(l, place, out, size)


def _opaque(l: Lower, e: x.Cast, place: Place) -> None:
    if isinstance(e.type, Opaque) and e.type.kind == "usym" and in_register(e.x.type):
        from probescope.bpf.lower_context import seen_tgid

        l.b.store(place.base, place.off, l.scalar(e.x), 8)
        l.b.store(place.base, place.off + 8, seen_tgid(l), 4)
        l.b.store_imm(place.base, place.off + 12, 0, 4)
    else:
        copied(l, e.x, place, True)


def _as_buffer(l: Lower, e: x.Cast, place: Place) -> None:
    of, to = e.x.type, e.type
    assert isinstance(to, Buffer)
    clear(l, place, l.size(to))
    if in_register(of):
        l.b.store_imm(place.base, place.off, min(to.size, reg_bytes(of)), 4)
        spot = l.temp(8)
        l.put(spot, of, l.scalar(e.x))
        copy(l, place.at(4), spot, min(to.size, reg_bytes(of)))
        return
    src = l.place(e.x)
    if isinstance(of, String):
        n = min(to.size, of.size)
        if place.at(4).room <= n:
            l.refuse("a text cannot become a buffer here")
        got = read_text(l, place.at(4), n, l.address(src), "probe_read_kernel_str", limit=None, exact=True)
        l.b.store(place.base, place.off, l.b.alu_imm("sub", got, 1), 4)
    elif isinstance(of, Buffer):
        n = min(to.size, of.size)
        l.b.store(place.base, place.off, at_most(l, l.b.load(src.base, src.off, 4), n), 4)
        copy(l, place.at(4), src.at(4), n)
    else:
        n = min(to.size, l.size(of))
        l.b.store_imm(place.base, place.off, n, 4)
        copy(l, place.at(4), src, n)


def _items(l: Lower, e: x.Cast, place: Place, exact: bool) -> None:
    """Item by item."""
    of, to = parts(e.x.type), parts(e.type)
    at, _ = offsets(to, l.types)
    if isinstance(e.x, x.Pack):
        items: tuple[x.Expr, ...] = e.x.items
    else:
        src = l.place(e.x)
        from_, _ = offsets(of, l.types)
        items = tuple(Held(t, place=src.at(o)) for t, o in zip(of, from_, strict=True))
    for i, (item, t, off) in enumerate(zip(items, to, at, strict=True)):
        l.into(item if item.type == t else x.Cast(t, item), place.at(off), exact=exact)
        pad(l, e.type, to, at, i, place)
