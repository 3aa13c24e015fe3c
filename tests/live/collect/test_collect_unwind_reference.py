"""The walk in the kernel against the same walk in Python (debuginfo/unwind.py), over the memory of real programs that
wait in a system call."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess

import pytest
from collect_run import Running

from probescope.collect.processes import Processes
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.symbolize import AddressSpace
from probescope.debuginfo.unwind import Registers, Table, unwind
from probescope.debuginfo.unwind_table import UnwindTable, table_of
from probescope.kernel.hold import _DETACH, _GETREGS, _INTERRUPT, _REGS, _SEIZE, _ptrace
from probescope.kernel.host import host
from probescope.kernel.vdso import vdso

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="unwound by tables on x86-64 only")

_BP, _IP, _SP = 4, 16, 19  # places in struct user_regs_struct


def registers(pid: int) -> Registers:
    """Of a process that is stopped by us meanwhile."""
    _ptrace(_SEIZE, pid, 0, 0)
    _ptrace(_INTERRUPT, pid, 0, 0)
    os.waitpid(pid, 0)
    regs = bytearray(_REGS)
    _ptrace(_GETREGS, pid, 0, host().address(regs))
    words = struct.unpack("=27Q", regs)
    return Registers(words[_IP], words[_SP], words[_BP])


def finder(space: AddressSpace):
    tables: dict[str, tuple[UnwindTable, ElfFile]] = {}

    def find(address: int) -> tuple[Table, int] | None:
        m = space.find(address)
        if m is None or not m.path:
            return None
        if m.path not in tables:
            elf = ElfFile(vdso()) if m.path == "[vdso]" else ElfFile.open(m.path)
            tables[m.path] = (table_of(elf), elf)
        table, elf = tables[m.path]
        vaddr = elf.to_vaddr(address - m.start + m.offset)
        return None if vaddr is None else (table, address - vaddr)

    return find


@pytest.mark.parametrize(
    "command",
    [
        ["cat"],
        ["bash", "-c", "f() { read x; }; g() { f; }; g"],
        ["python3", "-c", "import re, sys; re.sub('a', lambda m: sys.stdin.readline(), 'a')"],
        ["perl", "-e", "sub f { my $x = <STDIN>; } sub g { f(); } g();"],
    ],
    ids=lambda c: c[0],
)
def test_the_kernel_walks_as_the_reference_does(command: list[str]) -> None:
    """A second call of read(2), from which the program does not come back: every address of its stack."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert target.stdin is not None
    try:
        program = 'tracepoint:syscalls:sys_enter_read /args.fd == 0/ { printf("[%s]\n", ustack(raw)); }'
        _await_read(target.pid)
        os.kill(target.pid, signal.SIGSTOP)  # what is interrupted in a system call makes it again
        with Running(program, "-p", str(target.pid)) as session:
            os.kill(target.pid, signal.SIGCONT)
            again = b"" if command[0] == "python3" else b"x"
            target.stdin.write(again)
            target.stdin.flush()
            _await_read(target.pid)
            regs = registers(target.pid)
            space = Processes().space(target.pid)
            assert space is not None
            memory = os.open(f"/proc/{target.pid}/mem", os.O_RDONLY)

            def read(address: int) -> int | None:
                try:
                    return int.from_bytes(os.pread(memory, 8, address), "little")
                except OSError:
                    return None

            expected = unwind(regs, finder(space), read)
            os.close(memory)
            _ptrace(_DETACH, target.pid, 0, 0)
            done = session.stop()
    finally:
        target.kill()
        target.communicate()
    stacks = re.findall(r"\[([^\]]*)\]", done.out)
    if not stacks:
        pytest.skip(f"{command[0]} did not call read(2) again")
    assert expected.why == "end"
    assert [int(a, 16) for a in stacks[-1].split()] == expected.frames
    assert len(expected.frames) > 3


def _await_read(pid: int) -> None:
    """Until it waits in read(2)."""
    from collect_run import until

    def waits() -> bool:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
            words = f.read().split()
        return words[:2] == ["0", "0x0"]

    until(waits, "it does not read")
