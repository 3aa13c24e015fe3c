"""Every kernel's verifier takes what the lower half of the compiler emits, and runs it as meant. Old verifiers know
less of copies, spills and bounds than this machine's."""

from __future__ import annotations

import random
import struct

import pytest
from bpf_interpreter import interpret
from bpf_kernel import patched, run_raw_tracepoint
from bpf_random import INPUTS, NUMBERS, OUTPUTS, Random

from probescope.bpf.assemble import assemble
from probescope.bpf.btf_writer import BtfWriter, func_info, pack_func_info
from probescope.bpf.builder import Builder
from probescope.errors import LimitError
from probescope.kernel.bpf import btf_load
from probescope.kernel.bpf_map import map_create
from probescope.kernel.bpf_prog import Load, prog_load, prog_test_run
from probescope.kernel.uapi import bpf as u
from probescope.model.features import Features

M64 = (1 << 64) - 1


@pytest.fixture(scope="session")
def features(matrix):
    return Features.of([n for n, answer in matrix.items() if answer == "yes"])


@pytest.mark.parametrize("size", [6, 15, 35])
def test_random_programs_run_as_interpreted(features, size):
    """As tests/live/bpf, on this kernel's instruction set; results go to a map, which 5.10 can do too."""
    ran = 0
    for seed in range(25):
        rng = random.Random(f"{seed} {size}")
        functions = Random(rng, features, size, results="out").program()
        inputs = b"".join((rng.choice(NUMBERS) & M64).to_bytes(8, "little") for _ in range(INPUTS))
        expected = bytearray(8 * OUTPUTS)
        result = interpret(functions, bytearray(inputs), maps={"out": expected})
        try:
            code = assemble(functions, features)
        except LimitError:
            continue
        found = run_raw_tracepoint(code, inputs, "out", 8 * OUTPUTS)
        assert found == (result & 0xFFFFFFFF, bytes(expected)), f"seed {seed}"
        ran += 1
    assert ran > 15


def spilled_and_compared():
    """A length and an index that are checked once, and used after calls between, out of spills: the bounds must
    survive."""
    b = Builder("main")
    ctx = b.parameters[0]
    buffer = b.slot(64, name="buffer")
    values = [b.load(ctx, 8 * n, 8) for n in range(6)]
    out = b.block()
    for v in values:
        go_on = b.block()
        b.branch_imm("gt", v, 32, out, go_on)
        b.place(go_on)
    array = b.map_value("out")
    for v in values:
        b.call("ktime_get_ns", pure=False)
        b.call("probe_read_kernel", b.slot_address(buffer), v, b.const(0), pure=False)
        b.store(b.alu("add", array, v), 0, v, 1)
    b.exit_imm(1)
    b.place(out)
    b.exit_imm(0)
    return b.finish()


def test_bounds_found_before_a_spill_hold_after_it(features):
    """Until 6.8 a reloaded number forgets what a comparison of its other copy found, unless both carry an id."""
    code = assemble([spilled_and_compared()], features)
    assert code.stack_bytes > 64
    inputs = struct.pack("<6Q", 1, 2, 3, 4, 5, 6)
    retval, value = run_raw_tracepoint(code, inputs, "out", 64)
    assert retval == 1
    assert value[:8] == bytes([0, 1, 2, 3, 4, 5, 6, 0])


def spilled_pointers():
    """Map values that were checked for null before they were spilled, and others that are checked after."""
    b = Builder("main")
    key = b.slot(8, name="key")
    b.zero_slot(key)
    out = b.block()
    found = [b.call("map_lookup_elem", b.map("m"), b.slot_address(key), pure=False) for _ in range(6)]
    for value in found[:3]:
        go_on = b.block()
        b.branch_imm("eq", value, 0, out, go_on)
        b.place(go_on)
    b.call("ktime_get_ns", pure=False)
    for value in found[3:]:
        go_on = b.block()
        b.branch_imm("eq", value, 0, out, go_on)
        b.place(go_on)
    b.call("ktime_get_ns", pure=False)
    for n, value in enumerate(found):
        b.store_imm(value, n, n + 1, 1)
    b.exit_imm(1)
    b.place(out)
    b.exit_imm(0)
    return b.finish()


def test_null_checks_hold_through_spills(features):
    code = assemble([spilled_pointers()], features)
    with map_create(u.BPF_MAP_TYPE_ARRAY, 4, 8, 1) as m:
        insns = patched(code, {"m": m})
        with prog_load(Load(u.BPF_PROG_TYPE_RAW_TRACEPOINT, insns, "t")) as prog:
            assert prog_test_run(prog, ctx=bytes(16)).retval == 1
        assert m.lookup(bytes(4)) == bytes([1, 2, 3, 4, 5, 6, 0, 0])


def test_callbacks_load_with_our_btf(features):
    """for_each_map_elem (5.13) and bpf_loop (5.17) take callbacks with our BTF."""
    if not features.has("helper:loop"):
        pytest.skip("this kernel has no bpf_loop")
    b = Builder("main")
    total = b.slot(8, name="total")
    b.zero_slot(total)
    b.call("loop", b.const(10), b.callback("add"), b.slot_address(total), b.const(0), pure=False)
    b.exit(b.load_slot(total, 0, 8))
    c = Builder("add", kind="callback", parameters=2)
    c.store(c.parameters[1], 0, c.alu("add", c.load(c.parameters[1], 0, 8), c.parameters[0]), 8)
    c.exit_imm(0)
    code, writer = assemble([b.finish(), c.finish()], features), BtfWriter()
    info = pack_func_info(func_info(writer, code))
    with btf_load(writer.data()) as btf:
        load = Load(u.BPF_PROG_TYPE_RAW_TRACEPOINT, code.insns, "sum", btf_fd=btf, func_info=info)
        with prog_load(load) as prog:
            assert prog_test_run(prog, ctx=bytes(16)).retval == 45
