"""Facts of architectures against the kernel's own headers, as the machine's compiler reads them."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import pytest

from probescope.model import syscalls
from probescope.model.arch import X86_64

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

# arch/arm64/include/uapi/asm/unistd.h of kernels before the generic table was made from a list
ARM64 = "RENAMEAT NEW_STAT SET_GET_RLIMIT TIME32_SYSCALLS SYS_CLONE3 MEMFD_SECRET".split()


def defined(header: str, *options: str) -> dict[str, int]:
    """``__NR_name`` of a header as numbers."""
    text = subprocess.run(
        ["gcc", "-E", "-dM", *options, "-"], input=f"#include <{header}>\n", capture_output=True, text=True, check=True
    ).stdout
    macros = dict(re.findall(r"^#define (__NR\w+) (\S+)$", text, re.MULTILINE))
    out = {}
    for name, value in macros.items():
        number = macros.get(value, value)
        if name.startswith("__NR_") and number.isdecimal():
            out[name.removeprefix("__NR_")] = int(number)
    return out


def compare(arch: str, theirs: dict[str, int], *absent: str) -> None:
    """Every call of the header has that number with us; ours may know newer ones."""
    ours = syscalls.numbers(arch)
    wrong = {n: (v, ours.get(n)) for n, v in theirs.items() if n not in absent and ours.get(n) != v}
    assert len(theirs) > 280
    assert not wrong


def test_system_calls_of_aarch64() -> None:
    """It uses the generic table, which every machine's headers have."""
    options = [f"-D__ARCH_WANT_{w}" for w in ARM64]
    theirs = defined("asm-generic/unistd.h", "-D__BITS_PER_LONG=64", *options)
    compare("aarch64", theirs, "syscalls", "arch_specific_syscall")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="not on this architecture: x86-64's own headers")
def test_system_calls_of_x86_64() -> None:
    compare("x86_64", defined("asm/unistd_64.h"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="not on this architecture: x86-64's own headers")
def test_registers_of_x86_64() -> None:
    """struct pt_regs as user space knows it, where names are rbx for bx and so on."""
    text = subprocess.run(
        ["gcc", "-E", "-"], input="#include <asm/ptrace.h>\n", capture_output=True, text=True, check=True
    ).stdout
    body = re.search(r"struct pt_regs \{(.*?)\};", text, re.DOTALL)
    assert body is not None
    names = re.findall(r"unsigned long (\w+);", body[1])
    renamed = {"eflags": "flags", "orig_rax": "orig_ax"}
    ours = [n if n[1:].isdigit() or n in ("cs", "ss") else renamed.get(n, n[1:]) for n in names]
    assert {n: 8 * i for i, n in enumerate(ours)} == dict(X86_64.regs)
