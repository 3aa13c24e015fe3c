"""The builder: what it writes for each call, what it replaces, and what it refuses."""

from __future__ import annotations

import pytest

from probescope.bpf.builder import Builder
from probescope.errors import InternalError
from probescope.model.features import BASELINE_6_1, Features

V4 = Features(BASELINE_6_1.yes | {"isa:v4"})
V2 = Features(BASELINE_6_1.yes - {"isa:v3"})


def body(b):
    """The operations of the first block as text, without its end."""
    b.exit_imm(0)
    return [repr(op) for op in b.finish().blocks[0].ops[:-1]]


def test_a_function_prints_with_everything_that_matters():
    """The text is what failing tests show: registers, sizes, offsets, targets, cold blocks, slots."""
    b = Builder("f")
    key = b.slot(8, name="key")
    b.begin(key)
    b.store_slot(key, 0, b.load(b.parameters[0], 4, 4), 8)
    value = b.call("map_lookup_elem", b.map("m"), b.slot_address(key))
    there, gone = b.block(), b.block(cold=True)
    b.branch_imm("eq", value, 0, gone, there)
    b.place(there)
    b.atomic("add", value, 8, b.const(1), 4)
    b.end(key)
    b.exit(value)
    b.place(gone)
    b.exit_imm(-1)
    assert str(b.finish()) == (
        "main f(%0)\n"
        "  slot 0 key: 8 align 8\n"
        "b0:\n"
        "  begin 0\n"
        "  %1 = load 4 %0, +4\n"
        "  %2 = slot 0\n"
        "  store %2, %1\n"
        "  %3 = map m\n"
        "  %4 = slot 0\n"
        "  %5 = call map_lookup_elem %3, %4\n"
        "  branch eq %5, 0, b2, b1\n"
        "b1:\n"
        "  %6 = const 1\n"
        "  atomic add 4 %5, %6, +8\n"
        "  end 0\n"
        "  exit %5\n"
        "b2: cold\n"
        "  exit -1"
    )


def test_sign_extension_takes_the_instruction_or_two_shifts():
    """movsx came with ISA v4 (6.6): without it, a pair of shifts."""
    b = Builder("f", V4)
    b.sext(b.parameters[0], 8)
    assert body(b) == ["%1 = sext 8 %0"]
    b = Builder("f")
    b.sext(b.parameters[0], 8)
    assert body(b) == ["%1 = alu shl %0, 56", "%2 = alu sar %1, 56"]


def test_signed_loads_take_the_instruction_or_extend():
    b = Builder("f", V4)
    b.load(b.parameters[0], 2, 2, signed=True)
    assert body(b) == ["%1 = load 2 signed %0, +2"]
    b = Builder("f")
    b.load(b.parameters[0], 2, 2, signed=True)
    assert body(b) == ["%1 = load 2 %0, +2", "%2 = alu shl %1, 48", "%3 = alu sar %2, 48"]


def test_32_bit_comparisons_widen_without_the_instruction():
    """Before ISA v3 only 64-bit jumps exist: operands are extended by the comparison's sign."""
    b = Builder("f", V2)
    then = b.block()
    b.branch_imm("slt", b.parameters[0], -1, then, then, 32)
    b.place(then)
    b.exit_imm(0)
    texts = [repr(op) for op in b.finish().blocks[0].ops]
    assert texts[1:3] == ["%2 = alu shl %0, 32", "%3 = alu sar %2, 32"]
    assert texts[-1].startswith("branch slt %3, %5")


@pytest.mark.parametrize(
    ("name", "imm", "expected"),
    [
        ("div", 0, ["%1 = const 0"]),
        ("mod", 0, []),
        ("sdiv", -1, ["%1 = neg %0"]),
        ("smod", -1, ["%1 = const 0"]),
        ("shl", 64, ["%1 = alu shl %0, 0"]),
        ("sdiv", 7, ["%1 = alu sdiv %0, 7"]),
        ("add", 1 << 40, ["%1 = const 1099511627776", "%2 = alu add %0, %1"]),
        ("and", 0xFFFFFFFF, ["%1 = const 4294967295", "%2 = alu and %0, %1"]),
    ],
)
def test_immediates_that_the_verifier_or_the_encoding_refuses(name, imm, expected):
    """A constant zero divisor, a wide shift and large numbers must never reach the kernel as immediates."""
    b = Builder("f", V4)
    b.alu_imm(name, b.parameters[0], imm)
    assert body(b) == expected


def test_into_never_destroys_an_operand_that_is_still_read():
    """x = a - x computes on the register of its result: the difference goes through a fresh one."""
    b = Builder("f")
    x = b.reg()
    b.assign(x, b.parameters[0])
    assert b.alu("sub", b.parameters[0], x, into=x) == x
    assert b.alu("add", b.parameters[0], x, into=x) == x
    assert body(b) == ["%1 = mov %0", "%2 = alu sub %0, %1", "%1 = mov %2", "%1 = alu add %0, %1"]


def test_zeroing_uses_the_widest_aligned_stores():
    b = Builder("f")
    b.zero(b.parameters[0], 3, 14)
    sizes = [(op.off, op.size) for op in b.function.ops()]
    assert sizes == [(3, 1), (4, 4), (8, 8), (16, 1)]


def test_far_offsets_are_added_first():
    """An instruction has 16 bits of offset."""
    b = Builder("f")
    b.load(b.parameters[0], 40000, 8)
    assert body(b) == ["%1 = alu add %0, 40000", "%2 = load %1"]


def test_misuse_is_an_internal_error():
    """An open function, a block placed twice, a target never placed, operations after the end."""
    b = Builder("f")
    with pytest.raises(InternalError, match="does not end"):
        b.finish()
    block = b.block()
    b.branch_imm("eq", b.parameters[0], 0, block, b.block())
    assert not b.open
    with pytest.raises(InternalError, match="after the end"):
        b.const(1)
    b.place(block)
    b.exit_imm(0)
    with pytest.raises(InternalError, match="placed twice"):
        b.place(block)
    with pytest.raises(InternalError, match="never placed"):
        b.finish()
    with pytest.raises(InternalError, match="bad arguments"):
        Builder("g").call("strncmp", *[b.parameters[0]] * 6)
