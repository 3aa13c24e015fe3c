"""Statements that are neither loops, maps nor records: choices, jumps, and changes to the traced system."""

from __future__ import annotations

from probescope.bpf.kinds import in_register
from probescope.bpf.lower import Lower
from probescope.bpf.lower_map import add
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.model.abi import size_align


def discard(l: Lower, st: s.Discard) -> None:
    if isinstance(st.value, x.MapAdd):
        add(l, st.value, wanted=False)
    elif in_register(st.value.type):
        l.scalar(st.value)
    elif size_align(st.value.type, l.types)[0]:
        l.place(st.value)


def if_(l: Lower, st: s.If) -> None:
    b = l.b
    yes, no, done = b.block(), b.block(), b.block()
    l.condition(st.cond, yes, no if st.otherwise else done)
    with l.arm(yes):
        l.statements(st.then)
    if b.open:
        b.jump(done)
    if st.otherwise:
        with l.arm(no):
            l.statements(st.otherwise)
        if b.open:
            b.jump(done)
    b.place(done)


def break_(l: Lower, st: s.Break) -> None:
    l.fn.loops[-1][0]()


def continue_(l: Lower, st: s.Continue) -> None:
    l.fn.loops[-1][1]()


def return_(l: Lower, st: s.Return) -> None:
    if st.value is not None:
        value = l.scalar(st.value) if in_register(st.value.type) else l.b.const(0)
        if l.fn is l.main and l.result is not None:
            l.b.assign(l.result, value)
    l.fn.leave()


def effect(l: Lower, st: s.Effect) -> None:
    b = l.b
    match st.kind:
        case "signal" | "signal_thread":
            name = "send_signal" if st.kind == "signal" else "send_signal_thread"
            l.require(f"helper:{name}", "a signal")
            b.call(name, l.scalar(st.args[0]))
        case "override":
            l.require("helper:override_return", "override()")
            b.call("override_return", l.fn.ctx, l.scalar(st.args[0]))
        case "write_user":
            _write_user(l, st)


def _write_user(l: Lower, st: s.Effect) -> None:
    l.require("helper:probe_write_user", "writing to user memory")
    address, value = st.args
    to = l.scalar(address)
    spot = l.temp_for(value.type)
    l.into(value, spot)
    l.b.call("probe_write_user", to, l.address(spot), l.b.const(l.size(value.type)))
