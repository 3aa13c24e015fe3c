"""The machine code of the treadmill (see ``treadmill.py``): a static program of two pages, written out byte by byte.

    file offset   0        ELF header, two program headers
                  PAGE     code: ``start``, then one function every 16 bytes     mapped read-only, executable
                  2*PAGE   cells                                                 mapped writable

    cells   u64 function   u64 times   u64 store   u16 semaphore

``start`` reads 16 bytes from descriptor 0 into the first two cells, calls the function as often as asked, writes one
byte to descriptor 1, and begins again; at the end of its input it leaves. What a function begins with is the point: a
probe on it costs what that instruction costs. Source of the formats: elf(5); the instructions are those that ``as``
makes of the comments.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from probescope.frozen import dataclass

BASE = 0x400000
FUNCTION, TIMES, STORE, SEMAPHORE, CELLS_SIZE = 0, 8, 16, 24, 32


@dataclass(frozen=True, slots=True)
class Code:
    """``functions``: name to hexadecimal bytes. ``page``: distance of the segments, at least the kernel's page."""

    elf_machine: int
    page: int
    start: str
    functions: Mapping[str, str]

    @property
    def start_size(self) -> int:
        return (len(assembled(self.start)) + 15) // 16 * 16

    def offset(self, function: str) -> int:
        """Place in the file."""
        return self.page + self.start_size + 16 * list(self.functions).index(function)


CODES: Mapping[str, Code] = {
    "x86_64": Code(
        62,
        0x1000,
        """
        31 c0                    xor eax, eax            read(
        31 ff                    xor edi, edi              0,
        be 00 20 40 00           mov esi, 0x402000         cells,
        ba 10 00 00 00           mov edx, 16               16)
        0f 05                    syscall
        48 83 f8 10              cmp rax, 16
        75 30                    jne leave
        4c 8b 24 25 00 20 40 00  mov r12, [0x402000]
        48 8b 1c 25 08 20 40 00  mov rbx, [0x402008]
        41 ff d4                 again: call r12
        48 ff cb                 dec rbx
        75 f8                    jnz again
        b8 01 00 00 00           mov eax, 1              write(
        bf 01 00 00 00           mov edi, 1                1,
        be 00 20 40 00           mov esi, 0x402000         cells,
        ba 01 00 00 00           mov edx, 1                1)
        0f 05                    syscall
        eb ba                    jmp start
        b8 3c 00 00 00           leave: mov eax, 60      exit(
        31 ff                    xor edi, edi              0)
        0f 05                    syscall
        """,
        {
            "syscall": "b8 6e 00 00 00  mov eax, 110  |  0f 05  syscall (getppid)  |  c3  ret",
            "push": "55  push rbp  |  5d  pop rbp  |  c3  ret",
            "nop": "90  nop  |  c3  ret",
            "nop5": "0f 1f 44 00 00  nop of five bytes  |  c3  ret",
            "stepped": "48 8d 47 01  lea rax, [rdi + 1]  |  c3  ret",
            "usdt": "90  nop  |  c3  ret",
            "single": "55  push rbp  |  5d  pop rbp  |  c3  ret",
            "returns": "55  push rbp  |  5d  pop rbp  |  c3  ret",
            "event": "55  push rbp  |  5d  pop rbp  |  c3  ret",
            "store": "48 89 3c 25 10 20 40 00  mov [0x402010], rdi  |  c3  ret",
        },
    ),
    "aarch64": Code(
        183,
        0x10000,
        """
        e8 07 80 d2  mov x8, 63            read(
        00 00 80 d2  mov x0, 0               0,
        55 08 a0 d2  mov x21, 0x420000
        e1 03 15 aa  mov x1, x21             cells,
        02 02 80 d2  mov x2, 16              16)
        01 00 00 d4  svc 0
        1f 40 00 f1  cmp x0, 16
        61 01 00 54  b.ne leave
        b3 52 40 a9  ldp x19, x20, [x21]
        60 02 3f d6  again: blr x19
        94 06 00 f1  subs x20, x20, 1
        c1 ff ff 54  b.ne again
        08 08 80 d2  mov x8, 64            write(
        20 00 80 d2  mov x0, 1               1,
        e1 03 15 aa  mov x1, x21             cells,
        22 00 80 d2  mov x2, 1               1)
        01 00 00 d4  svc 0
        ef ff ff 17  b start
        a8 0b 80 d2  leave: mov x8, 93     exit(
        00 00 80 d2  mov x0, 0               0)
        01 00 00 d4  svc 0
        """,
        {
            "syscall": "a8 15 80 d2  mov x8, 173  |  01 00 00 d4  svc 0 (getppid)  |  c0 03 5f d6  ret",
            "push": "01 00 00 14  b to the next  |  c0 03 5f d6  ret",
            "nop": "1f 20 03 d5  nop  |  c0 03 5f d6  ret",
            "nop5": "1f 20 03 d5  nop  |  c0 03 5f d6  ret",
            "stepped": "00 04 00 91  add x0, x0, 1  |  c0 03 5f d6  ret",
            "usdt": "1f 20 03 d5  nop  |  c0 03 5f d6  ret",
            "single": "01 00 00 14  b to the next  |  c0 03 5f d6  ret",
            "returns": "01 00 00 14  b to the next  |  c0 03 5f d6  ret",
            "event": "01 00 00 14  b to the next  |  c0 03 5f d6  ret",
            "store": "a0 0a 00 f9  str x0, [x21, 16]  |  c0 03 5f d6  ret",
        },
    ),
}
"""``push``, ``nop`` and ``nop5`` are emulated by the kernel, ``stepped`` is not; the others are of the same kinds, one
for each way to attach, so that they can be measured one after the other without waiting for the last to be detached."""


def assembled(text: str) -> bytes:
    """The bytes at the beginning of each line, or of each part between bars; two blanks end them."""
    parts = (p.strip() for line in text.splitlines() for p in line.split("|"))
    return b"".join(bytes.fromhex(p.split("  ")[0]) for p in parts if p)


def elf(code: Code) -> bytes:
    """The whole file."""
    text = assembled(code.start).ljust(code.start_size, b"\0")
    for function in code.functions.values():
        text += assembled(function).ljust(16, b"\0")
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, code.elf_machine, 1, BASE + code.page, 64, 0, 0, 64, 56, 2, 0, 0, 0
    )
    segments = _segment(5, code, code.page, len(text)) + _segment(6, code, 2 * code.page, CELLS_SIZE)
    return (header + segments).ljust(code.page, b"\0") + text.ljust(code.page, b"\0") + bytes(CELLS_SIZE)


def _segment(flags: int, code: Code, offset: int, size: int) -> bytes:
    # PT_LOAD, flags, offset, vaddr, paddr, filesz, memsz, align
    return struct.pack("<IIQQQQQQ", 1, flags, offset, BASE + offset, BASE + offset, size, size, code.page)
