"""Programs of a few instructions, for trying. The encoding is ``struct bpf_insn``: u8 code, u8 src << 4 | dst, s16 off,
s32 imm."""

from __future__ import annotations

import struct
from collections.abc import Callable

from probescope.errors import VerifierError
from probescope.kernel.bpf_prog import Load, Prog, prog_load
from probescope.kernel.features.answer import No
from probescope.kernel.features.btf_ids import FUNC, TYPEDEF, type_id
from probescope.kernel.uapi import bpf as u


def insn(code: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    return struct.pack("=BBhi", code, src << 4 | dst, off, imm)


def mov(dst: int, imm: int) -> bytes:
    return insn(0xB7, dst, imm=imm)


def call(helper: int) -> bytes:
    return insn(0x85, imm=helper)


def call_kfunc(btf_id: int) -> bytes:
    return insn(0x85, src=u.BPF_PSEUDO_KFUNC_CALL, imm=btf_id)


EXIT = insn(0x95)
RETURN_0 = mov(0, 0) + EXIT
ZERO_SLOT = insn(0x7A, 10, off=-8)  # *(u64 *)(r10 - 8) = 0

# tracepoints and functions that any kernel with the mechanism has: tried in turn until BTF knows one
_TRACEPOINTS = ("sched_switch", "sys_enter", "sched_process_exit")
_FUNCTIONS = ("do_sys_openat2", "vfs_read", "ksys_read", "schedule")
_ITERATORS = ("task", "bpf_map", "bpf_prog")
_HOOKS = ("bpf_lsm_file_open", "bpf_lsm_file_permission")
_RETURNS = ("security_file_open", "security_file_permission", "bpf_modify_return_test")


def _plain(type_: int, attach: int = 0, flags: int = 0) -> Callable[[bytes], Load]:
    return lambda code: Load(type_, code, "try", expected_attach_type=attach, flags=flags)


def _on_btf(type_: int, attach: int, prefix: str, names: tuple[str, ...], kind: int) -> Callable[[bytes], Load]:
    def load(code: bytes) -> Load:
        for name in names:
            if found := type_id(prefix + name, kind):
                return Load(type_, code, "try", expected_attach_type=attach, attach_btf_id=found)
        raise No(f"the kernel's BTF has none of {', '.join(prefix + n for n in names)}")

    return load


LOADS: dict[str, Callable[[bytes], Load]] = {
    "kprobe": _plain(u.BPF_PROG_TYPE_KPROBE),
    "kprobe_sleepable": _plain(u.BPF_PROG_TYPE_KPROBE, flags=u.BPF_F_SLEEPABLE),
    "kprobe_multi": _plain(u.BPF_PROG_TYPE_KPROBE, u.BPF_TRACE_KPROBE_MULTI),
    "kprobe_session": _plain(u.BPF_PROG_TYPE_KPROBE, u.BPF_TRACE_KPROBE_SESSION),
    "uprobe_multi": _plain(u.BPF_PROG_TYPE_KPROBE, u.BPF_TRACE_UPROBE_MULTI),
    "uprobe_session": _plain(u.BPF_PROG_TYPE_KPROBE, u.BPF_TRACE_UPROBE_SESSION),
    "tracepoint": _plain(u.BPF_PROG_TYPE_TRACEPOINT),
    "perf_event": _plain(u.BPF_PROG_TYPE_PERF_EVENT),
    "raw_tracepoint": _plain(u.BPF_PROG_TYPE_RAW_TRACEPOINT),
    "raw_tracepoint_writable": _plain(u.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE),
    "socket_filter": _plain(u.BPF_PROG_TYPE_SOCKET_FILTER),
    "syscall": _plain(u.BPF_PROG_TYPE_SYSCALL, flags=u.BPF_F_SLEEPABLE),
    "tp_btf": _on_btf(u.BPF_PROG_TYPE_TRACING, u.BPF_TRACE_RAW_TP, "btf_trace_", _TRACEPOINTS, TYPEDEF),
    "iter": _on_btf(u.BPF_PROG_TYPE_TRACING, u.BPF_TRACE_ITER, "bpf_iter_", _ITERATORS, FUNC),
    "fentry": _on_btf(u.BPF_PROG_TYPE_TRACING, u.BPF_TRACE_FENTRY, "", _FUNCTIONS, FUNC),
    "fexit": _on_btf(u.BPF_PROG_TYPE_TRACING, u.BPF_TRACE_FEXIT, "", _FUNCTIONS, FUNC),
    "fsession": _on_btf(u.BPF_PROG_TYPE_TRACING, u.BPF_TRACE_FSESSION, "", _FUNCTIONS, FUNC),
    "modify_return": _on_btf(u.BPF_PROG_TYPE_TRACING, u.BPF_MODIFY_RETURN, "", _RETURNS, FUNC),
    "lsm": _on_btf(u.BPF_PROG_TYPE_LSM, u.BPF_LSM_MAC, "", _HOOKS, FUNC),
}
"""How a program of each kind is loaded; ``helper:X@KIND`` names one of these."""


def load(kind: str, code: bytes = RETURN_0) -> Prog:
    """Raises KernelError, or No where BTF has nothing to load it for."""
    return prog_load(LOADS[kind](code))


def refusal(kind: str, code: bytes) -> str:
    """Loads it and returns what the verifier said, or nothing if it took it. Raises KernelError where it did not come
    to a word."""
    try:
        load(kind, code).close()
    except VerifierError as e:
        return e.log
    return ""
