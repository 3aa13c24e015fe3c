"""Loops, in the way that ``scan`` chose for each.

bounded    jumps with a counter the verifier knows: it walks every turn
goto       jumps under may_goto. Variables that the loop changes get 0 added that the verifier cannot know, so that
           it does not follow their values from turn to turn
callback   the body is a function; it gives 0 to go on, 1 to stop. A Return inside sets a word of the frame
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from probescope.bpf.builder import Builder
from probescope.bpf.kinds import in_register
from probescope.bpf.lir import Block, Reg
from probescope.bpf.lower import Fn, Held, Lower, Place
from probescope.bpf.lower_copy import copy_value
from probescope.bpf.lower_scalar import narrow, number
from probescope.bpf.lower_site import fields_ahead
from probescope.bpf.lower_vars import FRAME_RETURNED, captured_frame, enter_callback, place_of, store, unknown
from probescope.bpf.lower_walk import start, unknown_zero
from probescope.bpf.scan import FALLBACK_TURNS, turns
from probescope.bpf.storage import Storage
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.walk import walk
from probescope.model.types import Agg, Int, Type, signed

GO_ON, STOP = 0, 1


# --- while ------------------------------------------------------------------------------------------------------------


def while_(l: Lower, st: s.While) -> None:
    way = l.scan.ways[id(st)]
    if way == "callback":
        _while_callback(l, st)
    elif id(st) in l.scan.counted:
        _while_counted(l, st)
    else:
        _while_jumps(l, st, goto=way == "goto")


def _limit(l: Lower, goto: bool) -> int:
    return l.program.settings.max_loop if goto else min(FALLBACK_TURNS, l.program.settings.max_loop)


def _while_jumps(l: Lower, st: s.While, *, goto: bool) -> None:
    b = l.b
    turn = _counter(l, goto)
    head, body, go, done, over = b.block(), b.block(), b.block(), b.block(), b.block(cold=True)
    b.place(head)
    _guard(l, st, goto, over, _limit(l, goto))
    with l.arm():
        l.condition(st.cond, body, done)
        b.place(body)
        b.branch_imm("ge", turn, _limit(l, goto), over, go)
        b.place(go)
        b.alu_imm("add", turn, 1, into=turn)
        _body(l, st.body, done, head)
    _overrun(l, over, done)


def _while_counted(l: Lower, st: s.While) -> None:
    """The end of a turn looks whether there is another: the first is known to be made."""
    turn, done = l.b.block(), l.b.block()
    with l.arm():
        fields_ahead(l, st.body)
        l.b.place(turn)
        l.statements(st.body)
        l.condition(st.cond, turn, done)
    l.b.place(done)


def _body(l: Lower, body: tuple[s.Stmt, ...], stop: Block, again: Block) -> None:
    l.fn.loops.append((lambda: l.b.jump(stop), lambda: l.b.jump(again)))
    l.statements(body)
    l.fn.loops.pop()
    if l.b.open:
        l.b.jump(again)


def _overrun(l: Lower, over: Block, done: Block) -> None:
    l.b.place(over)
    l.count("loop")
    l.b.jump(done)
    l.b.place(done)


def _guard(l: Lower, st: s.While | s.ForRange, goto: bool, over: Block, most: int) -> None:
    """``most``: turns that it makes at most. No loop under may_goto is within another."""
    if goto:
        _forget(l, st)
        on = l.b.block()
        l.b.may_goto(over, on, most + 1)
        l.b.place(on)


def _counter(l: Lower, goto: bool) -> Reg:
    out = l.b.reg()
    start(l, out, goto)
    return out


def _forget(l: Lower, st: s.While | s.ForRange | s.ForMap) -> None:
    """Makes the verifier forget what it knows of the numbers that the loop changes."""
    zero: Reg | None = None
    for name in sorted(l.scan.assigned[id(st)]):
        home = l.fn.homes.get(name)
        kept = name in l.captured and in_register(l.variables[name])
        if home is None and not kept:
            continue
        zero = unknown_zero(l) if zero is None else zero
        if home is not None:
            l.b.alu("add", home, zero, into=home)
        else:
            place = place_of(l, name)
            value = l.b.load(place.base, place.off, 8)
            l.b.store(place.base, place.off, l.b.alu("add", value, zero), 8)


def _while_callback(l: Lower, st: s.While) -> None:
    most = l.program.settings.max_loop

    def body(turn: Reg) -> None:
        b = l.b
        _forget(l, st)
        on, stop = b.block(), b.block()
        l.condition(st.cond, on, stop)
        b.place(stop)
        b.exit_imm(STOP)
        b.place(on)
        l.unless("ge", turn, most, lambda: _give_up(l))
        _callback_body(l, st.body)

    _call_loop(l, l.b.const(most + 1), st.body, body)


def _give_up(l: Lower) -> None:
    l.count("loop")
    l.b.exit_imm(STOP)


# --- for over numbers -------------------------------------------------------------------------------------------------


def for_range(l: Lower, st: s.ForRange) -> None:
    way = l.scan.ways[id(st)]
    with l.scope():
        if way == "callback":
            _range_callback(l, st)
        elif id(st) in l.scan.counted:
            _range_counted(l, st)
        else:
            _range_jumps(l, st, goto=way == "goto")


def _range_counted(l: Lower, st: s.ForRange) -> None:
    """As ``_while_counted``: there is a first turn."""
    first, last = number(st.start), number(st.end)
    assert first is not None
    assert last is not None
    at, turn, done = l.b.reg(), l.b.block(), l.b.block()
    with l.arm():
        fields_ahead(l, st.body)
        l.b.assign_imm(at, first)
        l.b.place(turn)
        store(l, st.name, at)
        l.statements(st.body)
        l.b.alu_imm("add", at, 1, into=at)
        l.b.branch_imm("ne", at, last, turn, done)
    l.b.place(done)


def _turns(l: Lower, st: s.ForRange, low: Reg, high: Reg, limit: int) -> tuple[Reg, Reg | None]:
    """How many turns there are, and whether that was cut."""
    b = l.b
    known = turns(st)
    if known is not None:
        return b.const(min(known, limit)), b.const(1) if known > limit else None
    count, cut = b.reg(), b.reg()
    b.assign_imm(count, 0)
    b.assign_imm(cut, 0)
    some, many, done = b.block(), b.block(cold=True), b.block()
    b.branch("slt" if signed(st.type) else "lt", low, high, some, done)
    b.place(some)
    b.alu("sub", high, low, into=count)
    b.branch_imm("gt", count, limit, many, done)
    b.place(many)
    b.assign_imm(count, limit)
    b.assign_imm(cut, 1)
    b.place(done)
    return count, cut


def _cut(l: Lower, cut: Reg | None) -> None:
    if cut is not None:
        l.unless("ne", cut, 0, lambda: l.count("loop"))


def _range_jumps(l: Lower, st: s.ForRange, *, goto: bool) -> None:
    b = l.b
    known = turns(st)
    limit = _limit(l, goto) if known is None or goto else l.program.settings.max_loop
    first = number(st.start)
    low, high = l.b.copy(l.scalar(st.start)), l.b.copy(l.scalar(st.end))
    count, cut = _turns(l, st, low, high, limit)
    turn = _counter(l, goto)
    head, body, again, done, over = b.block(), b.block(), b.block(), b.block(), b.block(cold=True)
    finished = b.block()
    b.place(head)
    _guard(l, st, goto, over, limit if known is None else min(known, limit))
    _more(l, turn, count, known if known is not None and known <= limit else None, limit, goto, body, finished)
    with l.arm(body):
        value = turn if first == 0 else b.alu("add", low, turn)
        store(l, st.name, narrow(l, value, st.type))
        _body(l, st.body, done, again)
    b.place(again)
    b.alu_imm("add", turn, 1, into=turn)
    b.jump(head)
    b.place(finished)
    _cut(l, cut)
    b.jump(done)
    _overrun(l, over, done)


def _more(
    l: Lower, turn: Reg, count: Reg, known: int | None, limit: int, goto: bool, body: Block, finished: Block
) -> None:
    """Whether there is another turn. Where the verifier walks all turns it must see the end by a constant."""
    if known is not None:
        l.b.branch_imm("lt", turn, known, body, finished)
        return
    if not goto:
        on = l.b.block()
        l.b.branch_imm("lt", turn, limit, on, finished)
        l.b.place(on)
    l.b.branch("lt", turn, count, body, finished)


def _range_callback(l: Lower, st: s.ForRange) -> None:
    limit = l.program.settings.max_loop
    first = number(st.start)
    low, high = l.b.copy(l.scalar(st.start)), l.b.copy(l.scalar(st.end))
    count, cut = _turns(l, st, low, high, limit)
    kept = None
    if first is None:
        kept = l.range_words[id(st)]
        l.b.store(captured_frame(l), kept, low, 8)

    def body(turn: Reg) -> None:
        if kept is not None:
            base = l.b.load(captured_frame(l), kept, 8)
        else:
            assert first is not None
            base = l.b.const(first)
        _forget(l, st)
        store(l, st.name, narrow(l, l.b.alu("add", base, turn), st.type))
        _callback_body(l, st.body)

    _call_loop(l, count, st.body, body)
    _cut(l, cut)


# --- callbacks --------------------------------------------------------------------------------------------------------


@contextmanager
def callback(l: Lower, parameters: int, frame_parameter: int) -> Generator[tuple[str, tuple[Reg, ...]], None, None]:
    """Another function of the program: what is lowered inside goes there. Gives its name and parameters."""
    outer = l.fn
    name = l.new_name("loop")
    b = Builder(name, l.features, "callback", parameters)
    b.span = outer.b.span
    b.function.span = outer.b.span
    fn = Fn(b, b.parameters[frame_parameter], None, None)
    l.fn = fn
    enter_callback(l, fn, b.parameters[frame_parameter])
    fn.leave = lambda: _return_from_callback(l)
    yield name, b.parameters
    l.fn = outer
    l.functions.append(b.finish())


def _return_from_callback(l: Lower) -> None:
    l.b.store(captured_frame(l), FRAME_RETURNED, unknown(l, l.b.const(1)), 8)
    l.b.exit_imm(STOP)


def _callback_body(l: Lower, body: tuple[s.Stmt, ...]) -> None:
    l.fn.loops.append((lambda: l.b.exit_imm(STOP), lambda: l.b.exit_imm(GO_ON)))
    with l.arm():
        l.statements(body)
    l.fn.loops.pop()
    if l.b.open:
        l.b.exit_imm(GO_ON)


def _call_loop(l: Lower, count: Reg, statements: tuple[s.Stmt, ...], body: Callable[[Reg], None]) -> None:
    l.require("helper:loop", "a loop")
    with callback(l, 2, 1) as (name, parameters):
        body(parameters[0])
    # a count known to be 0 would let the verifier drop the callback, and then miss it
    count = l.b.alu("add", count, unknown_zero(l))
    l.b.call("loop", count, l.b.callback(name), captured_frame(l), l.b.const(0))
    _after_callback(l, statements)


def _after_callback(l: Lower, statements: tuple[s.Stmt, ...]) -> None:
    """A Return inside ended the clause, not just the loop."""
    if not any(isinstance(n, s.Return) for n in walk(statements)):
        return
    b = l.b
    returned = b.load(captured_frame(l), FRAME_RETURNED, 8)
    leave, on = b.block(cold=True), b.block()
    b.branch_imm("ne", returned, 0, leave, on)
    b.place(leave)
    l.fn.leave()
    b.place(on)


# --- for over maps ----------------------------------------------------------------------------------------------------


def for_map(l: Lower, st: s.ForMap) -> None:
    storage = l.pieces.storages[st.map]
    if storage.decl.key is None:
        l.refuse(f"@{st.map} has no keys to walk over")
    l.require("helper:for_each_map_elem", "walking over a map")
    with callback(l, 4, 3) as (name, (_, key_at, value_at, _)):
        _forget(l, st)
        _bind(l, st, storage, key_at, value_at)
        _callback_body(l, st.body)
    l.b.call("for_each_map_elem", l.b.map(storage.spec.name), l.b.callback(name), captured_frame(l), l.b.const(0))
    _after_callback(l, st.body)


def _bind(l: Lower, st: s.ForMap, storage: Storage, key_at: Reg, value_at: Reg) -> None:
    """The pair: used where it lies, unless something may change it meanwhile or a function inside wants it."""
    key_type = storage.decl.key
    assert key_type is not None
    pair = x.Pack(
        l.variables[st.name],
        (_held(l, key_type, key_at), _value(l, storage, key_type, key_at, value_at, st)),
    )
    if st.name in l.captured or st.name in l.spots:
        l.into(pair, place_of(l, st.name))
    else:
        l.bound[st.name] = pair


def _held(l: Lower, t: Type, at: Reg) -> Held:
    if in_register(t):
        return Held(t, reg=l.get(Place(at, 0), t))
    return Held(t, place=Place(at, 0))


def _value(l: Lower, storage: Storage, key_type: Type, key_at: Reg, value_at: Reg, st: s.ForMap) -> x.Expr:
    t = storage.decl.value
    if isinstance(t, Agg):
        return x.MapGet(Int(8, t.value.signed), storage.decl.name, _held(l, key_type, key_at))
    if in_register(t):
        return _held(l, t, value_at)
    if any(isinstance(n, s.MapSet | x.MapDelete) and n.map == st.map for n in walk(st.body)):
        spot = l.temp_for(t)
        copy_value(l, t, Place(value_at, 0), spot, exact=False)
        return Held(t, place=spot)
    return _held(l, t, value_at)


def visit_nothing(l: Lower, storage: Storage) -> Reg:
    """How many pairs a map has: as many as a walk passes."""
    l.require("helper:for_each_map_elem", "len() of a map")
    if l.counting is None:
        l.counting = l.new_name("visit")
        b = Builder(l.counting, l.features, "callback", 4)
        b.exit_imm(GO_ON)
        l.functions.append(b.finish())
    b = l.b
    return b.call("for_each_map_elem", b.map(storage.spec.name), b.callback(l.counting), b.const(0), b.const(0))
