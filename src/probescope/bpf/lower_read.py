"""Memory of the kernel or of the current process: numbers, bytes, texts.

Reads go through ``bpf_probe_read_{kernel,user}[_str]``, which never fault: they give an error, and zeros. Numbers in
kernel memory are read without a helper where the kernel allows it.
"""

from __future__ import annotations

from probescope.bpf.kinds import SHORT, reg_bytes, reg_signed, text_size
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import read_text
from probescope.bpf.lower_scalar import number
from probescope.ir import expr as x
from probescope.model.types import Buffer, Space, String, signed

UNTYPED = "kernel:untyped_read"
"""The feature that ``bpf_rdonly_cast(address, 0)`` gives memory that plain loads may read."""


def helper(l: Lower, space: Space, *, text: bool = False) -> str:
    """Which helper reads a space. A pointer to nowhere known points where the probe's own arguments do; kernels before
    5.5 have one helper for both."""
    user = space == "user" or (space == "none" and l.unit.in_user)
    name = f"probe_read_{'user' if user else 'kernel'}{'_str' if text else ''}"
    if l.features.lacks(f"helper:{name}"):
        return "probe_read_str" if text else "probe_read"
    return name


def missed(l: Lower, answer: Reg, limit: Reg | None = None, nothing: int = 0) -> None:
    """Counts a read that failed, by the helper that was called last; not if ``limit`` is ``nothing``, when nothing was
    asked for."""
    helper = l.b.called if l.b.called.startswith("probe_read") else ""  # those fail in one way

    def count() -> None:
        if limit is None:
            l.count("read", helper=helper)
            return
        asked, done = l.b.block(cold=True), l.b.block(cold=True)
        l.b.branch_imm("ne", limit, nothing, asked, done)
        l.b.place(asked)
        l.count("read", helper=helper)
        l.b.place(done)

    l.unless("slt", answer, 0, count)


def number_at(l: Lower, space: Space, address: Reg, size: int, is_signed: bool) -> Reg:
    """A number of ``size`` bytes.

    Kernel memory can be read by a plain instruction since "bpf: Introduce rdonly untrusted memory" (6.17): the verifier
    turns the cast into nothing, the processor's fault into 0. The helper takes 6 ns more; it is asked only about a 0,
    to tell one that was read from a read that failed."""
    if helper(l, space) != "probe_read_kernel" or not l.features.has(UNTYPED):
        return _by_helper(l, space, address, size, is_signed)
    b = l.b
    value = b.reg()
    memory = b.kfunc("bpf_rdonly_cast", address, b.const(0), pure=True)
    b.load(memory, 0, size, signed=is_signed, into=value)  # type: ignore[arg-type]
    zero, done = b.block(cold=True), b.block(cold=b.current.cold)
    b.branch_imm("eq", value, 0, zero, done)
    with l.arm(zero):
        b.assign(value, _by_helper(l, space, address, size, is_signed))
    b.jump(done)
    b.place(done)
    return value


def _by_helper(l: Lower, space: Space, address: Reg, size: int, is_signed: bool) -> Reg:
    with l.scope():
        spot = l.temp(8)
        answer = l.b.call(helper(l, space), l.address(spot), l.b.const(size), address)
        missed(l, answer)
        return l.b.load(spot.base, spot.off, size, signed=is_signed)  # type: ignore[arg-type]


def load(l: Lower, e: x.Load) -> Reg:
    ctx = ctx_offset(e)
    size = reg_bytes(e.type)
    if ctx is not None and ctx % size == 0:
        return l.b.load(l.fn.ctx, ctx, size, signed=reg_signed(e.type))  # type: ignore[arg-type]
    return number_at(l, e.space, l.scalar(e.address), size, reg_signed(e.type))


def ctx_offset(e: x.Load) -> int | None:
    """The offset of a read straight from the context."""
    at = e.address
    while isinstance(at, x.Cast):
        at = at.x
    if isinstance(at, x.Context) and at.name == "ctx":
        return 0
    if isinstance(at, x.Binary) and at.op == "add" and isinstance(at.a, x.Context) and at.a.name == "ctx":
        return number(at.b)
    return None


def load_into(l: Lower, e: x.Load, place: Place, exact: bool) -> None:
    """The bytes of an array or struct; a char array as a text."""
    if isinstance(e.type, String):
        _text_into(l, e.space, e.address, e.type.size, None, place, exact)
        return
    address = l.scalar(e.address)
    answer = l.b.call(helper(l, e.space), l.address(place), l.b.const(l.size(e.type)), address)
    missed(l, answer)


def readstr_into(l: Lower, e: x.ReadStr, place: Place, exact: bool) -> None:
    _text_into(l, e.space, e.address, text_size(e.type), e.limit, place, exact)


def _text_into(
    l: Lower, space: Space, address: x.Expr, size: int, limit: x.Expr | None, place: Place, exact: bool
) -> None:
    if place.room <= size:
        from probescope.bpf.lower_copy import copy

        spare = l.temp_text(size)
        _text_into(l, space, address, size, limit, spare, exact)
        copy(l, place, spare, size)
        return
    source = l.scalar(address)
    most = None if limit is None else bounded(l, limit, size, plus=1)
    missed(l, read_text(l, place, size, source, helper(l, space, text=True), limit=most, exact=exact), most, 1)


def read_some(l: Lower, e: x.ReadStr | x.Load, most: int) -> Place:
    """The first bytes of a text, for comparing: what follows its NUL is worthless."""
    out = l.temp(most, slack=1)
    source = l.scalar(e.address)
    limit = e.limit if isinstance(e, x.ReadStr) else None
    n = l.b.const(most + 1) if limit is None else bounded(l, limit, most, plus=1)
    missed(l, l.b.call(helper(l, e.space, text=True), l.address(out), n, source), n, 1)
    return out


def bounded(l: Lower, e: x.Expr, most: int, *, plus: int = 0) -> Reg:
    """A length that an expression gives, between 0 and ``most``, plus a constant."""
    known = number(e)
    if known is not None:
        return l.b.const(max(0, min(known, most)) + plus)
    b = l.b
    out = b.reg()
    b.assign(out, l.scalar(e))
    over, on, done = b.block(), b.block(), b.block()
    if signed(e.type):
        under, checked = b.block(cold=True), b.block()
        b.branch_imm("slt", out, 0, under, checked)
        b.place(under)
        b.assign_imm(out, 0)
        b.place(checked)
    b.branch_imm("gt", out, most, over, on)
    b.place(over)
    b.assign_imm(out, most)
    b.jump(done)
    b.place(on)
    b.place(done)
    return b.alu_imm("add", out, plus) if plus else out


def readbuf_into(l: Lower, e: x.ReadBuf, place: Place, exact: bool) -> None:
    """Length, then the bytes; zeros after them where equal values must be equal bytes."""
    from probescope.bpf.lower_copy import clear

    assert isinstance(e.type, Buffer)
    size = e.type.size
    source = l.scalar(e.address)
    n = bounded(l, e.length, size)
    if exact or size <= SHORT:
        clear(l, place.at(4), l.size(e.type) - 4)
    l.b.store(place.base, place.off, n, 4)
    missed(l, l.b.call(helper(l, e.space), l.address(place.at(4)), n, source), n)
