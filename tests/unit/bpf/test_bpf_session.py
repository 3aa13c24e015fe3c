"""The program of a kprobe session: two programs as one."""

from __future__ import annotations

from bpf_machine import Machine

from probescope.bpf import insn as i
from probescope.bpf.assemble import assemble_functions, linked
from probescope.bpf.builder import Builder
from probescope.bpf.disasm import disassemble
from probescope.bpf.session import IS_RETURN, joined
from probescope.bpf.unit import Reloc


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
