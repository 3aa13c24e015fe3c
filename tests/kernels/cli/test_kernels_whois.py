"""The kernel's messages, addresses and errors, found in the file that was booted, with the running kernel's names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probescope.cli.main import main
from vmtest.kernels import cache


@pytest.fixture(scope="module")
def image(vm_kernel: str) -> str:
    """What this machine was booted from."""
    found = sorted(Path(cache() / "kernels" / vm_kernel).rglob("vmlinuz*"))
    if not found:
        pytest.skip("the kernel's image is not where vmtest keeps it")
    return str(found[0])


def whois(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict[str, object]]:
    assert main(["whois", "-f", "json", *args]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("line", "function"),
    [
        # by the kernel's sources, 6.1 and 6.12: mm/oom_kill.c, arch/x86/mm/fault.c
        ("Out of memory: Killed process 312 (stress) total-vm:8192kB", "__oom_kill_process"),
        ("kernel tried to execute NX-protected page - exploit attempt? (uid: 0)", "page_fault_oops"),
    ],
)
def test_messages_lead_to_their_functions(
    line: str, function: str, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects absolute addresses in the kernel's code, and its names where it runs (KASLR)."""
    rows = whois(capsys, line, "--vmlinux", image)
    names = {str(r["function"]).partition(".")[0] for r in rows}
    assert function in names


def test_addresses_of_the_running_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    """Protects the way from an address of a crash to its function, by /proc/kallsyms itself."""
    line = next(x for x in Path("/proc/kallsyms").read_text().splitlines() if x.endswith(" T vfs_read"))
    [row] = whois(capsys, hex(int(line.split()[0], 16) + 4))
    assert (row["function"], row["offset"], row["probe"]) == ("vfs_read", 4, "kprobe:vfs_read")


def test_who_returns_an_error(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Protects --returns in the kernel: do_sys_open's callee returns -ENFILE in alloc_empty_file (fs/file_table.c)."""
    rows = whois(capsys, "--returns", "ENFILE", "--in", "*alloc*file*", "--vmlinux", image, "-n", "0")
    assert "alloc_empty_file" in {str(r["function"]) for r in rows}
