"""Runs compiled bytes in this kernel."""

from __future__ import annotations

import struct

from probescope.kernel.bpf_map import map_create
from probescope.kernel.bpf_prog import Load, prog_load, prog_test_run
from probescope.kernel.uapi import bpf as u

SLEEPABLE = 1 << 4


def run_syscall(insns, context, **more):
    """A ``syscall`` program over a context that it reads and writes: (result as 32 bits, context afterwards)."""
    with prog_load(Load(u.BPF_PROG_TYPE_SYSCALL, insns, "t", flags=SLEEPABLE, **more)) as prog:
        result = prog_test_run(prog, ctx=bytes(context))
    return result.retval, result.ctx


def run_raw_tracepoint(code, context, name, size):
    """A raw tracepoint program that writes into an array map of one value: (result as 32 bits, the value)."""
    with map_create(u.BPF_MAP_TYPE_ARRAY, 4, size, 1) as results:
        insns = patched(code, {name: results})
        with prog_load(Load(u.BPF_PROG_TYPE_RAW_TRACEPOINT, insns, "t")) as prog:
            retval = prog_test_run(prog, ctx=bytes(context)).retval
        return retval, results.lookup(bytes(4))


def patched(code, maps):
    """The instructions with the descriptors of ``maps`` filled in."""
    insns = bytearray(code.insns)
    for r in code.relocs:
        assert r.kind in {"map", "map_value"}
        struct.pack_into("<i", insns, r.insn * 8 + 4, maps[r.name].fileno())
    return bytes(insns)
