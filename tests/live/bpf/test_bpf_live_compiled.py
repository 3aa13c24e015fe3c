"""What the lower half of the compiler emits, in this kernel: its verifier accepts it and its processor runs it as
meant."""

from __future__ import annotations

import random
import struct

import pytest
from bpf_interpreter import interpret
from bpf_kernel import SLEEPABLE, patched, run_syscall
from bpf_random import CONTEXT, INPUTS, NUMBERS, Random

from probescope.bpf.assemble import assemble
from probescope.bpf.btf_writer import BtfWriter, func_info, line_info, pack_func_info
from probescope.bpf.builder import Builder
from probescope.bpf.disasm import disassemble
from probescope.bpf.verifier_log import diagnose, parse
from probescope.diagnostics import Source, Span
from probescope.errors import LimitError, VerifierError
from probescope.kernel.bpf import btf_load
from probescope.kernel.bpf_map import map_create
from probescope.kernel.bpf_prog import Load, prog_load, prog_load_verbose, prog_test_run
from probescope.kernel.uapi import bpf as u
from probescope.model.features import BASELINE_6_1, Features

V4 = Features(BASELINE_6_1.yes | {"isa:v4", "isa:gotol", "isa:may_goto"})
M64 = (1 << 64) - 1


@pytest.mark.parametrize("size", [5, 12, 25, 45])
@pytest.mark.parametrize("features", [BASELINE_6_1, V4], ids=["6.1", "v4"])
def test_random_programs_run_as_interpreted(features, size):
    """The verifier must accept every program, and 30 programs of each size must give the interpreter's result and
    memory."""
    ran = 0
    for seed in range(30):
        rng = random.Random(f"{seed} {size}")
        functions = Random(rng, features, size).program()
        inputs = b"".join((rng.choice(NUMBERS) & M64).to_bytes(8, "little") for _ in range(INPUTS)).ljust(
            CONTEXT, b"\0"
        )
        expected = bytearray(inputs)
        result = interpret(functions, expected)
        try:
            code = assemble(functions, features)
        except LimitError:
            continue
        found, after = run_syscall(code.insns, inputs)
        assert (found, after) == (result & 0xFFFFFFFF, bytes(expected)), f"seed {seed}"
        ran += 1
    assert ran > 20


def counting(features=BASELINE_6_1):
    """Counts by an 8-byte key out of the context: look up, add or insert."""
    b = Builder("count", features)
    key, one = b.slot(8, name="key"), b.slot(8, name="one")
    b.span = Span(1, 1, 1, 5)
    b.store_slot(key, 0, b.load(b.parameters[0], 8, 8), 8)
    b.span = Span(2, 3, 2, 9)
    value = b.call("map_lookup_elem", b.map("counts"), b.slot_address(key))
    found, missing, out = b.block(), b.block(cold=True), b.block()
    b.branch_imm("ne", value, 0, found, missing)
    b.place(found)
    b.atomic("add", value, 0, b.const(1))
    b.jump(out)
    b.place(missing)
    b.store_imm(b.slot_address(one), 0, 1, 8)
    b.call("map_update_elem", b.map("counts"), b.slot_address(key), b.slot_address(one), b.const(1))
    b.place(out)
    b.span = Span(3, 1, 3, 2)
    b.exit_imm(7)
    return b.finish()


def test_a_counting_program_counts():
    """Map pointers, stack keys, the null check and a cold path, run as a raw tracepoint program."""
    code = assemble([counting()])
    with map_create(u.BPF_MAP_TYPE_HASH, 8, 8, 16) as counts:
        insns = patched(code, {"counts": counts})
        with prog_load(Load(u.BPF_PROG_TYPE_RAW_TRACEPOINT, insns, "count")) as prog:
            for key in (5, 6, 5, 5):
                assert prog_test_run(prog, ctx=struct.pack("<QQ", 0, key)).retval == 7
        assert [counts.lookup(struct.pack("<Q", k)) for k in (5, 6)] == [struct.pack("<Q", n) for n in (3, 1)]


def summing():
    """Sums 0..9 by bpf_loop: its callback adds the index to a number on the caller's stack."""
    b = Builder("main")
    total = b.slot(8, name="total")
    b.zero_slot(total)
    b.call("loop", b.const(10), b.callback("add"), b.slot_address(total), b.const(0), pure=False)
    b.exit(b.load_slot(total, 0, 8))
    c = Builder("add", kind="callback", parameters=2)
    c.store(c.parameters[1], 0, c.alu("add", c.load(c.parameters[1], 0, 8), c.parameters[0]), 8)
    c.exit_imm(0)
    return [b.finish(), c.finish()]


def test_callbacks_load_with_our_btf():
    """func_info: bpf_loop takes a callback only if the program's BTF says that it is a static function."""
    code = assemble(summing())
    writer = BtfWriter()
    info = pack_func_info(func_info(writer, code))
    with btf_load(writer.data()) as btf:
        load = Load(u.BPF_PROG_TYPE_RAW_TRACEPOINT, code.insns, "sum", btf_fd=btf, func_info=info)
        with prog_load(load) as prog:
            assert prog_test_run(prog, ctx=bytes(16)).retval == 45


def test_source_lines_show_in_the_verifier_log():
    """line_info: with it, the kernel's log quotes the script."""
    code = assemble([counting()])
    source = Source("reads.bt", "key = args.fd;\n  counts[key]++;\n}")
    writer = BtfWriter()
    info = pack_func_info(func_info(writer, code))
    lines = line_info(writer, code, source)
    with map_create(u.BPF_MAP_TYPE_HASH, 8, 8, 16) as counts, btf_load(writer.data()) as btf:
        insns = patched(code, {"counts": counts})
        load = Load(u.BPF_PROG_TYPE_RAW_TRACEPOINT, insns, "c", btf_fd=btf, func_info=info, line_info=lines)
        prog, log = prog_load_verbose(load)
        prog.close()
    assert "; key = args.fd;" in log
    assert "; counts[key]++;" in log


def log_text(log):
    """{instruction index: text} from a verifier log of level 2, without the state comments behind."""
    found = {}
    for line in log.splitlines():
        head, _, rest = line.partition(": (")
        if head.isdigit():
            found.setdefault(int(head), rest[4:].partition(" ;")[0].strip())
    return found


@pytest.mark.parametrize("features", [BASELINE_6_1, V4], ids=["6.1", "v4"])
def test_disassembly_reads_like_the_kernel_s(features):
    """The notation is the kernel's: every instruction that its verifier prints, we print the same."""
    compared = 0
    for seed in range(12):
        code = assemble(Random(random.Random(seed), features, 40).program(), features)
        prog, log = prog_load_verbose(Load(u.BPF_PROG_TYPE_SYSCALL, code.insns, "d", flags=SLEEPABLE))
        prog.close()
        ours = dict(disassemble(code.insns))
        for at, text in log_text(log).items():
            assert ours[at] == text
            compared += 1
    assert compared > 800


def test_may_goto_leaves_an_endless_loop():
    """may_goto: the verifier accepts a loop without a bound, and the kernel ends it."""
    b = Builder("main", V4)
    turns = b.reg()
    b.assign_imm(turns, 0)
    head, body, out = b.block(), b.block(), b.block()
    b.place(head)
    b.may_goto(out, body)
    b.place(body)
    b.alu_imm("add", turns, 1, into=turns)
    b.jump(head)
    b.place(out)
    b.exit(b.alu_imm("shr", turns, 10))
    code = assemble([b.finish()], V4)
    result, _ = run_syscall(code.insns, bytes(8))
    assert result > 100


def refused(insns):
    with pytest.raises(VerifierError) as caught:
        prog_load(Load(u.BPF_PROG_TYPE_RAW_TRACEPOINT, insns, "r")).close()
    return caught.value.log


def test_a_refusal_points_at_the_script():
    """A read through a plain number must come back as a sentence at the line that asked for it."""
    b = Builder("main")
    b.span = Span(1, 1, 1, 6)
    number = b.load(b.parameters[0], 0, 8)
    b.span = Span(2, 5, 2, 11)
    b.exit(b.load(number, 16, 8))
    code = assemble([b.finish()])
    source = Source("x.bt", "a = 1;\nb = (*p).x;\n")
    d = diagnose(refused(code.insns), code.lines, source)
    assert d.span == Span(2, 5, 2, 11)
    assert d.message == "the kernel refused the program: it reads memory through a plain number"
    assert d.hints[-1].startswith("the verifier's words: R")


def insn(op, dst=0, src=0, off=0, imm=0):
    return struct.pack("<BBhi", op, src << 4 | dst, off, imm)


EXIT = insn(0xB7) + insn(0x95)


@pytest.mark.parametrize(
    ("code", "reason", "at"),
    [
        (insn(0xBF, 0, 2) + EXIT, "register 2 is read before it is written", 0),
        (EXIT + EXIT, "instruction 2 can never be reached", 2),
        (insn(0xB7) + insn(0xB7) + insn(0x15, 0, 0, -2) + EXIT, "a loop does not end as far as the kernel can see", 1),
        (insn(0x85, imm=58) + EXIT, "helper bpf_override_return not allowed in probe", 0),
        (insn(0x79, 0, 1, 4000) + EXIT, "this part of the event cannot be read (8 bytes at 4000)", 0),
        (insn(0xB7, 1) + insn(0x85, imm=1) + EXIT, "an argument is a scalar where one of these is needed: map_ptr", 1),
        (insn(0x7A, 10, 0, -520) + EXIT, "it uses a part of the stack that was not written, or is not its own", 0),
    ],
)
def test_refusals_of_this_kernel_are_understood(code, reason, at):
    """The table of messages is made of this kernel's own words, not of remembered ones."""
    found = parse(refused(code))
    assert (found.reason, found.insn) == (reason, at)
