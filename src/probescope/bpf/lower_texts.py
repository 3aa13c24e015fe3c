"""Built-in functions that make a text."""

from __future__ import annotations

from collections.abc import Callable
from errno import ENAMETOOLONG

from probescope.bpf.kinds import SHORT, text_size
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_call import member_offset
from probescope.bpf.lower_context import COMM
from probescope.bpf.lower_copy import at_most, clear, copy, copy_text, read_text
from probescope.bpf.lower_read import bounded, missed
from probescope.bpf.lower_text import const_text, operand
from probescope.bpf.lower_typed import typed
from probescope.ir import expr as x
from probescope.model.types import Buffer


def _room(l: Lower, place: Place, size: int) -> Place:
    """Where a text can be made at offsets that the verifier does not know: see ``Lower.measured``."""
    return place if l.spacious(place) and place.room > size else l.scratch(size + 1)


def _done(l: Lower, made: Place, place: Place, size: int, exact: bool) -> None:
    if made is not place:
        copy_text(l, place, size, made, size, exact=exact)


def _strcat(l: Lower, e: x.Call, place: Place, exact: bool) -> None:
    """The second one begins where the first one's NUL was."""
    b, size = l.b, text_size(e.type)
    made = _room(l, place, size)
    first, room = operand(l, e.args[0])
    known = const_text(e.args[0])
    if exact or size <= SHORT:
        clear(l, made, size)
    got = b.call("probe_read_kernel_str", l.address(made), b.const(min(room, size) + 1), l.address(first))
    at = b.reg()
    b.assign(at, b.const(len(known[:size])) if known is not None else b.alu_imm("sub", got, 1))
    second, room = operand(l, e.args[1])
    fits, done = b.block(), b.block()
    b.branch_imm("lt", at, size, fits, done)
    b.place(fits)
    l.measured(size)
    left = b.alu("sub", b.const(size + 1), at)
    if room < size:
        left = at_most(l, left, room + 1)
    b.call("probe_read_kernel_str", b.alu("add", l.address(made), at), left, l.address(second))
    b.place(done)
    _done(l, made, place, size, exact)


def _strcap(l: Lower, e: x.Call, place: Place, exact: bool) -> None:
    size = text_size(e.type)
    source, room = operand(l, e.args[0])
    made = place if place.room > size else l.temp_text(size)
    limit = bounded(l, e.args[1], min(size, room), plus=1)
    read_text(l, made, size, l.address(source), "probe_read_kernel_str", limit=limit, exact=exact or made is not place)
    if made is not place:
        copy(l, place, made, size)


def _array_of(l: Lower, e: x.Call, place: Place, exact: bool) -> None:
    """The bytes of a text or buffer, zeros after its end."""
    t = e.args[0].type
    size = l.size(e.type)
    spot = l.temp_for(t)
    l.into(e.args[0], spot, exact=True)
    n = min(size, t.size if isinstance(t, Buffer) else l.size(t))
    copy(l, place, spot.at(4) if isinstance(t, Buffer) else spot, n)
    clear(l, place.at(n), size - n)


def _comm_of(l: Lower, e: x.Call, place: Place, exact: bool) -> None:
    """bpf_task_from_pid (6.2) gives a task that must be given back."""
    l.require("kfunc:bpf_task_from_pid", "the name of another process")
    b = l.b
    at = member_offset(l, ("struct task_struct", "comm"))
    clear(l, place, COMM)
    task = b.kfunc("bpf_task_from_pid", l.scalar(e.args[0]))
    there, done = b.block(), b.block()
    b.branch_imm("ne", task, 0, there, done)
    b.place(there)
    b.call("probe_read_kernel", l.address(place), b.const(COMM), b.alu_imm("add", task, at))
    b.kfunc("bpf_task_release", task)
    b.place(done)


def _path(l: Lower, e: x.Call, place: Place, exact: bool) -> None:
    """bpf_d_path (5.10): in the few functions and program kinds where the kernel can take its locks. It writes from the
    end of the buffer: of a path that is too long, the last part is there, and fills it (``prepend`` of fs/d_path.c)."""
    size = text_size(e.type)
    l.require("helper:d_path", "path()")
    pointer = typed(l, e.args[0])
    if pointer is None:
        l.refuse("path() needs an argument of the probe whose type the kernel knows", "use an fentry probe")
    made = place if place.where == "value" else l.scratch(size + 1)
    if exact or size <= SHORT:
        clear(l, made, size)
    answer = l.b.call("d_path", pointer, l.address(made), l.b.const(size))
    l.unless("slt", answer, 0, lambda: _no_path(l, answer, made, size))
    _done(l, made, place, size, exact)


def _no_path(l: Lower, answer: Reg, made: Place, size: int) -> None:
    b = l.b
    none, done = b.block(cold=True), b.block(cold=True)
    b.branch_imm("eq", answer, -ENAMETOOLONG, done, none)
    with l.arm(none):
        missed(l, answer)
        clear(l, made, size)
    b.jump(done)
    b.place(done)


TEXTS: dict[str, Callable[[Lower, x.Call, Place, bool], None]] = {
    "strcat": _strcat,
    "strcap": _strcap,
    "array_of": _array_of,
    "comm_of": _comm_of,
    "path": _path,
}
