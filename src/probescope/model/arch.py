"""Facts of an architecture, as data: registers, calling conventions, layouts. Two are known: x86-64 and AArch64.

Sources: System V AMD64 psABI 3.2.3; Procedure Call Standard for the Arm 64-bit Architecture 6.8; ``struct pt_regs`` of
arch/x86/include/asm/ptrace.h and ``struct user_pt_regs`` of arch/arm64/include/uapi/asm/ptrace.h.
"""

from __future__ import annotations

from collections.abc import Mapping

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Arch:
    """``regs``: byte offset of each register in the context that BPF kprobe and perf_event programs see.
    ``arg_regs``: integer arguments of functions; ``syscall_regs``: of system calls as saved at their entry.
    ``stack_args``: byte offset from the stack pointer, at function entry, of the first argument passed in memory.
    ``e_machine``: of ELF headers."""

    name: str
    e_machine: int
    regs: Mapping[str, int]
    aliases: Mapping[str, str]
    arg_regs: tuple[str, ...]
    ret_reg: str
    syscall_regs: tuple[str, ...]
    ip: str
    sp: str
    fp: str
    stack_args: int
    dwarf_regs: tuple[str, ...]  # by DWARF register number
    page_size: int = 4096

    def reg_offset(self, name: str) -> int | None:
        """Offset of a register by its kernel name or an alias (``rdi``, ``eax``...); ``None`` if there is none such."""
        return self.regs.get(self.aliases.get(name, name))


_X86_ORDER = "r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss".split()


def _x86_aliases() -> dict[str, str]:
    out: dict[str, str] = {}
    for r in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"):
        out["r" + r] = out["e" + r] = r
    for r in "abcd":
        out[r + "l"] = r + "x"
    for r in ("si", "di", "bp", "sp"):
        out[r + "l"] = r
    for n in range(8, 16):
        for suffix in "dwb":
            out[f"r{n}{suffix}"] = f"r{n}"
    out["rflags"] = out["eflags"] = "flags"
    out["pc"] = "ip"  # as AArch64 calls it
    return out


X86_64 = Arch(
    name="x86_64",
    e_machine=62,
    regs={r: 8 * i for i, r in enumerate(_X86_ORDER)},
    aliases=_x86_aliases(),
    arg_regs=("di", "si", "dx", "cx", "r8", "r9"),
    ret_reg="ax",
    syscall_regs=("di", "si", "dx", "r10", "r8", "r9"),
    ip="ip",
    sp="sp",
    fp="bp",
    stack_args=8,  # after the return address
    dwarf_regs=("ax", "dx", "cx", "bx", "si", "di", "bp", "sp", *(f"r{n}" for n in range(8, 16)), "ip"),
)

AARCH64 = Arch(
    name="aarch64",
    e_machine=183,
    regs={**{f"x{n}": 8 * n for n in range(31)}, "sp": 248, "pc": 256, "pstate": 264},
    aliases={
        **{f"r{n}": f"x{n}" for n in range(31)},
        **{f"w{n}": f"x{n}" for n in range(31)},
        "lr": "x30",
        "fp": "x29",
    },
    arg_regs=tuple(f"x{n}" for n in range(8)),
    ret_reg="x0",
    # x0 holds the return value later; the first argument survives in orig_x0, which follows pstate in struct pt_regs
    syscall_regs=("x0", "x1", "x2", "x3", "x4", "x5"),
    ip="pc",
    sp="sp",
    fp="x29",
    stack_args=0,
    dwarf_regs=(*(f"x{n}" for n in range(31)), "sp"),
)

ARCHES: Mapping[str, Arch] = {"x86_64": X86_64, "aarch64": AARCH64}


def by_name(machine: str) -> Arch | None:
    """By the name that ``uname -m`` gives."""
    return ARCHES.get({"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine))
