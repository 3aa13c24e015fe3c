"""A stack dump of AArch64, as a perf.data of such a machine has it, read here: frames without frame pointers, a leaf
that has its return address in x30, a return address that is signed. What lies on the stack is written down by hand from
the code that is assembled."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import formats_perfmaker as pm
import pytest

pytestmark = pytest.mark.skipif(shutil.which("aarch64-linux-gnu-gcc") is None, reason="no cross compiler")
SOURCE = """
    .text
    .globl _start, outer, middle, leaf
    .type leaf, %function
leaf:                               // saves nothing: the return address is in x30
    .cfi_startproc
    add x0, x0, 1
at_leaf:
    add x0, x0, 2
    ret
    .cfi_endproc
    .size leaf, . - leaf
    .type middle, %function
middle:                             // by the stack pointer; saves x30 alone, and keeps x29 as it is
    .cfi_startproc
    sub sp, sp, 32
    .cfi_def_cfa_offset 32
    str x30, [sp, 16]
    .cfi_offset 30, -16
    bl leaf
in_middle:
    ldr x30, [sp, 16]
    add sp, sp, 32
    ret
    .cfi_endproc
    .size middle, . - middle
    .type outer, %function
outer:                              // by the frame pointer, with a signed return address
    .cfi_startproc
    hint 25                         // paciasp
    .cfi_negate_ra_state
    stp x29, x30, [sp, -48]!
    .cfi_def_cfa_offset 48
    .cfi_offset 29, -48
    .cfi_offset 30, -40
    mov x29, sp
    .cfi_def_cfa 29, 48
    sub sp, sp, 64
    bl middle
in_outer:
    add sp, sp, 64
    ldp x29, x30, [sp], 48
    hint 29
    ret
    .cfi_endproc
    .size outer, . - outer
    .type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined 30
    bl outer
in_start:
    b in_start
    .cfi_endproc
    .size _start, . - _start
"""
SP = 0xFFFFF1230000
SIGNED = 0x5A << 56
"""What a processor with pointer authentication puts above an address."""
LINK, STACK, HERE = 30, 31, 32
EVENT = pm.Event(
    pm.IP | pm.TID | pm.TIME | pm.PERIOD | pm.CALLCHAIN | pm.REGS_USER | pm.STACK_USER,
    flags=pm.SAMPLE_ID_ALL | pm.MMAP_BIT | pm.COMM_BIT,
    regs_user=(1 << 33) - 1,
)


def built(folder: Path) -> tuple[str, dict[str, int]]:
    """A static program, and where its labels are."""
    (folder / "stack.s").write_text(SOURCE)
    program = folder / "stack"
    build = ["aarch64-linux-gnu-gcc", "-nostdlib", "-static", "-o", str(program), "stack.s"]
    subprocess.run(build, check=True, cwd=folder, timeout=300)
    said = subprocess.run(["aarch64-linux-gnu-nm", str(program)], capture_output=True, text=True, check=True)
    return str(program), {n: int(a, 16) for a, _, n in (x.split() for x in said.stdout.splitlines())}


def recording(path: Path, program: str, at: dict[str, int], *, leaf: bool) -> None:
    """One sample in ``leaf``, or in ``middle`` behind its call."""
    m = pm.PerfMaker([EVENT])
    m.features = {6: m.string("aarch64")}
    data = Path(program).read_bytes()
    text, offset, size = segment(data)
    inode = os.stat(program).st_ino
    body = m.pack("IIQQQ", 7, 7, text, size, offset) + m.pack("IIQQII", 0, 0, inode, 0, 5, 2) + pm.padded(program)
    m.add(10, body + pm.trailer(m, EVENT, pm.Sample(pid=7, tid=7, time=1)), misc=2)
    frame_of_middle = struct.pack("<4Q", 1, 2, at["in_outer"], 3)
    locals_of_outer = bytes(64)
    frame_of_outer = struct.pack("<6Q", 0, SIGNED | at["in_start"], 4, 5, 6, 7)
    dump = frame_of_middle + locals_of_outer + frame_of_outer + bytes(32)
    registers = [100 + i for i in range(33)]
    registers[29] = SP + len(frame_of_middle) + len(locals_of_outer)  # of outer: nobody below changes it
    registers[STACK] = SP
    registers[LINK] = at["in_middle"]
    registers[HERE] = at["at_leaf"] if leaf else at["in_middle"]
    sample = pm.Sample(
        ip=registers[HERE],
        pid=7,
        tid=7,
        time=2,
        stack=[],
        regs=registers,
        dump=dump,
        dump_used=len(dump),
    )
    pm.add_sample(m, EVENT, sample)
    path.write_bytes(m.build())


def segment(data: bytes) -> tuple[int, int, int]:
    """Address, offset and size of the segment with code, from the ELF header by hand."""
    start, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    for i in range(count):
        kind, flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, start + 56 * i)
        if kind == 1 and flags & 1:
            return address, offset, size
    raise AssertionError("no code")


@pytest.mark.parametrize("leaf", [True, False])
def test_a_stack_of_another_machine(tmp_path: Path, leaf: bool) -> None:
    """Callers are told one byte before where they go on, as those of x86-64 are."""
    program, at = built(tmp_path)
    path = tmp_path / "perf.data"
    recording(path, program, at, leaf=leaf)
    command = [sys.executable, "-m", "probescope", "script", "-i", str(path), "-f", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    (event,) = [json.loads(line) for line in done.stdout.splitlines()]
    inner = [at["at_leaf"], at["in_middle"] - 1] if leaf else [at["in_middle"]]
    assert [f["address"] for f in event["stack"]] == [*inner, at["in_outer"] - 1, at["in_start"] - 1]
    assert [f["symbol"] for f in event["stack"]][-2:] == ["outer", "_start"]
