"""The kernel's messages, addresses and errors, found in the file that was booted, with the running kernel's names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probescope.cli.main import main
from probescope.debuginfo.messages import Pattern
from probescope.views.whois import places, search, subjects
from probescope.views.whois.kernel import Kernel
from vmtest.kernels import cache


@pytest.fixture(scope="module")
def kernel(vm_kernel: str) -> Kernel:
    """What this machine was booted from; unpacked once, which takes its time here."""
    found = sorted(Path(cache() / "kernels" / vm_kernel).rglob("vmlinuz*"))
    if not found:
        pytest.skip("the kernel's image is not where vmtest keeps it")
    return subjects.kernel(str(found[0]))


@pytest.mark.parametrize(
    ("line", "function"),
    [
        # by the kernel's sources, 6.1 and 6.12: mm/oom_kill.c, arch/x86/mm/fault.c
        ("Out of memory: Killed process 312 (stress) total-vm:8192kB", "__oom_kill_process"),
        ("kernel tried to execute NX-protected page - exploit attempt? (uid: 0)", "page_fault_oops"),
    ],
)
def test_messages_lead_to_their_functions(line: str, function: str, kernel: Kernel) -> None:
    """Protects absolute addresses in the kernel's code, and its names where it runs (KASLR)."""
    found = search.best(search.messages(kernel, Pattern(line)), 10)
    assert function in {f.where.plain for f in found if isinstance(f, search.Finding)}


def test_addresses_of_the_running_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the way from an address of a crash to its function, by /proc/kallsyms itself."""
    line = next(x for x in Path("/proc/kallsyms").read_text().splitlines() if x.endswith(" T vfs_read"))
    assert main(["whois", "-f", "json", hex(int(line.split()[0], 16) + 4)]) == 0
    [row] = [json.loads(x) for x in capsys.readouterr().out.splitlines()]
    assert (row["function"], row["offset"], row["probe"]) == ("vfs_read", 4, "kprobe:vfs_read")


def test_who_returns_an_error(kernel: Kernel) -> None:
    """Protects --returns in the kernel: alloc_empty_file returns -ENFILE (fs/file_table.c)."""
    found = places.returning(kernel, 23, "*alloc*file*")
    assert "alloc_empty_file" in {where.plain for where, _ in found}
