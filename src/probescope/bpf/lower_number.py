"""Reading aggregations inside the kernel: the numbers of all CPUs put together (bpf_map_lookup_percpu_elem, 5.19)."""

from __future__ import annotations

from collections.abc import Callable

from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import clear
from probescope.bpf.lower_map import key
from probescope.bpf.lower_scalar import narrow, nonzero
from probescope.bpf.lower_walk import walk
from probescope.bpf.storage import Storage
from probescope.bpf.words import MASK, TOP
from probescope.ir import expr as x
from probescope.model.types import Agg, is_scalar

UNROLL = 4
"""CPUs up to which the loop over them is written out."""


def _each_row(l: Lower, storage: Storage, at: Reg, do: Callable[[Place], None]) -> None:
    """``do`` on every CPU's row that is there."""
    l.require("helper:map_lookup_percpu_elem", f"reading @{storage.decl.name}, which every CPU counts apart,")
    b, cpus = l.b, l.options.cpus
    if cpus <= UNROLL:
        for i in range(cpus):
            _row(l, storage, at, b.const(i), do)
        return
    done = b.block()
    walk(l, cpus, 2, done, lambda cpu: _row(l, storage, at, cpu, do))
    b.place(done)


def _row(l: Lower, storage: Storage, at: Reg, cpu: Reg, do: Callable[[Place], None]) -> None:
    b = l.b
    row = b.call("map_lookup_percpu_elem", b.map(storage.spec.name), at, cpu)
    there, missing = b.block(), b.block()
    b.branch_imm("ne", row, 0, there, missing)
    with l.arm(there):
        do(Place(row, 0))
    b.place(missing)


def _total(l: Lower, storage: Storage, at: Reg, word: int) -> Reg:
    out = l.b.reg()
    l.b.assign_imm(out, 0)

    def add(row: Place) -> None:
        l.b.alu("add", out, l.b.load(row.base, 8 * word, 8), into=out)

    _each_row(l, storage, at, add)
    return out


def number_of(l: Lower, storage: Storage, e: x.MapGet) -> Reg:
    """What an expression reads of an aggregation."""
    agg = storage.decl.value
    assert isinstance(agg, Agg)
    with l.scope():
        at = key(l, storage, e.key)
        match agg.kind:
            case "count" | "sum":
                value = _total(l, storage, at, 0)
            case "min" | "max":
                value = _extreme(l, storage, agg, at)
            case "avg" | "stats":
                value = _mean(l, storage, agg, at)
            case _:
                l.refuse(f"the value of {agg.kind}() cannot be read inside the kernel", "print it instead")
    return narrow(l, value, e.type) if is_scalar(e.type) else value


def part(l: Lower, e: x.MapPart) -> Reg:
    """Total or count of an average: its words in this order."""
    storage = l.pieces.storages[e.map]
    with l.scope():
        return _total(l, storage, key(l, storage, e.key), e.part)


def _mean(l: Lower, storage: Storage, agg: Agg, at: Reg) -> Reg:
    """Of nothing it is 0, as the instruction has it."""
    total, count = l.b.reg(), l.b.reg()
    l.b.assign_imm(total, 0)
    l.b.assign_imm(count, 0)

    def add(row: Place) -> None:
        l.b.alu("add", total, l.b.load(row.base, 0, 8), into=total)
        l.b.alu("add", count, l.b.load(row.base, 8, 8), into=count)

    _each_row(l, storage, at, add)
    return l.b.alu("sdiv" if agg.value.signed else "div", total, count)


def _extreme(l: Lower, storage: Storage, agg: Agg, at: Reg) -> Reg:
    """The greatest coded value of all CPUs; 0 if none has seen any."""
    b = l.b
    best, seen = b.reg(), b.reg()
    b.assign_imm(best, 0)
    b.assign_imm(seen, 0)

    def take(row: Place) -> None:
        word = b.load(row.base, 0, 8)
        b.alu("or", seen, b.load(row.base, 8, 8), into=seen)
        better, on = b.block(), b.block()
        b.branch("gt", word, best, better, on)
        b.place(better)
        b.assign(best, word)
        b.place(on)

    _each_row(l, storage, at, take)
    mask = (TOP if agg.value.signed else 0) ^ (MASK if agg.kind == "min" else 0)
    value = b.alu_imm("xor", best, mask) if mask else best
    return b.alu("mul", value, b.alu_imm("and", seen, 1))


def branch_updated(l: Lower, storage: Storage, yes: Block, no: Block) -> None:
    """Whether an aggregation without key has seen anything. Ends the block."""
    assert storage.shape is not None
    word = max(0, storage.shape.flag)
    if storage.shape.words > 8:
        l.refuse("whether a histogram without key was updated cannot be asked inside the kernel")
    with l.scope():
        total = _total(l, storage, key(l, storage, None), word)
    l.b.branch_imm("ne", total, 0, yes, no)


def clear_all(l: Lower, storage: Storage) -> Reg:
    """Zeros every CPU's row of an aggregation without key."""
    b = l.b
    was = b.reg()
    b.assign_imm(was, 0)
    assert storage.shape is not None
    word = max(0, storage.shape.flag)

    def wipe(row: Place) -> None:
        b.alu("or", was, b.load(row.base, 8 * word, 8), into=was)
        clear(l, row, storage.spec.value_size)

    with l.scope():
        _each_row(l, storage, key(l, storage, None), wipe)
    return nonzero(l, was)
