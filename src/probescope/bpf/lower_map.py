"""Maps: looking up, storing, adding, deleting.

A map without key is one value at a known address: no helper is called for it. Where a map has keys, numbers are changed
in place as long as nothing is ever deleted from it; otherwise storing under a key means a new key most of the time, and
the look-up before it would be wasted.
"""

from __future__ import annotations

from probescope.bpf.kinds import canonical, in_register, reg_bytes, reg_signed
from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import PLACE, Held, Lower, Place
from probescope.bpf.lower_copy import clear, copy, zeros
from probescope.bpf.lower_scalar import narrow
from probescope.bpf.storage import LRU_HASH, Storage
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.walk import walk
from probescope.model.types import Agg, Type

ANY, NOEXIST = 0, 1
SMALL = 32
"""Bytes up to which a map's value is copied when it is looked up; larger ones are used where they lie."""


def key(l: Lower, storage: Storage, e: x.Expr | None) -> Reg:
    """The address of a key's bytes."""
    t = storage.decl.key
    if t is None or e is None:
        spot = l.temp(4)
        l.b.store_imm(spot.base, spot.off, 0, 4)
        return l.address(spot)
    if not in_register(t) and e.type == t and canonical(t) and type(e) in PLACE:
        place = l.place(e)
        if place.where != "ctx":
            return l.address(place)
        e = Held(t, place=place)
    out = l.temp_for(t) if canonical(t) else l.scratch(l.size(t) + 8)
    l.into(e if e.type == t else x.Cast(t, e), out, exact=True)
    return l.address(out)


def lookup(l: Lower, storage: Storage, at: Reg) -> Reg:
    """The address of the value under a key, or 0."""
    return l.b.call("map_lookup_elem", l.b.map(storage.spec.name), at)


def _miss(l: Lower, storage: Storage, e: x.MapGet) -> None:
    """On the way of a key that is not there. ``lookup`` is what the reader of a script is told."""
    if l.program.settings.count_misses:
        l.count("lookup", storage.decl.name, e.span, "map_lookup_elem")


def alone(l: Lower, storage: Storage) -> Place:
    """The value of a map without key."""
    return Place(l.b.map_value(storage.spec.name), 0, "value", storage.spec.value_size)


# --- reading ----------------------------------------------------------------------------------------------------------


def get(l: Lower, e: x.MapGet) -> Reg:
    storage = l.pieces.storages[e.map]
    if isinstance(storage.decl.value, Agg):
        from probescope.bpf.lower_number import number_of

        return number_of(l, storage, e)
    if storage.decl.key is None:
        return l.get(alone(l, storage), e.type)
    with l.scope():
        found = lookup(l, storage, key(l, storage, e.key))
        b = l.b
        out = b.reg()
        b.assign_imm(out, 0)
        there, missing, done = b.block(), b.block(cold=True), b.block()
        b.branch_imm("ne", found, 0, there, missing if l.program.settings.count_misses else done)
        if l.program.settings.count_misses:
            b.place(missing)
            _miss(l, storage, e)
            b.jump(done)
        b.place(there)
        b.assign(out, l.get(Place(found, 0), e.type))
        b.place(done)
    return out


def part(l: Lower, e: x.MapPart) -> Reg:
    from probescope.bpf.lower_number import part as total_or_count

    return total_or_count(l, e)


def get_place(l: Lower, e: x.MapGet) -> Place:
    """The value where it lies, or zeros."""
    storage = l.pieces.storages[e.map]
    if storage.decl.key is None:
        return alone(l, storage)
    size = l.size(e.type)
    b = l.b
    there, missing, done = b.block(), b.block(), b.block()
    if size <= SMALL:
        out = l.temp_for(e.type)
        found = lookup(l, storage, key(l, storage, e.key))
        b.branch_imm("ne", found, 0, there, missing)
        b.place(there)
        copy(l, out, Place(found, 0), size)
        b.jump(done)
        b.place(missing)
        _miss(l, storage, e)
        clear(l, out, size)
        b.place(done)
        return out
    found = lookup(l, storage, key(l, storage, e.key))
    address = b.reg()
    b.branch_imm("ne", found, 0, there, missing)
    b.place(there)
    b.assign(address, found)
    b.jump(done)
    b.place(missing)
    _miss(l, storage, e)
    b.assign(address, l.address(zeros(l, size)))
    b.place(done)
    return Place(address, 0)


def has_test(l: Lower, e: x.MapHas, yes: Block, no: Block) -> None:
    storage = l.pieces.storages[e.map]
    if storage.decl.key is not None:
        with l.scope():
            found = lookup(l, storage, key(l, storage, e.key))
        l.b.branch_imm("ne", found, 0, yes, no)
        return
    if isinstance(storage.decl.value, Agg):
        from probescope.bpf.lower_number import branch_updated

        branch_updated(l, storage, yes, no)
        return
    value = l.b.load(alone(l, storage).base, storage.set_at, 8)
    l.b.branch_imm("ne", value, 0, yes, no)


def length(l: Lower, e: x.MapLen) -> Reg:
    storage = l.pieces.storages[e.map]
    if storage.decl.key is None:
        from probescope.bpf.lower_scalar import truth

        return truth(l, x.MapHas(e.type, e.map, None))
    from probescope.bpf.lower_loop import visit_nothing

    return visit_nothing(l, storage)


# --- writing ----------------------------------------------------------------------------------------------------------


def set_(l: Lower, st: s.MapSet) -> None:
    storage = l.pieces.storages[st.map]
    t = storage.decl.value
    assert not isinstance(t, Agg)
    if storage.decl.key is None:
        _set_alone(l, storage, t, st.value)
        return
    at = key(l, storage, st.key)
    if not in_register(t):
        place = l.place(st.value)
        if place.where == "ctx":
            spot = l.temp_for(t)
            copy(l, spot, place, l.size(t))
            place = spot
        _update(l, storage, at, l.address(place))
        return
    value = l.scalar(st.value)
    if _keeps_keys(l, storage):
        _store_in_place(l, storage, t, at, value)
    else:
        _update_number(l, storage, t, at, value)


def _set_alone(l: Lower, storage: Storage, t: Type, e: x.Expr) -> None:
    place = alone(l, storage)
    if in_register(t):
        l.put(place, t, l.scalar(e))
    elif any(isinstance(n, x.MapGet) and n.map == storage.decl.name for n in walk([e])):
        spot = l.temp_for(t)
        l.into(e, spot)
        copy(l, place, spot, l.size(t))
    else:
        l.into(e, place)
    mark_set(l, storage)


def mark_set(l: Lower, storage: Storage) -> None:
    l.b.store_imm(alone(l, storage).base, storage.set_at, 1, 8)


def _keeps_keys(l: Lower, storage: Storage) -> bool:
    return storage.decl.name not in l.pieces.deleted and storage.spec.type != LRU_HASH


def _store_in_place(l: Lower, storage: Storage, t: Type, at: Reg, value: Reg) -> None:
    b = l.b
    found = lookup(l, storage, at)
    there, missing, done = b.block(), b.block(), b.block()
    b.branch_imm("ne", found, 0, there, missing)
    b.place(there)
    l.put(Place(found, 0), t, value)
    b.jump(done)
    with l.arm(missing):
        _update_number(l, storage, t, at, value)
    b.place(done)


def _update_number(l: Lower, storage: Storage, t: Type, at: Reg, value: Reg) -> None:
    spot = l.temp(8)
    l.put(spot, t, value)
    _update(l, storage, at, l.address(spot))


def _update(l: Lower, storage: Storage, at: Reg, value: Reg) -> None:
    answer = l.b.call("map_update_elem", l.b.map(storage.spec.name), at, value, l.b.const(ANY))
    l.unless("ne", answer, 0, lambda: full(l, storage))


def full(l: Lower, storage: Storage) -> None:
    l.count("map_full", storage.decl.name)


def delete(l: Lower, e: x.MapDelete) -> Reg:
    """1 if the key was there."""
    storage = l.pieces.storages[e.map]
    if storage.decl.key is None:
        return _delete_alone(l, storage)
    with l.scope():
        answer = l.b.call("map_delete_elem", l.b.map(storage.spec.name), key(l, storage, e.key))
    b = l.b
    # 0 -> 1, a negative error -> 0; before "bpf: return long from bpf_map_ops funcs" (6.4) only 32 bits of it are there
    return b.alu_imm("add", b.alu_imm("sar", b.sext(answer, 32), 63), 1)


def _delete_alone(l: Lower, storage: Storage) -> Reg:
    if isinstance(storage.decl.value, Agg):
        from probescope.bpf.lower_number import clear_all

        return clear_all(l, storage)
    place = alone(l, storage)
    was = l.b.load(place.base, storage.set_at, 8)
    clear(l, place, storage.spec.value_size)
    return was


# --- adding -----------------------------------------------------------------------------------------------------------


def add(l: Lower, e: x.MapAdd, *, wanted: bool = True) -> Reg:
    """Gives the value before or after; if that is not ``wanted``, whatever."""
    storage = l.pieces.storages[e.map]
    t = storage.decl.value
    assert not isinstance(t, Agg)
    if storage.decl.key is None:
        delta = l.scalar(e.delta)
        old = _add_to(l, storage, t, alone(l, storage), delta, wanted)
        mark_set(l, storage)
        return _result(l, e, old, delta)
    at = key(l, storage, e.key)
    delta = l.scalar(e.delta)
    return _result(l, e, _add_under(l, storage, t, at, delta, wanted), delta)


def _result(l: Lower, e: x.MapAdd, old: Reg, delta: Reg) -> Reg:
    return old if e.returns == "old" else narrow(l, l.b.alu("add", old, delta), e.type)


def _add_under(l: Lower, storage: Storage, t: Type, at: Reg, delta: Reg, wanted: bool) -> Reg:
    b = l.b
    old = b.reg()
    b.assign_imm(old, 0)
    found = b.reg()
    b.assign(found, lookup(l, storage, at))
    there, missing, done = b.block(), b.block(cold=True), b.block()
    b.branch_imm("ne", found, 0, there, missing)
    with l.arm(missing):
        spot = l.temp(8)
        l.put(spot, t, delta)
        answer = b.call("map_update_elem", b.map(storage.spec.name), at, l.address(spot), b.const(NOEXIST))
        again, lost = b.block(cold=True), b.block(cold=True)
        b.branch_imm("eq", answer, 0, done, again)
        b.place(again)  # another CPU was first, or the map is full
        b.assign(found, lookup(l, storage, at))
        b.branch_imm("ne", found, 0, there, lost)
        b.place(lost)
        full(l, storage)
    b.jump(done)
    b.place(there)
    b.assign(old, _add_to(l, storage, t, Place(found, 0), delta, wanted))
    b.place(done)
    return old


def _add_to(l: Lower, storage: Storage, t: Type, place: Place, delta: Reg, wanted: bool) -> Reg:
    """The value before. Other CPUs may be adding at the same time, unless this CPU has a copy of its own."""
    b, size = l.b, reg_bytes(t)
    if size < 4 or (storage.per_cpu and not l.preemptible):
        old = l.get(place, t)
        l.put(place, t, b.alu("add", old, delta))
        return old
    assert size in {4, 8}
    if not wanted:
        b.atomic("add", place.base, place.off, delta, size)  # type: ignore[arg-type]
        return b.const(0)
    if l.features.lacks("isa:atomic_fetch"):
        old = l.get(place, t)
        b.atomic("add", place.base, place.off, delta, size)  # type: ignore[arg-type]
        return old
    old = b.fetch("fetch_add", place.base, place.off, delta, size)  # type: ignore[arg-type]
    return narrow(l, old, t) if size == 4 and reg_signed(t) else old
