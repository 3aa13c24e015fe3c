"""Registers, spills and the frame: what the emitted instructions look like where it matters."""

from __future__ import annotations

import re

import pytest
from bpf_machine import Machine

from probescope.bpf.assemble import assemble
from probescope.bpf.builder import Builder
from probescope.bpf.disasm import disassemble
from probescope.bpf.frame import lay_out
from probescope.bpf.homes import Homes
from probescope.bpf.moves import parallel_moves
from probescope.bpf.optimize import optimize
from probescope.bpf.regalloc import allocate
from probescope.errors import InternalError, LimitError
from probescope.model.features import BASELINE_6_1, Features


def asm(*functions):
    return [text for _, text in disassemble(assemble(functions).insns)]


def test_the_context_moves_only_if_a_call_would_destroy_it():
    """r6 to r9 cost a push and a pop: a context that is read before the first call only stays in r1."""
    b = Builder("f")
    b.exit(b.load(b.parameters[0], 8, 8))
    assert asm(b.finish()) == ["r0 = *(u64 *)(r1 +8)", "exit"]
    b = Builder("f")
    b.call("ktime_get_ns", pure=False)
    b.exit(b.load(b.parameters[0], 8, 8))
    assert asm(b.finish()) == ["r6 = r1", "call bpf_ktime_get_ns#5", "r0 = *(u64 *)(r6 +8)", "exit"]


def test_arguments_are_computed_where_they_are_wanted():
    """No copies around a call: sums, loads, addresses and numbers are made in their argument registers."""
    b = Builder("f")
    ctx = b.parameters[0]
    buffer = b.slot(16, name="buffer")
    size = b.alu_imm("and", b.load(ctx, 8, 8), 15)
    b.call("probe_read_kernel", b.slot_address(buffer), size, b.alu_imm("add", b.load(ctx, 16, 8), 24))
    b.exit_imm(0)
    assert asm(b.finish()) == [
        "r2 = *(u64 *)(r1 +8)",
        "r2 &= 15",
        "r3 = *(u64 *)(r1 +16)",
        "r3 += 24",
        "r1 = r10",
        "r1 += -16",
        "call bpf_probe_read_kernel#113",
        "r0 = 0",
        "exit",
    ]


def test_results_that_do_not_cross_a_call_stay_in_r0():
    b = Builder("f")
    b.exit(b.alu_imm("shr", b.call("get_current_pid_tgid"), 32))
    assert asm(b.finish()) == ["call bpf_get_current_pid_tgid#14", "r0 >>= 32", "exit"]


def test_parameters_are_shuffled_at_once():
    """A rotation of arguments must not overwrite one before it has moved."""
    b = Builder("main")
    b.exit(b.local("g", *[b.load(b.parameters[0], 8 * n, 8) for n in range(3)]))
    g = Builder("g", kind="local", parameters=3)
    p = g.parameters
    g.exit(g.local("h", p[1], p[2], p[0]))
    h = Builder("h", kind="local", parameters=3)
    h.exit(h.alu("sub", h.alu_imm("mul", h.parameters[0], 5), h.alu("xor", h.parameters[1], h.parameters[2])))
    text = asm(b.finish(), g.finish(), h.finish())
    rotated = text[text.index("exit") + 1 :][:4]
    registers = {f"r{n}": n for n in range(6)}
    for line in rotated:
        to, source = line.split(" = ")
        registers[to] = registers[source]
    assert [registers[r] for r in ("r1", "r2", "r3")] == [2, 3, 1]


@pytest.mark.parametrize(
    ("moves", "length"),
    [
        ({}, 0),
        ({1: 1}, 0),
        ({1: 2}, 1),
        ({1: 2, 2: 1}, 3),
        ({1: 2, 2: 3, 3: 1}, 4),
        ({1: 6, 2: 1, 3: 1}, 3),
        ({1: 2, 2: 1, 3: 4, 4: 3}, 6),
    ],
)
def test_parallel_moves_do_what_simultaneous_ones_would(moves, length):
    """Rings need one spare register each, chains none."""
    registers = {r: f"v{r}" for r in range(10)}
    expected = {to: registers[source] for to, source in moves.items()}
    sequence = parallel_moves(moves, 0)
    for to, source in sequence:
        registers[to] = registers[source]
    assert {to: registers[to] for to in moves} == expected
    assert len(sequence) == length


def many(count, calls=1):
    """``count`` values alive over a call, then summed."""
    b = Builder("f")
    values = [b.load(b.parameters[0], 8 * n, 8) for n in range(count)]
    for _ in range(calls):
        b.call("ktime_get_ns", pure=False)
    total = values[0]
    for v in values[1:]:
        total = b.alu("add", total, v)
    b.exit(total)
    return b.finish()


def test_four_values_survive_a_call_in_registers():
    assert not any("r10" in line for line in asm(many(4)))


def test_more_are_spilled_whole_and_aligned():
    """The verifier keeps pointers and ranges through aligned 8-byte spills only; each is stored once and loaded
    once."""
    text = asm(many(9))
    stores = [line for line in text if line.startswith("*(u64 *)(r10")]
    loads = [line for line in text if re.match(r"r\d = \*\(u64 \*\)\(r10", line)]
    assert len(stores) == len(loads) == 5
    offsets = sorted(int(re.search(r"r10 (-\d+)", line).group(1)) for line in stores)
    assert offsets == [-40, -32, -24, -16, -8]


def test_what_can_be_made_again_is_never_kept():
    """Numbers, maps and stack addresses that several calls use take neither r6 to r9 nor stack."""
    b = Builder("f")
    key = b.slot(8)
    shared = [b.map("m"), b.slot_address(key)]
    b.store_slot(key, 0, b.const(1 << 40), 8)
    for _ in range(3):
        b.call("map_delete_elem", *shared)
    b.exit_imm(0)
    text = asm(b.finish())
    assert not any(re.search(r"r[6-9]", line) for line in text)
    assert text.count("r1 = map #0") == 3


def compared_and_spilled():
    b = Builder("f")
    ctx = b.parameters[0]
    values = [b.load(ctx, 8 * n, 8) for n in range(8)]
    b.call("ktime_get_ns", pure=False)
    out = b.block()
    for v in values:
        go_on = b.block()
        b.branch_imm("gt", v, 100, out, go_on)
        b.place(go_on)
    b.call("ktime_get_ns", pure=False)
    for v in values:
        b.store(ctx, 64, v, 8)
    b.place(out)
    b.exit_imm(0)
    return b.finish()


def test_compared_values_are_stored_again_for_forgetful_verifiers():
    """Until 6.8 what a comparison says of a number is not known of its copy in memory: on both sides it is stored
    again."""
    text = asm(compared_and_spilled())
    tests = [n for n, line in enumerate(text) if line.startswith("if ")]
    again = [n for n in tests if text[n + 1].startswith("*(u64 *)(r10")]
    assert len(again) >= 4
    for n in again:
        register = text[n].split(" ")[1]
        target = n + 1 + int(text[n].rsplit("+", 1)[1])
        assert text[n + 1].endswith(f"= {register}")
        assert text[target] == text[n + 1]


def test_newer_verifiers_need_no_second_store():
    features = Features(BASELINE_6_1.yes | {"isa:may_goto"})
    text = [t for _, t in disassemble(assemble([compared_and_spilled()], features).insns)]
    tests = [n for n, line in enumerate(text) if line.startswith("if ")]
    assert len(tests) == 8
    assert not any(text[n + 1].startswith("*(u64 *)(r10") for n in tests)


def test_a_compare_and_exchange_has_r0_for_itself():
    """The instruction reads and writes r0: nothing else that is alive may be there."""
    b = Builder("f")
    ctx = b.parameters[0]
    place = b.slot(8)
    kept = b.load(ctx, 0, 8)
    b.store_slot(place, 0, kept, 8)
    old = b.cmpxchg(b.slot_address(place), 0, b.load(ctx, 8, 8), b.load(ctx, 16, 8))
    b.exit(b.alu("add", old, kept))
    text = asm(b.finish())
    at = next(n for n, line in enumerate(text) if "cmpxchg" in line)
    assert re.fullmatch(r"r0 = atomic64_cmpxchg\(\(u64 \*\)\(r10 -8\), r0, r[1-9]\)", text[at])
    assert text[at + 1 :] in ([f"r0 += r{n}", "exit"] for n in range(1, 10))


def test_cold_blocks_leave_the_straight_path_but_keep_intervals_short():
    """A value that lives across an error path must not block its register until the end of the program, where that path
    is put."""
    b = Builder("f")
    ctx = b.parameters[0]
    for n in range(30):
        value = b.load(ctx, 8 * n, 8)
        fail, go_on = b.block(cold=True), b.block()
        b.branch_imm("eq", value, 0, fail, go_on)
        b.place(fail)
        b.call("trace_printk", b.const(n), b.const(0), pure=False)
        b.place(go_on)
        b.store(ctx, 8 * n, value, 8)
    b.exit_imm(0)
    text = asm(b.finish())
    assert not any("r10" in line for line in text)
    assert text.index("exit") < text.index("call bpf_trace_printk#6")


def test_values_live_through_a_last_block_that_jumps_back():
    """The block that stands last need not be the one that ends: what is alive over it may not lose its register
    there."""
    b = Builder("f")
    ctx = b.parameters[0]
    kept = b.load(ctx, 0, 8)
    back, end = b.block(), b.block()
    turn = b.block()
    b.branch_imm("eq", b.load(ctx, 8, 8), 0, turn, back)
    b.place(back)
    b.branch_imm("eq", kept, 5, end, end)
    b.place(end)
    b.exit(kept)
    b.place(turn)
    numbers = [b.load(ctx, 8 * n, 8) for n in range(2, 11)]
    for n in numbers:
        b.store(ctx, 0, n, 8)
    b.jump(back)
    context = bytearray(b"".join((n + 40).to_bytes(8, "little") if n != 1 else bytes(8) for n in range(12)))
    assert Machine(assemble([b.finish()]).insns, context).run() == 40


def test_only_the_newest_copy_of_a_spilled_variable_counts():
    """After a variable was written through one register, another that still has its old value must be forgotten."""
    function = many(9)
    optimize(function)
    allocation = allocate(function)
    v = allocation.spilled[0]
    homes = Homes(function, allocation, lay_out(function, allocation))
    homes._written(v, 3)
    homes._written(v, 4)
    assert homes.held == {4: v}


# --- the frame -------------------------------------------------------------------------------------------------------


def slots_in_turn(count, size, scoped):
    b = Builder("f")
    for n in range(count):
        slot = b.slot(size, name=f"s{n}")
        if scoped:
            b.begin(slot)
        b.store_slot(slot, 0, b.parameters[0], 8)
        b.call("ktime_get_ns", b.slot_address(slot), pure=False)
        if scoped:
            b.end(slot)
    b.exit_imm(0)
    return b.finish()


def test_slots_share_bytes_between_begin_and_end():
    assert assemble([slots_in_turn(20, 64, True)]).stack_bytes == 64
    with pytest.raises(LimitError):
        assemble([slots_in_turn(20, 64, False)])


def test_a_slot_that_is_open_around_a_loop_keeps_its_bytes():
    """Data flow, not the order of the text, decides: what is opened inside the loop may not share with what was opened
    before it."""
    b = Builder("f")
    outer = b.slot(8, name="outer")
    b.begin(outer)
    i = b.reg()
    b.assign_imm(i, 0)
    head, body, out = b.block(), b.block(), b.block()
    b.place(head)
    b.branch_imm("lt", i, 3, body, out)
    b.place(body)
    inner = b.slot(8, name="inner")
    b.begin(inner)
    b.store_slot(inner, 0, i, 8)
    b.end(inner)
    b.alu_imm("add", i, 1, into=i)
    b.jump(head)
    b.place(out)
    b.store_slot(outer, 0, i, 8)
    b.end(outer)
    b.exit_imm(0)
    stores = [line for line in asm(b.finish()) if line.startswith("*(u64 *)(r10")]
    assert len({line.split(")")[1] for line in stores}) == len(stores) == 2


def test_a_slot_that_stays_open_over_a_backward_branch_keeps_its_bytes():
    """Opened late in a loop and closed after it, a slot is in use at the loop's start too: another one there may not
    share."""
    b = Builder("f")
    kept, other = b.slot(8, name="kept"), b.slot(8, name="other")
    head, body, out, late = b.block(), b.block(), b.block(), b.block()
    b.place(head)
    b.branch_imm("lt", b.call("ktime_get_ns"), 3, body, late)
    b.place(body)
    b.begin(kept)
    b.store_imm(b.slot_address(kept), 0, 7, 8)
    b.branch_imm("lt", b.call("ktime_get_ns"), 3, head, out)
    b.place(out)
    value = b.load_slot(kept, 0, 8)
    b.end(kept)
    b.exit(value)
    b.place(late)
    b.begin(other)
    b.store_slot(other, 0, b.parameters[0], 8)
    b.end(other)
    b.jump(out)
    places = {re.search(r"r10 -\d+", line).group(0) for line in asm(b.finish()) if "r10" in line}
    assert places == {"r10 -8", "r10 -16"}


def test_too_much_stack_is_explained():
    """The error names the sizes, the largest slots by name, and what to do; not an offset or a register."""
    b = Builder("clause")
    for name, size in (("key", 300), ("value", 200), ("text", 64)):
        b.call("trace_printk", b.slot_address(b.slot(size, name=name)), pure=False)
    b.exit_imm(0)
    with pytest.raises(LimitError) as caught:
        assemble([b.finish()])
    assert caught.value.what == (
        "clause needs 568 bytes of stack at a time, the kernel gives 512: key (304), value (200), text (64)"
    )
    assert caught.value.hints


def test_unused_slots_cost_nothing():
    b = Builder("f")
    b.slot(4096, name="never")
    b.exit_imm(0)
    assert assemble([b.finish()]).stack_bytes == 32


# --- chains of functions ---------------------------------------------------------------------------------------------


def chain(depth, size):
    functions = []
    for n in range(depth):
        b = Builder(f"f{n}", kind="local" if n else "main")
        slot = b.slot(size, name="big")
        b.store_imm(b.slot_address(slot), 0, 1, 8)
        if n + 1 < depth:
            b.local(f"f{n + 1}", b.parameters[0])
        b.exit_imm(0)
        functions.append(b.finish())
    return functions


def test_frames_of_a_chain_of_calls_are_added_up():
    """The kernel wants 512 bytes for the whole chain, each frame rounded up to 32."""
    assert assemble(chain(3, 130)).stack_bytes == 3 * 160
    with pytest.raises(LimitError, match=r"needs 640 bytes of stack, the kernel gives 512: f0 \(160\) -> f1 \(160\)"):
        assemble(chain(4, 130))
    with pytest.raises(LimitError, match="needs 9 frames, the kernel gives 8"):
        assemble(chain(9, 8))


def test_functions_that_nobody_calls_are_left_out():
    """The verifier refuses unreachable instructions."""
    unused = Builder("unused", kind="local", parameters=0)
    unused.exit_imm(1)
    code = assemble([*chain(2, 8), unused.finish()])
    assert [name for _, name in code.functions] == ["f0", "f1"]


def test_calls_to_nowhere_and_to_oneself_are_internal_errors():
    b = Builder("f")
    b.local("missing")
    b.exit_imm(0)
    with pytest.raises(InternalError, match="does not exist"):
        assemble([b.finish()])
    b = Builder("f")
    b.local("f")
    b.exit_imm(0)
    with pytest.raises(InternalError, match="calls itself"):
        assemble([b.finish()])
