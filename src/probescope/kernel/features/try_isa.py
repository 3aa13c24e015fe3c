"""``isa:``: instructions, each in the smallest program that the verifier accepts if the kernel knows it."""

from __future__ import annotations

import struct

from probescope.kernel.bpf_map import map_create
from probescope.kernel.bpf_prog import Load, prog_load
from probescope.kernel.features.answer import No
from probescope.kernel.features.btf_ids import VAR, type_id
from probescope.kernel.features.own_btf import CALLBACK, MAIN, own_btf
from probescope.kernel.features.tiny import EXIT, RETURN_0, ZERO_SLOT, insn, load, mov
from probescope.kernel.uapi import bpf as u

_LOOP = mov(1, 0) + insn(0x07, 1, imm=1) + insn(0xA5, 1, off=-2, imm=1000) + RETURN_0

PROGRAMS: dict[str, bytes] = {
    # if r0 < 0 goto +1 (unsigned less-than: 4.14)
    "v2": mov(0, 0) + insn(0xA5, off=1, imm=0) + mov(0, 0) + EXIT,
    # w0 = 0; if w0 == 0 goto +0 (32-bit jumps: 5.1)
    "v3": insn(0xB4, 0) + insn(0x16) + EXIT,
    # r1 = atomic_fetch_add(r10 - 8, r1), then atomic_cmpxchg
    "atomic_fetch": ZERO_SLOT + mov(1, 1) + insn(0xDB, 10, 1, -8, 0x01) + RETURN_0,
    "cmpxchg": ZERO_SLOT + mov(0, 0) + mov(1, 1) + insn(0xDB, 10, 1, -8, 0xF1) + RETURN_0,
    "movsx": mov(1, -1) + insn(0xBF, 0, 1, 8) + RETURN_0,
    "sdiv": mov(0, -8) + insn(0x37, 0, off=1, imm=2) + RETURN_0,
    "bswap": mov(0, 1) + insn(0xD7, 0, imm=64) + RETURN_0,
    # 6.1 takes opcode 0x06 with a zero offset for an ordinary jump: this one jumps for real
    "gotol": mov(0, 0) + insn(0x65, 0, off=1, imm=5) + insn(0x06, imm=1) + mov(0, 1) + EXIT,
    "ldsx": ZERO_SLOT + insn(0x91, 0, 10, -8) + RETURN_0,
    "may_goto": mov(0, 0) + insn(0xE5, off=1) + insn(0x05, off=-2) + EXIT,
    "load_acquire": ZERO_SLOT + insn(0xDB, 0, 10, -8, 0x100) + RETURN_0,
    "bounded_loop": _LOOP,
    "large_program": mov(0, 0) * 5000 + EXIT,
    # call +1; exit; r0 = 0; exit
    "subprograms": insn(0x85, src=u.BPF_PSEUDO_CALL, imm=1) + EXIT + RETURN_0,
}

_V4 = ("movsx", "sdiv", "bswap", "gotol", "ldsx")


def attempt(name: str) -> None:
    what = name.partition(":")[2]
    if what == "v4":
        for part in _V4:
            load("socket_filter", PROGRAMS[part]).close()
    elif what == "map_value":
        _map_value()
    elif what == "callbacks":
        _callbacks()
    elif what == "ksym":
        _ksym()
    elif what in PROGRAMS:
        # socket filters are the least demanding of all kinds
        load("socket_filter", PROGRAMS[what]).close()
    else:
        raise No("no such instruction")


def _map_value() -> None:
    with map_create(u.BPF_MAP_TYPE_ARRAY, 4, 8, 1) as m:
        code = insn(0x18, 1, u.BPF_PSEUDO_MAP_VALUE, imm=m.fileno()) + insn(0)
        load("socket_filter", code + RETURN_0).close()


def _callbacks() -> None:
    # r1 = 1; r2 = &callback; r3 = 0; r4 = 0; call bpf_loop; r0 = 0; exit | callback: r0 = 0; exit
    main = (
        mov(1, 1) + insn(0x18, 2, u.BPF_PSEUDO_FUNC, imm=6) + insn(0) + mov(3, 0) + mov(4, 0) + insn(0x85, imm=181)
    ) + RETURN_0
    with own_btf() as btf:
        func_info = struct.pack("=IIII", 0, MAIN, len(main) // 8, CALLBACK)
        code = main + RETURN_0
        prog_load(Load(u.BPF_PROG_TYPE_KPROBE, code, "try", btf_fd=btf, func_info=func_info)).close()


def _ksym() -> None:
    variable = next((found for n in ("bpf_prog_active", "runqueues") if (found := type_id(n, VAR))), 0)
    if not variable:
        raise No("the kernel's BTF has no per-CPU variables")
    load("tracepoint", insn(0x18, 1, u.BPF_PSEUDO_BTF_ID, imm=variable) + insn(0) + RETURN_0).close()
