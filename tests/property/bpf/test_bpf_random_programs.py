"""Random programs mean the same before and after the compiler: the oracle is an interpreter of LIR that shares no code
with it."""

from __future__ import annotations

import random

import pytest
from bpf_interpreter import alu, compare, interpret
from bpf_machine import Machine
from bpf_random import ALU, CONDITIONS, CONTEXT, INPUTS, NUMBERS, Random
from hypothesis import given, settings
from hypothesis import strategies as st

from probescope.bpf import fold
from probescope.bpf.assemble import assemble
from probescope.errors import LimitError
from probescope.model.features import BASELINE_6_1, Features

FEATURES = {
    "6.1": BASELINE_6_1,
    "v4": Features(BASELINE_6_1.yes | {"isa:v4", "isa:gotol"}),
    "no 32-bit jumps": Features(BASELINE_6_1.yes - {"isa:v3"}),
}
M64 = (1 << 64) - 1


@pytest.mark.parametrize("features", FEATURES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 32), size=st.integers(1, 40))
def test_compiled_programs_do_what_the_interpreter_says(features, seed, size):
    """Protects every pass at once: a wrong register, a lost spill, a bad fold or a branch to the wrong place shows as a
    wrong result, and reading what a call destroyed as a fault."""
    rng = random.Random(seed)
    functions = Random(rng, FEATURES[features], size).program()
    inputs = b"".join((rng.choice(NUMBERS) & M64).to_bytes(8, "little") for _ in range(INPUTS))
    expected, found = bytearray(inputs.ljust(CONTEXT, b"\0")), bytearray(inputs.ljust(CONTEXT, b"\0"))
    result = interpret(functions, expected)
    try:
        code = assemble(functions, FEATURES[features])
    except LimitError:
        return  # more alive at once than 512 bytes hold: an honest answer
    assert Machine(code.insns, found).run() == result
    assert found == expected


number = st.sampled_from(NUMBERS) | st.integers(-(1 << 63), (1 << 64) - 1)


@given(st.sampled_from(ALU), number, number, st.sampled_from([32, 64]))
def test_folded_arithmetic_is_the_arithmetic_of_the_machine(name, a, b, bits):
    """A constant folded at compile time must be what the program would have computed."""
    assert fold.alu(name, a, b, bits) & M64 == alu(name, a & M64, b & M64, bits)


@given(st.sampled_from(CONDITIONS), number, number, st.sampled_from([32, 64]))
def test_decided_branches_go_where_the_machine_goes(cond, a, b, bits):
    expected = compare(cond, a & M64, b & M64, bits)
    assert fold.compare(cond, a, b, bits) == expected
    assert fold.compare(fold.MIRRORED[cond], b, a, bits) == expected
    if cond in fold.INVERSE:
        assert fold.compare(fold.INVERSE[cond], a, b, bits) != expected
