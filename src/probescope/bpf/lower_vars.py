"""Scratch variables: where each lives, reading and writing them.

- a number: a register of the function that uses it;
- a number that a callback captures, or whose address is asked for: 8 bytes of the frame, the piece of stack whose
  address callbacks get;
- a small string, tuple or array: the stack (settings.on_stack_limit);
- a larger one, or one that a callback uses: scratch memory.

    frame:   context | scratch memory | returned | site | variable | variable | ...
"""

from __future__ import annotations

from probescope.bpf.kinds import canonical, has_text, in_register
from probescope.bpf.lir import Reg, Slot
from probescope.bpf.lower import Fn, Lower, Place
from probescope.bpf.lower_copy import clear, copy_value
from probescope.bpf.lower_scalar import number
from probescope.bpf.lower_walk import unknown_zero
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.walk import walk
from probescope.model.abi import align_up
from probescope.model.types import Type

FRAME_CTX, FRAME_SCRATCH, FRAME_RETURNED, FRAME_SITE, FRAME_VARIABLES = 0, 8, 16, 24, 32

STACK_FOR_VARIABLES = 192


def plan(l: Lower) -> None:
    """Gives every variable that needs memory its place, and the frame its size."""
    frame = FRAME_VARIABLES
    for name in sorted(l.scan.names):
        t = l.variables[name]
        size = room(l, t)
        small = size <= align_up(l.program.settings.on_stack_limit, 8) and canonical(t)
        if name in l.scan.captured | l.scan.addressed and in_register(t):
            l.captured[name] = frame
            frame += size
        elif not in_register(t) and name not in l.bound:
            l.spots[name] = _spot(l, name, size, small)
    for loop in walk(l.clause.body):
        if isinstance(loop, s.ForRange) and l.scan.ways[id(loop)] == "callback" and number(loop.start) is None:
            l.range_words[id(loop)] = frame  # where the callback finds the first number
            frame += 8
    if "callback" in l.scan.ways.values() or l.captured:
        slot = l.b.slot(frame, name="frame")
        l.fn.fixed += frame
        l.fn.frame = l.b.slot_address(slot)


def _spot(l: Lower, name: str, size: int, small: bool) -> Slot | int:
    """On the stack, or at an offset of scratch memory."""
    fn = l.fn
    if small and name not in l.scan.in_callback and fn.fixed + size <= min(STACK_FOR_VARIABLES, l.config.total // 2):
        fn.fixed += size
        return l.b.slot(size, name=f"${name}")
    l.in_predicate = name in l.scan.in_predicate
    at = l.scratch_section(size)
    l.in_predicate = False
    return at


def room(l: Lower, t: Type) -> int:
    """Bytes to set aside for a variable."""
    return 8 if in_register(t) else align_up(l.size(t) + has_text(t), 8)


def declare(l: Lower, *, predicate: bool) -> None:
    """Zeros the variables that may be read before they are assigned: those of the predicate, or the others."""
    for name in sorted(l.scan.unset):
        if (name in l.scan.in_predicate) != predicate:
            continue
        t = l.variables[name]
        if name in l.captured or not in_register(t):
            p = place_of(l, name)
            clear(l, p, room(l, t) if p.where == "stack" else l.size(t))
        else:
            l.b.assign_imm(_register(l, name), 0)


def _register(l: Lower, name: str) -> Reg:
    home = l.fn.homes.get(name)
    if home is None:
        home = l.fn.homes[name] = l.b.reg()
    return home


def read(l: Lower, e: x.Local) -> Reg:
    bound = l.bound.get(e.name)
    if bound is not None:
        return l.scalar(bound)
    if e.name in l.captured:
        place = place_of(l, e.name)
        return l.b.load(place.base, place.off, 8)
    return _register(l, e.name)


def address(l: Lower, e: x.Address) -> Reg:
    """Of the variable's memory. Its numbers are eight bytes there, the lowest first."""
    if e.name in l.bound:
        l.refuse(f"{e.name} has no address: it runs over a map")
    return l.address(place_of(l, e.name))


def place_of(l: Lower, name: str) -> Place:
    """The memory of a variable that has some."""
    size = room(l, l.variables[name])
    at = l.captured.get(name)
    if at is not None:
        assert l.fn.frame is not None
        return Place(l.fn.frame, at, "stack", size)
    spot = l.spots[name]
    if isinstance(spot, int):
        return l.scratch_place(spot, size)
    return Place(l.b.slot_address(spot), 0, "stack", size)


def find(l: Lower, e: x.Local) -> Place | None:
    """Where a variable's bytes lie."""
    bound = l.bound.get(e.name)
    return l.place(bound) if bound is not None else place_of(l, e.name)


def into(l: Lower, e: x.Local, place: Place, exact: bool) -> None:
    bound = l.bound.get(e.name)
    if bound is not None:
        l.into(bound, place, exact=exact)
    else:
        copy_value(l, e.type, place_of(l, e.name), place, exact=exact)


def assign(l: Lower, a: s.Assign) -> None:
    t = l.variables[a.name]
    if in_register(t):
        store(l, a.name, l.scalar(a.value))
    elif a.name in l.bound:
        l.refuse(f"{a.name} cannot be assigned: it runs over a map")
    elif any(isinstance(n, x.Local) and n.name == a.name for n in walk([a.value])):
        copy_value(l, t, _apart(l, a.value), place_of(l, a.name), exact=False)
    else:
        l.into(a.value, place_of(l, a.name))


def _apart(l: Lower, e: x.Expr) -> Place:
    """The value in a temporary: it is made from the variable that it goes to."""
    out = l.temp_for(e.type)
    l.into(e, out)
    return out


def store(l: Lower, name: str, value: Reg) -> None:
    """Into a variable that holds a register value."""
    if name in l.captured:
        place = place_of(l, name)
        l.b.store(place.base, place.off, value if l.fn is l.main else unknown(l, value), 8)
    else:
        l.b.assign(_register(l, name), value)


def fill_frame(l: Lower) -> None:
    """What callbacks expect there, before the first of them runs."""
    frame = l.fn.frame
    if frame is None:
        return
    l.b.store(frame, FRAME_CTX, l.fn.ctx, 8)
    if l.fn.scratch is not None:
        l.b.store(frame, FRAME_SCRATCH, l.fn.scratch, 8)
    if l.site is not None:
        l.b.store(frame, FRAME_SITE, l.site, 8)
    if any(isinstance(n, s.Return) for n in walk(l.clause.body)):
        l.b.store_imm(frame, FRAME_RETURNED, 0, 8)


def unknown(l: Lower, value: Reg) -> Reg:
    """The same number, unknown to the verifier. Until "bpf: verify callbacks as if they are called unknown number of
    times" (6.7) it took a callback to run exactly once, and removed the code for anything else."""
    return l.b.alu("add", value, unknown_zero(l))


def captured_frame(l: Lower) -> Reg:
    """The address of the frame, in a callback or outside."""
    assert l.fn.frame is not None
    return l.fn.frame


def enter_callback(l: Lower, fn: Fn, frame: Reg) -> None:
    """What a callback finds in the frame; what it does not use is dropped."""
    fn.frame = frame
    fn.ctx = fn.b.load(frame, FRAME_CTX, 8)
    if l.main.scratch is not None:
        fn.scratch = fn.b.load(frame, FRAME_SCRATCH, 8)
