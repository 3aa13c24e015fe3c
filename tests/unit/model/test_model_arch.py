"""Registers and calling conventions. Expected values are from the ABI documents and the structs of the kernel."""

from __future__ import annotations

import pytest

from probescope.model.arch import AARCH64, ARCHES, X86_64, Arch, by_name

# struct user_pt_regs { __u64 regs[31]; __u64 sp; __u64 pc; __u64 pstate; }
AARCH64_PLACES = {"x0": 0, "x1": 8, "x7": 56, "x19": 152, "x29": 232, "x30": 240, "sp": 248, "pc": 256, "pstate": 264}
# struct pt_regs: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss
X86_PLACES = {"r15": 0, "bp": 32, "bx": 40, "r10": 56, "ax": 80, "di": 112, "orig_ax": 120, "ip": 128, "sp": 152}


@pytest.mark.parametrize(("arch", "places"), [(AARCH64, AARCH64_PLACES), (X86_64, X86_PLACES)])
def test_registers_lie_where_the_kernel_puts_them(arch: Arch, places: dict[str, int]) -> None:
    """A wrong offset reads another register and gives plausible nonsense."""
    assert {name: arch.reg_offset(name) for name in places} == places


@pytest.mark.parametrize(
    ("arch", "alias", "register"),
    [
        (AARCH64, "lr", "x30"),
        (AARCH64, "fp", "x29"),
        (AARCH64, "w3", "x3"),
        (X86_64, "rdi", "di"),
        (X86_64, "eax", "ax"),
        (X86_64, "sil", "si"),
        (X86_64, "r9d", "r9"),
        (X86_64, "rip", "ip"),
    ],
)
def test_other_names_of_registers(arch: Arch, alias: str, register: str) -> None:
    """Assemblers and USDT notes write the name of a part for the whole."""
    assert arch.reg_offset(alias) == arch.regs[register]


def test_arguments_and_results() -> None:
    """System V AMD64 3.2.3 and AAPCS64 6.8; system calls of x86-64 take r10 for rcx, which the instruction destroys."""
    assert X86_64.arg_regs == ("di", "si", "dx", "cx", "r8", "r9")
    assert X86_64.syscall_regs == ("di", "si", "dx", "r10", "r8", "r9")
    assert (X86_64.ret_reg, X86_64.ip, X86_64.sp, X86_64.fp, X86_64.stack_args) == ("ax", "ip", "sp", "bp", 8)
    assert AARCH64.arg_regs == tuple("x0 x1 x2 x3 x4 x5 x6 x7".split())
    assert AARCH64.syscall_regs == tuple("x0 x1 x2 x3 x4 x5".split())
    # the return address is in x30, so arguments begin where the stack pointer is
    assert (AARCH64.ret_reg, AARCH64.ip, AARCH64.sp, AARCH64.fp, AARCH64.stack_args) == ("x0", "pc", "sp", "x29", 0)


def test_dwarf_numbers() -> None:
    """psABI figure 3.36, whose order is not that of the encoding; DWARF for the Arm 64-bit Architecture 4.1."""
    assert X86_64.dwarf_regs[:8] == ("ax", "dx", "cx", "bx", "si", "di", "bp", "sp")
    assert X86_64.dwarf_regs[15:] == ("r15", "ip")
    assert (AARCH64.dwarf_regs[0], AARCH64.dwarf_regs[29], AARCH64.dwarf_regs[31]) == ("x0", "x29", "sp")


@pytest.mark.parametrize("arch", ARCHES.values(), ids=list(ARCHES))
def test_every_register_that_is_named_exists(arch: Arch) -> None:
    named = {*arch.arg_regs, *arch.syscall_regs, *arch.dwarf_regs, *arch.aliases.values()}
    assert named | {arch.ret_reg, arch.ip, arch.sp, arch.fp} <= set(arch.regs)


def test_names_of_machines() -> None:
    assert by_name("arm64") is by_name("aarch64") is AARCH64
    assert by_name("amd64") is by_name("x86_64") is X86_64
    assert by_name("riscv64") is None
    assert (X86_64.e_machine, AARCH64.e_machine) == (62, 183)  # EM_X86_64, EM_AARCH64 of elf.h
