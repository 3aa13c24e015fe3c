"""Aggregations: one more observation, into this CPU's copy of the state.

The row of words (bpf/words.py) is looked up once; the rest is plain arithmetic on it. Where a program can be preempted
by another task that updates the same row on the same CPU (uprobes), words are added atomically.
"""

from __future__ import annotations

from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import clear, zeros
from probescope.bpf.lower_hist import bucket
from probescope.bpf.lower_map import NOEXIST, full, key, lookup
from probescope.bpf.storage import Storage
from probescope.bpf.words import MASK, TOP, inner, slot_words
from probescope.ir import stmt as s
from probescope.model.types import Agg


def update(l: Lower, st: s.MapUpdate) -> None:
    storage = l.pieces.storages[st.map]
    agg = storage.decl.value
    assert isinstance(agg, Agg)
    at = key(l, storage, st.key)
    value = None if st.value is None else l.scalar(st.value)
    weight = None if st.weight is None else l.scalar(st.weight)
    b = l.b
    row = b.reg()
    b.assign(row, lookup(l, storage, at))
    there, missing, done = b.block(), b.block(cold=True), b.block()
    b.branch_imm("ne", row, 0, there, missing)
    b.place(missing)
    if storage.decl.key is not None:
        _insert(l, storage, at, row)
        lost = b.block(cold=True)
        b.branch_imm("ne", row, 0, there, lost)
        b.place(lost)
        full(l, storage)
    b.jump(done)
    with l.arm(there):
        observe(l, storage, agg, Place(row, 0), value, weight)
    b.place(done)


def _insert(l: Lower, storage: Storage, at: Reg, row: Reg) -> None:
    """A row of zeros under a new key; another CPU may have put one there just now."""
    b = l.b
    empty = l.address(zeros(l, storage.spec.value_size))
    b.call("map_update_elem", b.map(storage.spec.name), at, empty, b.const(NOEXIST))
    b.assign(row, lookup(l, storage, at))


def observe(l: Lower, storage: Storage, agg: Agg, row: Place, value: Reg | None, weight: Reg | None) -> None:
    """Changes the words of one row."""
    assert storage.shape is not None
    match agg.kind:
        case "count":
            add_word(l, storage, row, 0, weight)
        case "sum":
            add_word(l, storage, row, 0, value)
            if storage.shape.flag > 0:
                l.b.store_imm(row.base, row.off + 8 * storage.shape.flag, 1, 8)
        case "min" | "max":
            _extreme(l, agg, row, _given(l, value), flag=True)
        case "avg" | "stats":
            add_word(l, storage, row, 0, value)
            add_word(l, storage, row, 1, None)
        case "stddev":
            _deviation(l, agg, row, _given(l, value))
        case "tseries":
            _interval(l, storage, agg, row, value, weight)
        case _:
            _bucket(l, storage, agg, row, _given(l, value), weight)


def _given(l: Lower, value: Reg | None) -> Reg:
    return l.b.const(1) if value is None else value


def add_word(l: Lower, storage: Storage, row: Place, word: int, amount: Reg | None) -> None:
    """Adds to a 64-bit word; ``None`` is 1."""
    b, off = l.b, row.off + 8 * word
    if l.races_on(storage.decl.name):
        b.atomic("add", row.base, off, _given(l, amount), 8)
        return
    old = b.load(row.base, off, 8)
    b.store(row.base, off, b.alu_imm("add", old, 1) if amount is None else b.alu("add", old, amount), 8)


def _bucket(l: Lower, storage: Storage, agg: Agg, row: Place, value: Reg, weight: Reg | None) -> None:
    """One counter of a histogram. The index is right by construction; the verifier is shown that it is in range."""
    assert storage.shape is not None
    b = l.b
    index = bucket(l, agg, value)
    sure, done = b.block(), b.block()
    b.branch_imm("lt", index, storage.shape.words, sure, done)
    b.place(sure)
    at = b.alu("add", row.base, b.alu_imm("shl", index, 3))
    add_word(l, storage, Place(at, row.off), 0, weight)
    b.place(done)


# --- extremes ---------------------------------------------------------------------------------------------------------


def coded(l: Lower, agg: Agg, value: Reg) -> Reg:
    """``words.code``, by instructions."""
    mask = (TOP if agg.value.signed else 0) ^ (MASK if agg.kind == "min" else 0)
    return l.b.alu_imm("xor", value, mask) if mask else value


def _extreme(l: Lower, agg: Agg, row: Place, value: Reg, *, flag: bool) -> None:
    """Most observations change nothing: they cost a load and a comparison. A run that another one got in between of
    tries again, twice."""
    b = l.b
    word = coded(l, agg, value)
    done = b.block()
    for _ in range(3 if l.preemptible and not l.features.lacks("isa:atomic_fetch") else 1):
        new, wins = b.block(), b.block()
        held = b.load(row.base, row.off, 8)
        b.branch("gt", held, word, done, wins)
        b.place(wins)
        if flag:
            b.store_imm(row.base, row.off + 8, 1, 8)
        if not l.preemptible or l.features.lacks("isa:atomic_fetch"):
            b.store(row.base, row.off, word, 8)
            break
        b.branch("ne", b.cmpxchg(row.base, row.off, held, word, 8), held, new, done)
        b.place(new)
    b.place(done)


# --- deviation --------------------------------------------------------------------------------------------------------


def _deviation(l: Lower, agg: Agg, row: Place, value: Reg) -> None:
    """Sum, count, and sum of squares, sums with 128 bits."""
    b = l.b
    high = b.alu_imm("sar", value, 63) if agg.value.signed else b.const(0)
    _add128(l, row, 0, value, high)
    b.store(row.base, row.off + 16, b.alu_imm("add", b.load(row.base, row.off + 16, 8), 1), 8)
    size = b.alu("sub", b.alu("xor", value, high), high)  # the magnitude
    low, top = b.zext(size, 32), b.alu_imm("shr", size, 32)
    cross = b.alu("mul", low, top)
    square = b.alu("mul", low, low)
    shifted = b.alu_imm("shl", cross, 33)
    total = b.alu("add", square, shifted)
    carry = _carry(l, square, shifted, total)
    upper = b.alu("add", b.alu("mul", top, top), b.alu_imm("shr", cross, 31))
    _add128(l, row, 3, total, b.alu("add", upper, carry))


def _add128(l: Lower, row: Place, word: int, low: Reg, high: Reg) -> None:
    b, off = l.b, row.off + 8 * word
    old = b.load(row.base, off, 8)
    new = b.alu("add", old, low)
    b.store(row.base, off, new, 8)
    upper = b.alu("add", b.load(row.base, off + 8, 8), high)
    b.store(row.base, off + 8, b.alu("add", upper, _carry(l, old, low, new)), 8)


def _carry(l: Lower, a: Reg, b_: Reg, total: Reg) -> Reg:
    """Whether ``a + b`` left 64 bits: both top bits are set, or one is and the sum's is not."""
    b = l.b
    one = b.alu("and", b.alu("or", a, b_), b.alu_imm("xor", total, -1))
    return b.alu_imm("shr", b.alu("or", one, b.alu("and", a, b_)), 63)


# --- intervals --------------------------------------------------------------------------------------------------------


def _interval(l: Lower, storage: Storage, agg: Agg, row: Place, value: Reg | None, number: Reg | None) -> None:
    """The slot of this interval; what an older one left there is forgotten."""
    b = l.b
    size, count = slot_words(agg), agg.args[1]
    number = b.const(0) if number is None else number
    slot = b.alu_imm("mod", number, count)
    sure, done = b.block(), b.block()
    b.branch_imm("lt", slot, count, sure, done)
    b.place(sure)
    at = Place(b.alu("add", row.base, b.alu_imm("mul", slot, 8 * size)), row.off)
    name = b.alu_imm("add", number, 1)
    other, same = b.block(), b.block()
    b.branch("ne", b.load(at.base, at.off, 8), name, other, same)
    b.place(other)
    b.store(at.base, at.off, name, 8)
    clear(l, at.at(8), 8 * (size - 1))
    b.place(same)
    within = inner(agg)
    if within.kind in {"min", "max"}:
        _extreme(l, within, at.at(8), _given(l, value), flag=False)
    elif within.kind == "last":
        b.store(at.base, at.off + 8, _given(l, value), 8)
        b.store(at.base, at.off + 16, b.call("ktime_get_ns"), 8)
    else:
        add_word(l, storage, at, 1, None if within.kind == "count" else value)
        if within.kind == "avg":
            add_word(l, storage, at, 2, None)
    b.place(done)
