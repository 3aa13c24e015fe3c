"""Call frame information as binutils reads it, against ours."""

from __future__ import annotations

import os
import random
import shutil
import tempfile

import pytest
from debuginfo_frames import Told, cfa_cell, cie, elf_with, kept_cell, readelf_frames, section

from probescope.debuginfo.eh_frame import Frame, frames_of
from probescope.debuginfo.elf import ElfFile

pytestmark = pytest.mark.skipif(shutil.which("readelf") is None, reason="needs binutils")

FILES = [
    f
    for f in (
        "/bin/bash",
        "/usr/bin/python3.11",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    )
    if os.path.exists(f)
]


def compare(ours: list[Frame], told: list[Told], machine: str = "x86_64") -> int:
    """Every address at which readelf has a row: the same CFA, frame pointer and return address as we have there."""
    assert [(f.start, f.end, f.signal) for f in ours] == [(t.start, t.end, t.signal) for t in told]
    compared = 0
    for frame, other in zip(ours, told, strict=True):
        last = {row[0]: row for row in other.rows}  # of several rows at one address the last one counts
        for address, cfa, kept, ret in last.values():
            rule = next(r for at, r in reversed(frame.rows) if frame.start + at <= address)
            found = (cfa_cell(rule, machine), kept_cell(rule.frame), kept_cell(rule.ret))
            assert found == (cfa, kept.replace("s", "u"), ret.replace("s", "u")), hex(address)
            compared += 1
    return compared


@pytest.mark.parametrize("path", FILES)
def test_rows_are_those_of_readelf(path: str) -> None:
    """Real files: every function and every row. A wrong row is a wrong stack."""
    with ElfFile.open(path) as elf:
        found = frames_of(elf)
        ours = list(found)
    assert found.bad == 0
    assert compare(ours, readelf_frames(path)) > 1000


def _programs(rng: random.Random, frame: int, ret: int) -> bytes:
    """A random program of instructions that readelf and we both know, with states recalled only if remembered."""
    out = bytearray()
    depth = 0
    for _ in range(rng.randrange(12)):
        register = rng.choice([frame, ret, 3])
        choice = rng.randrange(16)
        if choice < 4:
            out.append(0x40 | rng.randrange(1, 32))
        elif choice == 4:
            out += bytes([0x02, rng.randrange(1, 256)])
        elif choice == 5:
            out += bytes([0x03, rng.randrange(256), 1])
        elif choice == 6:
            out += bytes([0x0E, rng.randrange(128)])
        elif choice == 7:
            out += bytes([0x0D, rng.choice([frame, 3])])
        elif choice == 8:
            out += bytes([0x0C, frame, 0x80 | rng.randrange(128), rng.randrange(4)])
        elif choice == 9:
            out += bytes([0x80 | register, rng.randrange(64)])
        elif choice == 10:
            out += bytes([0x05, register, rng.randrange(64)])
        elif choice == 11:
            out += bytes([0x11, register, rng.randrange(128)])
        elif choice == 12:
            out += bytes([0x10, register, 2, 0x70, rng.randrange(128)])
        elif choice == 13:
            out += bytes([0xC0 | register])
        elif choice == 14:
            out += b"\x0a"
            depth += 1
        elif depth:
            out += b"\x0b"
            depth -= 1
    return bytes(out)


@pytest.mark.parametrize(("machine", "number", "frame", "ret"), [("x86_64", 62, 6, 16), ("aarch64", 183, 29, 30)])
def test_random_programs_are_read_as_readelf_reads_them(machine: str, number: int, frame: int, ret: int) -> None:
    """Instructions that no compiler here writes, and AArch64's registers."""
    rng = random.Random(1)
    stack = 7 if machine == "x86_64" else 31
    first = cie(bytes([0x0C, stack, 8]), ret=ret, code_align=4 if machine == "aarch64" else 1)
    functions = [(0x1000 * (i + 1), 0x800, _programs(rng, frame, ret)) for i in range(400)]
    data = elf_with(section(first, functions), number)
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        told = readelf_frames(f.name, machine)
    ours = list(frames_of(ElfFile(data)))
    assert len(ours) == 400
    compare(ours, told, machine)
