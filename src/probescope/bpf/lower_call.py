"""Built-in functions (ir/intrinsics.py) that give a number, or an address written as a small structure."""

from __future__ import annotations

from collections.abc import Callable

from probescope.bpf.kinds import in_register, reg_bytes
from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_branch import any_value
from probescope.bpf.lower_context import seen_tgid
from probescope.bpf.lower_copy import branch_same, clear, copy
from probescope.bpf.lower_frames import stack_len
from probescope.bpf.lower_read import number_at
from probescope.bpf.lower_scalar import narrow, number, truth
from probescope.bpf.lower_search import branch_found, position
from probescope.bpf.lower_text import branch_text, length, operand
from probescope.ir import expr as x
from probescope.model.types import Array, Buffer, String, Type

AF_INET, AF_INET6 = 2, 10


def call(l: Lower, e: x.Call) -> Reg:
    found = _NUMBERS.get(e.name)
    if found is None:
        l.refuse(f"{e.name}() cannot be compiled for the kernel")
    return found(l, e)


def call_into(l: Lower, e: x.Call, place: Place, exact: bool) -> None:
    from probescope.bpf import lower_texts

    text = lower_texts.TEXTS.get(e.name)
    if text is not None:
        text(l, e, place, exact)
        return
    found = _STRUCTURES.get(e.name)
    if found is None:
        l.refuse(f"{e.name}() cannot be compiled for the kernel")
    found(l, e, place)


def call_test(l: Lower, e: x.Call, yes: Block, no: Block) -> None:
    """Functions that answer yes or no need not make a number of it."""
    if e.name == "strcontains":
        branch_found(l, e, yes, no)
    elif e.name in ("strglob", "strmatch"):
        from probescope.bpf.lower_match import branch_match

        branch_match(l, e, yes, no)
    elif e.name == "strncmp":
        _branch_strncmp(l, e, no, yes)
    elif e.name == "memcmp":
        _branch_memcmp(l, e, no, yes)
    else:
        any_value(l, e, yes, no)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _count(e: x.Call) -> int:
    return max(0, number(e.args[2]) or 0)


def _branch_strncmp(l: Lower, e: x.Call, same: Block, differ: Block) -> None:
    n = _count(e)
    if n == 0:
        for text in e.args[:2]:  # for their effects
            operand(l, text)
        l.b.jump(same)
    else:
        branch_text(l, "eq", e.args[0], e.args[1], same, differ, most=n)


def _branch_memcmp(l: Lower, e: x.Call, same: Block, differ: Block) -> None:
    """The first n bytes; what is shorter counts as if zeros followed."""
    b = l.b
    n = _count(e)
    a, size_a = _bytes(l, e.args[0])
    c, size_c = _bytes(l, e.args[1])
    rest = b.block()
    branch_same(l, a, c, min(n, size_a, size_c), rest, differ)
    b.place(rest)
    longer, start, end = (a, size_c, min(n, size_a)) if size_a > size_c else (c, size_a, min(n, size_c))
    for at in range(start, end):
        on = b.block()
        b.branch_imm("ne", b.load(longer.base, longer.off + at, 1), 0, differ, on)
        b.place(on)
    b.jump(same)


def _bytes(l: Lower, e: x.Expr) -> tuple[Place, int]:
    """A value's bytes, zeros after a text's or buffer's end."""
    t = e.type
    if in_register(t):
        spot = l.temp(8)
        l.put(spot, t, l.scalar(e))
        return spot, reg_bytes(t)
    if isinstance(t, String | Buffer):
        out = l.temp_for(t)
        l.into(e, out, exact=True)
        return (out.at(4), t.size) if isinstance(t, Buffer) else (out, t.size)
    return l.place(e), l.size(t)


def _bswap(l: Lower, e: x.Call) -> Reg:
    bits = reg_bytes(e.type) * 8
    value = l.scalar(e.args[0])
    if bits == 8:
        return value
    return narrow(l, l.b.swap(value, bits), e.type)  # type: ignore[arg-type]


def _percpu(l: Lower, e: x.Call) -> Reg:
    """__per_cpu_offset[cpu] + address (include/asm-generic/percpu.h)."""
    table = l.options.per_cpu_offset
    if not table:
        l.refuse("per-CPU variables cannot be found: the address of __per_cpu_offset is not known")
    b = l.b
    address, cpu = l.scalar(e.args[0]), l.scalar(e.args[1])
    out = b.reg()
    b.assign_imm(out, 0)
    there, done = b.block(), b.block()
    b.branch_imm("lt", cpu, l.options.cpus, there, done)
    with l.arm(there):
        at = b.alu_imm("add", b.alu_imm("mul", cpu, 8), table)
        b.alu("add", number_at(l, "kernel", at, 8, False), address, into=out)
    b.place(done)
    return out


def _socket_cookie(l: Lower, e: x.Call) -> Reg:
    """bpf_get_socket_cookie where the verifier knows the socket; else what is kept in it, 0 if nobody ever asked."""
    from probescope.bpf.lower_typed import typed

    known = typed(l, e.args[0])
    if known is not None:
        return l.b.call("get_socket_cookie", known)
    at = member_offset(l, ("struct sock", "__sk_common"), ("struct sock_common", "skc_cookie"))
    return number_at(l, "kernel", l.b.alu_imm("add", l.scalar(e.args[0]), at), 8, False)


def member_offset(l: Lower, *path: tuple[str, str]) -> int:
    """The offset of a member of a member of a kernel struct."""
    at = 0
    for struct, name in path:
        layout = l.types.layout(struct) if l.types is not None else None
        member = layout.member(name) if layout is not None else None
        if member is None:
            l.refuse(f"the place of {name} in {struct} is not known: the kernel's BTF is needed")
        at += member.offset
    return at


def _within(l: Lower, e: x.Call) -> Reg:
    index, limit = l.scalar(e.args[0]), number(e.args[1])
    l.unless("ge", index, limit or 0, lambda: l.count("outside", span=e.span))
    return index


_NUMBERS: dict[str, Callable[[Lower, x.Call], Reg]] = {
    "strlen": lambda l, e: length(l, e.args[0]),
    "strncmp": truth,
    "memcmp": truth,
    "strcontains": truth,
    "strglob": truth,
    "strmatch": truth,
    "strstr": position,
    "bswap": _bswap,
    "percpu": _percpu,
    "socket_cookie": _socket_cookie,
    "stack_len": stack_len,
    "within": _within,
}

# --- addresses --------------------------------------------------------------------------------------------------------


def _words(l: Lower, e: x.Expr, count: int) -> list[Reg]:
    """The first 8-byte words of a value, the last one cut to what there is."""
    t: Type = e.type
    if in_register(t):
        return [l.b.zext(l.scalar(e), 32)] + [l.b.const(0)] * (count - 1)
    size = min(l.size(t), 8 * count)
    spot = l.temp(8 * count)
    if size < 8 * count:
        clear(l, spot, 8 * count)
    copy(l, spot, l.place(e), size)
    return [l.b.load(spot.base, spot.off + 8 * i, 8) for i in range(count)]


def _store_inet(l: Lower, place: Place, length_: int, low: Reg, high: Reg | None) -> None:
    """Length byte, 16 bytes, 3 zeros: as words, shifted by one byte."""
    b = l.b
    first = b.alu_imm("or", b.alu_imm("shl", low, 8), length_)
    second = b.alu_imm("shr", low, 56)
    third = None
    if high is not None:
        second = b.alu("or", second, b.alu_imm("shl", high, 8))
        third = b.alu_imm("shr", high, 56)
    for i, word in enumerate((first, second)):
        b.store(place.base, place.off + 8 * i, word, 4)
        b.store(place.base, place.off + 8 * i + 4, b.alu_imm("shr", word, 32), 4)
    if third is None:
        b.store_imm(place.base, place.off + 16, 0, 4)
    else:
        b.store(place.base, place.off + 16, third, 4)


def _inet4(l: Lower, e: x.Call, place: Place) -> None:
    _store_inet(l, place, 4, l.b.zext(_words(l, e.args[0], 1)[0], 32), None)


def _inet6(l: Lower, e: x.Call, place: Place) -> None:
    low, high = _words(l, e.args[0], 2)
    _store_inet(l, place, 16, low, high)


def _inet(l: Lower, e: x.Call, place: Place) -> None:
    """By family; an address too short for its family is none."""
    b = l.b
    family, address = e.args
    which = l.scalar(family)
    low, high = _words(l, address, 2)
    v4, other, none, done = b.block(), b.block(), b.block(), b.block()
    b.branch_imm("eq", which, AF_INET, v4, other)
    b.place(v4)
    _store_inet(l, place, 4, b.zext(low, 32), None)
    b.jump(done)
    b.place(other)
    if isinstance(address.type, Array) and l.size(address.type) >= 16:
        v6 = b.block()
        b.branch_imm("eq", which, AF_INET6, v6, none)
        b.place(v6)
        _store_inet(l, place, 16, low, high)
        b.jump(done)
    b.place(none)
    clear(l, place, 20)
    b.place(done)


def _mac(l: Lower, e: x.Call, place: Place) -> None:
    copy(l, place, l.place(e.args[0]), 6)
    l.b.store_imm(place.base, place.off + 6, 0, 2)


def _usym(l: Lower, e: x.Call, place: Place) -> None:
    l.b.store(place.base, place.off, l.scalar(e.args[0]), 8)
    l.b.store(place.base, place.off + 8, seen_tgid(l), 4)
    l.b.store_imm(place.base, place.off + 12, 0, 4)


_STRUCTURES: dict[str, Callable[[Lower, x.Call, Place], None]] = {
    "inet4": _inet4,
    "inet6": _inet6,
    "inet": _inet,
    "mac": _mac,
    "usym": _usym,
}
