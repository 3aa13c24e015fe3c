"""User stacks without frame pointers on other kernels: their verifiers take the walk; it finds the same functions."""

from __future__ import annotations

import pytest
from collect_run import run
from collect_unwind import EXPECTED, OUTER, names, same, unwound

MODES = ("nested", "signalled", "sorting", "aligned")


@pytest.mark.parametrize("mode", MODES)
def test_kernel_unwind_at_a_uprobe(mode: str) -> None:
    """One stack, whole."""
    program = f"uprobe:{unwound()}:mark {{ @[ustack] = count(); }}"
    done = run(program, "-k", "-c", f"{unwound()} {mode}", timeout=300)
    found = names(done.out)
    assert same(found, ["mark", "leaf", *EXPECTED[mode], *OUTER]), (found, done.err)


@pytest.mark.parametrize(
    "probe", ["tracepoint:syscalls:sys_enter_getppid", "kprobe:__x64_sys_getppid", "kretprobe:__x64_sys_getppid"]
)
def test_kernel_unwind_in_a_system_call(probe: str) -> None:
    """The registers of user space as the kernel keeps them, also where the probe's own are others."""
    done = run(f"{probe} /pid == cpid/ {{ @[ustack] = count(); }}", "-k", "-c", f"{unwound()} nested", timeout=300)
    found = names(done.out)
    assert same(found, ["syscall", "mark", "leaf", *EXPECTED["nested"], *OUTER]), (found, done.err)


def test_kernel_unwind_inside_of_a_loop() -> None:
    """The walk is a callback inside a callback there."""
    program = f"uprobe:{unwound()}:mark {{ for ($i : 0..40) {{ @a[$i % 2, ustack] = count(); }} }}"
    done = run(program, "-c", f"{unwound()} nested", timeout=300)
    assert done.out.count("]: 20\n") == 2, done.err
