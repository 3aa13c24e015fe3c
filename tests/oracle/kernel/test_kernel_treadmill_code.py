"""The machine code that costs are measured with, against an assembler's own tools.

What is written beside the bytes is what they mean: a wrong byte would measure something else, or crash.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from probescope.kernel.treadmill_code import BASE, CODES, assembled, elf

TRIPLES = {"x86_64": "x86_64", "aarch64": "aarch64"}
#: how the disassembler writes what the comments write otherwise
SAME = {
    "movabsq": "mov",
    "syscall": "syscall",
    "retq": "ret",
    "callq": "call",
    "leaq": "lea",
    "nopl": "nop",
    "b.ne": "b.ne",
}


def disassembled(machine: str, code: bytes) -> list[str]:
    text = " ".join(f"0x{b:02x}" for b in code)
    done = subprocess.run(
        ["llvm-mc", "--disassemble", f"--triple={TRIPLES[machine]}", "--output-asm-variant=1"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert not done.stderr, done.stderr
    return [line.split()[0] for line in done.stdout.splitlines() if line.startswith("\t") and "\t." not in line]


def commented(text: str) -> list[str]:
    """The mnemonic beside each group of bytes."""
    parts = [p.strip() for line in text.splitlines() for p in line.split("|") if p.strip()]
    words = [re.split(r"\s{2,}", p)[1].removeprefix("again: ").removeprefix("leave: ").split() for p in parts]
    return [w[0] for w in words]


@pytest.mark.skipif(shutil.which("llvm-mc") is None, reason="needs llvm-mc")
@pytest.mark.parametrize("machine", CODES)
def test_bytes_are_what_stands_beside_them(machine):
    code = CODES[machine]
    for text in (code.start, *code.functions.values()):
        ours, theirs = commented(text), disassembled(machine, assembled(text))
        assert len(ours) == len(theirs), (ours, theirs)
        for mine, real in zip(ours, theirs, strict=True):
            # jz and je, jnz and jne are one instruction; so are mov and movz
            same = {mine, mine.replace("jnz", "jne"), "movz" if mine == "mov" else mine}
            assert real in same, f"{mine} is {real}"


@pytest.mark.parametrize("machine", CODES)
def test_the_file_is_a_program(machine, tmp_path):
    """readelf reads what the kernel will: two segments, executable and writable apart, the entry in the first."""
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    path = tmp_path / "treadmill"
    path.write_bytes(elf(CODES[machine]))
    done = subprocess.run(["readelf", "-hlW", path], capture_output=True, text=True, check=True, timeout=300)
    page = CODES[machine].page
    assert f"Entry point address:               {BASE + page:#x}" in done.stdout
    loads = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("LOAD")]
    assert [(int(w[1], 16), int(w[2], 16), w[6:-1]) for w in loads] == [
        (page, BASE + page, ["R", "E"]),
        (2 * page, BASE + 2 * page, ["RW"]),
    ]
    assert {"x86_64": "X86-64", "aarch64": "AArch64"}[machine] in done.stdout


def test_every_function_has_its_slot():
    """Functions lie 16 bytes apart, and none is longer."""
    for code in CODES.values():
        assert all(len(assembled(f)) <= 16 for f in code.functions.values())
        offsets = [code.offset(f) for f in code.functions]
        assert offsets == list(range(offsets[0], offsets[0] + 16 * len(offsets), 16))
        image = elf(code)
        for name, text in code.functions.items():
            assert image[code.offset(name) :].startswith(assembled(text))
