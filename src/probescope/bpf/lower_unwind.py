"""User stacks by unwind tables: the functions of a program that find where a process's tables are, and that keep the
stack that was found. The walk from frame to frame is lower_unwind_step.py; layouts are in model/unwind.py.

    ustack -> unwind(state, process, ip, sp, fp) -> loop(step)      numbers from UNWOUND on
           -> the kernel's own walk by frame pointers               where the process has no tables (yet)

Maps: ``unwind_pids`` (process -> its mappings), ``unwind_tables`` (number -> rows): maps of maps, which user space
fills and exchanges while programs run; ``unwind_wanted``: processes whose tables are missed; ``unwound_D``: stacks of
up to D frames by their number. Two stacks with the same hash of 30 bits lie side by side.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Literal

from probescope.bpf.builder import Builder
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Fn, Lower
from probescope.bpf.lower_unwind_step import CTX_BYTES, CTX_COUNT, CTX_MAPS, CTX_STATE, WHYS, State, step
from probescope.bpf.pieces import UNWIND_PIDS, UNWIND_WANTED
from probescope.bpf.unit import CounterKind
from probescope.model import unwind as u

LOST, UNKNOWN_PROCESS, BY_FRAMES = -1, -2, -3
"""What ``unwind`` gives instead of a number: no place for the stack; no tables known; frame pointers will do."""
_NOEXIST = 1
_TRIES = 4
_HASH_BITS = (1 << 30) - 1
_NEEDED: Final = ("helper:loop", "helper:task_pt_regs", "helper:get_current_task_btf", "map:hash_of_maps")


def possible(l: Lower) -> bool:
    """Whether user stacks of this unit are unwound by tables where there are some."""
    if not l.options.unwind or l.arch.name != "x86_64" or l.unit.kind in {"iter", "syscall"}:
        return False
    missing = [n for n in _NEEDED if l.features.lacks(n)]
    if missing:
        l.pieces.note(
            f"user stacks are walked by frame pointers alone: this kernel has no {missing[0].partition(':')[2]}"
        )
    return not missing


def unwound(l: Lower, depth: int, process: Reg) -> Reg:
    """The number of the stack of now, or one of the three above."""
    table, depth = l.pieces.unwound(depth)
    state = State(depth)
    memory = l.scratch(state.bytes)
    ip, sp, fp = _registers(l)
    return l.b.local(_function(l, table, state), l.address(memory), process, ip, sp, fp)


def frames(l: Lower, depth: int, process: Reg) -> tuple[Reg, Reg]:
    """What ``unwound`` gives, and how many frames the stack has if that is a number."""
    state = State(l.pieces.unwound(depth)[1])
    with l.scope():
        at = l.scratch_at
        got = unwound(l, depth, process)
        return got, l.b.load(l.scratch_place(at, state.bytes).base, at + state.FRAMES, 4)


def want(l: Lower, process: Reg) -> None:
    """Tells user space of a process without tables."""
    b = l.b
    l.count("unwind_late")
    with l.scope():
        spot = l.temp(16)
        b.store(spot.base, spot.off, process, 4)
        b.store_imm(spot.base, spot.off + 8, 1, 8)
        b.call(
            "map_update_elem",
            b.map(l.pieces.use_unwind(UNWIND_WANTED)),
            l.address(spot),
            l.address(spot.at(8)),
            b.const(0),
        )


def _registers(l: Lower) -> tuple[Reg, Reg, Reg]:
    """Of user space, at the moment it was left. A uprobe's context has them; the kernel keeps them at the end of the
    task's kernel stack for system calls, interrupts and exceptions alike."""
    b, arch = l.b, l.arch
    regs = l.fn.ctx if l.unit.in_user else b.call("task_pt_regs", b.call("get_current_task_btf"))
    ip, sp, fp = (b.load(regs, arch.regs[name], 8) for name in (arch.ip, arch.sp, arch.fp))
    return ip, sp, fp


@contextmanager
def _another(
    l: Lower, kind: Literal["local", "callback"], name: str, parameters: int
) -> Generator[Builder, None, None]:
    """Another function of the program: what is lowered inside goes there."""
    outer = l.fn
    b = Builder(name, l.features, kind, parameters)
    b.span = b.function.span = outer.b.span
    l.fn = Fn(b, b.parameters[0], None, None)
    yield b
    l.fn = outer
    l.functions.append(b.finish())


def _function(l: Lower, table: str, state: State) -> str:
    """``unwind`` for one table of stacks: made once for a program."""
    name = l.unwinders.get(table)
    if name is None:
        name = l.unwinders[table] = l.new_name("unwind")
        callback = l.new_name("frame")
        with _another(l, "callback", callback, 2) as b:
            step(l, b, state)
        with _another(l, "local", name, 5) as b:
            _unwind(l, b, table, state, callback)
    return name


def _unwind(l: Lower, b: Builder, table: str, state: State, callback: str) -> None:
    memory, process, ip, sp, fp = b.parameters
    key = b.slot(8, name="unwind key")
    ctx = b.slot(CTX_BYTES, name="unwind state")
    unknown = b.block(cold=True)
    b.store_slot(key, 0, process, 4)
    maps = b.call("map_lookup_elem", b.map(l.pieces.use_unwind(UNWIND_PIDS)), b.slot_address(key))
    _check(b, maps, unknown)
    b.store(b.slot_address(key), 0, b.const(0), 4)
    head = b.call("map_lookup_elem", maps, b.slot_address(key))
    _check(b, head, unknown)
    count = b.load(head, 0, 8)
    some, none = b.block(), b.block(cold=True)
    b.branch_imm("ne", count, 0, some, none)
    b.place(none)
    b.exit_imm(BY_FRAMES)
    b.place(some)
    state.begin(b, memory, ip, sp, fp)
    for at, value in ((CTX_STATE, memory), (CTX_MAPS, maps), (CTX_COUNT, count)):
        b.store_slot(ctx, at, value, 8)
    b.call("loop", b.const(state.depth), b.callback(callback), b.slot_address(ctx), b.const(0))
    _tell(l, b, memory, state)
    _keep(l, b, table, memory, state)
    b.place(unknown)
    b.exit_imm(UNKNOWN_PROCESS)


def _check(b: Builder, pointer: Reg, otherwise: object) -> None:
    on = b.block()
    b.branch_imm("ne", pointer, 0, on, otherwise)  # type: ignore[arg-type]
    b.place(on)


def _tell(l: Lower, b: Builder, memory: Reg, state: State) -> None:
    """Counts walks that ended before the outermost function."""
    why = b.load(memory, state.WHY, 4)
    kinds: tuple[tuple[str, CounterKind], ...] = (
        ("table", "unwind_table"),
        ("rule", "unwind_rule"),
        ("read", "unwind_read"),
    )
    early, on = b.block(cold=True), b.block()
    b.branch_imm("gt", why, WHYS["end"], early, on)
    b.place(early)
    for name, kind in kinds:
        l.unless("eq", why, WHYS[name], lambda kind=kind: l.count(kind))  # type: ignore[misc]
    b.jump(on)
    b.place(on)


def _keep(l: Lower, b: Builder, table: str, memory: Reg, state: State) -> None:
    """Gives the number under which the table has this stack already, or puts it there."""
    key = b.slot(8, name="unwind number")
    full = b.block(cold=True)
    hash_ = b.load(memory, 0, 8)
    for turn in range(_TRIES):
        number = b.alu_imm("and", b.alu_imm("add", hash_, turn), _HASH_BITS)
        number = b.alu_imm("or", number, u.UNWOUND)
        b.store_slot(key, 0, number, 4)
        found, missing, same, following = b.block(), b.block(cold=True), b.block(), b.block(cold=True)
        value = b.call("map_lookup_elem", b.map(table), b.slot_address(key))
        b.branch_imm("ne", value, 0, found, missing)
        b.place(found)
        b.branch("eq", b.load(value, 0, 8), hash_, same, following)
        b.place(missing)
        done = b.call("map_update_elem", b.map(table), b.slot_address(key), memory, b.const(_NOEXIST))
        lost = b.block(cold=True)
        b.branch_imm("eq", done, 0, same, lost)
        b.place(lost)  # another CPU may have put it there meanwhile
        again = b.call("map_lookup_elem", b.map(table), b.slot_address(key))
        there = b.block(cold=True)
        b.branch_imm("ne", again, 0, there, full)
        b.place(there)
        b.branch("eq", b.load(again, 0, 8), hash_, same, following)
        b.place(same)
        b.exit(number)
        b.place(following)
    b.jump(full)
    b.place(full)
    l.count("stack")
    b.exit_imm(LOST)
