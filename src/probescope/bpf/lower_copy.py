"""Memory to memory: copying, clearing and comparing bytes, and texts up to their NUL.

Small things are done by instructions, word by word; large ones by helpers:

* ``bpf_probe_read_kernel(dst, n, src)`` copies any number of bytes;
* the same from address 0 fails at once and clears ``dst``: memset with a length known only at run time;
* ``bpf_probe_read_kernel_str`` copies a text up to its NUL and tells its length.
"""

from __future__ import annotations

from collections.abc import Iterator

from probescope.bpf.builder import Size
from probescope.bpf.kinds import SHORT, canonical, in_register
from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_walk import walk
from probescope.model.abi import item_types, offsets
from probescope.model.types import Array, Buffer, String, Type

INLINE = 128
"""Bytes up to which instructions are used."""


def chunks(n: int, *places: Place) -> Iterator[tuple[int, Size]]:
    """(offset, size) of the widest accesses that cover ``n`` bytes at all places, aligned where that is demanded."""
    at = 0
    strict = [p for p in places if p.where != "value"]
    while at < n:
        size: Size = 8
        while size > n - at or any((p.off + at) % size for p in strict):
            size = {8: 4, 4: 2, 2: 1}[size]  # type: ignore[assignment]
        yield at, size
        at += size


def copy(l: Lower, dst: Place, src: Place, n: int) -> None:
    """``n`` bytes; the two do not overlap."""
    if n <= INLINE:
        for at, size in chunks(n, dst, src):
            l.b.store(dst.base, dst.off + at, l.b.load(src.base, src.off + at, size), size)
    else:
        copy_by_helper(l, dst, l.b.const(n), l.address(src))


def copy_by_helper(l: Lower, dst: Place, n: Reg, src: Reg) -> Reg:
    """From kernel memory; gives what the helper answers, 0 or an error (then ``dst`` is all zero)."""
    return l.b.call("probe_read_kernel", l.address(dst), n, src)


def clear(l: Lower, dst: Place, n: int) -> None:
    if n <= INLINE:
        for at, size in chunks(n, dst):
            l.b.store_imm(dst.base, dst.off + at, 0, size)
    else:
        clear_by_helper(l, dst, l.b.const(n))


def clear_by_helper(l: Lower, dst: Place, n: Reg) -> None:
    copy_by_helper(l, dst, n, l.b.const(0))


def write(l: Lower, dst: Place, data: bytes) -> None:
    """Known bytes: from immediates, or out of the constants map."""
    if len(data) > INLINE:
        copy(l, dst, constant(l, data), len(data))
        return
    for at, size in chunks(len(data), dst):
        l.b.store_imm(dst.base, dst.off + at, int.from_bytes(data[at : at + size], "little"), size)


def constant(l: Lower, data: bytes) -> Place:
    """Known bytes as read-only memory."""
    return Place(l.b.map_value("constants", l.pieces.constant(data, 8)), 0)


def zeros(l: Lower, n: int) -> Place:
    """``n`` zero bytes as read-only memory."""
    return constant(l, bytes((n + 63) // 64 * 64))


# --- texts ------------------------------------------------------------------------------------------------------------


def read_text(l: Lower, dst: Place, size: int, source: Reg, helper: str, *, limit: Reg | None, exact: bool) -> Reg:
    """Up to ``size`` bytes (``limit`` of them, if given) of the text at address ``source``, through ``helper``, whose
    answer it gives: bytes with the NUL, negative if reading failed (then the text is empty).

    The helper always ends what it writes with a NUL, so it is given one byte more than the text may have: ``dst.room``
    must allow for it."""
    assert dst.room > size
    if size <= SHORT:
        clear(l, dst, size)
    most = l.b.const(size + 1) if limit is None else limit
    got = l.b.call(helper, l.address(dst), most, source)
    if exact and size > SHORT:
        if limit is not None:  # if it fails the helper clears no more than that
            l.unless("slt", got, 0, lambda: clear(l, dst, size))
        _clear_rest(l, dst, size, got)
    l.b.called = helper
    return got


def _clear_rest(l: Lower, dst: Place, size: int, got: Reg) -> None:
    """Zeros what follows ``got`` bytes. A negative answer is a great number here: then all is zero already."""
    b = l.b
    rest, done = b.block(), b.block()
    l.measured(size)
    b.branch_imm("ge", got, size, done, rest)
    b.place(rest)
    start = b.alu("add", l.address(dst), got)
    b.call("probe_read_kernel", start, b.alu("sub", b.const(size), got), b.const(0))
    b.place(done)


def copy_text(l: Lower, dst: Place, dst_size: int, src: Place, src_size: int, *, exact: bool) -> None:
    """A text of up to ``src_size`` bytes, cut at ``dst_size``."""
    n = min(src_size, dst_size)
    if src_size <= SHORT:
        copy(l, dst, src, n)
        if exact or dst_size <= SHORT:
            clear(l, dst.at(n), dst_size - n)
        elif n < dst_size:
            l.b.store_imm(dst.base, dst.off + n, 0, 1)
    elif dst.room <= n:  # no byte to spare for the helper's NUL
        spare = l.temp_text(n)
        _copy_long(l, spare, n, n, src, exact=True)
        copy(l, dst, spare, n)
        if exact or dst_size <= SHORT:
            clear(l, dst.at(n), dst_size - n)
    else:
        _copy_long(l, dst, dst_size, n, src, exact=exact)


def _copy_long(l: Lower, dst: Place, size: int, n: int, src: Place, *, exact: bool) -> None:
    limit = None if n == size else l.b.const(n + 1)
    read_text(l, dst, size, l.address(src), "probe_read_kernel_str", limit=limit, exact=exact)


# --- comparing --------------------------------------------------------------------------------------------------------


def branch_same(l: Lower, a: Place, b_: Place, n: int, same: Block, differ: Block) -> None:
    """Goes to ``same`` if ``n`` bytes are equal. Ends the block."""
    words = 0
    if n > INLINE:
        words = n // 8 * 8
        _same_words(l, a, b_, words, differ)
    for at, size in chunks(n - words, a.at(words), b_.at(words)):
        on, o = l.b.block(), words + at
        l.b.branch("ne", l.b.load(a.base, a.off + o, size), l.b.load(b_.base, b_.off + o, size), differ, on)
        l.b.place(on)
    l.b.jump(same)


def _same_words(l: Lower, a: Place, b_: Place, n: int, differ: Block) -> None:
    """Leaves for ``differ``, falls out at the end."""
    b = l.b
    done = b.block()

    def one(i: Reg) -> None:
        on = b.block()
        left, right = b.alu("add", a.base, i), b.alu("add", b_.base, i)
        b.branch("ne", b.load(left, a.off, 8), b.load(right, b_.off, 8), differ, on)
        b.place(on)

    walk(l, n, 1, done, one, step=8)
    b.place(done)


def branch_same_const(l: Lower, p: Place, data: bytes, same: Block, differ: Block) -> None:
    """As ``branch_same`` with known bytes."""
    b = l.b
    if len(data) > INLINE:
        branch_same(l, p, constant(l, data), len(data), same, differ)
        return
    for at, size in chunks(len(data), p):
        on = b.block()
        value = int.from_bytes(data[at : at + size], "little", signed=False)
        if size == 4:  # as an unsigned number it would not fit an immediate
            b.branch_imm("ne", b.load(p.base, p.off + at, 4), value, differ, on, 32)
        else:
            b.branch_imm("ne", b.load(p.base, p.off + at, size), value, differ, on)
        b.place(on)
    b.jump(same)


# --- values -----------------------------------------------------------------------------------------------------------


def copy_value(l: Lower, t: Type, src: Place, dst: Place, *, exact: bool) -> None:
    """A value of a memory type."""
    if isinstance(t, String):
        copy_text(l, dst, t.size, src, t.size, exact=exact)
    elif not exact or canonical(t):
        copy(l, dst, src, l.size(t))
    elif isinstance(t, Buffer):
        copy_buffer(l, t, src, dst)
    else:
        items = parts(t)
        at, _ = offsets(items, l.types)
        for i, (item, off) in enumerate(zip(items, at, strict=True)):
            if in_register(item):
                l.put(dst.at(off), item, l.get(src.at(off), item))
            else:
                copy_value(l, item, src.at(off), dst.at(off), exact=True)
            pad(l, t, items, at, i, dst)


def copy_buffer(l: Lower, t: Buffer, src: Place, dst: Place) -> None:
    """Zeros after its end."""
    clear(l, dst, l.size(t))
    n = at_most(l, l.b.load(src.base, src.off, 4), t.size)
    l.b.store(dst.base, dst.off, n, 4)
    copy_by_helper(l, dst.at(4), n, l.address(src.at(4)))


def at_most(l: Lower, value: Reg, most: int) -> Reg:
    """The lesser one, so that the verifier knows it."""
    b = l.b
    out = b.reg()
    b.assign(out, value)
    over, on = b.block(cold=True), b.block()
    b.branch_imm("gt", out, most, over, on)
    b.place(over)
    b.assign_imm(out, most)
    b.jump(on)
    b.place(on)
    return out


def parts(t: Type) -> tuple[Type, ...]:
    """The types inside a tuple, record or array."""
    return (t.element,) * t.count if isinstance(t, Array) else item_types(t)


def pad(l: Lower, t: Type, items: tuple[Type, ...], at: tuple[int, ...], i: int, dst: Place) -> None:
    """Zeros what lies between the ``i``-th item and the next."""
    end = at[i] + l.size(items[i])
    clear(l, dst.at(end), (at[i + 1] if i + 1 < len(at) else l.size(t)) - end)
