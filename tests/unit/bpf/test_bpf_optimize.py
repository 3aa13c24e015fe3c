"""Each clean-up on the smallest function that needs it, and the cases where it must keep its hands off."""

from __future__ import annotations

import pytest

from probescope.bpf.builder import Builder
from probescope.bpf.lir import Op
from probescope.bpf.optimize import optimize
from probescope.model.features import BASELINE_6_1, Features

V4 = Features(BASELINE_6_1.yes | {"isa:v4"})


def optimized(b):
    function = b.finish()
    optimize(function)
    return [repr(op) for op in function.ops()]


def after(make, features=BASELINE_6_1, parameters=1):
    """The operations of a function that gives what ``make(builder, *parameters)`` computes."""
    b = Builder("f", features, "local", parameters)
    b.exit(make(b, *b.parameters))
    return optimized(b)


def test_known_operands_become_immediates():
    assert after(lambda b, x: b.alu("add", x, b.const(5))) == ["%2 = alu add %0, 5", "exit %2"]
    assert after(lambda b, x: b.alu("mul", b.const(6), x)) == ["%2 = alu mul %0, 6", "exit %2"]
    assert after(lambda b, x: b.alu("shl", x, b.const(67))) == ["%2 = alu shl %0, 3", "exit %2"]


def test_numbers_that_no_immediate_holds_stay():
    """Sign-extended 32 bits are all there is; a known zero divisor is refused by the verifier as an immediate."""
    found = after(lambda b, x: b.alu("add", x, b.const(1 << 31)))
    assert found == ["%1 = const 2147483648", "%2 = alu add %0, %1", "exit %2"]
    assert after(lambda b, x: b.alu("div", x, b.const(0)))[1] == "%2 = alu div %0, %1"


def test_arithmetic_on_numbers_is_done_now():
    assert after(lambda b, _: b.alu_imm("sub", b.alu_imm("mul", b.const(6), 7), 2)) == ["exit 40"]
    assert after(lambda b, _: b.neg(b.const(1), 32)) == ["exit 4294967295"]
    assert after(lambda b, _: b.sext(b.const(0x80), 8), V4) == ["exit -128"]
    assert after(lambda b, _: b.swap(b.const(0x1234), 16, "be")) == ["exit 13330"]


@pytest.mark.parametrize(
    ("name", "imm", "expected"),
    [("div", 1024, "shr %0, 10"), ("mod", 8, "and %0, 7"), ("mul", 16, "shl %0, 4"), ("div", 3, "div %0, 3")],
)
def test_powers_of_two_are_shifted(name, imm, expected):
    """A division costs the processor some 25 cycles, a shift one."""
    assert after(lambda b, x: b.alu_imm(name, x, imm))[0] == f"%1 = alu {expected}"


def test_neutral_operations_vanish():
    def make(b, x):
        for name, imm in [("add", 0), ("or", 0), ("xor", 0), ("shl", 0), ("mul", 1), ("div", 1), ("and", -1)]:
            x = b.alu_imm(name, x, imm)
        return x

    assert after(make) == ["exit %0"]


def test_what_is_narrow_already_is_not_narrowed_again():
    """Loads of four bytes and 32-bit arithmetic clear the upper half themselves."""
    assert after(lambda b, x: b.zext(b.load(x, 0, 4), 32)) == ["%1 = load 4 %0", "exit %1"]
    assert after(lambda b, x: b.zext(b.load(x, 0, 1), 8)) == ["%1 = load 1 %0", "exit %1"]
    assert after(lambda b, x: b.zext(b.alu("add", x, x, 32), 32)) == ["%1 = alu add 32 %0, %0", "exit %1"]
    assert after(lambda b, x: b.sext(b.load(x, 0, 4, signed=True), 32), V4) == ["%1 = load 4 signed %0", "exit %1"]
    assert after(lambda b, x: b.zext(b.alu("add", x, x), 32))[1] == "%2 = mov 32 %1"
    assert after(lambda b, x: b.sext(b.load(x, 0, 4), 32), V4)[1] == "%2 = sext 32 %1"


def test_offsets_move_into_memory_accesses():
    """The verifier lets the context be used at constant offsets of the instruction only."""
    found = after(lambda b, x: b.load(b.alu_imm("add", b.alu_imm("add", x, 8), 16), 4, 8))
    assert found == ["%3 = load %0, +28", "exit %3"]


def test_offsets_too_far_for_an_instruction_stay():
    found = after(lambda b, x: b.load(b.alu_imm("add", x, 0x7FFF), 8, 8))
    assert found == ["%1 = alu add %0, 32767", "%2 = load %1, +8", "exit %2"]


def test_addresses_of_slots_take_offsets():
    def make(b, x):
        b.store(b.alu_imm("add", b.slot_address(b.slot(16)), 8), 0, x, 8)
        return x

    assert after(make) == ["%2 = slot 0, +8", "store %2, %0", "exit %0"]


def test_stores_of_numbers_need_no_register():
    def make(b, x):
        b.store(x, 0, b.const(0xFFFFFFFF), 4)
        b.store(x, 8, b.const(0xFFFFFFFF), 8)
        return x

    assert after(make) == ["store 4 %0, -1", "%2 = const 4294967295", "store %0, %2, +8", "exit %0"]


def test_decided_branches_take_their_dead_side_with_them():
    b = Builder("f")
    dead, alive = b.block(), b.block()
    b.branch_imm("lt", b.const(5), 3, dead, alive)
    b.place(dead)
    b.call("trace_printk")
    b.exit_imm(1)
    b.place(alive)
    b.exit_imm(2)
    assert optimized(b) == ["exit 2"]


def test_comparisons_with_a_number_on_the_left_are_mirrored():
    b = Builder("f")
    a, c = b.block(), b.block()
    b.branch("lt", b.const(5), b.parameters[0], a, c)
    for block in (a, c):
        b.place(block)
        b.exit_imm(0)
    assert optimized(b)[0] == "branch gt %0, 5, b1, b2"


def test_pure_helpers_without_readers_go_and_others_stay():
    def make(b, x):
        b.call("ktime_get_ns")
        b.call("ktime_get_ns", pure=False)
        b.call("map_delete_elem", b.map("m"), x)
        b.load(x, 0, 8)
        return x

    assert after(make) == ["call ktime_get_ns", "%3 = map m", "call map_delete_elem %3, %0", "exit %0"]


def test_unread_old_values_of_atomics_are_not_asked_for():
    """fetch_add without a reader is add, which costs the processor less; xchg has no other form."""

    def make(b, x):
        b.fetch("fetch_add", x, 0, x)
        b.fetch("xchg", x, 0, x)
        return x

    assert after(make)[:2] == ["atomic add %0, %0", "%2 = atomic xchg %0, %0"]


def test_results_are_written_to_variables_directly():
    def make(b, x):
        v = b.reg()
        b.assign_imm(v, 0)
        b.assign(v, b.alu_imm("add", x, 3))
        b.assign(v, b.alu_imm("mul", v, 5))
        return v

    assert after(make) == ["%1 = const 0", "%1 = alu add %0, 3", "%1 = alu mul %1, 5", "exit %1"]


def test_a_copy_stays_where_its_variable_is_used_in_between():
    def make(b, x):
        v = b.reg()
        b.assign(v, b.load(x, 0, 8))
        t = b.alu_imm("add", x, 3)
        b.store(x, 0, v, 8)
        b.assign(v, t)
        return v

    assert after(make)[-2:] == ["%1 = mov %3", "exit %1"]


def test_an_operand_is_not_destroyed_by_writing_to_its_variable():
    """v = x - v must not become v = x; v -= v."""

    def make(b, x):
        v = b.copy(x)
        w = b.reg()
        b.assign(w, v)
        b.assign_imm(w, 9)
        b.assign(w, b.load(x, 0, 8))
        b.assign(w, b.alu("sub", x, w))
        return w

    assert after(make)[-3:] == ["%4 = alu sub %0, %2", "%2 = mov %4", "exit %2"]


def test_variables_are_known_until_the_end_of_their_block_only():
    """A loop counter is 0 before its loop and something else inside."""
    b = Builder("f")
    i = b.reg()
    b.assign_imm(i, 0)
    head, body, out = b.block(), b.block(), b.block()
    b.place(head)
    b.branch_imm("lt", i, 10, body, out)
    b.place(body)
    b.alu_imm("add", i, 1, into=i)
    b.jump(head)
    b.place(out)
    b.exit(i)
    assert optimized(b) == [
        "%1 = const 0",
        "jump b1",
        "branch lt %1, 10, b2, b3",
        "%1 = alu add %1, 1",
        "jump b1",
        "exit %1",
    ]


def test_jumps_to_jumps_are_threaded_and_blocks_joined():
    b = Builder("f")
    a, c, d, end = b.block(), b.block(), b.block(), b.block()
    b.branch_imm("eq", b.parameters[0], 0, a, c)
    for block, to in ((a, d), (c, d), (d, end)):
        b.place(block)
        b.jump(to)
    b.place(end)
    b.exit_imm(3)
    assert optimized(b) == ["exit 3"]


def test_an_endless_loop_of_empty_blocks_ends_here():
    """Threading follows jumps: a ring of them must not hang the compiler."""
    b = Builder("f")
    a, c = b.block(), b.block()
    b.place(a)
    b.jump(c)
    b.place(c)
    b.jump(a)
    assert all(text.startswith("jump") for text in optimized(b))


def test_unreadable_state_never_survives_between_functions():
    """Operations are rewritten in place: doing it twice must change nothing more."""
    b = Builder("f")
    b.exit(b.alu("add", b.load(b.parameters[0], 0, 8), b.const(3)))
    function = b.finish()
    optimize(function)
    once = str(function)
    optimize(function)
    assert str(function) == once
    assert isinstance(function.blocks[0].ops[0], Op)
