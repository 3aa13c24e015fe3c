"""A program from its first instruction to its last.

    is it one of our system calls?     raw tracepoints of system calls see all of them
    are we active, and not stopped?    one load each
    is it our process?
    predicate
    scratch memory                     if anything needs it: see below
    body
    scratch memory is given back

Scratch memory: each CPU has ``SCRATCH_LEVELS`` pieces. A run takes the first that is free and marks it busy. Runs that
interrupt each other (an interrupt's tracepoint inside another) nest, so looking and marking need not be one step: who
came in between is gone before we go on. Runs of preemptible programs (uprobes) do not nest: these mark by atomic
exchange. When all pieces are taken the event is skipped and counted.
"""

from __future__ import annotations

from probescope.bpf.builder import Builder
from probescope.bpf.lir import Block, Cond, Reg
from probescope.bpf.lower import Fn, Lower
from probescope.bpf.lower_context import tgid
from probescope.bpf.lower_copy import constant
from probescope.bpf.lower_read import number_at
from probescope.bpf.lower_site import saved_register
from probescope.bpf.lower_vars import declare, fill_frame, plan
from probescope.bpf.pieces import GLOBALS, SCRATCH, SCRATCH_LEVELS, table16
from probescope.bpf.unit import GLOBAL_ACTIVE, GLOBAL_STOP
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.walk import clause_nodes
from probescope.model.site import UserAttach

FEW = 4
"""System calls up to which their numbers are compared one by one."""

_TS_COMPAT = 0x0002  # arch/x86/include/asm/thread_info.h: this system call came in the 32-bit way
_USER32_CS = 0x23
_PSR_MODE32 = 0x10  # arch/arm64/include/uapi/asm/ptrace.h
_ARM64_SYSCALLNO = 280  # struct pt_regs: user_pt_regs (272), orig_x0, syscallno


def program(l: Lower) -> None:
    """Lowers the whole unit into ``l.functions``, the program itself first."""
    b = Builder(l.unit.name, l.features)
    l.fn = l.main = Fn(b, b.parameters[0], None, None)
    b.span = l.clause.span
    drop, leave = b.block(), b.block()
    # of another process neither end of a function is wanted: an entry that gives 1 has the kernel leave out the return
    others = b.block(cold=True) if l.unit.exit is not None and l.unit.pid else drop
    l.fn.leave = lambda: b.jump(leave)
    if l.unit.kind in {"syscall", "iter"} and any(isinstance(n, s.Return) for n in clause_nodes(l.clause)):
        l.result = b.reg()
        b.assign_imm(l.result, 0)
    with l.scope():
        _dispatch(l, drop)
        _gates(l, drop, others)
        plan(l)
        _predicate(l, drop)
        _scratch(l, drop, "late")
        fill_frame(l)
        declare(l, predicate=False)
        l.statements(l.clause.body)
    if b.open:
        b.jump(leave)
    _end(l, drop, leave)
    if others is not drop:
        b.place(others)
        b.exit_imm(1)
    l.functions.insert(0, b.finish())


def _predicate(l: Lower, drop: Block) -> None:
    if l.clause.predicate is None:
        _scratch(l, drop, "early")
        return
    passed, failed = l.b.block(), l.b.block()
    l.in_predicate = True
    _scratch(l, drop, "early")
    declare(l, predicate=True)
    with l.scope():
        l.condition(l.clause.predicate, passed, failed)
    l.in_predicate = False
    l.b.place(failed)
    _release(l)
    l.b.jump(drop)
    l.b.place(passed)


def _end(l: Lower, drop: Block, leave: Block) -> None:
    b = l.b
    b.place(leave)
    _release(l)
    if l.result is not None:
        b.exit(l.result)
    else:
        b.jump(drop)
    b.place(drop)
    b.exit_imm(0)


# --- who is asked -----------------------------------------------------------------------------------------------------


def _gates(l: Lower, drop: Block, others: Block) -> None:
    attach = l.program.sites[l.unit.sites[0]].attach if l.unit.sites and l.program.sites else None
    at_ends = isinstance(attach, UserAttach) and attach.kind in {"begin", "end"}
    if not at_ends:
        if l.options.gate:
            _global(l, GLOBAL_ACTIVE, "eq", drop)
        # an iterator is walked to its end: what it shows after exit() belongs to its answer
        if l.unit.kind != "iter" and any(a.kind == "exit" for a in l.program.actions):
            _global(l, GLOBAL_STOP, "ne", drop)
    if l.unit.pid:
        _drop_if(l, "ne", tgid(l, "curr_ns"), l.unit.pid, others)


def _global(l: Lower, word: int, cond: Cond, drop: Block) -> None:
    _drop_if(l, cond, l.b.load(l.b.map_value(l.pieces.use(GLOBALS), 8 * word), 0, 8), 0, drop)


def _dispatch(l: Lower, drop: Block) -> None:
    """Goes on only for the unit's system calls, and finds the site."""
    if l.unit.site_by != "syscall":
        return
    number = _syscall_number(l)
    asked = any(isinstance(n, x.Context) and n.name in {"probe", "func"} for n in clause_nodes(l.clause))
    if len(l.unit.syscalls) <= FEW:
        _compare(l, number, drop, asked)
    else:
        _look_up(l, number, drop, asked)
    _native(l, drop)


def _syscall_number(l: Lower) -> Reg:
    if not l.unit.syscall_exit:
        return l.b.load(l.fn.ctx, 8, 8)
    if l.arch.name == "x86_64":
        return saved_register(l, "orig_ax")
    return saved_register(l, "syscallno", _ARM64_SYSCALLNO, 4)


def _compare(l: Lower, number: Reg, drop: Block, asked: bool) -> None:
    b = l.b
    hit = b.block()
    site = b.reg()
    for i, (nr, which) in enumerate(l.unit.syscalls):
        last = i + 1 == len(l.unit.syscalls)
        here = b.block() if asked else hit
        on = drop if last else b.block()
        b.branch_imm("eq", number, nr, here, on)
        if asked:
            b.place(here)
            b.assign_imm(site, which)
            b.jump(hit)
        if not last:
            b.place(on)
    b.place(hit)
    if asked:
        l.site = site


def _look_up(l: Lower, number: Reg, drop: Block, asked: bool) -> None:
    """By a table of u16: the site's number and one, 0 for system calls that are not ours."""
    b = l.b
    sites = dict(l.unit.syscalls)
    size = max(sites) + 1
    known, ours = b.block(), b.block()
    b.branch_imm("lt", number, size, known, drop)
    b.place(known)
    table = constant(l, table16(sites, size))
    found = b.load(b.alu("add", table.base, b.alu_imm("shl", number, 1)), table.off, 2)
    b.branch_imm("ne", found, 0, ours, drop)
    b.place(ours)
    if asked:
        l.site = b.alu_imm("sub", found, 1)


def _native(l: Lower, drop: Block) -> None:
    """Numbers of the 32-bit interface are others: the tracepoints of system calls leave these out, and so do we."""
    b = l.b
    if l.arch.name != "x86_64":
        mode = b.alu_imm("and", saved_register(l, "pstate"), _PSR_MODE32)
        _drop_if(l, "ne", mode, 0, drop)
        return
    if l.unit.kind != "tp_btf":
        _slow_native(l, drop)
        return
    # The instruction SYSCALL leaves its return address in rcx; of the 32-bit ways in, none touches ecx, which would
    # have to hold its own call's return address to look the same. Asking the task costs 4 ns more.
    sure, unsure = b.block(), b.block(cold=True)
    b.branch("eq", saved_register(l, "cx"), saved_register(l, "ip"), sure, unsure)
    with l.arm(unsure):
        _slow_native(l, drop)
    b.jump(sure)
    b.place(sure)


def _slow_native(l: Lower, drop: Block) -> None:
    """What the kernel itself asks (in_32bit_syscall of arch/x86/include/asm/compat.h), if BTF tells where it is."""
    b = l.b
    at = _status_offset(l)
    if at is None:
        _drop_if(l, "eq", saved_register(l, "cs"), _USER32_CS, drop)
        return
    if l.unit.kind == "tp_btf" and not l.features.lacks("helper:get_current_task_btf"):
        status = b.load(b.call("get_current_task_btf"), at, 4)
    else:
        status = number_at(l, "kernel", b.alu_imm("add", b.call("get_current_task"), at), 4, False)
    _drop_if(l, "ne", b.alu_imm("and", status, _TS_COMPAT), 0, drop)


def _drop_if(l: Lower, cond: Cond, value: Reg, than: int, drop: Block) -> None:
    on = l.b.block()
    l.b.branch_imm(cond, value, than, drop, on)
    l.b.place(on)


def _status_offset(l: Lower) -> int | None:
    """Of ``current->thread_info.status``."""
    if l.types is None:
        return None
    task, info = l.types.layout("struct task_struct"), l.types.layout("struct thread_info")
    outer = task.member("thread_info") if task else None
    inner = info.member("status") if info else None
    return outer.offset + inner.offset if outer and inner else None


# --- scratch memory ---------------------------------------------------------------------------------------------------


def _scratch(l: Lower, drop: Block, when: str) -> None:
    """Takes a piece, if it is needed from here on."""
    if l.config.scratch != when:
        return
    b = l.b
    taken, base = b.block(), b.reg()
    with l.scope():
        spot = l.slot_place(l.kept_slot(4))  # on the stack, however little there is
        level = b.reg()
        b.assign_imm(level, 0)
        first = b.alu_imm("mul", b.call("get_smp_processor_id"), SCRATCH_LEVELS) if l.pieces.wide else None
        head, again, none = b.block(), b.block(cold=True), b.block(cold=True)
        b.place(head)
        b.store(spot.base, spot.off, b.alu("add", first, level) if first is not None else level, 4)
        b.assign(base, b.call("map_lookup_elem", b.map(l.pieces.use(SCRATCH)), l.address(spot)))
        there = b.block()
        b.branch_imm("ne", base, 0, there, none)
        b.place(there)
        b.branch_imm("eq", _mark(l, base), 0, taken, again)
        b.place(again)
        b.alu_imm("add", level, 1, into=level)
        b.branch_imm("lt", level, SCRATCH_LEVELS, head, none)
        b.place(none)
        l.count("scratch")
        b.jump(drop)
        b.place(taken)
    if not _atomic(l):
        b.store_imm(base, 0, 1, 8)
    l.fn.scratch = b.copy(base)


def _atomic(l: Lower) -> bool:
    return l.preemptible and not l.features.lacks("isa:atomic_fetch")


def _mark(l: Lower, base: Reg) -> Reg:
    """What the busy word was."""
    return l.b.fetch("xchg", base, 0, l.b.const(1), 8) if _atomic(l) else l.b.load(base, 0, 8)


def _release(l: Lower) -> None:
    if l.fn.scratch is not None:
        l.b.store_imm(l.fn.scratch, 0, 0, 8)
