"""Records for user space, as model/abi.py lays them out.

fixed size     a piece of the ring is reserved, filled in place and submitted
with tails     put together in scratch memory, texts read straight to where they belong, and copied with the length
               that came of it
no ring        the same, through the perf buffer (kernels before 5.8)
control        what prints or clears a map, or ends: put off, not lost, where there is no room (bpf/unit.py, LATE_WORDS)
"""

from __future__ import annotations

from typing import cast

from probescope.bpf.builder import Size
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import at_most, copy_by_helper, write
from probescope.bpf.lower_debug import debug
from probescope.bpf.lower_read import bounded, helper, missed
from probescope.bpf.lower_site import data_address, located_text
from probescope.bpf.lower_text import const_text, operand
from probescope.bpf.pieces import GLOBALS, LATE, RING
from probescope.bpf.unit import GLOBAL_STOP
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.walk import walk
from probescope.model.abi import RecordLayout, align_up, has_tail, record_layout
from probescope.model.types import Buffer, String, width

CONTROL = frozenset({"clear", "zero", "print_map", "exit"})
"""Actions that must not get lost; their values are at most two integers."""

NO_WAKEUP, FORCE_WAKEUP = 1, 2
CURRENT_CPU = 0xFFFFFFFF


def emit(l: Lower, st: s.Emit) -> None:
    action = l.program.actions[st.action]
    if action.kind == "debugf" and debug(l, st, action):
        return
    if action.kind == "exit":
        l.b.store_imm(l.b.map_value(l.pieces.use(GLOBALS), 8 * GLOBAL_STOP), 0, 1, 8)
    shape = record_layout(action.types, l.types)
    l.pieces.use(RING)
    flags = FORCE_WAKEUP if action.kind == "exit" else 0 if l.options.ring_wakeup else NO_WAKEUP
    leaves = any(isinstance(n, x.Block) for n in walk(st.values))
    if action.kind in CONTROL:
        _control(l, st, shape, flags)
    elif shape.tails or leaves or not l.pieces.has_ring:
        _put_together(l, st, shape, flags)
    else:
        _reserve(l, st, shape, flags)


def _reserve(l: Lower, st: s.Emit, shape: RecordLayout, flags: int) -> None:
    """What was reserved must be submitted on every path: no value may leave the statement."""
    b = l.b
    record = b.call("ringbuf_reserve", b.map(RING), b.const(shape.fixed), b.const(0))
    got, full, done = b.block(), b.block(cold=True), b.block()
    b.branch_imm("ne", record, 0, got, full)
    b.place(full)
    l.count("ring_full")
    b.jump(done)
    with l.arm(got):
        place = Place(record, 0, "value", shape.fixed)
        _fixed(l, st, shape, place)
        b.call("ringbuf_submit", record, b.const(flags))
    b.place(done)


def _control(l: Lower, st: s.Emit, shape: RecordLayout, flags: int) -> None:
    """While something is put off, what comes after it is put off too: order is kept."""
    b = l.b
    values = [l.scalar(v) for v in st.values]
    late, direct, done = b.block(cold=True), b.block(), b.block()
    words = b.map_value(LATE, l.pieces.put_off(st.action))
    b.branch_imm("ne", b.load(b.map_value(LATE, 0), 0, 8), 0, late, direct)
    with l.arm(direct):
        place = l.temp(align_up(shape.fixed, 8))
        b.store_imm(place.base, place.off, st.action, 8)
        for value, t, off in zip(values, shape.types, shape.offsets, strict=True):
            b.store(place.base, place.off + off, value, cast("Size", width(t)))
        _fill_gaps(l, shape, place)
        answer = _send(l, place, b.const(shape.fixed), flags)
        b.branch_imm("ne", answer, 0, late, done)
    b.place(late)
    for i, value in enumerate(values):
        b.store(words, 8 * (i + 1), value, 8)
    b.atomic("add", words, 0, b.const(1), 8)
    b.store_imm(b.map_value(LATE, 0), 0, 1, 8)
    b.jump(done)
    b.place(done)


def _fixed(l: Lower, st: s.Emit, shape: RecordLayout, place: Place) -> None:
    l.b.store_imm(place.base, place.off, st.action, 8)
    for value, off in zip(st.values, shape.offsets, strict=True):
        if not has_tail(value.type):
            with l.scope():
                l.into(value, place.at(off))


def _put_together(l: Lower, st: s.Emit, shape: RecordLayout, flags: int) -> None:
    b = l.b
    total = align_up(shape.limit + 8, 8)
    place = l.scratch(total) if shape.tails else l.temp(total)
    b.store_imm(place.base, place.off, st.action, 8)
    fixed = Place(place.base, place.off, place.where, shape.fixed)  # tails lie behind it: no room to scribble
    tail: Reg | None = None
    for value, off in zip(st.values, shape.offsets, strict=True):
        before = l.b.span
        with l.scope():
            if not has_tail(value.type):
                l.into(value, fixed.at(off))
                continue
            end = place.at(shape.fixed) if tail is None else Place(b.alu("add", place.base, tail), place.off)
            n = _append(l, value, Place(end.base, end.off, "value", total))
            b.store(place.base, place.off + off, n, 4)
        b.span = before
        tail = b.alu_imm("add", n, shape.fixed) if tail is None else b.alu("add", tail, n)
    size = b.const(shape.fixed) if tail is None else tail
    if tail is None and place.where == "stack":
        _fill_gaps(l, shape, place)
    _output(l, place, size, flags)


def _fill_gaps(l: Lower, shape: RecordLayout, place: Place) -> None:
    """Bytes between values: kernels before 6.3 refuse to read stack that was never written."""
    ends = [o + l.size(t) for o, t in zip(shape.offsets, shape.types, strict=True)]
    for end, start in zip([8, *ends], [*shape.offsets, shape.fixed], strict=True):
        for at in range(end, start):
            l.b.store_imm(place.base, place.off + at, 0, 1)


def _output(l: Lower, place: Place, size: Reg, flags: int) -> None:
    l.unless("ne", _send(l, place, size, flags), 0, lambda: l.count("ring_full"))


def _send(l: Lower, place: Place, size: Reg, flags: int) -> Reg:
    """Not 0 where there is no room."""
    b = l.b
    if l.pieces.has_ring:
        return b.call("ringbuf_output", b.map(RING), l.address(place), size, b.const(flags))
    if l.unit.kind == "syscall":
        l.refuse("output from here needs a ring buffer, which this kernel does not offer")
    return b.call("perf_event_output", l.fn.ctx, b.map(RING), b.const(CURRENT_CPU), l.address(place), size)


# --- tails ------------------------------------------------------------------------------------------------------------


def _append(l: Lower, e: x.Expr, end: Place) -> Reg:
    """Writes a text or buffer to where the tail ends; gives its length in bytes, which the verifier knows to be at most
    the type's size."""
    l.enter(e.span)
    if isinstance(e, x.Select):
        return _append_either(l, e, end)
    if isinstance(e.type, Buffer):
        return _append_buffer(l, e, e.type.size, end)
    assert isinstance(e.type, String)
    known = const_text(e)
    if known is not None:
        write(l, end, known)
        return l.b.const(len(known))
    return _append_text(l, e, e.type.size, end)


def _append_either(l: Lower, e: x.Select, end: Place) -> Reg:
    b = l.b
    n = b.reg()
    yes, no, done = b.block(), b.block(), b.block()
    l.condition(e.cond, yes, no)
    for block, value in ((yes, e.a), (no, e.b)):
        with l.arm(block):
            b.assign(n, _append(l, value, end))
        b.jump(done)
    b.place(done)
    return n


def _append_text(l: Lower, e: x.Expr, size: int, end: Place) -> Reg:
    while isinstance(e, x.Cast) and isinstance(e.x.type, String):
        e = e.x
        assert isinstance(e.type, String)
        size = min(size, e.type.size)
    b = l.b
    name = "probe_read_kernel_str"
    most = b.const(size + 1)
    if isinstance(e, x.ReadStr):
        source = l.scalar(e.address)
        name = helper(l, e.space, text=True)
        if e.limit is not None:
            most = bounded(l, e.limit, size, plus=1)
    elif isinstance(e, x.Load):
        source = l.scalar(e.address)
        name = helper(l, e.space, text=True)
    elif isinstance(e, x.Field) and (where := located_text(l, e)) is not None:
        source = data_address(l, where)[0]
    else:
        place, _ = operand(l, e)
        source = l.address(place)
    return _text_length(l, b.call(name, l.address(end), most, source), most)


def _text_length(l: Lower, got: Reg, most: Reg) -> Reg:
    """The helper counts the NUL; but of an empty user text it says 0 until "maccess: fix strncpy_from_user_nofault()
    empty string handling" (6.13). An error counts as an empty text."""
    b = l.b
    n = b.reg()
    bad, good, done = b.block(cold=True), b.block(), b.block()
    b.branch_imm("sgt", got, 0, good, bad)
    b.place(bad)
    missed(l, got, most, 1)
    b.assign_imm(n, 0)
    b.jump(done)
    b.place(good)
    b.alu_imm("sub", got, 1, into=n)
    b.place(done)
    return n


def _append_buffer(l: Lower, e: x.Expr, size: int, end: Place) -> Reg:
    b = l.b
    if isinstance(e, x.ReadBuf):
        source = l.scalar(e.address)
        n = bounded(l, e.length, size)
        missed(l, b.call(helper(l, e.space), l.address(end), n, source), n)
        return n
    place = l.place(e)
    n = at_most(l, b.load(place.base, place.off, 4), size)
    copy_by_helper(l, end, n, l.address(place.at(4)))
    return n
