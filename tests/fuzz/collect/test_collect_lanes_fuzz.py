"""Walking stacks over anything: random dumps, mutated rules of functions."""

from __future__ import annotations

import os
import random
import time

import pytest
from collect_lanes import BASE, grounds, random_stack, walked
from debuginfo_frames import cie, elf_with, fde, section

from probescope.collect.recorded.lanes import DEPTH
from probescope.debuginfo.elf import ElfFile
from probescope.debuginfo.elf_names import FunctionNames
from probescope.errors import ElfError

PROGRAM = "/usr/bin/dash"
SECONDS = float(os.environ.get("PROBESCOPE_FUZZ_SECONDS", "10"))
#: CFA and registers by every kind of rule: at, is, register, expressions that read and compute.
RULES = bytes(
    [
        *(0x0C, 7, 16, 0x90, 1, 0x86, 2, 0x83, 3),
        *(0x44, 0x0F, 3, 0x77, 8, 0x06),  # CFA: at sp + 8
        *(0x44, 0x0F, 5, 0x73, 0, 0x38, 0x22, 0x12, 0x13, 0x16, 3, 2, 0x77, 0),  # CFA: rbx + 8; rbx: an expression
        *(0x44, 0x10, 6, 2, 0x76, 0, 0x10, 16, 2, 0x77, 8, 0x14, 12, 2, 0x09, 13, 14),
        *(0x44, 0x0A, 0x0B, 0x07, 3, 0x08, 6, 0x2E, 8),
    ]
)


def seed() -> bytes:
    functions = [(0x40 + 64 * i, 48, RULES[: 9 + 6 * i]) for i in range(8)]
    return section(cie(bytes([0x0C, 7, 8, 0x90, 1])), functions)


def elf_of(eh_frame: bytes) -> ElfFile:
    """A file of which everything is loaded at its own offset."""
    return ElfFile(elf_with(eh_frame))


def test_random_stacks_and_mutated_rules() -> None:
    """Any bytes of a stack, any bytes of .eh_frame: a result of bounded size, in bounded time, and no exception but
    ElfError where there are no rules at all."""
    rng = random.Random(20_261_128)
    end = time.monotonic() + SECONDS
    rounds = frames = 0
    while time.monotonic() < end:
        data = bytearray(seed())
        for _ in range(rng.randrange(6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            where = grounds(elf_of(bytes(data)))
        except ElfError:
            continue
        code = [BASE + 0x40 + rng.randrange(0x240) for _ in range(16)]
        stacks = [random_stack(rng, code, rng.randrange(1, 40)) for _ in range(20)]
        began = time.monotonic()
        found = walked(where, [d[: rng.randrange(len(d) + 1)] for d, _ in stacks], [r for _, r in stacks])
        assert time.monotonic() - began < 5
        assert all(1 <= len(f) <= DEPTH for f in found)
        frames += sum(map(len, found))
        rounds += 1
    assert rounds > 10
    assert frames > 22 * rounds  # more than the innermost ones: rules were followed


@pytest.mark.parametrize("size", [1 << 10])
def test_expressions_that_ask_for_each_other(size: int) -> None:
    """Each register is said by an expression of the others, at every frame: without a bound that is exponential."""
    each = bytes(b for r in (3, 12, 13, 14, 15) for b in (0x16, r, 8, 0x73, 0, 0x7C, 0, 0x22, 0x7D, 0, 0x22))
    data = cie(bytes([0x0C, 7, 8, 0x90, 1])) + b""
    data += fde(len(data), 0x40, 64, each + bytes([0x0F, 6, 0x77, 8, 0x7C, 0, 0x13, 0x96])) + bytes(4)
    where = grounds(elf_of(data))
    dump = (BASE + 0x51).to_bytes(8, "little") * size
    registers = dict.fromkeys(range(16), BASE) | {7: 0x7FFE00000000, 16: BASE + 0x50}
    began = time.monotonic()
    found = walked(where, [dump] * 50, [registers] * 50)
    assert time.monotonic() - began < 20
    assert max(map(len, found)) > 3


@pytest.mark.skipif(not os.path.exists(PROGRAM), reason=f"needs {PROGRAM}")
def test_real_files_with_damage() -> None:
    """A real program's tables with bytes changed: its sorted index, its rules, its headers, its jumps and symbols."""
    rng = random.Random(7)
    with open(PROGRAM, "rb") as f:
        whole = f.read()
    with ElfFile.open(PROGRAM) as elf:
        wanted = [s for s in elf.sections() if s.name.startswith((".eh_frame", ".plt", ".rela", ".dynsym"))]
    end, rounds = time.monotonic() + SECONDS / 2, 0
    while time.monotonic() < end:
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 40)):
            s = rng.choice(wanted)
            at = rng.randrange(64) if rng.random() < 0.05 else s.offset + rng.randrange(s.size)
            data[at] = rng.choice((0, 0xFF, rng.randrange(256)))
        try:
            elf = ElfFile(bytes(data))
            where = grounds(elf)
            names = FunctionNames(elf, [t for t in (elf.symtab(), elf.dynsym()) if t is not None])
            names.at(rng.randrange(1 << 16))
        except ElfError:
            continue
        code = [BASE + rng.randrange(len(data)) for _ in range(64)]
        stacks = [random_stack(rng, code, 64) for _ in range(40)]
        began = time.monotonic()
        found = walked(where, [d for d, _ in stacks], [r for _, r in stacks])
        assert time.monotonic() - began < 5
        assert all(1 <= len(f) <= DEPTH for f in found)
        rounds += 1
    assert rounds > 3
