"""What the probe offers: fields, arguments, return values and registers, from where each lies.

tracepoint                      the record is the context
raw_tracepoint, tp_btf, fentry  the context is an array of 64-bit slots
kprobe, uprobe, perf_event      the context begins with the saved registers
"""

from __future__ import annotations

from collections.abc import Sequence

from probescope.bpf.kinds import SHORT, reg_bytes, reg_signed
from probescope.bpf.lir import Reg
from probescope.bpf.lower import Lower, Place
from probescope.bpf.lower_copy import chunks, clear, copy, copy_by_helper, read_text
from probescope.bpf.lower_read import helper, missed, number_at
from probescope.bpf.lower_scalar import narrow
from probescope.ir import expr as x
from probescope.ir import stmt as s
from probescope.ir.walk import walk
from probescope.model import site as m
from probescope.model.types import I64, Int, Pointer, Space, String, Type

TYPED = frozenset({"tp_btf", "fentry", "fexit", "iter"})
"""Kinds whose context slots are pointers to the verifier where they are pointers in C."""

_HIDDEN = 8
"""Bytes at the start of a tracepoint's record that programs must not read (tp_prog_is_valid_access of
kernel/trace/bpf_trace.c): the kernel keeps a pointer to the registers there."""

_ARGS_IN_SLOTS = frozenset({"raw_tracepoint", *TYPED})


def field(l: Lower, e: x.Field) -> Reg:
    ahead: Reg | None = l.recall(("field", e.name))
    return at(l, _field(l, e).where, e.type) if ahead is None else ahead


def fields_ahead(l: Lower, body: Sequence[s.Stmt]) -> None:
    """Reads the fields that a loop asks for before it begins. Only for bodies that calculate with numbers."""
    for n in walk(body):
        if isinstance(n, x.Field):
            l.once(("field", n.name), lambda n=n: l.scalar(n))  # type: ignore[misc]


def _field(l: Lower, e: x.Field) -> m.Field:
    found = next((f for f in l.unit.fields if f.name == e.name), None)
    if found is None:
        l.refuse(f"this probe has no field {e.name}")
    if isinstance(found.where, m.CtxLoad | m.CtxBytes) and l.unit.kind == "tracepoint" and found.where.offset < _HIDDEN:
        l.refuse(
            f"BPF does not support accessing common tracepoint fields ({e.name})",
            "tid is common_pid; --via perf and --via ftrace have them all",
            span=e.span if e.span.line else None,
        )
    return found


def arg(l: Lower, e: x.Arg) -> Reg:
    args = l.unit.args
    if args is None:
        where: m.Location = m.CtxArg(e.index) if l.unit.kind in _ARGS_IN_SLOTS else m.RegArg(e.index)
        return at(l, where, e.type)
    if e.index >= len(args):
        l.refuse(f"this probe has {len(args)} arguments, not arg{e.index}")
    return at(l, args[e.index].where, e.type)


def ret(l: Lower, e: x.Ret) -> Reg:
    return at(l, l.unit.ret.where if l.unit.ret else m.RegRet(), e.type)


def register(l: Lower, e: x.Reg) -> Reg:
    return at(l, m.Reg(e.name, reg_bytes(e.type), reg_signed(e.type)), e.type)


# --- numbers by location ----------------------------------------------------------------------------------------------


def at(l: Lower, where: m.Location, t: Type) -> Reg:
    """The register value at a location, as a value of type ``t``."""
    match where:
        case m.CtxLoad(offset=off, size=size):
            sign = reg_signed(t)
            value = l.b.load(l.fn.ctx, off, size, signed=sign)  # type: ignore[arg-type]
            return value if size == reg_bytes(t) else narrow(l, value, t)
        case m.CtxArg(index=i):
            return narrow(l, _slot(l, i, t), t)
        case m.RetSlot(nargs=n):
            return narrow(l, _slot(l, n, t) if n >= 0 else _returned(l), t)
        case m.RegArg(index=i):
            return narrow(l, _by_convention(l, i), t)
        case m.RegRet():
            return _reg(l, l.arch.ret_reg, t)
        case m.Reg():
            return narrow(l, _reg(l, where.name, Int(where.size, where.signed)), t)
        case m.RegMem():
            return narrow(l, _memory(l, where), t)
        case m.Constant(value=value):
            return narrow(l, l.b.const(value), t)
        case m.SyscallArg(index=i):
            return narrow(l, saved_register(l, l.arch.syscall_regs[i]), t)
        case m.DataLoc():
            return data_address(l, where)[0]
        case _:
            return l.refuse(f"{type(where).__name__} holds no number")


def _slot(l: Lower, i: int, t: Type) -> Reg:
    """A slot of the context. The verifier would refuse most arithmetic on what it knows as a pointer: negated twice it
    is a plain number."""
    value = l.b.load(l.fn.ctx, 8 * i, 8)
    if l.unit.kind not in TYPED or not (isinstance(t, Pointer) or t == I64 or t == Int(8, False)):
        return value
    return l.plain(value)


def _returned(l: Lower) -> Reg:
    """bpf_get_func_ret (5.17, "bpf: Add get_func_[arg|ret|arg_cnt] helpers")."""
    spot = l.temp(8)
    l.b.call("get_func_ret", l.fn.ctx, l.address(spot))
    return l.b.load(spot.base, spot.off, 8)


def _reg(l: Lower, name: str, t: Type) -> Reg:
    off = l.arch.reg_offset(name)
    if off is None:
        l.refuse(f"{l.arch.name} has no register {name}")
    if l.unit.kind not in {"kprobe", "perf_event"}:
        l.refuse(f"there are no saved registers in {l.unit.kind} programs")
    if l.unit.kind == "perf_event":  # only whole registers can be read there
        return narrow(l, l.b.load(l.fn.ctx, off, 8), t)
    return l.b.load(l.fn.ctx, off, reg_bytes(t), signed=reg_signed(t))  # type: ignore[arg-type]


def _by_convention(l: Lower, i: int) -> Reg:
    regs = l.arch.arg_regs
    word = Int(8, False)
    if i < len(regs):
        return _reg(l, regs[i], word)
    sp = _reg(l, l.arch.sp, word)
    address = l.b.alu_imm("add", sp, l.arch.stack_args + 8 * (i - len(regs)))
    return number_at(l, "none", address, 8, False)


def _memory(l: Lower, where: m.RegMem) -> Reg:
    word = Int(8, False)
    address = l.b.alu_imm("add", _reg(l, where.reg, word), where.offset)
    if where.index:
        scaled = l.b.alu_imm("mul", _reg(l, where.index, word), where.scale)
        address = l.b.alu("add", address, scaled)
    return number_at(l, "user", address, where.size, where.signed)


def saved_register(l: Lower, name: str, offset: int | None = None, size: int = 8) -> Reg:
    """A register out of the ``struct pt_regs`` that a raw tracepoint of system calls passes first."""
    off = l.arch.regs[name] if offset is None else offset
    regs: Reg = l.once("pt_regs", lambda: l.b.load(l.fn.ctx, 0, 8))
    if l.unit.kind == "tp_btf":
        return l.b.load(regs, off, size)  # type: ignore[arg-type]
    key = ("pt_regs", off)
    value: Reg = l.once(key, lambda: number_at(l, "kernel", l.b.alu_imm("add", regs, off), size, False))
    return value


# --- what lies in the record ------------------------------------------------------------------------------------------


def data_address(l: Lower, where: m.DataLoc) -> tuple[Reg, Reg]:
    """Address and length in bytes of data at the end of a tracepoint's record."""
    word = l.b.load(l.fn.ctx, where.offset, 4)
    start = l.b.alu_imm("and", word, 0xFFFF)
    if where.relative:
        start = l.b.alu_imm("add", start, where.offset + 4)
    return l.b.alu("add", l.fn.ctx, start), l.b.alu_imm("shr", word, 16)


def field_place(l: Lower, e: x.Field) -> Place | None:
    where = _field(l, e).where
    return Place(l.fn.ctx, where.offset, "ctx") if isinstance(where, m.CtxBytes) else None


def field_into(l: Lower, e: x.Field, place: Place, exact: bool) -> None:
    where = _field(l, e).where
    t = e.type
    if isinstance(where, m.DataLoc) and isinstance(t, String):
        _text(l, data_address(l, where)[0], "kernel", t.size, place, exact)
    elif isinstance(where, m.CtxBytes):
        _bytes_into(l, e, where, place, exact)
    elif isinstance(where, m.RegBytes):
        _registers_into(l, where, place, l.size(t))
    elif isinstance(where, m.MemBytes):
        address = l.b.alu_imm("add", _reg(l, where.reg, Int(8, False)), where.offset)
        missed(l, l.b.call(helper(l, "user"), l.address(place), l.b.const(l.size(t)), address))
    else:
        l.refuse(f"{e.name} cannot be read as {t} here")


def _bytes_into(l: Lower, e: x.Field, where: m.CtxBytes, place: Place, exact: bool) -> None:
    size = min(where.size, l.size(e.type))
    src = Place(l.fn.ctx, where.offset, "ctx")
    if isinstance(e.type, String) and not _zero_padded(e.name, size):
        _text(l, l.b.alu_imm("add", src.base, src.off), "kernel", size, place, exact)
    elif size <= SHORT:
        copy(l, place, src, size)
    else:
        copy_by_helper(l, place, l.b.const(size), l.b.alu_imm("add", src.base, src.off))
    clear(l, place.at(size), l.size(e.type) - size)


def _registers_into(l: Lower, where: m.RegBytes, place: Place, size: int) -> None:
    """The bytes of a struct, eight a register at most, the lowest first."""
    at = 0
    for name, holds in where.parts:
        n = min(holds, size - at)
        value = _reg(l, name, Int(8, False))
        for off, width in chunks(n, place.at(at)):
            l.b.store(place.base, place.off + at + off, l.b.alu_imm("shr", value, 8 * off) if off else value, width)
        at += n
    clear(l, place.at(at), size - at)


def _zero_padded(name: str, size: int) -> bool:
    """Names of threads are all zeros after their NUL in the kernel itself; of other texts in records nobody knows."""
    return size == 16 and name.endswith("comm")


def _text(l: Lower, source: Reg, space: Space, size: int, place: Place, exact: bool) -> None:
    out = place if place.room > size else l.temp_text(size)
    missed(l, read_text(l, out, size, source, helper(l, space, text=True), limit=None, exact=exact))
    if out is not place:
        copy(l, place, out, size)


def located_text(l: Lower, e: x.Field) -> m.DataLoc | None:
    """Where a text at the end of the record is told."""
    where = _field(l, e).where
    return where if isinstance(where, m.DataLoc) else None
