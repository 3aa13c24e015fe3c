"""The program of a kprobe session: two programs as one."""

from __future__ import annotations

from bpf_machine import Machine

from probescope.bpf import insn as i
from probescope.bpf.assemble import assemble_functions, linked
from probescope.bpf.builder import Builder
from probescope.bpf.compile import compile_program
from probescope.bpf.disasm import disassemble
from probescope.bpf.session import IS_RETURN, joined
from probescope.bpf.unit import Options, Reloc, Unit
from probescope.ir.program import Clause, MapDecl, Program
from probescope.ir.stmt import MapUpdate
from probescope.model.site import KprobeAttach, Site
from probescope.model.types import Agg


def adding(name: str, more: int):
    """A program that gives the first word of its context and ``more``, through a function of its own."""
    local = Builder(f"{name}.add", kind="local", parameters=1)
    local.exit(local.alu_imm("add", local.parameters[0], more))
    b = Builder(name)
    b.exit(b.local(f"{name}.add", b.load(b.parameters[0], 0, 8)))
    return assemble_functions([b.finish(), local.finish()])


def run(is_return: int) -> int:
    """With the kernel's answer put in the place of the call."""
    code = linked(joined(adding("entry", 1), adding("exit", 1000)))
    assert code.relocs == (Reloc(1, "kfunc", IS_RETURN),)
    answered = bytearray(code.insns)
    answered[8:16] = i.pack([(i.ALU64 | i.ALU["mov"], 0, 0, 0, is_return)])
    return Machine(bytes(answered), bytearray((7).to_bytes(8, "little"))).run()


def test_entry_and_return_run_their_own_part():
    assert run(0) == 8
    assert run(1) == 1007
    assert run(0x100) == 8, "a bool is one byte of the register: the rest may hold anything"


def test_functions_of_both_are_there_once():
    code = linked(joined(adding("entry", 1), adding("exit", 1000)))
    assert [name for _, name in code.functions] == ["entry", "entry.add", "exit.add"]
    assert [text for _, text in disassemble(code.insns)][:3] == ["r6 = r1", "call kernel-function#0", "r0 &= 255"]


def test_other_processes_are_spared_their_return():
    """With -p: an entry that gives 1 has the kernel leave out what it would do at the return."""
    entry = Site("kprobe:f", "kprobe", KprobeAttach("f", traceable=True))
    exit_ = Site("kretprobe:f", "kretprobe", KprobeAttach("f", ret=True, traceable=True))
    hit = (MapUpdate("", None),)
    program = Program((Clause(0, (entry,), hit), Clause(1, (exit_,), hit)), (MapDecl("", None, Agg("count")),))

    def ends(pid: int) -> list[str]:
        """What r0 is set to before each exit."""
        half = Unit("x", 1, "kprobe", (1,), pid=pid)
        unit = Unit("e", 0, "kprobe", (0,), pid=pid, exit=half)
        (made,) = compile_program(program, [unit], Options()).programs
        texts = [t for _, t in disassemble(made.insns)]
        return [texts[n - 1] for n, t in enumerate(texts) if t == "exit"]

    assert sorted(ends(77)) == ["r0 = 0", "r0 = 0", "r0 = 1"]
    assert ends(0) == ["r0 = 0", "r0 = 0"]
