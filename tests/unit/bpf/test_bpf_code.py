"""Bytes, branches, lines, listings: the last steps of the compiler, and what its output costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bpf_machine import Machine
from work import instructions

from probescope.bpf import insn
from probescope.bpf.assemble import assemble
from probescope.bpf.builder import Builder
from probescope.bpf.disasm import disassemble, text
from probescope.bpf.listing import list_object, listing
from probescope.bpf.unit import MapSpec, Object, ProgSpec, Reloc, Unit
from probescope.diagnostics import Source, Span
from probescope.errors import LimitError
from probescope.model.features import BASELINE_6_1, Features

GOLDEN = Path(__file__).parents[2] / "golden" / "bpf"
V4 = Features(BASELINE_6_1.yes | {"isa:v4", "isa:gotol"})


def test_bytes_are_laid_out_as_the_kernel_reads_them():
    """struct bpf_insn: opcode, dst in the low and src in the high half of a byte, s16, s32, little-endian."""
    assert insn.pack([(0x79, 1, 6, -8, 0)]).hex() == "7961f8ff00000000"
    assert insn.pack([(0xB7, 0, 0, 0, -2)]).hex() == "b7000000feffffff"
    assert insn.pack(insn.wide(0x18, 3, 0, 0x12345678_9ABCDEF0, 0x12345678)).hex() == "18030000f0debc9a0000000078563412"
    assert insn.unpack(bytes.fromhex("7961f8ff00000000") + b"abc") == [(0x79, 1, 6, -8, 0)]


# What the log of Linux 6.18's verifier prints for these units.
KERNEL_TEXTS = [
    ("b700000005000000", "r0 = 5"),
    ("b4010000ffffffff", "w1 = -1"),
    ("bc21000000000000", "w1 = w2"),
    ("bf21080000000000", "r1 = (s8)r2"),
    ("bc21100000000000", "w1 = (s16)w2"),
    ("0f21000000000000", "r1 += r2"),
    ("1701000008000000", "r1 -= 8"),
    ("2c21000000000000", "w1 *= w2"),
    ("3f21010000000000", "r1 s/= r2"),
    ("9701010003000000", "r1 s%= 3"),
    ("c70100003f000000", "r1 s>>= 63"),
    ("8700000000000000", "r0 = -r0"),
    ("8403000000000000", "w3 = -w3"),
    ("dc01000010000000", "r1 = be16 r1"),
    ("d401000020000000", "r1 = le32 r1"),
    ("d701000040000000", "r1 = bswap64 r1"),
    ("7961f8ff00000000", "r1 = *(u64 *)(r6 -8)"),
    ("9161000000000000", "r1 = *(s8 *)(r6 +0)"),
    ("6bafe4ff00000000", None),
    ("6b1af0ff00000000", "*(u16 *)(r10 -16) = r1"),
    ("620afcff07000000", "*(u32 *)(r10 -4) = 7"),
    ("db10080000000000", "lock *(u64 *)(r0 +8) += r1"),
    ("c31000000a000000", None),
    ("c3100000a1000000", "r1 = atomic_fetch_xor((u32 *)(r0 +0), r1)"),
    ("db100000e1000000", "r1 = atomic64_xchg((u64 *)(r0 +0), r1)"),
    ("db10f8fff1000000", "r0 = atomic64_cmpxchg((u64 *)(r0 -8), r0, r1)"),
    ("1501050000000000", "if r1 == 0x0 goto pc+5"),
    ("6601fbffffffffff", "if w1 s> 0xffffffff goto pc-5"),
    ("4d12030000000000", "if r2 & r1 goto pc+3"),
    ("0500faff00000000", "goto pc-6"),
    ("0600000000000100", "gotol pc+65536"),
    ("e500020000000000", "may_goto pc+2"),
    ("8500000005000000", "call bpf_ktime_get_ns#5"),
    ("85100000fdffffff", "call pc-3"),
    ("9500000000000000", "exit"),
    ("2000000004000000", "r0 = *(u32 *)skb[4]"),
]


@pytest.mark.parametrize(("code", "expected"), KERNEL_TEXTS)
def test_instructions_read_as_in_the_kernel_s_log(code, expected):
    """Fixed texts: the notation may not drift where no kernel is at hand. None: not an instruction."""
    found = text(insn.unpack(bytes.fromhex(code))[0])
    assert found == (expected or found)
    assert (expected is None) == (found.endswith("unknown") or "r15" in found)


def test_names_take_the_place_of_numbers():
    pair = insn.wide(0x18, 1, insn.PSEUDO_MAP_FD, 5)
    assert text(pair[0], name="counts") == "r1 = map counts"
    assert text(insn.wide(0x18, 1, insn.PSEUDO_MAP_VALUE, 5, 16)[0], 16, "globals") == "r1 = map globals[0]+16"
    assert text(insn.wide(0x18, 2, insn.PSEUDO_FUNC, 7)[0], 0, "turn") == "r2 = subprog turn"
    assert text((insn.CALL, 0, insn.PSEUDO_KFUNC, 0, 0), name="bpf_iter_num_new") == "call bpf_iter_num_new"
    assert disassemble(insn.pack(insn.wide(0x18, 1, 0, -1, 0x7FFFFFFF))) == [(0, "r1 = 0x7fffffffffffffff")]


# --- branches beyond 16 bits ------------------------------------------------------------------------------------------


def far_loop(length):
    """Three turns of a loop whose body has ``length`` additions."""
    b = Builder("far", V4)
    i, total = b.reg(), b.reg()
    b.assign_imm(i, 0)
    b.assign(total, b.load(b.parameters[0], 0, 8))
    head, body, out = b.block(), b.block(), b.block()
    b.place(head)
    b.branch_imm("lt", i, 3, body, out)
    b.place(body)
    for _ in range(length):
        b.alu("add", total, i, into=total)
    b.alu_imm("add", i, 1, into=i)
    b.jump(head)
    b.place(out)
    b.exit(total)
    return b.finish()


def test_far_branches_go_by_gotol():
    """Both the way out of the loop and the way back are longer than a branch's 16 bits."""
    code = assemble([far_loop(33000)], V4)
    context = bytearray((5).to_bytes(8, "little"))
    assert Machine(code.insns, context).run() == 5 + 33000 * (0 + 1 + 2)
    opcodes = {code.insns[n] for n in range(0, len(code.insns), 8)}
    assert insn.GOTOL in opcodes


def test_near_branches_never_do():
    code = assemble([far_loop(32000)], V4)
    assert insn.GOTOL not in {code.insns[n] for n in range(0, len(code.insns), 8)}


def test_without_gotol_a_far_branch_is_a_limit():
    with pytest.raises(LimitError, match="too long for this kernel's branches"):
        assemble([far_loop(33000)], BASELINE_6_1)


# --- what goes along with the bytes -----------------------------------------------------------------------------------


def program():
    b = Builder("main")
    b.span = Span(1, 1, 1, 9)
    key = b.slot(8, name="key")
    b.store_slot(key, 0, b.load(b.parameters[0], 16, 8), 8)
    b.span = Span(2, 3, 2, 8)
    value = b.call("map_lookup_elem", b.map("counts"), b.slot_address(key))
    there, out = b.block(), b.block()
    b.branch_imm("ne", value, 0, there, out)
    b.place(there)
    b.atomic("add", value, 0, b.const(1))
    b.span = Span(3, 3, 3, 8)
    b.store(b.map_value("globals", 8), 0, b.local("twice", value), 8)
    b.call("loop", b.const(3), b.callback("turn"), b.const(0), b.const(0), pure=False)
    b.place(out)
    b.kfunc("bpf_rcu_read_lock")
    b.exit_imm(0)
    twice = Builder("twice", kind="local")
    twice.span = Span(5, 1, 5, 4)
    twice.exit(twice.alu("add", twice.load(twice.parameters[0], 0, 8), twice.parameters[0]))
    turn = Builder("turn", kind="callback", parameters=2)
    turn.exit_imm(0)
    return [b.finish(), twice.finish(), turn.finish()]


def spec(code):
    unit = Unit("reads", 0, "raw_tracepoint", (0,))
    return ProgSpec(
        "reads",
        "raw_tracepoint",
        unit,
        code.insns,
        code.relocs,
        lines=code.lines,
        functions=code.functions,
        stack_bytes=code.stack_bytes,
    )


SOURCE = Source("x.bt", "raw_tracepoint:sys_enter {\n  @[arg1] = count();\n  $x = f(1);\n}\n")


def test_relocations_and_lines_point_at_their_instructions():
    code = assemble(program())
    units = insn.unpack(code.insns)
    for r in code.relocs:
        opcode, _, src, _, imm = units[r.insn]
        assert (opcode, src) == {
            "map": (0x18, insn.PSEUDO_MAP_FD),
            "map_value": (0x18, insn.PSEUDO_MAP_VALUE),
            "kfunc": (insn.CALL, insn.PSEUDO_KFUNC),
        }[r.kind]
        assert imm == 0
    assert {r.name for r in code.relocs} == {"counts", "globals", "bpf_rcu_read_lock"}
    assert isinstance(code.relocs[0], Reloc)
    starts = [at for at, _ in code.lines]
    assert starts == sorted(set(starts))
    assert starts[0] == 0
    assert [span.line for _, span in code.lines][:3] == [1, 2, 3]


def test_the_listing_is_for_people():
    """Golden: source lines, map and function names, where branches go."""
    found = listing(spec(assemble(program())), SOURCE)
    assert found == (GOLDEN / "listing.txt").read_text()


def test_a_whole_object_lists_its_maps_too():
    maps = (MapSpec("counts", "state", 5, 8, 8, 4096), MapSpec("globals", "globals", 2, 4, 64, 1))
    found = list_object(Object(maps, (spec(assemble(program())),), notes=("per CPU",)), SOURCE)
    assert found.splitlines()[:3] == [
        "; per CPU",
        "; map counts: state, type 5, key 8, value 8, entries 4096",
        "; map globals: globals, type 2, key 4, value 64, entries 1",
    ]
    assert found.count("raw_tracepoint reads") == 1


def test_output_does_not_depend_on_the_run():
    """The same program gives the same bytes under any hash seed: caches and golden tests rely on it."""
    script = (
        "import sys, random, hashlib; sys.path[:0] = ['src', 'tests/support']\n"
        "from bpf_random import Random; from probescope.bpf.assemble import assemble\n"
        "from probescope.model.features import BASELINE_6_1\n"
        "c = assemble(Random(random.Random(4), BASELINE_6_1, 60).program())\n"
        "print(hashlib.sha256(c.insns + repr(c.lines).encode()).hexdigest())"
    )
    root = Path(__file__).parents[3]
    runs = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": s}, cwd=root, capture_output=True, check=True
        ).stdout
        for s in ("1", "2", "3")
    }
    assert len(runs) == 1
    assert len(runs.pop()) == 65


# --- cost -------------------------------------------------------------------------------------------------------------


def long_function(rounds):
    """What tracing programs are made of, over and over: 30 operations a round."""
    b = Builder("m")
    ctx = b.parameters[0]
    for k in range(rounds):
        key = b.slot(16, name="key")
        b.begin(key)
        size = b.load(ctx, 24, 8)
        pid = b.alu_imm("shr", b.call("get_current_pid_tgid"), 32)
        b.store_slot(key, 0, size, 8)
        b.store_slot(key, 8, pid, 8)
        there, go_on, found, missing = b.block(), b.block(), b.block(), b.block(cold=True)
        b.branch_imm("gt", b.alu("add", size, pid), 100 + k, there, go_on)
        b.place(there)
        value = b.call("map_lookup_elem", b.map("m"), b.slot_address(key))
        b.branch_imm("ne", value, 0, found, missing)
        b.place(found)
        b.atomic("add", value, 0, b.const(1))
        b.jump(go_on)
        b.place(missing)
        one = b.slot(8, name="one")
        b.begin(one)
        b.store_slot(one, 0, b.const(1), 8)
        b.call("map_update_elem", b.map("m"), b.slot_address(key), b.slot_address(one), b.const(1))
        b.end(one)
        b.place(go_on)
        b.end(key)
    b.exit_imm(0)
    return b.finish()


def cost(rounds):
    """Instructions of Python that compiling takes."""
    function = long_function(rounds)
    return instructions(lambda: assemble([function]))


@pytest.mark.parametrize("rounds", [2, 330])
def test_compiling_is_fast(rounds):
    """30 operations in 24,000 instructions of Python, whether they are few or 10,000."""
    assert cost(rounds) < 36_000 * rounds


def test_the_work_grows_with_the_program_and_not_faster():
    """Twice the operations cost twice as much, never four times: no pass may be quadratic."""
    assert cost(400) < 2.5 * cost(200)


def test_importing_the_compiler_drags_in_nothing_heavy():
    """Start-up: neither the system call layer, ctypes, numpy nor regular expressions of the log reader come along."""
    script = (
        "import sys; sys.path.insert(0, 'src'); import probescope.bpf.assemble, probescope.bpf.builder;"
        "print([m for m in ('ctypes', 'numpy', 'dataclasses', 'inspect', 'probescope.kernel.bpf', "
        "'probescope.bpf.verifier_log', 'probescope.bpf.disasm') if m in sys.modules])"
    )
    root = Path(__file__).parents[3]
    out = subprocess.run([sys.executable, "-S", "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
